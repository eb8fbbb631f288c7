"""`ToolResolver`: where a loop may look for a tool that was not part of its request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from ..errors import ConfigurationError
from ..tools.collect import ToolLike, collect_tools, name_tools
from ..tools.tool import Tool

__all__ = ["ChainedToolResolver", "StaticToolResolver", "ToolResolver"]


@runtime_checkable
class ToolResolver(Protocol):
    """Finds a tool by the name a model called. All it knows becomes callable, so it is used only where asked for:
    ``ToolCallingAdvisor(resolver=..., resolve_fallback=True)``. It may block."""

    def resolve(self, name: str) -> Tool | None:
        """Return the tool of this name, or None."""
        ...


class StaticToolResolver:
    """Knows a fixed set of tools, under the names that a model sees.

    Example:
        >>> def ping() -> str:
        ...     "Answer."
        ...     return "pong"
        >>> StaticToolResolver([ping]).resolve("ping"), StaticToolResolver([ping]).resolve("pong")
        (Tool('ping'), None)
    """

    def __init__(self, tools: Iterable[ToolLike] | ToolLike) -> None:
        self._tools = {tool.name: tool for tool in name_tools(collect_tools(tools))}

    def resolve(self, name: str) -> Tool | None:
        """Return the tool of this name, or None."""
        return self._tools.get(name)


class ChainedToolResolver:
    """Asks several resolvers in turn; the first that knows the name counts.

    Example:
        >>> chain = ChainedToolResolver(StaticToolResolver([]), StaticToolResolver(Tool("ping", fn=lambda: "pong")))
        >>> chain.resolve("ping")
        Tool('ping')
    """

    def __init__(self, *resolvers: ToolResolver) -> None:
        for resolver in resolvers:
            if isinstance(resolver, type) or not isinstance(resolver, ToolResolver):
                raise ConfigurationError(f"{resolver!r} is not a resolver: it needs a method resolve(name)")
        self._resolvers = resolvers

    def resolve(self, name: str) -> Tool | None:
        """Return the tool of this name, or None."""
        return next((tool for one in self._resolvers if (tool := one.resolve(name)) is not None), None)
