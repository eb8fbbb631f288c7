"""Annotations of parameters: which types JSON Schema cannot describe, and how pydantic should read the others."""

from __future__ import annotations

import collections.abc
import sys
import types
import typing
from typing import Annotated, Any, Literal, Union, get_args, get_origin

__all__ = ["adapt_annotation", "find_unsupported_type"]

_NOT_DATA = (
    collections.abc.Callable,
    collections.abc.Generator,
    collections.abc.AsyncGenerator,
    collections.abc.Iterator,
    collections.abc.AsyncIterator,
    collections.abc.AsyncIterable,
    collections.abc.Awaitable,
    collections.abc.Coroutine,
    type,
)
_READ_AS_LIST = (collections.abc.Iterable, collections.abc.Collection)


def find_unsupported_type(annotation: Any) -> str | None:
    """Return the reason why JSON cannot express a type, or None if the annotation shows none.

    Example:
        >>> find_unsupported_type(list[type]) is None, find_unsupported_type(list[int]) is None
        (False, True)
    """
    kind = get_origin(annotation)
    if (kind or annotation) in _NOT_DATA:
        return "callables, generators, awaitables and classes are not data"
    if kind is Literal:
        return None
    members = get_args(annotation)[:1] if kind is Annotated else get_args(annotation)
    return next((reason for member in members if (reason := find_unsupported_type(member))), None)


def adapt_annotation(annotation: Any, _seen: dict[Any, Any] | None = None) -> Any:
    """Replace types, at any depth of generics, that pydantic reads differently than a tool needs.

    An iterable becomes a list, because pydantic would pass a generator that fails while the tool runs. On Python 3.11
    a `typing.TypedDict` becomes one of typing_extensions, which pydantic needs.

    Example:
        >>> import collections.abc
        >>> adapt_annotation(dict[str, collections.abc.Iterable[int]])
        dict[str, list[int]]
    """
    seen: dict[Any, Any] = {} if _seen is None else _seen
    kind: Any = get_origin(annotation)
    if kind is None:
        if annotation in _READ_AS_LIST:
            return list
        return _readable_typed_dict(annotation, seen) if typing.is_typeddict(annotation) else annotation
    if kind is Annotated:
        return Annotated[adapt_annotation(annotation.__origin__, seen), *annotation.__metadata__]
    members = get_args(annotation)
    changed = members if kind is Literal else tuple(adapt_annotation(member, seen) for member in members)
    if kind in _READ_AS_LIST:
        kind = list
    elif all(new is old for new, old in zip(changed, members, strict=True)):
        return annotation
    return Union[changed] if kind in (Union, types.UnionType) else kind[changed]  # noqa: UP007


def _readable_typed_dict(cls: Any, seen: dict[Any, Any]) -> Any:
    """Return a `TypedDict` that pydantic can read: `cls` itself, or on Python 3.11 a copy with copied fields."""
    if sys.version_info >= (3, 12) or type(cls).__module__ != "typing":
        return cls
    if cls not in seen:
        from typing_extensions import TypedDict

        make: Any = TypedDict
        seen[cls] = made = make(cls.__name__, {})  # before its fields, because it may contain itself
        made.__module__, made.__doc__, made.__total__ = cls.__module__, cls.__doc__, cls.__total__
        made.__required_keys__, made.__optional_keys__ = cls.__required_keys__, cls.__optional_keys__
        hints = typing.get_type_hints(cls, include_extras=True)
        made.__annotations__ = {name: adapt_annotation(hint, seen) for name, hint in hints.items()}
    return seen[cls]
