"""Tool search for MCP clients: each session lists `tool_search` and the tools revealed to it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from ...disclosure.advisor_turn import answer_call
from ...disclosure.disclosure import Disclosure
from ...disclosure.pins import Pin, PinnedTools
from ...disclosure.search_tool import bind_search_tool
from ...disclosure.sessions.session_index import SessionToolIndex
from ...disclosure.sessions.tool_set import ToolSet
from ...disclosure.settings import DisclosureSettings
from ...disclosure.turn import DisclosureTurn
from ...indexes.protocols import ToolIndex
from ...messages import ToolCall, ToolMessage
from ...tools.tool_type import Tool

__all__ = ["Gateway", "GatewayTurn"]


class Gateway:
    """The sessions of MCP clients over a `Disclosure`. Each request is a turn, because MCP does not have turns.

    Args:
        search: An index, the name of one, True for the default index, or a `Disclosure`.
        pinned: The tools that are always listed.
    """

    def __init__(
        self, search: ToolIndex | str | Disclosure | bool, pinned: Iterable[Pin] | Callable[[Tool], bool]
    ) -> None:
        if not isinstance(search, Disclosure):
            index = "bm25" if isinstance(search, bool) else search
            search = Disclosure(SessionToolIndex(index), DisclosureSettings(max_searches=None))
        self._disclosure = search
        self._pins = PinnedTools(pinned)
        self._set: tuple[tuple[Tool, ...], ToolSet] = ((), ToolSet())

    def open(self, session: Hashable, tools: tuple[Tool, ...]) -> GatewayTurn:
        """Start a request of a session. Blocks, because it may build an index."""
        known, references = self._set
        if known != tools:  # tools compare by identity
            references = ToolSet(tool.reference for tool in tools)
            self._set = (tools, references)
        pinned = [tool.name for tool in tools if self._pins.match(tool)]
        by_name = {tool.name: tool for tool in tools}
        turn = self._disclosure.open(
            session, references, pinned=pinned, fingerprint=lambda name: by_name[name].fingerprint
        )
        return GatewayTurn(turn, by_name)


class GatewayTurn:
    """One request of one session; the caller must close it.

    Attributes:
        listed: The tools that the client sees.
        tools: The tools that may run, by name.
    """

    def __init__(self, turn: DisclosureTurn, tools: dict[str, Tool]) -> None:
        self._turn = turn
        names = turn.begin_round()
        search = (bind_search_tool(turn),) if turn.offers_search else ()
        self.listed = (*search, *(tools[name] for name in names))
        self.tools = {**tools, **{tool.name: tool for tool in search}}

    def intercept(self, call: ToolCall) -> ToolMessage | None:
        """Return the result of a call that must not run, as `ToolSearchAdvisor` does; None for a call that may run."""
        return answer_call(self._turn, call)

    @property
    def revealed_tools(self) -> bool:
        """True if the request revealed tools."""
        return bool(self._turn.revealed)

    def close(self) -> None:
        """End the request."""
        self._turn.close()
