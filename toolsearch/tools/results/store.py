"""Rests of long tool results, kept for a while in this process."""

from __future__ import annotations

import hashlib
import sys
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TypeAlias
from weakref import ref

from ...shared.fork import new_lock
from ..names import MAX_NAME_LENGTH
from ..tool_type import Tool

__all__ = ["RESULT_STORE", "ResultStore", "SessionKey", "StoredResult"]

SessionKey: TypeAlias = tuple[str | None, Hashable]
"""The tenant and the session."""

_SESSION_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A long result as a whole.

    Args:
        text: The text.
        max_tokens: The limit by which it was cut.
        identity: The identity of the tool that returned it.
        tool: A weak reference to the tool, so that a result does not keep a server running.

    Example:
        >>> tool = Tool("list_files")
        >>> StoredResult("a long text", 100, tool.identity, ref(tool)).identity
        'list_files'
    """

    text: str
    max_tokens: float
    identity: str
    tool: ref[Tool]


@dataclass(slots=True)
class _Session:
    results: OrderedDict[str, StoredResult] = field(default_factory=OrderedDict)
    size: int = _SESSION_BYTES
    is_announced: bool = False
    tools_before: frozenset[str] | None = None


@dataclass(slots=True)
class _Tenant:
    sessions: OrderedDict[Hashable, _Session] = field(default_factory=OrderedDict)
    size: int = 0


class ResultStore:
    """Long results by tenant, session and handle, bounded in bytes. Safe for use from several threads.

    The oldest results of a session are removed first, in a tenant those of the session that was used least recently,
    and in the whole store those of the tenant that holds the most. So one tenant cannot remove the results of others.

    Args:
        max_session_bytes: The most bytes of one session. A longer result is not stored.
        max_tenant_bytes: The most bytes of one tenant.
        max_bytes: The most bytes of the store.

    Example:
        >>> store = ResultStore()
        >>> handle = store.put(("acme", "ann"), Tool("list_files"), "a long text", 100)
        >>> store.get(("acme", "ann"), handle).text, store.get(("acme", "bob"), handle)
        ('a long text', None)
    """

    def __init__(
        self,
        *,
        max_session_bytes: int = 10_000_000,
        max_tenant_bytes: int = 50_000_000,
        max_bytes: int = 200_000_000,
    ) -> None:
        self._limits = (max_session_bytes, max_tenant_bytes, max_bytes)
        self._tenants: dict[str | None, _Tenant] = {}
        self._size = 0
        self._lock = new_lock()

    @property
    def size(self) -> int:
        """The bytes of all sessions."""
        return self._size

    def put(self, key: SessionKey, tool: Tool, text: str, max_tokens: float) -> str | None:
        """Store a result. Return its handle, or None if it is too long."""
        added = sys.getsizeof(text)
        if added + _SESSION_BYTES > min(self._limits):
            return None
        # By content, so that equal results are equal for the model, and no process has another text under this handle.
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        handle = f"{tool.name[:MAX_NAME_LENGTH]}/{digest}"
        with self._lock:
            tenant, session = self._open(key)
            if handle in session.results:
                self._remove(tenant, session, handle)
            session.results[handle] = StoredResult(text, max_tokens, tool.identity, ref(tool))
            self._grow(tenant, session, added)
            self._enforce(tenant, session)
            return handle if handle in session.results else None

    def get(self, key: SessionKey, handle: str) -> StoredResult | None:
        """Return a result of the session, or None."""
        with self._lock:
            session = self._find(key)
            return None if session is None else session.results.get(handle)

    def announce(self, key: SessionKey, tools_before: frozenset[str] | None = None) -> frozenset[str] | None:
        """Note that the session is sent the read tool, after the tools with these names. None means at the end.

        Returns:
            The names of the first note of the session, which stays.
        """
        with self._lock:
            tenant, session = self._open(key)
            if not session.is_announced:
                session.is_announced, session.tools_before = True, tools_before
                self._grow(tenant, session, sum(100 + len(name) for name in tools_before or ()))
                self._enforce(tenant, session)
            return session.tools_before

    def is_announced(self, key: SessionKey) -> bool:
        """Return whether the session is sent the read tool."""
        with self._lock:
            session = self._find(key)
            return session is not None and session.is_announced

    def discard(self, key: SessionKey) -> None:
        """Remove a session with its results."""
        with self._lock:
            tenant = self._tenants.get(key[0])
            session = tenant.sessions.pop(key[1], None) if tenant is not None else None
            if tenant is not None and session is not None:
                self._shrink(tenant, session.size)

    def _open(self, key: SessionKey) -> tuple[_Tenant, _Session]:
        tenant = self._tenants.setdefault(key[0], _Tenant())
        session = tenant.sessions.get(key[1])
        if session is None:
            session = tenant.sessions[key[1]] = _Session(size=0)
            self._grow(tenant, session, _SESSION_BYTES)
        tenant.sessions.move_to_end(key[1])
        return tenant, session

    def _find(self, key: SessionKey) -> _Session | None:
        tenant = self._tenants.get(key[0])
        if tenant is None or key[1] not in tenant.sessions:
            return None
        tenant.sessions.move_to_end(key[1])
        return tenant.sessions[key[1]]

    def _grow(self, tenant: _Tenant, session: _Session, size: int) -> None:
        session.size += size
        tenant.size += size
        self._size += size

    def _shrink(self, tenant: _Tenant, size: int) -> None:
        tenant.size -= size
        self._size -= size
        if not tenant.sessions:
            self._tenants = {name: one for name, one in self._tenants.items() if one is not tenant}

    def _enforce(self, tenant: _Tenant, session: _Session) -> None:
        max_session_bytes, max_tenant_bytes, max_bytes = self._limits
        while session.size > max_session_bytes and session.results:
            self._remove_oldest(tenant, session)
        while tenant.size > max_tenant_bytes:
            self._evict_from(tenant)
        while self._size > max_bytes:
            self._evict_from(max(self._tenants.values(), key=lambda one: one.size))

    def _remove_oldest(self, tenant: _Tenant, session: _Session) -> None:
        self._remove(tenant, session, next(iter(session.results)))

    def _remove(self, tenant: _Tenant, session: _Session, handle: str) -> None:
        size = sys.getsizeof(session.results.pop(handle).text)
        session.size -= size
        self._shrink(tenant, size)

    def _evict_from(self, tenant: _Tenant) -> None:
        """Remove the oldest result of the session that was used least recently, or the session if it has none."""
        session_id, session = next(iter(tenant.sessions.items()))
        if session.results:
            self._remove_oldest(tenant, session)
        else:
            del tenant.sessions[session_id]
            self._shrink(tenant, session.size)


RESULT_STORE = ResultStore()
"""The store of this process. Its bounds hold for all clients together."""
