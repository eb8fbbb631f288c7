"""`SessionLease`: what a turn holds of its session."""

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

_DEFAULT_MAX_RESULTS = 5


class SessionLease:
    """A turn's hold on its session, its tools and its searcher: none of them changes or goes until it is closed.

    Made by `SessionToolIndex.lease`. Leaving the ``with`` block closes it, whatever the reason; so does collecting a
    lease nobody holds any more.

    Attributes:
        session: what the session has discovered; parallel turns of one session share it.
        tools: the set this turn started with, in the order it was given.

    Example:
        >>> from toolsearch.indexes.reference import ToolReference
        >>> from toolsearch.disclosure.sessions.session_index import SessionToolIndex
        >>> sessions = SessionToolIndex("regex")
        >>> with sessions.lease("ann", [ToolReference(name="get_weather"), ToolReference(name="send_mail")]) as turn:
        ...     turn.session.discover(turn.search("weather").names)
        ('get_weather',)
    """

    __slots__ = ("_ended", "_held", "session", "tools")

    def __init__(
        self, session: SessionRecord, tools: ToolSet, handle: SearcherHandle, ended: Callable[[], None] | None = None
    ) -> None:
        self._held = [handle]  # a list because its pop is atomic: of several closers one gets the handle
        self._ended = ended
        self.session = session
        self.tools = tools

    @property
    def closed(self) -> bool:
        """Whether the turn is over."""
        return not self._held

    @property
    def searcher(self) -> ToolSearcher:
        """The searcher over `tools`.

        Raises:
            ConfigurationError: if the lease is closed.
        """
        held = self._held[:]
        if not held:
            raise ConfigurationError("this turn is over and its lease closed; begin one with SessionToolIndex.lease")
        return held[0].searcher

    def search(self, query: str, max_results: int | None = None, category: str | None = None) -> ToolSearchResponse:
        """Return the tools of this turn that fit `query`, best first, at most 5 unless told otherwise.

        Raises:
            ConfigurationError: if the lease is closed.
        """
        return search_with(self.searcher, query, max_results, category)

    def close(self) -> None:
        """End the turn: let go of the searcher, and of the session if it is to be evicted. Again: does nothing."""
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
    """Search with the default number of results where none is given."""
    limit = _DEFAULT_MAX_RESULTS if max_results is None else max_results
    return searcher.search(query, max_results=limit, category=category)
