"""Connection pool for an SQLite file, safe with threads and after a fork."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..shared.fork import new_lock

if TYPE_CHECKING:
    from sqlite3 import Connection

__all__ = ["ConnectionPool"]

MAX_IDLE_CONNECTIONS = 8

_inherited_by_fork: list[Connection] = []
"""Connections of a parent process, kept referenced so that the child never closes them."""


class ConnectionPool:
    """Pool that lends each connection to one user at a time, and keeps a few idle ones open."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        # Weak: the repository's finalizer holds this object, which must not hold the repository.
        self._connect = weakref.WeakMethod(connect)
        self._idle: list[Connection] = []
        self._lock = new_lock()
        self._epoch = 0  # raised by close(), so that lent connections of an earlier epoch are closed on return
        self._process = os.getpid()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection. After an error it is closed and not lent again."""
        connection, epoch = self._take()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._lock:
            kept = epoch == self._epoch and len(self._idle) < MAX_IDLE_CONNECTIONS
            if kept:
                self._idle.append(connection)
        if not kept:
            connection.close()

    def close(self) -> None:
        """Close idle connections now and lent ones when they are returned."""
        with self._lock:
            self._drop_inherited()
            self._epoch += 1
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> tuple[Connection, int]:
        with self._lock:
            self._drop_inherited()
            epoch = self._epoch
            if self._idle:
                return self._idle.pop(), epoch
        connect = self._connect()
        assert connect is not None  # the repository is in use
        return connect(), epoch

    def _drop_inherited(self) -> None:
        # SQLite forbids a forked process both to use and to close the connections of its parent.
        if self._process != os.getpid():
            _inherited_by_fork.extend(self._idle)
            self._idle = []
            self._process = os.getpid()
