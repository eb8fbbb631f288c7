"""Streams that are open when the program ends: they are closed while memory can still store their turns."""

from __future__ import annotations

import atexit
import inspect
import threading
import weakref
from collections.abc import Generator, Iterable
from contextlib import ExitStack
from typing import Any

from ..shared import new_lock, reset_in_child

__all__ = ["close_at_exit"]


EXIT_TIMEOUT_SECONDS = 10.0


class _OpenStreams:
    """Generators of streams that were begun. Does not keep them alive."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._streams: weakref.WeakSet[Generator[Any, None, None]] = weakref.WeakSet()

    def add(self, stream: Generator[Any, None, None]) -> None:
        with self._lock:
            self._streams.add(stream)

    def close_all(self, timeout_seconds: float = EXIT_TIMEOUT_SECONDS) -> None:
        """Close all streams, also if one of them raises. Waits for `timeout_seconds` at most."""
        with self._lock:
            streams = list(self._streams)
        if not streams:
            return
        thread = threading.Thread(target=_close_each, args=(streams,), name="toolsearch-exit", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # Python 3.12 does not start threads in functions of atexit
            _close_each(streams)
        else:
            thread.join(timeout_seconds)

    def reset_after_fork(self) -> None:
        """Forget the streams of the parent, which goes on with them."""
        self._streams = weakref.WeakSet()


def _close_each(streams: Iterable[Generator[Any, None, None]]) -> None:
    with ExitStack() as stack:
        for stream in streams:
            stack.callback(_close, stream)


def _close(stream: Generator[Any, None, None]) -> None:
    if (
        inspect.getgeneratorstate(stream) != inspect.GEN_RUNNING
    ):  # a daemon thread that is inside of the stream cannot be interrupted
        stream.close()


_open_streams = _OpenStreams()
reset_in_child(_open_streams)
atexit.register(_open_streams.close_all)


def close_at_exit(stream: Generator[Any, None, None]) -> None:
    """Close `stream` when the program ends, if it still exists.

    Later, while the interpreter is finalizing, nothing can be stored anymore.
    """
    _open_streams.add(stream)
