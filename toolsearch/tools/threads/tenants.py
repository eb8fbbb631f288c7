"""The tenant that the current code works for. Without another one, code works for the tenant of its caller."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["acting_for", "current_tenant"]

_tenant: ContextVar[Hashable | None] = ContextVar("toolsearch_tenant", default=None)


def current_tenant(tenant: Hashable | None = None) -> Hashable | None:
    """Return `tenant`, or the current one if it is None."""
    return _tenant.get() if tenant is None else tenant


@contextmanager
def acting_for(tenant: Hashable | None) -> Iterator[None]:
    """Make `tenant` the current one until the end of the block; None leaves it as it is."""
    if tenant is None:
        yield
        return
    token = _tenant.set(tenant)
    try:
        yield
    finally:
        _tenant.reset(token)
