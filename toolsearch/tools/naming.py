"""Names of collected tools: every name is valid and unique, and no source can take the name of another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..errors import DuplicateToolError
from .names import RESERVED_NAMES, is_wire_name, wire_name
from .tool_type import Tool

__all__ = ["LeftOutTool", "assign_names", "name_tools"]


class LeftOutTool(NamedTuple):
    """A tool of a provider that has no name of its own, and the reason."""

    tool: Tool
    reason: str


def name_tools(tools: Iterable[Tool], reserved: Iterable[str] = RESERVED_NAMES) -> tuple[Tool, ...]:
    """Return the tools with names that providers accept, in their order. Tools with such a name are not copied.

    A new name depends on the old name alone, so other tools do not change it. A tool of an MCP server whose name is
    taken or reserved is left out, because nobody here chose its name.

    Args:
        tools: The tools.
        reserved: Names that no tool may have.

    Raises:
        DuplicateToolError: If two tools have one name, or a tool has a reserved name; the message names the sources.
    """
    listed = tuple(tools)
    return assign_names(listed, [1 if tool.provided else 0 for tool in listed], reserved)[0]


def assign_names(
    listed: Sequence[Tool], ranks: Sequence[int], reserved: Iterable[str] = RESERVED_NAMES
) -> tuple[tuple[Tool, ...], tuple[LeftOutTool, ...]]:
    """Return the tools under valid, unique names in their order, and the tools that are left out.

    The programmer's tools come first, then those of providers under names that the application chose, then those under
    names that their sources chose. A later tool never changes the name of an earlier one, whoever has the valid name:
    it is left out.

    Args:
        listed: The tools.
        ranks: Who listed each tool: 0 is the programmer, then come the providers in their order.
        reserved: Names that no tool may have.

    Raises:
        DuplicateToolError: If two tools of the programmer have one name or identity, or one has a reserved name.
    """
    reserved_names = frozenset(reserved)
    named: dict[int, Tool] = {}
    owners: dict[str, Tool] = {}
    identities: dict[str, Tool] = {}
    for position, tool in _name_own(listed, ranks, reserved_names):
        named[position] = owners[tool.name] = identities[tool.identity] = tool
    left_out: list[LeftOutTool] = []
    for position in _by_precedence(listed, ranks):
        tool = listed[position]
        name = wire_name(tool.name)  # from the name alone: what else is listed does not change it
        if name in reserved_names:
            left_out.append(LeftOutTool(tool, f"the name {name!r} is reserved"))
        elif (owner := owners.get(name) or identities.get(tool.identity)) is not None:
            left_out.append(LeftOutTool(tool, f"the name {name!r} belongs to {owner.origin}"))
        else:
            tool = tool if tool.name == name else tool.published_as(name)
            named[position] = owners[name] = identities[tool.identity] = tool
    return tuple(named[position] for position in sorted(named)), tuple(left_out)


def _name_own(listed: Sequence[Tool], ranks: Sequence[int], reserved: frozenset[str]) -> Iterator[tuple[int, Tool]]:
    """Yield the programmer's tools under valid names, with their positions. A conflict among them is a mistake."""
    seen: dict[str, Tool] = {}
    identities: dict[str, Tool] = {}
    own = [(position, tool) for position, tool in enumerate(listed) if ranks[position] == 0]
    for _, tool in own:
        if tool.name in reserved:
            raise DuplicateToolError(f"the name {tool.name!r} is reserved; rename the tool that has it ({tool.origin})")
        if (other := seen.setdefault(tool.name, tool)) is not tool:
            raise DuplicateToolError(
                f"two tools have the name {tool.name!r}: {other.origin}, and {tool.origin}; rename one with "
                f"Tool.from_function(fn, name=...) or tool.renamed(...)"
            )
        if (other := identities.setdefault(tool.identity, tool)) is not tool:
            raise DuplicateToolError(
                f"the tools {other.name!r} and {tool.name!r} are one tool of {tool.origin} under two names; "
                "give one of them another source with tool.replace(source=...)"
            )
    taken = {name for name in seen if is_wire_name(name)} | reserved
    for position, tool in own:
        if not is_wire_name(tool.name):
            tool = tool.published_as(wire_name(tool.name, taken))
            taken.add(tool.name)
        yield position, tool


def _by_precedence(listed: Sequence[Tool], ranks: Sequence[int]) -> list[int]:
    """Return the positions of the providers' tools, those first that keep their names.

    Names that the application chose come first: those of its functions, and those with the prefix of a server. So a
    server without a prefix cannot list a tool under such a name. Otherwise, providers come in their order. Of one
    provider, tools without a source come first. Then the sources come in their order. Of one source, a name that must
    be replaced comes first, so that a tool that is listed later under the replacement does not take it.
    """
    sources: dict[tuple[int, str | None], int] = {}

    def key(position: int) -> tuple[bool, int, bool, int, bool, int]:
        tool, rank = listed[position], ranks[position]
        source = sources.setdefault((rank, tool.source), position)
        chosen_by_source = tool.source is not None and tool.name == tool.original_name
        return chosen_by_source, rank, tool.source is not None, source, is_wire_name(tool.name), position

    return sorted((position for position, rank in enumerate(ranks) if rank), key=key)
