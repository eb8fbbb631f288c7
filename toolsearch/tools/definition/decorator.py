"""`@tool`: mark a function or a method as a tool. The schema is made when the tool is collected."""

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

ResultConverter: TypeAlias = "Callable[[Any], str | tuple[str, Media | Iterable[Media]]]"
"""Turns what a tool returned into the text for the model, or into text and media."""

_MARK = "__toolsearch_tool__"


class ToolOptions(TypedDict, total=False):
    """The options that every way to make a tool takes; `Tool` explains them."""

    source: str | None
    tags: Iterable[str]
    search_text: str
    return_direct: bool
    concurrent: bool
    timeout: float | None
    result_converter: ResultConverter | None


@dataclass(frozen=True, slots=True)
class ToolMark:
    """What `@tool` leaves on a function.

    Args:
        options: the keyword arguments of the decorator.
        names: local names that the function's annotations, where they are strings, refer to.
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
    """Mark a function or method as a tool and return it unchanged, so that it is still called as before.

    Pass the function to ``tools=[...]``, or an object whose methods are marked. Works below and above
    ``@staticmethod`` and ``@classmethod``.

    Args:
        fn: the function, where the decorator is used without parentheses.
        name: the tool's name; by default the function's.
        description: what the model reads; by default the docstring.
        options: see `Tool`.

    Raises:
        ConfigurationError: for something that cannot carry a mark; use `Tool.from_function` there.

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
        raise ConfigurationError(f"@tool has no option {', '.join(map(repr, unknown))}")
    frame = sys._getframe(1)
    if fn is not None:
        return _mark(fn, known, frame)
    return lambda function: _mark(function, known, frame)


def mark_of(fn: object) -> ToolMark | None:
    """Return what `@tool` left on a function, method, staticmethod or classmethod, if anything."""
    holder = fn.__func__ if isinstance(fn, (staticmethod, classmethod)) else fn
    found = getattr(holder, _MARK, None)
    return found if isinstance(found, ToolMark) else None


def _mark(fn: F, options: Mapping[str, Any], frame: FrameType) -> F:
    target: Any = fn
    if isinstance(target, str):
        raise ConfigurationError(f"@tool({target!r}) must be written @tool(name={target!r})")
    wrapped = isinstance(target, (staticmethod, classmethod))
    if isinstance(target, type) or not (callable(target) or wrapped):
        raise ConfigurationError(f"@tool marks functions and methods, not {target!r}; mark the methods of a class")
    holder = target.__func__ if wrapped else target
    try:
        setattr(holder, _MARK, ToolMark(options, _local_names(holder, frame)))
    except AttributeError:
        raise ConfigurationError(f"@tool cannot mark {target!r}; use Tool.from_function for it") from None
    return fn


def _local_names(fn: object, frame: FrameType) -> dict[str, Any]:
    """What string annotations of a nested function name in the scope it was defined in, and nothing more of it."""
    annotations = getattr(fn, "__annotations__", {})
    if "<locals>" not in getattr(fn, "__qualname__", ""):
        return {}
    words = {word for text in annotations.values() if isinstance(text, str) for word in re.findall(r"\w+", text)}
    return {word: frame.f_locals[word] for word in sorted(words) if word in frame.f_locals}
