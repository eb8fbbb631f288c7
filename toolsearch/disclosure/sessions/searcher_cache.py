"""`SearcherCache`: one searcher for all equal tool sets, for as long as somebody holds it."""

from __future__ import annotations

from threading import Event, Lock
from weakref import WeakValueDictionary

from ...errors import IndexingError
from ...indexes.protocols import ToolIndex, ToolSearcher
from .tool_set import ToolSet

__all__ = ["SearcherCache", "SearcherHandle"]


class SearcherHandle:
    """A searcher together with the set it searches; whoever holds the handle keeps the searcher alive.

    A searcher itself need not allow weak references, so the cache refers to its handle.

    Attributes:
        searcher: what the index built.
        tools: the set it was built from.
        degraded: the searcher says that part of it is missing; such a handle is not shared with later sessions.
    """

    __slots__ = ("__weakref__", "degraded", "searcher", "tools")

    def __init__(self, searcher: ToolSearcher, tools: ToolSet) -> None:
        self.searcher = searcher
        self.tools = tools
        self.degraded = bool(getattr(searcher, "degraded", False))


class _Flight:
    """A build under way. Ends with a handle, with an error, or with neither when its builder was killed."""

    __slots__ = ("done", "error", "handle")

    def __init__(self) -> None:
        self.done = Event()
        self.handle: SearcherHandle | None = None
        self.error: Exception | None = None


class SearcherCache:
    """Builds searchers with `index` and shares them by the content of the set.

    Builds run outside every lock, each set's once at a time: who asks for a set being built waits for that build, who
    asks for another does not. A failed build is raised to all who waited for it and leaves no trace, so the next to
    ask tries again; when a builder is killed (KeyboardInterrupt and the like), one of those who waited builds instead.

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
        self._lock = Lock()
        self._handles: WeakValueDictionary[bytes, SearcherHandle] = WeakValueDictionary()
        self._flights: dict[bytes, _Flight] = {}

    def get(self, tools: ToolSet) -> SearcherHandle:
        """Return the handle for `tools`, built now if nobody holds one.

        Raises:
            IndexingError: if the set cannot be indexed; whatever else the index raises passes as it is.
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
        """How many different searchers are held by somebody."""
        return len(self._handles)

    def _build(self, tools: ToolSet, flight: _Flight) -> SearcherHandle:
        handle: SearcherHandle | None = None
        try:
            # By name, not in the order this session gave: what is shared must not depend on who came first.
            searcher = self.index.build(sorted(tools.tools, key=lambda tool: tool.name))
            if not isinstance(searcher, ToolSearcher):
                raise IndexingError(
                    f"{type(self.index).__name__}.build returned {searcher!r}, which has no search method"
                )
            handle = SearcherHandle(searcher, tools)
            return handle
        except Exception as error:
            flight.error = error
            raise
        finally:  # whatever happened, interrupts included: nobody may wait for this flight for ever
            with self._lock:
                del self._flights[tools.digest]
                if handle is not None and not handle.degraded:
                    self._handles[tools.digest] = handle
            flight.handle = handle
            flight.done.set()
