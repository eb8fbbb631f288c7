"""Collection of tools: from the argument ``tools=`` to tools with names that providers accept."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from typing import Any, Protocol, TypeAlias, runtime_checkable
from weakref import WeakKeyDictionary, ref

from ..errors import ConfigurationError
from ..text import clip, short_repr
from ..text.logs import log_event
from .argument_types import collect_finite
from .definition.decorator import mark_of
from .definition.foreign import is_definition
from .naming import LeftOutTool, assign_names, name_tools
from .tool_type import Tool

__all__ = ["ToolLike", "ToolListing", "ToolProvider", "collect_tools", "expand_tools", "name_tools", "resolve_tools"]

logger = logging.getLogger(__name__)

_MAX_REMEMBERED = 1000


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
    return collect_finite((found for item in items for found in _expand(item)), "tools")


def resolve_tools(found: Iterable[Tool | ToolProvider]) -> tuple[Tool, ...]:
    """Return the tools, with the current tools of each provider in its place. A provider may block."""
    return tuple(
        tool
        for item in found
        for tool in ([item] if isinstance(item, Tool) else resolve_tools(expand_tools(list(item.tools()))))
    )


class ToolListing:
    """Lists tools and providers under the names that models see.

    A tool of a provider whose name is taken is left out, and logged once. So what a server lists cannot end a turn.
    """

    def __init__(self) -> None:
        self._latest: _NamedTools | None = None
        self._logged: dict[tuple[str, str], None] = {}

    def current(self, found: Sequence[Tool | ToolProvider]) -> tuple[Tool, ...]:
        """Return the current tools; the same objects as long as no tool changed. A provider may block.

        Raises:
            DuplicateToolError: If two tools that do not come from a provider have one name, or one has a reserved
                name.
        """
        tools, ranks = _rank_tools(found)
        latest = self._latest
        named = None if latest is None else latest.find(tools, ranks)
        if named is None:
            named, left_out = assign_names(tools, ranks)
            self._latest = _NamedTools(tools, ranks, named)
            self._log(left_out)
        return named

    def _log(self, left_out: Iterable[LeftOutTool]) -> None:
        """Log the tools that were not logged before, on one line."""
        new = [(tool, reason) for tool, reason in left_out if (tool.identity, reason) not in self._logged]
        for tool, reason in new:
            self._logged[tool.identity, reason] = None
        while len(self._logged) > _MAX_REMEMBERED:
            self._logged.pop(next(iter(self._logged)), None)
        if new:
            tool, reason = new[0]
            facts = {"tools": len(new), "tool": tool.original_name, "source": tool.source, "reason": reason}
            log_event(logger, logging.WARNING, "tools_left_out", facts)


class _NamedTools:
    """Names that were assigned to tools. It does not keep the tools alive: they can belong to one call."""

    def __init__(self, tools: Sequence[Tool], ranks: tuple[int, ...], named: Sequence[Tool]) -> None:
        self._tools = tuple(map(ref, tools))
        self._ranks = ranks
        self._named = tuple(map(ref, named))
        listed = set(map(id, tools))
        originals = {tool.identity: tool for tool in reversed(tools)}
        renamed = {originals[tool.identity]: tool for tool in named if id(tool) not in listed}
        self._renamed = WeakKeyDictionary(renamed)  # a renamed tool lives as long as the tool it was made from

    def find(self, tools: Sequence[Tool], ranks: tuple[int, ...]) -> tuple[Tool, ...] | None:
        """Return the named tools, or None if other tools are listed."""
        if ranks != self._ranks or any(known() is not tool for known, tool in zip(self._tools, tools, strict=True)):
            return None
        named = [tool for known in self._named if (tool := known()) is not None]
        return tuple(named) if len(named) == len(self._named) else None


def _rank_tools(found: Sequence[Tool | ToolProvider]) -> tuple[tuple[Tool, ...], tuple[int, ...]]:
    """Return the tools as `resolve_tools` does, and their ranks for `assign_names`."""
    tools: list[Tool] = []
    ranks: list[int] = []
    for rank, item in enumerate(found, 1):
        listed = (item,) if isinstance(item, Tool) else resolve_tools([item])
        tools += listed
        ranks += [0 if item is tool and not tool.provided else rank for tool in listed]
    return tuple(tools), tuple(ranks)


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
    # A proxy says the class of what it wraps, and forwards its methods.
    methods = [getattr(item, name) for name in _marked_names(item.__class__)]
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
