"""Table of sessions over one index: equal tool sets share a searcher, and idle sessions are evicted."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from ...errors import ConfigurationError
from ...eviction import EvictionStrategy, LruEviction
from ...eviction.protocols import validate_strategy
from ...indexes.protocols import ToolIndex
from ...indexes.reference import ToolReference
from ...indexes.registry import resolve_index
from ...indexes.response import SearchMetadata, ToolSearchResponse
from ...shared.fork import new_lock, reset_in_child
from .lease import SessionLease, search_with
from .record import SessionRecord
from .request import ToolSearchRequest
from .searcher_cache import SearcherCache, SearcherHandle
from .tool_set import ToolSet, coerce_tool_set

__all__ = ["SessionToolIndex"]

DEFAULT_MAX_SESSIONS = 1000


class _Entry:
    """A session in the table: its record, the searcher of its latest tool set, and the number of its leases."""

    __slots__ = ("handle", "leases", "proposed", "record")

    def __init__(self, handle: SearcherHandle | None) -> None:
        self.record = SessionRecord()
        self.handle = handle  # None after the session was evicted by hand
        self.leases = 0
        self.proposed = False  # the eviction strategy has proposed it

    def without_leases(self) -> _Entry:
        """Return the same session for a forked child, where no turn uses it."""
        copy = _Entry(self.handle)
        copy.record = self.record
        copy.record.unlock()
        return copy


class SessionToolIndex:
    """Sessions over any index. Safe from several threads. Keys are opaque, so sessions are isolated from each other.

    `index`, `search` and `lease` use a session, and each use is reported to the eviction strategy. The sessions that
    the strategy proposes are evicted. A session in the middle of a turn is evicted when its last lease closes, unless
    it is used again before. The searches of a turn belong to that one use. `AlwaysEvict` also proposes the current
    session: it is evicted at the end of its turn or, if it is used without a lease, when another session is used.

    No index is built, and no searcher runs or is destroyed, under a lock. Only the strategy's methods run under one;
    see `EvictionStrategy`.

    Args:
        index: An index, or the name of one: ``"regex"``, ``"bm25"``, ``"vector"``, ``"hybrid"`` or a plug-in's.
        eviction: The strategy that evicts sessions, `LruEviction(1000)` by default. Objects must not share one.

    Raises:
        ConfigurationError: If `index` is neither an index nor the name of one, or `eviction` is not a strategy.

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
        self._eviction: EvictionStrategy = LruEviction(DEFAULT_MAX_SESSIONS) if eviction is None else eviction
        validate_strategy(self._eviction)
        self._entries: dict[Hashable, _Entry] = {}
        self._lock = new_lock()
        self._ended: deque[tuple[Hashable, _Entry]] = deque()  # ended turns, not processed yet
        reset_in_child(self)

    def reset_after_fork(self) -> None:
        """End the leases of other threads: a forked child does not have these threads."""
        self._ended = deque()
        # New entries, so that a lease of the thread that forked does not end what a later turn holds.
        self._entries = {key: entry.without_leases() for key, entry in self._entries.items()}

    def index(self, session_id: Hashable, tools: ToolSet | Iterable[ToolReference]) -> None:
        """Set the tools that a session searches, in place of its earlier ones. To add a tool, pass all of them.

        A searcher is built only if no session has an equal set.
        If the build fails, the session keeps its previous set. Revealed tools stay revealed.

        Args:
            session_id: The session, any hashable value that is not None or blank.
            tools: The tools, with distinct names.

        Raises:
            ConfigurationError: If the session id is None, blank or unhashable.
            DuplicateToolError: If two tools have the same name.
            IndexingError: If the set cannot be indexed.
        """
        _validate_session_id(session_id)
        self._use(session_id, coerce_tool_set(tools), turn=False)

    def search(self, request: ToolSearchRequest) -> ToolSearchResponse:
        """Return the tools of a session that match a query. An unknown session has none.

        Raises:
            ConfigurationError: If the session id is None, blank or unhashable, or the query is not a string.
        """
        key = request.session_id
        _validate_session_id(key)
        if not isinstance(request.query, str):
            raise ConfigurationError(f"query must be a string, got {type(request.query).__name__}")
        evicted: list[_Entry] = []
        handle: SearcherHandle | None = None
        with self._locked():
            entry = self._entries.get(key)
            if entry is not None:
                evicted = self._apply_proposals(entry, self._eviction.touch(key))
                handle = entry.handle
        del entry, evicted  # destroys searchers outside the lock
        if handle is None:
            return self._unknown_session(request)
        return search_with(handle.searcher, request.query, request.max_results, request.category)

    def evict(self, session_id: Hashable) -> None:
        """Evict a session now. An unknown one is ignored.

        A running turn goes on with its tools, searcher and record; what it reveals from now on is lost with it. The
        session's next turn starts from nothing.

        Raises:
            ConfigurationError: If the session id is None, blank or unhashable.
        """
        _validate_session_id(session_id)
        with self._locked():
            entry = self._entries.pop(session_id, None)
            self._eviction.forget(session_id)
        if entry is not None:
            entry.handle = None  # a running turn holds its own handle

    def lease(self, session_id: Hashable | None, tools: ToolSet | Iterable[ToolReference]) -> SessionLease:
        """Begin a turn over `tools`. A searcher is built only if no session has an equal set.

        The session is not evicted before the lease is closed, so use it in a ``with`` statement.

        Args:
            session_id: The session. None begins a turn of a session that only this lease has: it shares searchers,
                but is not in the table, is unknown to the eviction strategy and ends with the lease.
            tools: The tools, with distinct names.

        Raises:
            ConfigurationError: If the session id is blank or unhashable.
            DuplicateToolError: If two tools have the same name.
            IndexingError: If the set cannot be indexed. A session keeps its previous set.
        """
        tool_set = coerce_tool_set(tools)
        if session_id is None:
            handle = self._cache.get(tool_set)
            return SessionLease(SessionRecord(), tool_set, handle)
        _validate_session_id(session_id)
        entry, handle = self._use(session_id, tool_set, turn=True)
        return SessionLease(entry.record, tool_set, handle, partial(self._end_turn, session_id, entry))

    def record(self, session_id: Hashable) -> SessionRecord | None:
        """Return the record of a session, or None if it is unknown. This does not count as a use.

        Raises:
            ConfigurationError: If the session id is None, blank or unhashable.
        """
        _validate_session_id(session_id)
        with self._locked():
            entry = self._entries.get(session_id)
            return None if entry is None else entry.record

    @property
    def index_type(self) -> str:
        """The class name of the index that builds the searchers."""
        return type(self._cache.index).__name__

    def session_ids(self) -> tuple[Hashable, ...]:
        """Return the ids of all sessions, oldest first."""
        with self._locked():
            return tuple(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, session_id: Hashable) -> bool:
        return session_id in self._entries

    def __repr__(self) -> str:
        index, eviction = type(self._cache.index).__name__, self._eviction
        return f"<SessionToolIndex over {index}, {eviction!r}: {len(self)} sessions, {len(self._cache)} searchers>"

    def _use(self, key: Hashable, tools: ToolSet, *, turn: bool) -> tuple[_Entry, SearcherHandle]:
        """Set the session's tools, and count a use and, for a turn, a lease. Nothing changes if the build fails."""
        with self._locked():
            held = known = self._entries.get(key)
            handle = known.handle if known is not None else None
            if known is not None:
                known.leases += 1  # a build can be slow, and other uses must not evict the session meanwhile
        try:
            if handle is None or handle.degraded or handle.tools != tools:
                handle = self._cache.get(tools)
            with self._locked():
                proposed = self._eviction.touch(key)
                entry = self._entries.get(key)
                if entry is None:  # new, or evicted meanwhile: this use counts as later
                    entry = self._entries[key] = _Entry(handle)
                if entry is not known:
                    entry.leases += 1
                    held = entry
                replaced, entry.handle = entry.handle, handle
                evicted = self._apply_proposals(entry, proposed)
                if not turn:
                    entry.leases -= 1
            del replaced, evicted  # destroys searchers outside the lock
        except BaseException:
            if held is not None:
                self._end_turn(key, held)
            raise
        return entry, handle

    def _apply_proposals(self, used: _Entry, proposed: Iterable[Hashable]) -> list[_Entry]:
        """Remove the proposed sessions that are not in use, and return them: the caller drops them outside the lock."""
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

    def _end_turn(self, key: Hashable, entry: _Entry) -> None:
        self._ended.append((key, entry))
        self._process_ended_turns()

    def _process_ended_turns(self) -> None:
        """Release the leases of ended turns, and evict sessions that were proposed meanwhile.

        The garbage collector can close a lease at any moment, even in a thread that holds the lock. So closing never
        waits for the lock: it adds to the queue, and whoever holds the lock processes the queue after releasing it.
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
            self._process_ended_turns()

    def _unknown_session(self, request: ToolSearchRequest) -> ToolSearchResponse:
        return ToolSearchResponse(
            metadata=SearchMetadata(type(self._cache.index).__name__, request.query),
            reason=f"No tools are indexed for the session {request.session_id!r}; it is new, or it was evicted.",
            reason_code="unknown_session",
        )


def _validate_session_id(session_id: Hashable | None) -> None:
    if session_id is None or (isinstance(session_id, str) and not session_id.strip()):
        raise ConfigurationError(f"session_id must be a hashable value that is not blank, got {session_id!r}")
    try:
        hash(session_id)
    except TypeError as error:
        raise ConfigurationError(f"session_id must be hashable, got {session_id!r}") from error
