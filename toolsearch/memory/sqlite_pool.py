"""Connections to an SQLite file, lent to one user at a time; a forked process leaves its parent's alone."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite3 import Connection

__all__ = ["ConnectionPool"]

_IDLE_CONNECTIONS = 8


class ConnectionPool:
    """Lends connections, each to one user at a time, and keeps a few idle ones open."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        # Weak: the repository's finalizer holds this object, which must not hold the repository.
        self._connect = weakref.WeakMethod(connect)
        self._idle: list[Connection] = []
        self._lock = Lock()
        self._epoch = 0
        self._process = os.getpid()

    @contextmanager
    def one(self) -> Iterator[Connection]:
        """Lend a connection; after an error it is closed rather than lent again."""
        connection, epoch = self._take()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._lock:
            kept = epoch == self._epoch and len(self._idle) < _IDLE_CONNECTIONS
            if kept:
                self._idle.append(connection)
        if not kept:
            connection.close()

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        with self._lock:
            self._leave_the_parents()
            self._epoch += 1
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> tuple[Connection, int]:
        with self._lock:
            self._leave_the_parents()
            epoch = self._epoch
            if self._idle:
                return self._idle.pop(), epoch
        connect = self._connect()
        assert connect is not None  # the repository is in use
        return connect(), epoch

    def _leave_the_parents(self) -> None:
        # SQLite forbids a forked process both to use and to close the connections of its parent.
        if self._process != os.getpid():
            _OF_PARENTS.extend(self._idle)
            self._idle = []
            self._process = os.getpid()


_OF_PARENTS: list[Connection] = []
