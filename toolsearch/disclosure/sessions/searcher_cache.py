"""Shared searchers: equal tool sets use one searcher while somebody holds it."""

from __future__ import annotations

from threading import Event
from weakref import WeakValueDictionary

from ...errors import IndexingError
from ...indexes.protocols import DegradableSearcher, ToolIndex, ToolSearcher
from ...shared.fork import new_lock, reset_in_child
from .tool_set import ToolSet

__all__ = ["SearcherCache", "SearcherHandle"]


class SearcherHandle:
    """A searcher and the set that it searches. Holding the handle keeps the searcher alive.

    The cache refers to handles, because a searcher of a plug-in may not allow weak references.

    Attributes:
        searcher: The searcher that the index built.
        tools: The set that it was built from.
        degraded: Whether the searcher reports that a part of it is missing. Such a handle is not shared with later
            sessions.

    Example:
        >>> from toolsearch.indexes import RegexToolIndex
        >>> handle = SearcherHandle(RegexToolIndex().build([]), ToolSet())
        >>> handle.degraded
        False
    """

    __slots__ = ("__weakref__", "degraded", "searcher", "tools")

    def __init__(self, searcher: ToolSearcher, tools: ToolSet) -> None:
        self.searcher = searcher
        self.tools = tools
        self.degraded = isinstance(searcher, DegradableSearcher) and bool(searcher.degraded)


class _Flight:
    """A build in progress. It ends with a handle, with an error, or with neither if its builder was interrupted."""

    __slots__ = ("done", "error", "handle")

    def __init__(self) -> None:
        self.done = Event()
        self.handle: SearcherHandle | None = None
        self.error: Exception | None = None


class SearcherCache:
    """A cache of searchers by the content of their tool set.

    Builds run outside all locks, and each set is built by one caller at a time. Callers that ask for the same set wait
    for that build; callers that ask for another set do not. The error of a failed build is raised to all that waited,
    and the next caller tries again. If a builder is interrupted, e.g. by KeyboardInterrupt, one of the waiting callers
    builds instead.

    Example:
        >>> from toolsearch.indexes.reference import ToolReference
        >>> class EveryTool:
        ...     def build(self, tools):
        ...         return self
        ...     def search(self, query, *, max_results=5, category=None): ...
        >>> cache = SearcherCache(EveryTool())
        >>> ann = cache.get(ToolSet([ToolReference(name="a"), ToolReference(name="b")]))
        >>> ann is cache.get(ToolSet([ToolReference(name="b"), ToolReference(name="a")])), len(cache)
        (True, 1)
        >>> del ann
        >>> len(cache)
        0
    """

    def __init__(self, index: ToolIndex) -> None:
        self.index = index
        self._lock = new_lock()
        self._handles: WeakValueDictionary[bytes, SearcherHandle] = WeakValueDictionary()
        self._flights: dict[bytes, _Flight] = {}
        reset_in_child(self)

    def reset_after_fork(self) -> None:
        """Drop the builds of other threads: a forked child does not have these threads."""
        self._flights = {}

    def get(self, tools: ToolSet) -> SearcherHandle:
        """Return the handle for `tools`. Build it if nobody holds one.

        Raises:
            IndexingError: If the set cannot be indexed. Other errors of the index are raised unchanged.
        """
        key = tools.digest
        while True:
            with self._lock:
                handle = self._handles.get(key)
                if handle is not None:
                    return handle
                flight = self._flights.get(key)
                ours = flight is None
                if flight is None:
                    flight = self._flights[key] = _Flight()
            if ours:
                return self._build(tools, flight)
            flight.done.wait()
            if flight.error is not None:
                raise flight.error
            if flight.handle is not None:
                return flight.handle

    def __len__(self) -> int:
        """Return the number of different searchers that somebody holds."""
        return len(self._handles)

    def _build(self, tools: ToolSet, flight: _Flight) -> SearcherHandle:
        handle: SearcherHandle | None = None
        try:
            # Sorted by name: a shared searcher must not depend on the order of the first session.
            searcher = self.index.build(sorted(tools.tools, key=lambda tool: tool.name))
            if not isinstance(searcher, ToolSearcher):
                raise IndexingError(
                    f"{type(self.index).__name__}.build returned {searcher!r}, which does not have a search method"
                )
            handle = SearcherHandle(searcher, tools)
            return handle
        except Exception as error:
            flight.error = error
            raise
        finally:  # on interrupts too: nobody may wait forever
            with self._lock:
                self._flights.pop(tools.digest, None)  # dropped, if this process was forked meanwhile
                if handle is not None and not handle.degraded:
                    self._handles[tools.digest] = handle
            flight.handle = handle
            flight.done.set()
