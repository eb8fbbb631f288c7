"""`SessionToolIndex`: sessions over any index. Equal sets share a searcher, turns hold leases, idle sessions go."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock

from ...errors import ConfigurationError
from ...eviction import EvictionStrategy, LruEviction
from ...eviction.protocols import checked_strategy
from ...indexes.protocols import ToolIndex
from ...indexes.reference import ToolReference
from ...indexes.registry import resolve_index
from ...indexes.response import SearchMetadata, ToolSearchResponse
from .lease import SessionLease, search_with
from .record import SessionRecord
from .searcher_cache import SearcherCache, SearcherHandle
from .tool_set import ToolSet

__all__ = ["SessionLease", "SessionRecord", "SessionToolIndex", "ToolSearchRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSearchRequest:
    """A search within one session's tools.

    Args:
        session_id: whose tools; any hashable value, e.g. a string or a (tenant, session) pair.
        query: what to look for.
        max_results: at most this many hits; None means 5.
        category: only tools with this source or tag.

    Example:
        >>> ToolSearchRequest(session_id=("acme", "42"), query="weather").max_results is None
        True
    """

    session_id: Hashable
    query: str
    max_results: int | None = None
    category: str | None = None


class _Entry:
    """A session in the table: its record, the searcher of its latest set, and who is using it."""

    __slots__ = ("handle", "leases", "proposed", "record")

    def __init__(self, handle: SearcherHandle) -> None:
        self.record = SessionRecord()
        self.handle: SearcherHandle | None = handle  # None once it is cleared
        self.leases = 0
        self.proposed = False


class SessionToolIndex:
    """Gives any index sessions. Safe from several threads; keys are opaque, so no session affects another.

    A session is used by `index`, `search` and `lease`; each use is reported to the eviction strategy, and the sessions
    it proposes go, except those in the middle of a turn: they go when their last lease closes, unless a newer use has
    withdrawn the proposal. The searches of a turn are part of that one use. Under `AlwaysEvict`, which proposes the
    current session too, a session goes at the end of its turn or, used without a lease, at the next use of another.

    An index is never built and a searcher never runs or dies under a lock; the strategy's methods run under one, see
    `EvictionStrategy`.

    Args:
        index: an index, or the name of one: ``"regex"``, ``"bm25"``, ``"vector"``, ``"hybrid"`` or a plug-in's.
        eviction: which sessions to forget; `LruEviction(1000)` if None. It belongs to this object alone.

    Raises:
        ConfigurationError: if `index` is neither an index nor the name of one, or `eviction` is not a strategy.

    Example:
        >>> sessions = SessionToolIndex("regex")
        >>> sessions.index("ann", [ToolReference(name="get_weather"), ToolReference(name="send_mail")])
        >>> sessions.search(ToolSearchRequest(session_id="ann", query="weather")).names
        ('get_weather',)
        >>> sessions.search(ToolSearchRequest(session_id="bob", query="weather")).reason_code
        'unknown_session'
    """

    def __init__(self, index: ToolIndex | str = "bm25", eviction: EvictionStrategy | None = None) -> None:
        self._cache = SearcherCache(resolve_index(index))
        self._eviction = checked_strategy(LruEviction(1000) if eviction is None else eviction)
        self._entries: dict[Hashable, _Entry] = {}
        self._lock = Lock()
        self._ended: deque[tuple[Hashable, _Entry]] = deque()  # turns that ended and are not yet counted off

    def index(self, session_id: Hashable, tools: ToolSet | Iterable[ToolReference]) -> None:
        """Let `session_id` search `tools` from now on; builds only if no session has an equal set.

        If the build fails, the session keeps the set it had. Revealed tools stay.

        Raises:
            ConfigurationError: if the session id is None, blank or unhashable.
            DuplicateToolError: if two tools have one name.
            IndexingError: if the set cannot be indexed.
        """
        self._enter(_checked(session_id), _tool_set(tools), turn=False)

    def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        """Return the tools of the request's session that fit its query; an unknown session has none.

        Raises:
            ConfigurationError: if the session id is None, blank or unhashable, or the query is not a string.
        """
        key = _checked(request.session_id)
        if not isinstance(request.query, str):
            raise ConfigurationError(f"a query is a string, not {type(request.query).__name__}")
        evicted: list[_Entry] = []
        handle: SearcherHandle | None = None
        with self._locked():
            entry = self._entries.get(key)
            if entry is not None:
                evicted = self._evict(entry, self._eviction.touch(key))
                handle = entry.handle
        del entry, evicted  # outside the lock
        if handle is None:
            return self._unknown(request)
        return search_with(handle.searcher, request.query, request.max_results, request.category)

    def evict(self, session_id: Hashable) -> None:
        """Forget a session, at once; an unknown one is ignored.

        A turn under way goes on with the tools, the searcher and the record it holds; what it discovers from now on
        goes with it. The session's next turn starts from nothing.

        Raises:
            ConfigurationError: if the session id is None, blank or unhashable.
        """
        key = _checked(session_id)
        with self._locked():
            entry = self._entries.pop(key, None)
            self._eviction.forget(key)
        if entry is not None:
            entry.handle = None  # a turn under way keeps its own, which may be another

    def lease(self, session_id: Hashable | None, tools: ToolSet | Iterable[ToolReference]) -> SessionLease:
        """Begin a turn of `session_id` over `tools`, built if no session has an equal set.

        The session is not evicted before the lease is closed; use it in a ``with`` statement. Without a session id
        the session is an ephemeral one: not in the table, unknown to the eviction strategy, shared with nobody and
        gone with the lease, but using the same shared searchers.

        Raises:
            ConfigurationError: if the session id is blank or unhashable.
            DuplicateToolError: if two tools have one name.
            IndexingError: if the set cannot be indexed; a session that has a set keeps it.
        """
        tool_set = _tool_set(tools)
        if session_id is None:
            handle = self._cache.get(tool_set)
            return SessionLease(SessionRecord(), tool_set, handle)
        key = _checked(session_id)
        entry, handle = self._enter(key, tool_set, turn=True)
        return SessionLease(entry.record, tool_set, handle, partial(self._leave, key, entry))

    def record(self, session_id: Hashable) -> SessionRecord | None:
        """Return what a session has found so far, or None if it is unknown; that is not a use of it.

        Raises:
            ConfigurationError: if the session id is None, blank or unhashable.
        """
        key = _checked(session_id)
        with self._locked():
            entry = self._entries.get(key)
            return None if entry is None else entry.record

    @property
    def index_type(self) -> str:
        """The class name of the index that builds the searchers."""
        return type(self._cache.index).__name__

    def session_ids(self) -> tuple[Hashable, ...]:
        """Return the ids of all sessions, in the order they were made."""
        with self._locked():
            return tuple(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, session_id: Hashable) -> bool:
        return session_id in self._entries

    def __repr__(self) -> str:
        index, eviction = type(self._cache.index).__name__, self._eviction
        return f"<SessionToolIndex over {index}, {eviction!r}: {len(self)} sessions, {len(self._cache)} searchers>"

    def _enter(self, key: Hashable, tools: ToolSet, *, turn: bool) -> tuple[_Entry, SearcherHandle]:
        """Give the session `tools`, count a use and, for a turn, a lease. Nothing changes if the build fails."""
        with self._locked():
            held = pinned = self._entries.get(key)
            handle = pinned.handle if pinned is not None else None
            if pinned is not None:
                pinned.leases += 1  # a build may take long; others' uses must not evict the session meanwhile
        try:
            if handle is None or handle.degraded or handle.tools != tools:
                handle = self._cache.get(tools)
            with self._locked():
                proposed = self._eviction.touch(key)
                entry = self._entries.get(key)
                if entry is None:  # new, or cleared meanwhile: then this use is as if it had begun after that
                    entry = self._entries[key] = _Entry(handle)
                if entry is not pinned:
                    entry.leases += 1
                    held = entry
                replaced, entry.handle = entry.handle, handle
                evicted = self._evict(entry, proposed)
                if not turn:
                    entry.leases -= 1
            del replaced, evicted  # outside the lock
        except BaseException:
            if held is not None:
                self._leave(key, held)
            raise
        return entry, handle

    def _evict(self, used: _Entry, proposed: Iterable[Hashable]) -> list[_Entry]:
        """Take out what may go after a use of `used`; the caller drops it outside the lock."""
        evicted: list[_Entry] = []
        used.proposed = False
        for session_id in proposed:
            entry = self._entries.get(session_id)
            if entry is not None and (entry.leases or entry is used):
                entry.proposed = True
                continue
            if entry is not None:
                evicted.append(self._entries.pop(session_id))
            self._eviction.forget(session_id)
        return evicted

    def _leave(self, key: Hashable, entry: _Entry) -> None:
        self._ended.append((key, entry))
        self._count_off()

    def _count_off(self) -> None:
        """Take note of ended turns.

        A lease may be closed by the garbage collector at any moment, even in a thread that is just now inside the
        lock. So closing never waits for the lock: it queues, and either gets the lock here or leaves the queue to the
        thread that holds it, which looks here after letting go.
        """
        evicted: list[_Entry] = []
        while self._ended and self._lock.acquire(blocking=False):
            try:
                while self._ended:
                    key, entry = self._ended.popleft()
                    entry.leases -= 1
                    if entry.proposed and not entry.leases and self._entries.get(key) is entry:
                        evicted.append(self._entries.pop(key))
                        self._eviction.forget(key)
            finally:
                self._lock.release()
        del evicted

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        finally:
            self._count_off()

    def _unknown(self, request: ToolSearchRequest) -> ToolSearchResponse:
        return ToolSearchResponse(
            metadata=SearchMetadata(type(self._cache.index).__name__, request.query),
            reason=f"No tools are indexed for the session {request.session_id!r}; it is new, or it was forgotten.",
            reason_code="unknown_session",
        )


def _checked(session_id: Hashable | None) -> Hashable:
    if session_id is None or (isinstance(session_id, str) and not session_id.strip()):
        raise ConfigurationError(
            f"a session id is needed here, not {session_id!r}; any hashable value that is not blank"
        )
    try:
        hash(session_id)
    except TypeError as error:
        raise ConfigurationError(f"a session id must be hashable, {session_id!r} is not") from error
    return session_id


def _tool_set(tools: ToolSet | Iterable[ToolReference]) -> ToolSet:
    return tools if isinstance(tools, ToolSet) else ToolSet(tools)
