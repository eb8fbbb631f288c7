"""Unique public names for the tools of several servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Literal, TypeAlias

from ...errors import DuplicateToolError

__all__ = ["Prefix", "public_names"]

Prefix: TypeAlias = Literal["collision", "always", "never"]
"""The rule by which tools get the name of their server as a prefix."""


def public_names(listed: Mapping[str, Iterable[str]], prefix: Prefix) -> dict[tuple[str, str], str]:
    """Give every tool a unique name that depends only on what is listed.

    The order of servers and tools and earlier listings do not matter, so names stay the same after a refresh and a
    restart. When several servers list the same name, all of these tools are prefixed: ``server_tool``. If a prefixed
    name is taken too (a server ``a`` with ``b_c`` and a server ``a_b`` with ``c``), a short hash of server and tool is
    appended. With ``"always"``, a name depends on other servers only in this last case.

    Args:
        listed: The tool names by server.
        prefix: The rule for prefixes.

    Returns:
        The public name by (server, tool).

    Raises:
        DuplicateToolError: If two servers list the same name and `prefix` is ``"never"``.

    Example:
        >>> sorted(public_names({"git": ["log", "search"], "web": ["search"]}, "collision").values())
        ['git_search', 'log', 'web_search']
    """
    tools = sorted({(server, tool) for server, names in listed.items() for tool in names})
    if prefix == "never":
        _reject_duplicates(tools)
        return {tool: tool[1] for tool in tools}
    names = {tool: f"{tool[0]}_{tool[1]}" if prefix == "always" else tool[1] for tool in tools}
    while clashing := _clashing(names):
        bare = [tool for tool in clashing if names[tool] == tool[1]]
        for tool in bare or clashing:
            names[tool] = f"{tool[0]}_{tool[1]}" if bare else f"{names[tool]}_{_digest(tool)}"
    return names


def _clashing(names: Mapping[tuple[str, str], str]) -> list[tuple[str, str]]:
    uses = Counter(names.values())
    return [tool for tool, name in names.items() if uses[name] > 1]


def _digest(tool: tuple[str, str]) -> str:
    return blake2b("\0".join(tool).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def _reject_duplicates(tools: Iterable[tuple[str, str]]) -> None:
    owner: dict[str, str] = {}
    for server, tool in tools:
        if tool in owner:
            raise DuplicateToolError(
                f"MCP servers {owner[tool]!r} and {server!r} both have a tool named {tool!r}; use prefix='collision' "
                "or prefix='always', or exclude one of them with filter="
            )
        owner[tool] = server
