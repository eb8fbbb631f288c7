"""Fair slots: a bounded number of things that run at once, shared between tenants and sources.

By default, a tenant gets a slot while it holds fewer than are free, and a source while it holds fewer than its tenant
could still get. So one tenant alone can hold almost half of the slots, and one source almost a third. An eighth is kept
for tenants that hold none, so they find a free one whatever a few others do.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from enum import Enum
from itertools import count

from ...errors import NoFreeThreadError
from ...shared.fork import new_lock, reset_in_child
from .book import Book, Limits

__all__ = ["FairSlots", "Slot", "current_slot"]

current_slot: ContextVar[Slot | None] = ContextVar("toolsearch_slot", default=None)
"""The slot that the current code runs in. Its own requests may borrow that slot, because it waits for them."""


class _State(Enum):
    WAITING = 0
    HELD = 1
    REFUSED = 2
    OVER = 3


class Slot:
    """A request of a `FairSlots`: it waits, then holds a slot until `release`.

    Attributes:
        tenant: The tenant.
        source: The source, or None if only the tenant counts.
        number: The place in the order of requests.
        outer: The slot of the code that asked for this one; it may be of another `FairSlots`.
    """

    __slots__ = (
        "_abandoned",
        "_begun",
        "_book",
        "_borrowed",
        "_borrower",
        "_borrowers",
        "_lender",
        "_notify",
        "_pool",
        "_state",
        "number",
        "outer",
        "source",
        "tenant",
    )

    def __init__(
        self,
        pool: FairSlots,
        book: Book[Slot],
        number: int,
        tenant: Hashable,
        source: Hashable | None,
        notify: Callable[[], object],
        lender: Slot | None,
    ) -> None:
        self.tenant = tenant
        self.source = source
        self.number = number
        self.outer = current_slot.get()
        self._pool = pool
        self._book = book
        self._notify = notify
        self._state = _State.WAITING
        self._begun = False
        self._abandoned = False
        self._lender = lender
        self._borrowed = False
        self._borrower: Slot | None = None  # who uses this slot while its holder waits
        self._borrowers: OrderedDict[Slot, None] = OrderedDict()  # who would like to

    @property
    def settled(self) -> bool:
        """True if the slot is held or was refused; otherwise `notify` follows."""
        return self._state is not _State.WAITING

    @property
    def held(self) -> bool:
        """True from the grant to the release."""
        return self._state is _State.HELD

    def raise_if_refused(self) -> None:
        """Raise `NoFreeThreadError` if the slot was refused."""
        if self._state is _State.REFUSED:
            raise NoFreeThreadError("no thread is free, because earlier calls that were given up still run; try later")

    def begin(self) -> bool:
        """Record that the work starts. Return False if it must not, because the slot was given up before."""
        return self._pool.begin(self)

    def abandon(self) -> None:
        """Stop waiting for the slot or its work. Work that has begun keeps the slot until it ends."""
        self._pool.abandon(self)

    def release(self) -> None:
        """Give the slot back. Idempotent."""
        self._pool.release(self)


class FairSlots:
    """A bounded number of slots, shared fairly. Thread-safe, and without an event loop.

    A slot whose holder waits for an inner request is lent to it, so inner requests cannot deadlock: at least one of
    them runs.

    Args:
        max_slots: The number of slots.
        per_tenant: The largest number for one tenant. None: see above.
        per_source: The largest number for one source of a tenant. None: see above.
    """

    def __init__(self, max_slots: int, per_tenant: int | None = None, per_source: int | None = None) -> None:
        self._limits = Limits(max_slots, per_tenant, per_source)
        self._book: Book[Slot] = Book(self._limits)
        self._numbers = count()
        self._lock = new_lock()
        reset_in_child(self)

    def reset_after_fork(self) -> None:
        """Free all slots: their holders are threads of the parent."""
        self._book = Book(self._limits)

    @property
    def running(self) -> int:
        """The number of slots in use."""
        return self._book.held.all

    @property
    def waiting(self) -> int:
        """The number of requests that wait."""
        return self._book.waiting

    def request(
        self, tenant: Hashable, source: Hashable | None, notify: Callable[[], object], *, waits: bool = True
    ) -> Slot:
        """Ask for a slot. Never blocks.

        Args:
            tenant: The tenant.
            source: The source, or None if only the tenant counts.
            notify: Called from any thread when a slot that had to wait is held or refused. It must not raise or block.
            waits: Whether the code that holds the current slot waits for this one, so that it can be lent.
        """
        lender = self._find_lender() if waits else None
        with self._lock:
            slot = Slot(self, self._book, next(self._numbers), tenant, source, notify, lender)
            if self._book.may_start(slot):
                self._book.held.add(slot, 1)
                slot._state = _State.HELD
            elif lender is not None and lender._state is _State.HELD and lender._borrower is None:
                _lend(lender, slot)
            elif lender is None and self._book.is_hopeless(slot):
                slot._state = _State.REFUSED
            else:
                self._book.enqueue(slot)
                if lender is not None:
                    lender._borrowers[slot] = None
        return slot

    def begin(self, slot: Slot) -> bool:
        """Record that the work of a slot starts, unless it was given up before."""
        with self._lock:
            slot._begun = slot._state is _State.HELD
            return slot._begun

    def abandon(self, slot: Slot) -> None:
        """Give up a slot. Work that has begun keeps it until it ends."""
        with self._lock:
            if slot._state is _State.WAITING:
                self._dequeue(slot)
                slot._state = _State.OVER
                return
            if slot._state is _State.HELD and slot._begun:
                settled = self._abandon(slot) if slot._book is self._book else []
            else:
                settled = self._release(slot)
        _notify(settled)

    def release(self, slot: Slot) -> None:
        """Give a slot back, and grant it to the next."""
        with self._lock:
            settled = self._release(slot)
        _notify(settled)

    def _find_lender(self) -> Slot | None:
        slot = current_slot.get()
        while slot is not None and not (slot._pool is self and slot._state is _State.HELD):
            slot = slot.outer
        return slot

    def _release(self, slot: Slot) -> list[Slot]:
        if slot._state is not _State.HELD:
            return []
        slot._state = _State.OVER
        if slot._book is not self._book:  # of the process that this one was forked from
            return []
        settled: list[Slot] = []
        if slot._borrowed and slot._lender is not None:
            settled += self._lend_on(slot._lender)
        else:
            self._book.held.add(slot, -1)
            if slot._abandoned:
                self._book.abandoned.add(slot, -1)
        if slot._borrower is not None:
            self._promote(slot._borrower)
        for borrower in slot._borrowers:
            borrower._lender = None
        slot._borrowers.clear()
        return settled + self._grant()

    def _abandon(self, slot: Slot) -> list[Slot]:
        settled: list[Slot] = []
        if slot._borrowed and slot._lender is not None:  # its lender needs it for other work
            lender = slot._lender
            self._promote(slot)
            settled += self._lend_on(lender)
        if not slot._abandoned:
            slot._abandoned = True
            self._book.abandoned.add(slot, 1)
        hopeless = [s for s in self._book.waiting_slots() if s._lender is None and self._book.is_hopeless(s)]
        for waiting in hopeless:
            self._dequeue(waiting)
            waiting._state = _State.REFUSED
        return settled + hopeless

    def _promote(self, slot: Slot) -> None:
        """Count a borrowed slot by itself, even above the limit: its work cannot be stopped."""
        slot._borrowed = False
        slot._lender = None
        self._book.held.add(slot, 1)

    def _lend_on(self, lender: Slot) -> list[Slot]:
        lender._borrower = None
        if lender._state is not _State.HELD or not lender._borrowers:
            return []
        borrower = next(iter(lender._borrowers))
        self._dequeue(borrower)
        _lend(lender, borrower)
        return [borrower]

    def _grant(self) -> list[Slot]:
        granted: list[Slot] = []
        while (slot := self._book.next_slot()) is not None:
            if slot._lender is not None:
                slot._lender._borrowers.pop(slot, None)
            self._book.held.add(slot, 1)
            slot._state = _State.HELD
            granted.append(slot)
        return granted

    def _dequeue(self, slot: Slot) -> None:
        if slot._lender is not None:
            slot._lender._borrowers.pop(slot, None)
        if slot._book is self._book:
            self._book.dequeue(slot)


def _lend(lender: Slot, borrower: Slot) -> None:
    lender._borrower = borrower
    borrower._borrowed = True
    borrower._state = _State.HELD


def _notify(settled: list[Slot]) -> None:
    for slot in settled:
        slot._notify()
