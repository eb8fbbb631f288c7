"""`typing.TypedDict` for pydantic on a Python whose own version of it cannot be read (before 3.12)."""

from __future__ import annotations

import sys
import typing
from typing import Any

__all__ = ["adapted_typed_dict"]


def adapted_typed_dict(cls: Any, _seen: dict[Any, Any] | None = None) -> Any:
    """Return a `TypedDict` that pydantic can read: `cls` itself, or the same one made with typing_extensions.

    Also those in its fields, and in itself.
    """
    if sys.version_info >= (3, 12) or type(cls).__module__ != "typing":
        return cls
    from typing_extensions import TypedDict

    seen = {} if _seen is None else _seen
    if cls in seen:
        return seen[cls]
    make: Any = TypedDict
    made = make(cls.__name__, {})
    seen[cls] = made
    made.__module__, made.__doc__, made.__total__ = cls.__module__, cls.__doc__, cls.__total__
    made.__required_keys__, made.__optional_keys__ = cls.__required_keys__, cls.__optional_keys__
    hints = typing.get_type_hints(cls, include_extras=True)
    made.__annotations__ = {name: _adapted_field(hint, seen) for name, hint in hints.items()}
    return made


def _adapted_field(hint: Any, seen: dict[Any, Any]) -> Any:
    if typing.is_typeddict(hint):
        return adapted_typed_dict(hint, seen)
    members = typing.get_args(hint)
    adapted = tuple(_adapted_field(member, seen) for member in members)
    if all(new is old for new, old in zip(adapted, members, strict=True)):
        return hint
    kind: Any = typing.get_origin(hint)
    if kind is typing.Annotated:
        return typing.Annotated[adapted[0], *hint.__metadata__]
    return typing.Union[adapted] if isinstance(hint, type(int | str)) else kind[adapted]  # noqa: UP007
