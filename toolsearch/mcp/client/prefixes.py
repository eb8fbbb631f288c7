"""The names under which tools of several servers live together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Literal, TypeAlias

from ...errors import DuplicateToolError

__all__ = ["Prefix", "public_names"]

Prefix: TypeAlias = Literal["collision", "always", "never"]


def public_names(listed: Mapping[str, Iterable[str]], prefix: Prefix) -> dict[tuple[str, str], str]:
    """Give every tool a name of its own, as a pure function of what is listed.

    Neither the order of the servers, nor the order of their tools, nor anything that happened before plays a part, so
    the same listing has the same names after a refresh and after a restart; with prefix ``"always"`` a name does not
    depend on which other servers are there either, but for the last case below. When several servers list one name,
    all of them are prefixed: ``server_tool``. A prefixed name that is taken as well (a server ``a`` with ``b_c`` beside
    a server ``a_b`` with ``c``) gets a short hash of server and tool.

    Args:
        listed: tool names by server.
        prefix: prefix on collision only, always, or never.

    Returns:
        The public name by (server, tool).

    Raises:
        DuplicateToolError: two servers list one name and `prefix` is ``"never"``.

    Example:
        >>> sorted(public_names({"git": ["log", "search"], "web": ["search"]}, "collision").values())
        ['git_search', 'log', 'web_search']
    """
    tools = sorted({(server, tool) for server, names in listed.items() for tool in names})
    if prefix == "never":
        _refuse_duplicates(tools)
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


def _refuse_duplicates(tools: Iterable[tuple[str, str]]) -> None:
    owner: dict[str, str] = {}
    for server, tool in tools:
        if tool in owner:
            raise DuplicateToolError(
                f"MCP servers {owner[tool]!r} and {server!r} both have a tool named {tool!r}; use prefix='collision' "
                "or prefix='always', or leave one of them out with filter="
            )
        owner[tool] = server
