"""The decorator `@tool`. It marks a function or method; the schema is made when the tool is collected."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, Unpack, overload

from ...errors import ConfigurationError

if TYPE_CHECKING:
    from ...messages import Media

__all__ = ["ResultConverter", "ToolMark", "ToolOptions", "mark_of", "tool"]

F = TypeVar("F")

ResultConverter: TypeAlias = "Callable[[Any], str | tuple[str, Media | Iterable[Media]]] | Callable[[Any, Any], str | tuple[str, Media | Iterable[Media]]]"  # noqa: E501
"""Converts the value of a tool to the text for the model, or to text and media. It receives the value, or the value and
the `Tool`."""

_MARK = "__toolsearch_tool__"


class ToolOptions(TypedDict, total=False):
    """Options of every way to make a tool; see `Tool`.

    Example:
        >>> options = ToolOptions(tags=["outdoors"], timeout=5)
        >>> sorted(options)
        ['tags', 'timeout']
    """

    source: str | None
    tags: Iterable[str]
    search_text: str
    return_direct: bool
    concurrent: bool
    timeout: float | None
    result_converter: ResultConverter | None
    annotations: Mapping[str, Any] | None
    output_schema: Mapping[str, Any] | None
    returns_value: bool | None
    max_result_tokens: float | None


@dataclass(frozen=True, slots=True)
class ToolMark:
    """Mark that `@tool` sets on a function.

    Args:
        options: The keyword arguments of the decorator.
        names: Local variables that the function's annotations refer to, if they are strings.
    """

    options: Mapping[str, Any]
    names: Mapping[str, Any] = field(default_factory=dict)


@overload
def tool(fn: F, /) -> F: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, **options: Unpack[ToolOptions]
) -> Callable[[F], F]: ...
def tool(
    fn: F | None = None, /, *, name: str | None = None, description: str | None = None, **options: Unpack[ToolOptions]
) -> F | Callable[[F], F]:
    """Mark a function or method as a tool. The function itself is returned unchanged, and can be called as before.

    Pass the function to ``tools=[...]``, or an object whose methods are marked. Can be combined with
    ``@staticmethod`` and ``@classmethod`` in either order.

    Args:
        fn: The function, if the decorator is used without parentheses.
        name: The tool's name; by default the function's.
        description: The description for the model; by default the docstring.
        **options: See `Tool`.

    Raises:
        ConfigurationError: If the object cannot be marked; use `Tool.from_function` instead.

    Example:
        >>> @tool(tags=["outdoors"])
        ... def weather(city: str) -> str:
        ...     "Tell the weather in a city."
        ...     return f"rain in {city}"
        >>> weather("Gouda")
        'rain in Gouda'
    """
    given: dict[str, Any] = {"name": name, "description": description, **options}
    known = {key: value for key, value in given.items() if value is not None}
    unknown = sorted(known.keys() - ToolOptions.__annotations__.keys() - {"name", "description"})
    if unknown:
        raise ConfigurationError(f"@tool does not have the option {', '.join(map(repr, unknown))}")
    scope = sys._getframe(1)
    if fn is not None:
        return _mark(fn, known, scope)
    return lambda function: _mark(function, known, scope)


def mark_of(fn: object) -> ToolMark | None:
    """Return the mark of a function, method, staticmethod or classmethod, or None."""
    holder = fn.__func__ if isinstance(fn, (staticmethod, classmethod)) else fn
    found = getattr(holder, _MARK, None)
    return found if isinstance(found, ToolMark) else None


def _mark(fn: F, options: Mapping[str, Any], scope: FrameType) -> F:
    target: Any = fn
    if isinstance(target, str):
        raise ConfigurationError(f"@tool({target!r}) must be written @tool(name={target!r})")
    wrapped = isinstance(target, (staticmethod, classmethod))
    if isinstance(target, type) or not (callable(target) or wrapped):
        raise ConfigurationError(f"@tool must mark a function or method, got {target!r}; mark the methods of a class")
    holder = target.__func__ if wrapped else target
    try:
        setattr(holder, _MARK, ToolMark(options, _names_in(scope, holder)))
    except AttributeError:
        raise ConfigurationError(f"@tool cannot mark {target!r}; use Tool.from_function instead") from None
    return fn


def _names_in(scope: FrameType, fn: object) -> dict[str, Any]:
    """Return the local variables that string annotations of a nested function refer to, and no others."""
    annotations = getattr(fn, "__annotations__", {})
    if "<locals>" not in getattr(fn, "__qualname__", ""):
        return {}
    words = {word for text in annotations.values() if isinstance(text, str) for word in re.findall(r"\w+", text)}
    return {word: scope.f_locals[word] for word in sorted(words) if word in scope.f_locals}
