"""Leases: the hold of a turn on its session."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from ...errors import ConfigurationError
from ...indexes.protocols import ToolSearcher
from ...indexes.response import ToolSearchResponse
from .record import SessionRecord
from .searcher_cache import SearcherHandle
from .tool_set import ToolSet

__all__ = ["SessionLease", "search_with"]

DEFAULT_MAX_RESULTS = 5


class SessionLease:
    """The hold of a turn on its session, tools and searcher: none of them changes or is evicted until it is closed.

    `SessionToolIndex.lease` makes one. Leaving the ``with`` block closes it, and so does garbage collection.

    Attributes:
        session: The record of the session. Parallel turns of one session share it.
        tools: The tool set that the turn started with, in the order given.

    Example:
        >>> from toolsearch.indexes.reference import ToolReference
        >>> from toolsearch.disclosure.sessions import SessionToolIndex
        >>> sessions = SessionToolIndex("regex")
        >>> with sessions.lease("ann", [ToolReference(name="get_weather"), ToolReference(name="send_mail")]) as turn:
        ...     turn.session.reveal(turn.search("weather").names)
        ('get_weather',)
    """

    __slots__ = ("_ended", "_held", "session", "tools")

    def __init__(
        self, session: SessionRecord, tools: ToolSet, handle: SearcherHandle, ended: Callable[[], None] | None = None
    ) -> None:
        self._held = [handle]  # list.pop is atomic, so only one of several closers gets the handle
        self._ended = ended
        self.session = session
        self.tools = tools

    @property
    def closed(self) -> bool:
        """True after the lease was closed."""
        return not self._held

    @property
    def searcher(self) -> ToolSearcher:
        """The searcher over `tools`.

        Raises:
            ConfigurationError: If the lease is closed.
        """
        held = self._held[:]
        if not held:
            raise ConfigurationError("the lease is closed, so its turn is over; open one with SessionToolIndex.lease()")
        return held[0].searcher

    def search(self, query: str, max_results: int | None = None, category: str | None = None) -> ToolSearchResponse:
        """Return the tools of this turn that match `query`, best first: at most `max_results`, by default 5.

        Raises:
            ConfigurationError: If the lease is closed.
        """
        return search_with(self.searcher, query, max_results, category)

    def close(self) -> None:
        """Release the searcher, and the session if it is due for eviction. Idempotent."""
        try:
            self._held.pop()
        except IndexError:
            return
        ended, self._ended = self._ended, None
        if ended is not None:
            ended()

    def __enter__(self) -> SessionLease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def search_with(
    searcher: ToolSearcher, query: str, max_results: int | None, category: str | None
) -> ToolSearchResponse:
    """Search with the default number of results if `max_results` is None."""
    limit = DEFAULT_MAX_RESULTS if max_results is None else max_results
    return searcher.search(query, max_results=limit, category=category)
