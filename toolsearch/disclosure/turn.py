"""One turn of progressive disclosure."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from ..chat.search_report import SearchRecord
from ..errors import ConfigurationError, IndexingError
from ..indexes.reference import ToolReference
from ..indexes.response import ToolSearchResponse
from ..messages import AssistantMessage, Message, SearchScope, ToolVersion
from ..observability.observer import ObservedSearch, start_child_span
from ..text import short_repr
from ..text.logs import log_event
from ..tools.names import closest_names
from ..tools.revealing import RevealingText
from . import sentences
from .history import replay_reveals
from .offers import Offer, scope_of
from .reveals import Reveals
from .sentences import SEARCH_TOOL
from .sessions.lease import SessionLease
from .sessions.tool_set import ToolSet
from .settings import DisclosureSettings

__all__ = ["DisclosureTurn"]

logger = logging.getLogger(__name__)


class DisclosureTurn:
    """One turn of one session: the tools that the model sees, and its searches. A context manager; `close` ends it.

    `Disclosure.open` makes one. A turn has rounds: call `begin_round` before each request to the model.

    Attributes:
        settings: The options of disclosure.
        tools: The tools that the session may have, as the turn started with them.
        offer: The search tool as the session was first shown it.
        searches: The searches of this turn.

    Example:
        >>> from toolsearch.disclosure import Disclosure, SessionToolIndex, ToolSet
        >>> from toolsearch.indexes import ToolReference
        >>> tools = ToolSet([ToolReference(name="get_weather")])
        >>> with Disclosure(SessionToolIndex("regex")).open("ann", tools) as turn:
        ...     turn.begin_round(), turn.call("no_such_tool")
        ((), "There is no tool 'no_such_tool'. Find the tool you need with tool_search first.")
    """

    def __init__(
        self,
        settings: DisclosureSettings,
        lease: SessionLease,
        tools: ToolSet,
        offer: Offer,
        pinned: tuple[str, ...],
        allows: Callable[[str], bool],
        fingerprint: Callable[[str], str] | None = None,
        scope: SearchScope | None = None,
        kept: Offer | None = None,
        searches_before: int = 0,
    ) -> None:
        self.tools = tools
        self.offer = offer
        self.searches: list[SearchRecord] = []
        self.settings = settings
        self._searches_before = searches_before  # in earlier requests of the same turn of the user
        self._lease = lease
        self._record = lease.session
        self._pinned = pinned
        self._allows = allows
        self._fingerprint = fingerprint
        self._results: dict[tuple[str, str], tuple[str, ...]] = {}
        self._sent: frozenset[str] = frozenset()
        self._pinned_tools = frozenset(self._tool(name).identity for name in pinned if name in tools)
        self._reveals = Reveals(self._record, settings, self._pinned_tools, self._may_have_tool)
        self._shown = self._record.shown  # what the conversation shows
        self._scope = self._first_scope = scope
        self._kept_offer = kept  # of the session before this turn

    @property
    def revealed(self) -> list[str]:
        """Names of the tools that this turn revealed, in order."""
        return self._names_of(self._reveals.added)

    def begin_round(self) -> tuple[str, ...]:
        """Begin a round and return the names of the tools to send: pinned ones, then revealed ones in order.

        The search tool is not among them; `offers_search` says whether to send it too.
        """
        self._reveals.begin_round()
        names = self._visible()
        self._sent = frozenset(names)
        return names

    @property
    def offers_search(self) -> bool:
        """True if the search tool is to be sent. It is left out if there is nothing to find."""
        return not self.offer.reveals_all

    def search(self, query: str, max_results: int | None = None, category: str | None = None) -> RevealingText:
        """Search, reveal what is found, and return the result for the model. No argument value raises an error.

        A search above `max_searches` does not run: the `revealed` of its result is None.

        Args:
            query: The query as the model wrote it.
            max_results: The number of results, clamped to 1 and the limit. None means the default.
            category: A source or tag that all results must have.
        """
        limit = self.settings.max_searches
        if limit is not None and self._searches_before + len(self.searches) >= limit:
            return RevealingText(sentences.budget_used_up(limit), None)
        asked = (" ".join(query.casefold().split()), (category or "").casefold())
        if asked in self._results:
            names = tuple(name for name in self._results[asked] if self._may_have(name))
            self.searches.append(SearchRecord(query, names, category))
            self._reveal(names)
            return self._revealing(sentences.repeated_search(names), names)
        wanted = self.settings.max_results if max_results is None else max_results
        response = self._search(query, max(1, min(wanted, self.settings.max_results_limit)), category)
        found = {hit.name: hit for hit in reversed(response.hits)}  # a custom index can name a tool twice
        hits = [found[name] for name in dict.fromkeys(response.names) if self._may_have(name)]
        self._results[asked] = names = tuple(hit.name for hit in hits)
        self.searches.append(SearchRecord(query, names, category))
        before = set(self._visible())
        self._reveal(names)
        new = [hit for hit in hits if hit.name not in before]
        known = [hit for hit in hits if hit.name in before]
        parts = (
            sentences.hits_found(new, known),
            sentences.index_reason(response.reason),
            "" if hits else sentences.nothing_fits(explained=bool(response.reason)),
            sentences.sources_added(self._sources_since_offer()),
        )
        return self._revealing("\n".join(filter(None, parts)), names)

    def reveal_upfront(self, text: str) -> None:
        """Reveal the tools that match the user's words best, before the first round. Weak matches stay hidden."""
        if self.offer.reveals_all:
            return
        try:
            response = self._search(text, self.settings.reveal_upfront)
        except IndexingError:
            return  # the failure is logged, and the model can search for itself
        if response.reason_code != "weak_match":  # "thank you" needs no tool, and revealed tools stay
            self._reveal([name for name in response.names if self._may_have(name)])

    def restore(self, names: Iterable[str]) -> None:
        """Reveal tools again that an earlier process or a compacted conversation had revealed.

        Args:
            names: Names or identities of tools. Unknown ones are ignored.
        """
        found = (self.tools.find(name) or self.tools.get(name) for name in names)
        self._reveals.restore(tool.identity for tool in found if tool is not None and self._allows(tool.name))

    def merge(
        self, conversation: Sequence[Message], *, revealed: Iterable[str] = (), withheld: Collection[str] = ()
    ) -> None:
        """Take over what the conversation shows: the tools that turns in other processes revealed or hid.

        `Disclosure.open` does it. A tool that does not exist any more leaves until it is found or called again.

        Args:
            conversation: The messages before the turn.
            revealed: Names or identities that were revealed earlier. Those that the session does not know are added.
            withheld: Identities of tools that exist, but that the session may not have now. They keep their place.
        """
        if conversation:
            self._record.merge(
                replay_reveals(conversation, self.settings, self.tools, self._pinned_tools, self._allows)
            )
            self._shown = self._record.shown
        self._record.hide(one for one in self._record.revealed if self.tools.find(one) is None and one not in withheld)
        known = self._record.known
        found = ((name, self.tools.find(name) or self.tools.get(name)) for name in revealed)
        self.restore(name for name, tool in found if tool is not None and tool.identity not in known)

    def mark(self, message: AssistantMessage, *, is_alone: bool = False) -> AssistantMessage:
        """Return an answer of the model with what other processes have to know and the conversation does not show yet.

        That are the tools revealed now (`AssistantMessage.revealed`) and the offer (`AssistantMessage.scope`). Store
        it in the place of `message`: the conversation counts as showing them from now on.

        Args:
            message: The answer.
            is_alone: Whether earlier answers of the turn may not be stored, so that their marks do not count.
        """
        scope_shown, shown = (self._first_scope, self._record.shown) if is_alone else (self._scope, self._shown)
        if self.offer.tools and (scope := scope_of(self.offer)) != scope_shown:
            message, self._scope = replace(message, scope=scope), scope
        if (revealed := self._record.revealed) != shown:
            message, self._shown = replace(message, revealed=revealed), revealed
        return message

    def keep(self) -> None:
        """Note that the turn is kept in the conversation, with its markers."""
        self._record.keep(self._shown)

    def roll_back(self) -> None:
        """Forget what the turn revealed and offered, because it failed and the conversation does not show it."""
        self._record.roll_back()
        self._record.revise(self.offer, self._kept_offer)

    def names_after(self, conversation: Sequence[Message]) -> frozenset[str]:
        """Return the names of the tools that the session is sent after a conversation, the search tool included."""
        record = replay_reveals(conversation, self.settings, self.tools, self._pinned_tools, self._allows)
        found = (self.tools.find(identity) for identity in record.revealed)
        return frozenset((SEARCH_TOOL, *self._pinned, *(tool.name for tool in found if tool is not None)))

    def call(self, name: str) -> str | None:
        """Decide whether a call of the tool `name` runs: return None to run it, else the answer for the model.

        A tool that the session may have, but that was not sent in this round, is revealed; the answer is then a
        `RevealingText`. A tool that the session may not have is answered like one that does not exist.
        """
        if name == SEARCH_TOOL and self.offers_search:
            return None
        tool = self.tools.get(name)
        if tool is None or not self._allows(name):
            return self._unknown(name)
        self._record.touch_tool(tool.identity)
        if name in self._sent:
            return None
        self._reveal([name])
        return None if self.settings.run_unrevealed else self._revealing(sentences.tool_revealed(tool), (name,))

    def close(self) -> None:
        """End the turn, so that the session can be evicted again. Idempotent."""
        self._lease.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _unknown(self, name: str) -> str:
        close = closest_names(name, [known for known in self.tools.names if self._allows(known)])
        return sentences.unknown_tool(short_repr(name), close, searchable=self.offers_search)

    def _search(self, query: str, max_results: int, category: str | None = None) -> ToolSearchResponse:
        with start_child_span(ObservedSearch, query, max_results, category) as span, span.current():
            try:
                response: object = self._lease.search(query, max_results=max_results, category=category)
                if not isinstance(response, ToolSearchResponse):
                    method = f"{type(self._lease.searcher).__name__}.search"
                    raise ConfigurationError(
                        f"{method} must return a ToolSearchResponse, got {type(response).__name__}"
                    )
            except Exception as error:  # its text can quote the query
                log_event(
                    logger, logging.WARNING, "search_failed", error=error, show_text=False
                )  # it can quote the query
                raise
            span.result = response
            return response

    def _visible(self) -> tuple[str, ...]:
        if self.offer.reveals_all:
            return tuple(name for name in self.tools.names if self._allows(name))
        names = dict.fromkeys((*self._pinned, *self._names_of(self._record.revealed)))
        return tuple(name for name in names if self._may_have(name))

    def _names_of(self, identities: Iterable[str]) -> list[str]:
        """Return the names of the tools that have these identities now."""
        return [tool.name for identity in identities if (tool := self.tools.find(identity)) is not None]

    def _tool(self, name: str) -> ToolReference:
        tool = self.tools.get(name)
        assert tool is not None, name
        return tool

    def _revealing(self, text: str, names: Sequence[str]) -> RevealingText:
        return RevealingText(text, names, tools=[self._version(name) for name in names])

    def _version(self, name: str) -> ToolVersion:
        tool = self._tool(name)
        return ToolVersion(name, tool.identity, self._fingerprint(name) if self._fingerprint else tool.digest.hex())

    def _may_have(self, name: str) -> bool:
        return name in self.tools and self._allows(name)

    def _reveal(self, names: Iterable[str]) -> None:
        self._reveals.add(self._tool(name).identity for name in names)

    def _may_have_tool(self, identity: str) -> bool:
        tool = self.tools.find(identity)
        return tool is not None and self._allows(tool.name)

    def _sources_since_offer(self) -> dict[str, int]:
        return {name: count for name, count in self.tools.sources.items() if name not in self.offer.sources}
