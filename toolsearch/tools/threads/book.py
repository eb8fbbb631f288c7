"""The books of fair slots: who holds how many, who waits, and who is next."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, Protocol, TypeVar

__all__ = ["Book", "Counts", "Limits", "Waiter"]


class Waiter(Protocol):
    """A request for a slot, as the books know it: its tenant, its source, and its place in the order of requests."""

    tenant: Hashable
    source: Hashable | None
    number: int


W = TypeVar("W", bound=Waiter)


_KEPT_SHARE = 8
"""One in so many slots is kept for tenants that have none."""


class Counts:
    """Numbers of slots: all, by tenant, and by tenant and source."""

    def __init__(self) -> None:
        self.all = 0
        self.by_tenant: Counter[Hashable] = Counter()
        self.by_source: Counter[tuple[Hashable, Hashable]] = Counter()

    def add(self, slot: Waiter, number: int) -> None:
        """Add `number`, which can be negative, for the tenant and source of a slot."""
        self.all += number
        self.by_tenant[slot.tenant] += number
        if not self.by_tenant[slot.tenant]:
            del self.by_tenant[slot.tenant]
        key = (slot.tenant, slot.source)
        self.by_source[key] += number
        if not self.by_source[key]:
            del self.by_source[key]


class Limits:
    """The rule that decides who gets a slot.

    Args:
        max_slots: The number of slots.
        per_tenant: The largest number for one tenant. None: fewer than are free, without the eighth of all slots that
            is kept for tenants that have none.
        per_source: The largest number for one source of a tenant. None: fewer than its tenant could still get.
    """

    def __init__(self, max_slots: int, per_tenant: int | None, per_source: int | None) -> None:
        self.max_slots = max_slots
        self.per_tenant = per_tenant
        self.per_source = per_source

    def admit(self, held: Counts, tenant: Hashable, source: Hashable | None) -> bool:
        """Return whether a source of a tenant gets another slot. Without a source, only the tenant counts."""
        free = self.max_slots - held.all
        of_tenant = held.by_tenant[tenant]
        if free <= 0 or not of_tenant:
            return free > 0
        if self.per_tenant is None:
            left = free - self.max_slots // _KEPT_SHARE - of_tenant
        else:
            left = min(free, self.per_tenant - of_tenant)
        if source is None or left <= 0:
            return left > 0
        return held.by_source[tenant, source] < (left if self.per_source is None else self.per_source)


class Book(Generic[W]):
    """The holders and the waiting ones. Not thread-safe: its owner holds a lock.

    Attributes:
        held: The slots in use.
        abandoned: Those of them whose work nobody waits for any more.
        waiting: The number of waiting slots.
    """

    def __init__(self, limits: Limits) -> None:
        self.held = Counts()
        self.abandoned = Counts()
        self.waiting = 0
        self._limits = limits
        # First come, first served within a source; the tenants take turns.
        self._queues: OrderedDict[Hashable, dict[Hashable, OrderedDict[W, None]]] = OrderedDict()

    def may_start(self, slot: W) -> bool:
        """Return whether a new slot is admitted, and nobody of its tenant and source waits before it."""
        waits = slot.source in self._queues.get(slot.tenant, ())
        return not waits and self._limits.admit(self.held, slot.tenant, slot.source)

    def is_hopeless(self, slot: W) -> bool:
        """Return whether a slot would not be admitted even if all work that somebody waits for had ended."""
        return not self._limits.admit(self.abandoned, slot.tenant, slot.source)

    def enqueue(self, slot: W) -> None:
        """Add a slot at the end of its queue."""
        self._queues.setdefault(slot.tenant, {}).setdefault(slot.source, OrderedDict())[slot] = None
        self.waiting += 1

    def dequeue(self, slot: W) -> None:
        """Remove a waiting slot."""
        queues = self._queues[slot.tenant]
        del queues[slot.source][slot]
        self.waiting -= 1
        if not queues[slot.source]:
            del queues[slot.source]
        if not queues:
            del self._queues[slot.tenant]

    def next_slot(self) -> W | None:
        """Remove and return the next waiting slot that is admitted, if there is one."""
        if self.held.all >= self._limits.max_slots:
            return None
        for tenant, queues in self._queues.items():
            heads = (next(iter(queue)) for queue in queues.values())
            admitted = [head for head in heads if self._limits.admit(self.held, tenant, head.source)]
            if admitted:
                first = min(admitted, key=lambda slot: slot.number)
                self._queues.move_to_end(tenant)
                self.dequeue(first)
                return first
        return None

    def waiting_slots(self) -> Iterator[W]:
        """Yield all waiting slots."""
        for queues in self._queues.values():
            for queue in queues.values():
                yield from queue
