"""The state machine of progressive disclosure.

It knows tools, names, sessions and indexes, and nothing of providers, messages or loops, so that whatever talks to
a model can use it: `ToolSearchAdvisor` does, and adapters for other frameworks can.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import cast

from .search_tool import search_tool_description
from .sessions.session_index import SessionToolIndex
from .sessions.tool_set import ToolSet
from .settings import DisclosureSettings, FrozenOffer
from .turn import DisclosureTurn

__all__ = ["Disclosure", "DisclosureSettings", "DisclosureTurn"]

_NOTHING_HIDDEN = FrozenOffer(bypass=True)


class Disclosure:
    """Which tools a session's model sees, over any index and for any number of sessions. Safe from several threads.

    Args:
        sessions: the index and its sessions.
        settings: how tools are disclosed.

    Example:
        >>> from toolsearch.indexes import ToolReference
        >>> disclosure = Disclosure(SessionToolIndex("regex"))
        >>> tools = ToolSet([ToolReference(name="get_weather"), ToolReference(name="send_mail")])
        >>> with disclosure.open("ann", tools) as turn:
        ...     before = turn.declare()
        ...     result = turn.search("weather")
        ...     after = turn.declare()
        >>> before, after
        ((), ('get_weather',))
    """

    def __init__(self, sessions: SessionToolIndex, settings: DisclosureSettings | None = None) -> None:
        self.sessions = sessions
        self.settings = settings or DisclosureSettings()

    def open(
        self,
        session_id: Hashable | None,
        tools: ToolSet,
        *,
        pinned: Sequence[str] = (),
        admits: Callable[[str], bool] = lambda _name: True,
        history: Iterable[str] = (),
        tokens: int | None = None,
        text: str = "",
    ) -> DisclosureTurn:
        """Begin a turn. It may build an index, so call it where blocking is allowed.

        Args:
            session_id: whose turn; None for one that leaves nothing behind.
            tools: what the session may have; indexed if the set is new.
            pinned: names of tools that are always declared, first and in this order.
            admits: asked again whenever a tool is disclosed or run.
            history: names found earlier, as far as the conversation tells; used if the session is new here.
            tokens: tokens of all definitions, for `reveal_all_below`.
            text: the user's words, for `reveal_upfront`.

        Raises:
            IndexingError: if the tools cannot be indexed.
        """
        pins = frozenset(pinned)
        searchable = any(name not in pins for name in tools.names)
        offer = self._offer(session_id, tools, tokens) if searchable else _NOTHING_HIDDEN
        lease = self.sessions.lease(session_id, ToolSet() if offer.bypass else tools)
        try:
            record = lease.session
            new = record.frozen is None
            if searchable:
                offer = cast("FrozenOffer", record.freeze(offer))
                if offer.bypass == (lease.tools is tools):  # a parallel first turn of the session decided otherwise
                    lease.close()
                    lease = self.sessions.lease(session_id, ToolSet() if offer.bypass else tools)
            turn = DisclosureTurn(self.settings, lease, tools, offer, tuple(pinned), admits)
            if new:
                turn.restore(history)
            if self.settings.reveal_upfront and text.strip():
                turn.reveal_upfront(text)
        except BaseException:
            lease.close()
            raise
        return turn

    def restore(self, session_id: Hashable, names: Iterable[str]) -> None:
        """Declare `names` to the session again, after its conversation was compacted or moved to another process."""
        if self.sessions.record(session_id) is None:
            self.sessions.index(session_id, ToolSet())
        record = self.sessions.record(session_id)
        if record is not None:
            record.discover(names)

    def _offer(self, session_id: Hashable | None, tools: ToolSet, tokens: int | None) -> FrozenOffer:
        record = None if session_id is None else self.sessions.record(session_id)
        if record is not None and isinstance(record.frozen, FrozenOffer):
            return record.frozen
        limit = self.settings.reveal_all_below
        return FrozenOffer(
            bypass=limit is not None and tokens is not None and tokens < limit,
            description=search_tool_description(tools),
            categories=bool(tools.categories),
            sources=frozenset(tools.sources),
        )
