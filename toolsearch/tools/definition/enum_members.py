"""Enum members in a `Literal`: the schema shows their values, but pydantic only accepts the members themselves."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

__all__ = ["validate_with_members"]


def validate_with_members(adapter: TypeAdapter[Any], value: Any, error: ValidationError) -> Any:
    """Validate JSON again with the enum members of the adapter's literals in the place of their values.

    Args:
        adapter: The adapter that raised `error`.
        value: The JSON value.
        error: Raised again if the value has no place for a member.

    Raises:
        ValidationError: If the value does not fit with the members either.

    Example:
        >>> from enum import Enum
        >>> from typing import Literal
        >>> from pydantic import TypeAdapter, ValidationError
        >>> Color = Enum("Color", {"RED": "red"})
        >>> adapter = TypeAdapter(list[Literal[Color.RED]])
        >>> try:
        ...     adapter.validate_python(["red"])
        ... except ValidationError as error:
        ...     print(validate_with_members(adapter, ["red"], error))
        [<Color.RED: 'red'>]
    """
    found = [one for one in error.errors(include_url=False) if one["type"] == "literal_error"]
    members = list(_members(adapter.core_schema)) if found else []
    holder = {"": copy.deepcopy(value)}
    changed = False
    for one in found:
        # By type too: True equals 1.
        same = (m for m in members if type(m.value) is type(one["input"]) and m.value == one["input"])
        member = next(same, None)
        if member is not None and repr(member) in one.get("ctx", {}).get("expected", ""):
            changed = _set(holder, one["loc"], one["input"], member) or changed
    if not changed:
        raise error
    return adapter.validate_python(holder[""])


def _members(schema: Any) -> Iterator[Enum]:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list | tuple):
            waiting.extend(part)
        elif isinstance(part, dict) and part.get("type") == "literal":
            yield from (member for member in part["expected"] if isinstance(member, Enum))
        elif isinstance(part, dict):
            waiting.extend(value for key, value in part.items() if key != "metadata")


def _set(holder: Any, place: tuple[int | str, ...], value: Any, member: Enum) -> bool:
    """Set a member at the place of an error, which also names the members of unions. Return whether it was found."""
    at: int | str = ""
    for step in place:
        inner = holder[at]
        if (isinstance(inner, dict) and step in inner) or (
            isinstance(inner, list) and isinstance(step, int) and step < len(inner)
        ):
            holder, at = inner, step
    if holder[at] != value:
        return False
    holder[at] = member
    return True
