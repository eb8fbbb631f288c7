"""The option `tool_choice`, changed so that a provider accepts it and a turn can end."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ...chat.tool_choice import is_forced
from ..changes import log_change
from ..profiles import ProviderProfile

__all__ = ["acceptable_choice"]


def acceptable_choice(choice: Any, names: Collection[str], profile: ProviderProfile, *, is_later: bool) -> Any:
    """Return the choice to send.

    Args:
        choice: The option as it was given.
        names: The names of the tools in the request.
        profile: What the provider accepts.
        is_later: Whether the turn has results already. A forced choice of the model's own options is for the first
            round, because a model that must call a tool can never answer.
    """
    if not is_forced(choice):
        return choice
    if is_later or not profile.forced_tool_choice:
        log_change("forced tool choice released", "tool_choice", profile.name)
        return "auto"
    name = _function_of(choice)
    if name is not None and name not in names:  # such as a tool that a search has yet to reveal
        log_change("tool choice of an unsent tool", name, profile.name)
        return "required"
    return choice


def _function_of(choice: Any) -> str | None:
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) else None
