"""The request option `tool_choice`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["is_forced"]


def is_forced(choice: Any) -> bool:
    """Return whether a `tool_choice` demands a tool call.

    Example:
        >>> is_forced("required"), is_forced({"type": "function", "function": {"name": "pay"}}), is_forced("auto")
        (True, True, False)
    """
    if isinstance(choice, Mapping):
        allowed = choice.get("allowed_tools")
        mode = allowed.get("mode") if isinstance(allowed, Mapping) else choice.get("mode")
        return choice.get("type") not in ("auto", "none") and mode not in ("auto", "none")
    return isinstance(choice, str) and choice not in ("auto", "none", "")
