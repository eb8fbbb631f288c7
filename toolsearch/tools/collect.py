"""From what a user passes as ``tools=`` to tools with names that a provider takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from typing import Any, Protocol, TypeAlias, runtime_checkable

from ..errors import ConfigurationError, DuplicateToolError
from ..text import short_repr
from .definition.decorator import mark_of
from .definition.foreign import is_definition
from .names import is_wire_name, wire_name
from .tool import Tool

__all__ = ["ToolLike", "ToolProvider", "collect_tools", "expand_tools", "name_tools", "resolve_tools"]


@runtime_checkable
class ToolProvider(Protocol):
    """Something that has tools to give, asked each time they are collected."""

    def tools(self) -> Sequence[Tool]:
        """Return the tools of this moment."""
        ...


ToolLike: TypeAlias = (
    "Tool | Callable[..., Any] | ToolProvider | tuple[Any, Callable[..., Any]] | Iterable[Any] | object"
)
"""What ``tools=`` takes: a function, a `Tool`, an object with `@tool` methods, a provider, a pair of a definition and
a callable, or an iterable of these."""


def collect_tools(*items: ToolLike) -> tuple[Tool, ...]:
    """Return the tools that `items` are or hold, in their order.

    Raises:
        ConfigurationError: for an item without tools, saying what to write instead.

    Example:
        >>> def ping() -> str:
        ...     "Answer."
        ...     return "pong"
        >>> collect_tools([ping], ({"name": "echo"}, lambda text: text))
        (Tool('ping'), Tool('echo'))
    """
    return resolve_tools(expand_tools(*items))


def expand_tools(*items: ToolLike) -> tuple[Tool | ToolProvider, ...]:
    """Return the tools that `items` are or hold, and the providers among them without asking these.

    Raises:
        ConfigurationError: for an item without tools, saying what to write instead.
    """
    return tuple(found for item in items for found in _expand(item))


def resolve_tools(found: Iterable[Tool | ToolProvider]) -> tuple[Tool, ...]:
    """Return the tools, each provider's in its place; a provider may take its time."""
    return tuple(
        tool
        for one in found
        for tool in ([one] if isinstance(one, Tool) else resolve_tools(expand_tools(list(one.tools()))))
    )


def name_tools(tools: Iterable[Tool], reserved: Iterable[str] = ("tool_search",)) -> tuple[Tool, ...]:
    """Return the tools under names that a provider takes, in their order; those with such a name are not copied.

    The new name depends on the old one alone, so that it is the same whatever other tools there are.

    Raises:
        DuplicateToolError: when two would have one name, or one a reserved name; it names both sources.
    """
    listed = tuple(tools)
    seen: dict[str, Tool] = {}
    kept_free = frozenset(reserved)
    for tool in listed:
        if tool.name in kept_free:
            raise DuplicateToolError(
                f"the name {tool.name!r} is reserved; it is taken by a tool ({tool.origin}): give that another name"
            )
        if (other := seen.get(tool.name)) is not None:
            raise DuplicateToolError(
                f"two tools have the name {tool.name!r}: {other.origin}, and {tool.origin}; rename one: "
                f"Tool.from_function(fn, name=...) or tool.renamed(...)"
            )
        seen[tool.name] = tool
    taken = {name for name in seen if is_wire_name(name)} | kept_free
    named = []
    for tool in listed:
        if not is_wire_name(tool.name):
            tool = tool.renamed(wire_name(tool.name, taken))
            taken.add(tool.name)
        named.append(tool)
    return tuple(named)


def _expand(item: Any) -> Iterator[Tool | ToolProvider]:
    if isinstance(item, Tool):
        yield item
    elif isinstance(item, type):
        raise ConfigurationError(f"{item.__name__} is a class; pass an object of it: tools=[{item.__name__}(...)]")
    elif _is_function(item):
        yield Tool.from_function(item)
    elif _is_pair(item):
        yield Tool.from_definition(*item)
    elif isinstance(item, (list, tuple, Iterator, ValuesView)):
        for member in item:
            yield from _expand(member)
    elif _is_provider(item):
        yield item
    elif is_definition(item):
        definition = short_repr(dict(item) if isinstance(item, Mapping) else item)
        raise ConfigurationError(
            f"the tool definition {definition} comes without a function to run; pass the pair "
            "(definition, function), or Tool.from_definition(definition) for one that is only listed"
        )
    else:
        yield from _marked_or_callable(item)


def _marked_or_callable(item: Any) -> Iterator[Tool]:
    """The tools that an object's marked methods are, or the one that a callable object is."""
    methods = [getattr(item, name) for name in _marked_names(type(item))]
    if methods:
        yield from map(Tool.from_function, methods)
    elif callable(item):
        yield Tool.from_function(item)
    else:
        raise ConfigurationError(f"{short_repr(item)} has no tools; {_advice(item)}")


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
    """Names of methods marked with `@tool` in the order they are written, those of base classes first.

    They are looked up without running properties. An override that is not marked is no tool.
    """
    names: dict[str, bool] = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            names[name] = mark_of(member) is not None
    return [name for name, marked in names.items() if marked]


def _advice(item: object) -> str:
    if inspect.iscoroutine(item):
        item.close()
        return "it is a coroutine: pass the async function itself, without calling it"
    if isinstance(item, (str, bytes)):
        return "pass the function itself, not its name"
    if isinstance(item, AbstractSet):
        return "a set has no order: pass a list"
    if item is None:
        return "pass a function, a Tool, or an object with @tool methods"
    return "pass a function, a Tool, an object whose methods are marked with @tool, or one with a method tools()"
