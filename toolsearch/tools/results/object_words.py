"""Words for objects that JSON cannot express: what a result is, without addresses in memory."""

from __future__ import annotations

import inspect
from typing import Any

__all__ = ["describe_object", "type_name", "unshown_result"]


def type_name(value: object) -> str:
    """Return the name of the type of a value, also if its metaclass fails."""
    name: str = vars(type)["__name__"].__get__(type(value))
    return name


def describe_object(value: Any) -> str:
    """Return the text of an object: its `str()` if it says something, else words. Never raises an `Exception`.

    Example:
        >>> describe_object(ValueError("no")), describe_object(len), describe_object(object())
        ('no', '(the function len)', '(a value of type object)')
    """
    kind, name = type(value), type_name(value)
    if issubclass(kind, type):
        return f"(the class {_name(value)})"
    if inspect.iscoroutine(value):
        value.close()  # otherwise Python warns that it was never awaited
        return f"(the coroutine {_name(value)}, which was not awaited)"
    if hasattr(kind, "add_done_callback"):
        return f"(a {name} that was not awaited)"
    if inspect.isroutine(value):
        return f"(the function {_name(value)})"
    defaults: tuple[object, ...] = (object.__str__, object.__repr__)
    if (kind.__str__, kind.__repr__) == defaults:
        return f"(a value of type {name})"
    try:
        return str(value)
    except Exception:  # __str__ fails, although the call succeeded
        return f"(a value of type {name} that cannot be shown)"


def unshown_result(name: str, value: object) -> str:
    """Return the result of a call that ran, for the model, if the value cannot be converted.

    It does not say that the call failed: the model must not repeat a call that had its effect.
    """
    return f"{name} ran; its result of type {type_name(value)} cannot be shown."


def _name(value: Any) -> str:
    try:
        return str(value.__name__)
    except Exception:  # a metaclass or a proxy that fails
        return type_name(value)
