"""Daemon threads that run functions and are used again.

They are daemons, so that a function that never returns does not keep the program from ending. The worker threads of
anyio are not.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue

from ...shared.fork import reset_in_child

__all__ = ["start_in_thread"]

_IDLE_SECONDS = 10.0


class _Worker:
    def __init__(self, idle: deque[_Worker], job: Callable[[], None]) -> None:
        self._idle = idle
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._jobs.put(job)
        threading.Thread(target=self._work, name="toolsearch-worker", daemon=True).start()

    def give(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)

    def _work(self) -> None:
        job: Callable[[], None] | None = self._jobs.get()
        while job is not None:
            job()
            del job  # an idle thread must not keep what it worked on
            self._idle.append(self)
            job = self._next_job()

    def _next_job(self) -> Callable[[], None] | None:
        try:
            return self._jobs.get(timeout=_IDLE_SECONDS)
        except Empty:
            try:
                self._idle.remove(self)
            except ValueError:  # somebody took this worker just now, so a job follows
                return self._jobs.get()
            return None


class _Workers:
    """The idle workers of the process. Operations of a deque are atomic, so it needs no lock."""

    def __init__(self) -> None:
        self._idle: deque[_Worker] = deque()
        reset_in_child(self)

    def start(self, job: Callable[[], None]) -> None:
        try:
            worker = self._idle.pop()
        except IndexError:
            _Worker(self._idle, job)
        else:
            worker.give(job)

    def reset_after_fork(self) -> None:
        self._idle = deque()


_workers = _Workers()


def start_in_thread(job: Callable[[], None]) -> None:
    """Run `job`, which must not raise, in a daemon thread at once.

    Raises:
        RuntimeError: If the system cannot start another thread.
    """
    _workers.start(job)
