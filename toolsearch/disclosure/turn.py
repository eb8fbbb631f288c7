"""One turn of progressive disclosure: what is declared, found and loaded in it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self

from ..chat.search_report import SearchRecord
from ..errors import ConfigurationError, IndexingError
from ..indexes.response import ToolHit, ToolSearchResponse
from ..observability.observer import ObservedSearch, start_child_span
from ..text import short_repr
from ..tools.names import closest_names
from .search_tool import (
    SEARCH_TOOL,
    describe_hits,
    describe_revealed,
    describe_sources,
)
from .sessions.lease import SessionLease
from .sessions.tool_set import ToolSet
from .settings import DisclosureSettings, FrozenOffer

__all__ = ["DisclosureTurn"]

_LOG = logging.getLogger(__name__)


class DisclosureTurn:
    """One turn of one session: what is declared, found and loaded in it. A context manager; `close` ends the turn.

    Attributes:
        settings: how tools are disclosed.
        tools: what the session may have, as the turn started with it.
        offer: what the session was shown at its first turn.
        searches: the searches of this turn.
        revealed: the tools disclosed in this turn, in order.

    Example:
        >>> from toolsearch import Disclosure, SessionToolIndex, ToolReference, ToolSet
        >>> tools = ToolSet([ToolReference(name="get_weather")])
        >>> with Disclosure(SessionToolIndex("regex")).open("ann", tools) as turn:
        ...     turn.declare(), turn.call("no_such_tool")
        ((), "There is no tool 'no_such_tool'. Find the tool you need with tool_search first.")
    """

    def __init__(
        self,
        settings: DisclosureSettings,
        lease: SessionLease,
        tools: ToolSet,
        offer: FrozenOffer,
        pinned: tuple[str, ...],
        admits: Callable[[str], bool],
    ) -> None:
        self.tools = tools
        self.offer = offer
        self.searches: list[SearchRecord] = []
        self.revealed: list[str] = []
        self.settings = settings
        self._lease = lease
        self._record = lease.session
        self._pinned = pinned
        self._admits = admits
        self._asked: dict[tuple[str, str], tuple[str, ...]] = {}
        self._declared: frozenset[str] = frozenset()
        self._new_round = False

    def declare(self) -> tuple[str, ...]:
        """Begin a round: the names to send, `tool_search` aside: pinned ones, then others in order of discovery."""
        self._new_round = True
        names = self._known()
        self._declared = frozenset(names)
        return names

    @property
    def offers_search(self) -> bool:
        """Whether the search tool is declared: not when it would have nothing to find."""
        return not self.offer.bypass

    def search(self, query: str, max_results: int | None = None, category: str | None = None) -> str:
        """Search, disclose what is found, and return the result as the model reads it. Never raises for its arguments.

        Args:
            query: as the model wrote it.
            max_results: clamped to 1 and the limit; None means the default.
            category: only tools of this source or tag.
        """
        budget = self.settings.max_searches
        if budget is not None and len(self.searches) >= budget:
            return f"Not searched: the {budget} searches of this turn are used up. Use the tools you have, or answer."
        asked = (" ".join(query.casefold().split()), (category or "").casefold())
        if asked in self._asked:
            names = tuple(name for name in self._asked[asked] if self._may_have(name))
            self.searches.append(SearchRecord(query, names, category))
            self._discover(names)
            return _repeated(names)
        wanted = self.settings.max_results if max_results is None else max_results
        wanted = max(1, min(wanted, self.settings.max_results_limit))
        response = self._search(query, wanted, category)
        found = {hit.name: hit for hit in reversed(response.hits)}  # an index of one's own may name a tool twice
        hits = [found[name] for name in dict.fromkeys(response.names) if self._may_have(name)]
        self._asked[asked] = names = tuple(hit.name for hit in hits)
        self.searches.append(SearchRecord(query, names, category))
        before = set(self._known())
        self._discover(names)
        return describe_hits(
            [hit for hit in hits if hit.name not in before],
            [hit for hit in hits if hit.name in before],
            (response.reason, _advice(hits, response.reason), self._later_sources()),
        )

    def reveal_upfront(self, text: str) -> None:
        """Disclose what fits the user's words best, if anything does, before the model is asked."""
        if self.offer.bypass:
            return
        try:
            response = self._search(text, self.settings.reveal_upfront)
        except IndexingError:
            return  # it is logged, and the model can search for itself
        if response.reason_code != "weak_match":  # "thank you" wants no tool, and what is disclosed stays
            self._discover([name for name in response.names if self._may_have(name)])

    def restore(self, names: Iterable[str]) -> None:
        """Declare what an earlier process, or a compacted conversation, had disclosed; unknown names are ignored."""
        self._record.discover(name for name in names if self._may_have(name))
        self._unload()

    def call(self, name: str) -> str | None:
        """Decide on a call of the tool `name`: None to run it, else the answer to give instead.

        A tool that the session may have but that was not declared in this round is loaded; one that it may not have
        is answered like one that does not exist.
        """
        if name == SEARCH_TOOL and self.offers_search:
            return None
        tool = self.tools.get(name)
        if tool is None or not self._admits(name):
            return self.unknown(name)
        self._record.touch_tool(name)
        if name in self._declared:
            return None
        self._discover([name])
        return None if self.settings.run_unrevealed else describe_revealed(tool)

    def unknown(self, name: str) -> str:
        """The answer to a call of a tool that does not exist for this session."""
        close = closest_names(name, [known for known in self.tools.names if self._admits(known)])
        meant = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
        search = f" Find the tool you need with {SEARCH_TOOL} first." if self.offers_search else ""
        return f"There is no tool {short_repr(name)}.{meant}{search}"

    def close(self) -> None:
        """End the turn: the session may be evicted again. Again: does nothing."""
        self._lease.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _search(self, query: str, max_results: int, category: str | None = None) -> ToolSearchResponse:
        with start_child_span(ObservedSearch, query, max_results, category) as watch, watch.current():
            try:
                response: object = self._lease.search(query, max_results=max_results, category=category)
                if not isinstance(response, ToolSearchResponse):
                    kind = f"{type(self._lease.searcher).__name__}.search"
                    raise ConfigurationError(f"{kind} must return a ToolSearchResponse, not {type(response).__name__}")
            except Exception as error:  # the model is told, and whoever runs the index must learn of it too
                _LOG.warning("toolsearch.search_failed error=%s", type(error).__name__, exc_info=True)
                raise
            watch.result = response
            return response

    def _known(self) -> tuple[str, ...]:
        if self.offer.bypass:
            return tuple(name for name in self.tools.names if self._admits(name))
        names = dict.fromkeys((*self._pinned, *self._record.discovered))
        return tuple(name for name in names if self._may_have(name))

    def _may_have(self, name: str) -> bool:
        return name in self.tools and self._admits(name)

    def _discover(self, names: Sequence[str]) -> None:
        if self._new_round and not self.settings.keep_revealed:
            self._record.forget_tools(self._record.discovered)
        self._new_round = False
        pins = set(self._pinned)
        self.revealed.extend(self._record.discover(name for name in names if name not in pins))
        self._unload()

    def _unload(self) -> None:
        """Keep to `max_revealed`: the least recently used leave, but none that this turn loaded."""
        limit = self.settings.max_revealed
        if limit is None:
            return
        known = [name for name in self._record.least_recently_used if self._may_have(name)]
        spare = [name for name in known if name not in self.revealed]
        self._record.forget_tools(spare[: max(0, len(known) - limit)])

    def _later_sources(self) -> str:
        """Sources that came after the search tool's description was frozen are told of in results."""
        later = {name: count for name, count in self.tools.sources.items() if name not in self.offer.sources}
        return f"Since the conversation began, tools were added{describe_sources(later)}." if later else ""


def _repeated(names: tuple[str, ...]) -> str:
    if not names:
        return "You searched for exactly this before and nothing was found; use other words, or do without a tool."
    return f"You searched for exactly this before and found {', '.join(names)}; call them, or use other words."


def _advice(hits: Sequence[ToolHit], reason: str) -> str:
    """What else to say when nothing was found; an index that gives a reason also says what to try."""
    if hits:
        return ""
    return "If no tool fits, say so." if reason else "No tool was found: try other words; if no tool fits, say so."
