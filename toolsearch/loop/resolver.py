"""Tool resolvers: a lookup for called tools that are not in the request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from ..errors import ConfigurationError
from ..tools.collect import ToolLike, ToolListing, expand_tools, name_tools
from ..tools.tool_type import Tool

__all__ = ["ChainedToolResolver", "StaticToolResolver", "ToolResolver"]


@runtime_checkable
class ToolResolver(Protocol):
    """Looks up a tool by the name that a model called. It may block.

    The model can call every tool that a resolver knows. So a resolver is used only on request, with
    ``ToolCallingAdvisor(resolver=..., resolve_fallback=True)``.
    """

    def resolve(self, name: str) -> Tool | None:
        """Return the tool with this name, or None."""
        ...


class StaticToolResolver:
    """A resolver for tools under the names that the model sees. Providers are asked when a name is looked up.

    Args:
        tools: Tools in any form that ``ChatClient(tools=...)`` accepts.

    Example:
        >>> def ping() -> str:
        ...     "Answer."
        ...     return "pong"
        >>> StaticToolResolver([ping]).resolve("ping"), StaticToolResolver([ping]).resolve("pong")
        (Tool('ping'), None)
    """

    def __init__(self, tools: Iterable[ToolLike] | ToolLike) -> None:
        self._found = expand_tools(tools)
        self._listing = ToolListing()
        name_tools(tool for tool in self._found if isinstance(tool, Tool))  # reports a wrong name now

    def resolve(self, name: str) -> Tool | None:
        """Return the tool with this name, or None."""
        return next((tool for tool in self._listing.current(self._found) if tool.name == name), None)


class ChainedToolResolver:
    """A resolver that asks several resolvers in order and returns the first tool found.

    Args:
        resolvers: The resolvers to ask.

    Raises:
        ConfigurationError: If an argument is not a resolver.

    Example:
        >>> chain = ChainedToolResolver(StaticToolResolver([]), StaticToolResolver(Tool("ping", fn=lambda: "pong")))
        >>> chain.resolve("ping")
        Tool('ping')
    """

    def __init__(self, *resolvers: ToolResolver) -> None:
        for resolver in resolvers:
            validate_resolver(resolver)
        self._resolvers = resolvers

    def resolve(self, name: str) -> Tool | None:
        """Return the tool with this name, or None."""
        return next((tool for one in self._resolvers if (tool := one.resolve(name)) is not None), None)


def validate_resolver(resolver: ToolResolver) -> None:
    """Validate that a resolver is an instance with a method `resolve`.

    Raises:
        ConfigurationError: If it is not.
    """
    if isinstance(resolver, type):
        raise ConfigurationError(f"resolver must be an instance, got the class {resolver.__name__}")
    if not isinstance(resolver, ToolResolver):
        raise ConfigurationError(f"resolver must define resolve(name), got {resolver!r}")
