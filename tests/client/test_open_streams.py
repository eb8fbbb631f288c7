"""Streams that are open when the program ends. `tests/attacks/test_records.py` ends real programs."""

from __future__ import annotations

import threading
from collections.abc import Generator

from toolsearch.client.open_streams import _OpenStreams


def test_a_stream_whose_end_hangs_does_not_keep_the_program() -> None:
    released, closed = threading.Event(), threading.Event()

    def stream(wait: bool) -> Generator[str, None, None]:
        try:
            yield "text"
        finally:
            if wait:
                released.wait()
            closed.set()

    streams = [stream(True), stream(True)]
    opened = _OpenStreams()
    for one in streams:
        next(one)
        opened.add(one)
    opened.close_all(timeout_seconds=0)
    assert not closed.is_set()
    released.set()
    assert closed.wait(60)
