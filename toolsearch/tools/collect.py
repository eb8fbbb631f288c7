"""Collection of tools: from the argument ``tools=`` to tools with names that providers accept."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from typing import Any, Protocol, TypeAlias, runtime_checkable

from ..errors import ConfigurationError, DuplicateToolError
from ..text import clip, short_repr
from .definition.decorator import mark_of
from .definition.foreign import is_definition
from .names import RESERVED_NAMES, is_wire_name, wire_name
from .tool_type import Tool

__all__ = ["ToolLike", "ToolProvider", "collect_tools", "expand_tools", "name_tools", "resolve_tools"]


@runtime_checkable
class ToolProvider(Protocol):
    """An object with a method `tools`, which is called whenever tools are collected."""

    def tools(self) -> Sequence[Tool]:
        """Return the current tools."""
        ...


ToolLike: TypeAlias = (
    "Tool | Callable[..., Any] | ToolProvider | tuple[Any, Callable[..., Any]] | Iterable[Any] | object"
)
"""Element of ``tools=``: a function, a `Tool`, an object with `@tool` methods, a provider, a pair of a definition and
a callable, or an iterable of these."""


def collect_tools(*items: ToolLike) -> tuple[Tool, ...]:
    """Return the tools in `items`, in their order.

    Raises:
        ConfigurationError: If an item has no tools; the message says what to write instead.

    Example:
        >>> def ping() -> str:
        ...     "Answer."
        ...     return "pong"
        >>> collect_tools([ping], ({"name": "echo"}, lambda text: text))
        (Tool('ping'), Tool('echo'))
    """
    return resolve_tools(expand_tools(*items))


def expand_tools(*items: ToolLike) -> tuple[Tool | ToolProvider, ...]:
    """Return the tools and providers in `items`, without calling the providers.

    Raises:
        ConfigurationError: If an item has no tools; the message says what to write instead.
    """
    return tuple(found for item in items for found in _expand(item))


def resolve_tools(found: Iterable[Tool | ToolProvider]) -> tuple[Tool, ...]:
    """Return the tools, with the current tools of each provider in its place. A provider may block."""
    return tuple(
        tool
        for item in found
        for tool in ([item] if isinstance(item, Tool) else resolve_tools(expand_tools(list(item.tools()))))
    )


def name_tools(tools: Iterable[Tool], reserved: Iterable[str] = RESERVED_NAMES) -> tuple[Tool, ...]:
    """Return the tools with names that providers accept, in their order. Tools with such a name are not copied.

    A new name depends on the old name alone, so other tools do not change it.

    Args:
        tools: The tools.
        reserved: Names that no tool may have.

    Raises:
        DuplicateToolError: If two tools have one name, or a tool has a reserved name; the message names the sources.
    """
    listed = tuple(tools)
    seen: dict[str, Tool] = {}
    reserved_names = frozenset(reserved)
    for tool in listed:
        if tool.name in reserved_names:
            raise DuplicateToolError(f"the name {tool.name!r} is reserved; rename the tool that has it ({tool.origin})")
        if (other := seen.get(tool.name)) is not None:
            raise DuplicateToolError(
                f"two tools have the name {tool.name!r}: {other.origin}, and {tool.origin}; rename one with "
                f"Tool.from_function(fn, name=...) or tool.renamed(...)"
            )
        seen[tool.name] = tool
    taken = {name for name in seen if is_wire_name(name)} | reserved_names
    named = []
    for tool in listed:
        if not is_wire_name(tool.name):
            tool = tool.published_as(wire_name(tool.name, taken))
            taken.add(tool.name)
        named.append(tool)
    return tuple(named)


def _expand(item: Any) -> Iterator[Tool | ToolProvider]:
    if isinstance(item, Tool):
        yield item
    elif isinstance(item, type):
        raise ConfigurationError(f"{item.__name__} is a class; pass an instance: tools=[{item.__name__}(...)]")
    elif _is_function(item):
        yield Tool.from_function(item)
    elif _is_pair(item):
        yield Tool.from_definition(*item)
    elif isinstance(item, tuple) and _is_pair(item[::-1]):
        raise ConfigurationError("the pair must be (definition, function), in this order, got (function, definition)")
    elif isinstance(item, (list, tuple, Iterator, ValuesView)):
        for member in item:
            yield from _expand(member)
    elif _is_provider(item):
        yield item
    elif isinstance(item, Mapping) and item and all(map(callable, item.values())):
        names = clip(", ".join(getattr(fn, "__name__", str(key)) for key, fn in item.items()), 100)
        raise ConfigurationError(f"tools must be a list, got a mapping of functions; pass a list: tools=[{names}]")
    elif is_definition(item):
        definition = short_repr(dict(item) if isinstance(item, Mapping) else item)
        raise ConfigurationError(
            f"the tool definition {definition} does not have a function to run; pass the pair "
            "(definition, function), or Tool.from_definition(definition) for a tool that is only listed"
        )
    else:
        yield from _marked_or_callable(item)


def _marked_or_callable(item: Any) -> Iterator[Tool]:
    """Yield the tools of an object's marked methods, or the tool of a callable object."""
    methods = [getattr(item, name) for name in _marked_names(type(item))]
    if methods:
        yield from map(Tool.from_function, methods)
    elif callable(item):
        yield Tool.from_function(item)
    else:
        raise ConfigurationError(f"{short_repr(item)} does not have tools; {_advice(item)}")


def _is_function(item: Any) -> bool:
    return inspect.isroutine(item) or (callable(item) and mark_of(item) is not None)


def _is_provider(item: Any) -> bool:
    return isinstance(item, ToolProvider) and callable(item.tools)


def _is_pair(item: Any) -> bool:
    return (
        isinstance(item, tuple)
        and len(item) == 2
        and is_definition(item[0])
        and callable(item[1])
        and not isinstance(item[1], Tool | type)
    )


def _marked_names(cls: type) -> list[str]:
    """Return the names of methods marked with `@tool`, in the order of the source, base classes first.

    Properties are not evaluated. An override without a mark is not a tool.
    """
    names: dict[str, bool] = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            names[name] = mark_of(member) is not None
    return [name for name, marked in names.items() if marked]


def _advice(item: object) -> str:
    if inspect.iscoroutine(item):
        item.close()
        return "it is a coroutine; pass the async function itself, without calling it"
    if isinstance(item, (str, bytes)):
        return "pass the function itself, not its name"
    if isinstance(item, AbstractSet):
        return "a set is not ordered; pass a list"
    if type(item).__name__ in ("StdioServer", "HttpServer"):  # by name, because the extra mcp may be missing
        return f"write tools=[McpTools({type(item).__name__}(...))]"
    if item is None:
        return "pass a function, a Tool, or an object with @tool methods"
    return "pass a function, a Tool, an object with @tool methods, or an object with a method tools()"
