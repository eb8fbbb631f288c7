"""The end of a child process's standard error, which is not shown on the terminal."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

__all__ = ["StderrTail"]

_MAX_KEPT_BYTES = 8192
_CHUNK_BYTES = 65536


class StderrTail:
    """A reader of a pipe on the running event loop that keeps the last bytes.

    On loops that cannot watch a pipe (Windows), standard error is discarded and the tail is empty.
    """

    def __init__(self) -> None:
        self._kept = b""
        self._fd: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def sink(self) -> Iterator[TextIO]:
        """Yield a file for the child to inherit; leaving closes this process's copy, so the pipe can end."""
        read_fd, write_fd = os.pipe()
        try:
            os.set_blocking(read_fd, False)
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(read_fd, self._read)
        except (NotImplementedError, OSError):
            os.close(read_fd)
            os.close(write_fd)
            with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
                yield nowhere
            return
        self._fd = read_fd
        with os.fdopen(write_fd, "w", encoding="utf-8") as file:
            yield file

    def _read(self) -> bool:
        """Read one chunk and return whether there was one."""
        if self._fd is None:
            return False
        try:
            chunk = os.read(self._fd, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self._detach()
            return False
        self._kept = (self._kept + chunk)[-_MAX_KEPT_BYTES:]
        return True

    def _detach(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None and self._loop is not None:
            self._loop.remove_reader(fd)
            os.close(fd)

    def text(self) -> str:
        """Return the end of the output, from the start of a line if possible."""
        self._drain()
        text = self._kept.decode("utf-8", "replace")
        if len(self._kept) == _MAX_KEPT_BYTES:
            text = text.partition("\n")[2] or text
        return text.strip()

    def close(self) -> None:
        """Read the rest and close the pipe; `text` still works."""
        self._drain()
        self._detach()

    def _drain(self) -> None:
        for _ in range(64):  # bounded, because a child that never stops writing must not block the loop
            if not self._read():
                return
