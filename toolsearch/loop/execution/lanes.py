"""Lanes of a batch on threads: the caller's, and as many others as are free."""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from ...tools.threads.running import start_in_slot
from ...tools.threads.slots import FairSlots, Slot

__all__ = ["Lane", "RunLane", "run_lanes"]

_MAX_HELPERS = 15


@dataclass(frozen=True, slots=True)
class Lane:
    """Calls that run one after another.

    Args:
        positions: Their positions in the batch.
        source: What the lane counts for when threads are shared.
    """

    positions: list[int]
    source: Hashable | None


RunLane: TypeAlias = Callable[[Lane, Callable[[], bool]], None]
"""Runs one lane. Between two calls it asks its second argument whether the batch was stopped."""


def run_lanes(lanes: list[Lane], run: RunLane, slots: FairSlots, tenant: Hashable | None) -> None:
    """Run all lanes, the first one on this thread.

    An exception that `run` raises ends the batch at once, and so does Ctrl-C. Then lanes that run already go on in
    their daemon threads, and nothing more begins.
    """
    if len(lanes) > 1:
        _Lanes(lanes, run, slots, tenant).run()
    elif lanes:
        run(lanes[0], lambda: False)


class _Lanes:
    def __init__(self, lanes: list[Lane], run: RunLane, slots: FairSlots, tenant: Hashable | None) -> None:
        self._run = run
        self._slots = slots
        self._tenant = tenant
        self._context = contextvars.copy_context()
        self._lock = threading.Lock()
        self._untouched = deque(lanes)
        self._asked: dict[int, tuple[Lane, Slot]] = {}  # lanes that wait for a thread, in order
        self._helpers = 0
        self._unfinished = len(lanes)
        self._wake = threading.Event()  # all lanes have ended, one came back, or the batch was stopped
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            first = self._untouched.popleft()
            self._ask_for_helpers()
            self._run_one(first)
            while self._unfinished and self._error is None:
                lane = self._take()
                if lane is not None:
                    self._run_one(lane)
                else:
                    self._wake.wait()
                    self._wake.clear()
        except BaseException as error:  # Ctrl-C while waiting
            self._stop(error)
        if self._error is not None:
            raise self._error

    def _take(self) -> Lane | None:
        """Return a lane for the caller's thread: one that waits for a thread, or the next."""
        with self._lock:
            if self._error is not None:
                return None
            if not self._asked:
                return self._untouched.popleft() if self._untouched else None
            lane, slot = self._asked.pop(next(iter(self._asked)))
        slot.abandon()
        self._ask_for_helpers()
        return lane

    def _ask_for_helpers(self) -> None:
        """Ask for a thread for each of the next lanes."""
        while True:
            with self._lock:
                if not self._untouched or self._error is not None:
                    return
                if self._helpers + len(self._asked) >= _MAX_HELPERS:
                    return
                lane = self._untouched.popleft()
                # The calls of a batch wait for nobody, so `waits` is False: they do not borrow the caller's slot.
                slot = self._slots.request(self._tenant, lane.source, partial(self._granted, id(lane)), waits=False)
                if not slot.settled:
                    self._asked[id(lane)] = (lane, slot)
                    continue
                if not slot.held:  # refused; the caller's thread runs the lane
                    self._untouched.appendleft(lane)
                    return
                self._helpers += 1
            self._start(lane, slot)

    def _granted(self, key: int) -> None:
        with self._lock:
            found = self._asked.pop(key, None)
            if found is None:  # the caller's thread took the lane
                return
            lane, slot = found
            if not slot.held:  # refused; the caller's thread runs the lane
                self._untouched.append(lane)
                self._wake.set()
                return
            self._helpers += 1
        self._start(lane, slot)

    def _start(self, lane: Lane, slot: Slot) -> None:
        try:
            start_in_slot(slot, partial(self._help, lane), self._context.copy())
        except RuntimeError:  # the system has no more threads
            with self._lock:
                self._helpers -= 1
                self._untouched.append(lane)
            self._wake.set()

    def _help(self, lane: Lane) -> None:
        self._run_one(lane)
        with self._lock:
            self._helpers -= 1
        self._ask_for_helpers()

    def _run_one(self, lane: Lane) -> None:
        try:
            self._run(lane, lambda: self._error is not None)
        except BaseException as error:  # Ctrl-C, sys.exit: nothing more is begun
            self._stop(error)
        with self._lock:
            self._unfinished -= 1
            if not self._unfinished:
                self._wake.set()

    def _stop(self, error: BaseException) -> None:
        with self._lock:
            self._error = self._error or error
            asked, self._asked = self._asked, {}
            self._untouched.clear()
        for _, slot in asked.values():
            slot.abandon()
        self._wake.set()
