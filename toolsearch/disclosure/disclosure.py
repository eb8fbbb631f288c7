"""The engine of progressive disclosure.

It knows tools, names, sessions and indexes, but no providers and no loops. `ToolSearchAdvisor` is built on it, and
adapters for other frameworks can be too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import cast

from ..indexes.reference import ToolReference
from ..messages import Message, SearchScope
from ..text.logs import log_event
from ..tools.guard import ask_strictly
from .history import count_searches
from .offers import Offer, exceeds, find_scope, make_offer, offer_of, revise_offer
from .sessions.record import SessionRecord
from .sessions.session_index import SessionToolIndex
from .sessions.tool_set import ToolSet, coerce_tool_set
from .settings import DisclosureSettings
from .turn import DisclosureTurn

__all__ = ["Disclosure"]

logger = logging.getLogger(__name__)

_NOTHING_HIDDEN = Offer(reveals_all=True)


class Disclosure:
    """Progressive disclosure over any index, for any number of sessions. Safe for use from several threads.

    Args:
        sessions: The index and its sessions.
        settings: The options of disclosure.

    Example:
        >>> from toolsearch.indexes import ToolReference
        >>> disclosure = Disclosure(SessionToolIndex("regex"))
        >>> tools = ToolSet([ToolReference(name="get_weather"), ToolReference(name="send_mail")])
        >>> with disclosure.open("ann", tools) as turn:
        ...     before = turn.begin_round()
        ...     result = turn.search("weather")
        ...     after = turn.begin_round()
        >>> before, result.revealed, after
        ((), ('get_weather',), ('get_weather',))
    """

    def __init__(self, sessions: SessionToolIndex, settings: DisclosureSettings | None = None) -> None:
        self.sessions = sessions
        self.settings = settings or DisclosureSettings()

    def open(
        self,
        session_id: Hashable | None,
        tools: ToolSet | Iterable[ToolReference],
        *,
        pinned: Sequence[str] = (),
        allows: Callable[[str], bool] = lambda _name: True,
        conversation: Sequence[Message] = (),
        revealed: Iterable[str] = (),
        withheld: Collection[str] = (),
        tokens: int | None = None,
        text: str = "",
        continues: bool = False,
        fingerprint: Callable[[str], str] | None = None,
    ) -> DisclosureTurn:
        """Begin a turn. It may build an index, so call it where blocking is allowed.

        Args:
            session_id: The session; None for a turn that leaves nothing behind.
            tools: The tools that the session may have. A new set is indexed. Keep a `ToolSet` while the tools stay the
                same: it is hashed once.
            pinned: Names of tools that are always sent, first and in this order.
            allows: Decides by name whether the session may have a tool. It is asked again whenever a tool is revealed
                or run. If it raises, or answers neither True nor False, the tool is refused, and an error is logged.
            conversation: The messages before this turn. What they show is merged: tools that turns in other processes
                revealed are added at the end, in the order of the conversation.
            revealed: Names or identities of tools that were revealed earlier, for conversations of other formats. Those
                that the session does not know are added at the end. A tool that left the session stays out.
            withheld: Identities of tools that exist, but that the session may not have now. They keep their place.
            tokens: Tokens of all definitions, for `reveal_all_below`.
            text: The user's words, for `reveal_upfront`.
            continues: Whether this goes on with a turn of the user, for example with results of its tools. Its searches
                so far count toward `max_searches`. What was decided about a catalog that has grown since then is
                revised with the user's next turn.
            fingerprint: Returns the digest of a tool's definition by name. By default, the digest of the reference.

        Raises:
            IndexingError: If the tools cannot be indexed.
        """
        tools = coerce_tool_set(tools)
        searchable = not frozenset(pinned).issuperset(tools.names)
        scope = find_scope(conversation)
        record = None if session_id is None else self.sessions.record(session_id)
        kept = None if record is None else cast("Offer | None", record.frozen)
        offer, revised = self._offer(kept, scope, tools, tokens, not continues) if searchable else (_NOTHING_HIDDEN, "")
        lease = self.sessions.lease(session_id, ToolSet() if offer.reveals_all else tools)
        try:
            record = lease.session
            if searchable:
                offer = _agree(record, kept, offer, tools)
            if revised:
                facts = {"reason": revised, "tools": len(tools), "searches": not offer.reveals_all}
                log_event(logger, logging.INFO, "offer_revised", facts)
            before = count_searches(conversation) if continues else 0
            turn = DisclosureTurn(
                self.settings, lease, tools, offer, tuple(pinned), _Rule(allows), fingerprint, scope, kept, before
            )
            turn.merge(conversation, revealed=revealed, withheld=withheld)
            turn.restore(record.take_restored())
            if self.settings.reveal_upfront and text.strip():
                turn.reveal_upfront(text)
        except BaseException:
            lease.close()
            raise
        return turn

    def restore(self, session_id: Hashable, names: Iterable[str]) -> None:
        """Reveal tools to the session again, after its conversation was compacted or moved to another process.

        Args:
            session_id: The session.
            names: Names or identities of tools. The session's next turn reveals the tools that have them then.
        """
        if self.sessions.record(session_id) is None:
            self.sessions.index(session_id, ToolSet())
        record = self.sessions.record(session_id)
        if record is not None:
            record.restore_later(names)

    def _offer(
        self, kept: Offer | None, scope: SearchScope | None, tools: ToolSet, tokens: int | None, may_grow: bool
    ) -> tuple[Offer, str]:
        """Return the offer for a turn, and the reason if it is not the earlier one of the session."""
        fresh = make_offer(self.settings, tools, tokens)
        limit = self.settings.reveal_all_below
        if scope is not None and (not scope.reveals_all or (limit is not None and (scope.tokens or 0) < limit)):
            shown = offer_of(scope)  # perhaps made by another process
            kept = kept if kept == shown else shown
        return (fresh, "") if kept is None else revise_offer(kept, fresh, tools, may_grow=may_grow)


class _Rule:
    """The rule `allows` for one turn. It never raises; its first failure is logged."""

    __slots__ = ("_allows", "_failed")

    def __init__(self, allows: Callable[[str], bool]) -> None:
        self._allows = allows
        self._failed = False

    def __call__(self, name: str) -> bool:
        allowed, failure = ask_strictly(self._allows, name)
        if failure is not None and not self._failed:
            self._failed = True
            facts = {"tool": name, "source": None, "answer": type(failure).__name__}
            log_event(logger, logging.ERROR, "tool_filter_failed", facts, error=failure, note="; the tool is refused")
        return allowed


def _agree(record: SessionRecord, kept: Offer | None, offer: Offer, tools: ToolSet) -> Offer:
    """Keep the offer of a turn for its session. Return that of a parallel turn if it was faster and suits this one."""
    agreed = cast("Offer", record.revise(kept, offer))
    # A turn that leased no index cannot search, and an offer must not tell of tools that this turn may not have.
    return offer if offer.reveals_all or exceeds(agreed, tools) else agreed
