"""Limits on the tool calls of one turn."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..errors import ConfigurationError
from ..text import short_repr

__all__ = ["MAX_ROUNDS_WITHOUT_TOOL", "MAX_ROUNDS_WITH_REJECTED_SEARCH", "ToolCallLimits"]

MAX_ROUNDS_WITHOUT_TOOL = 10
"""Number of rounds in a row without a tool run after which the model must answer."""

MAX_ROUNDS_WITH_REJECTED_SEARCH = 2
"""Number of rounds since a tool ran last that had a search above its limit, or a search repeated too often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallLimits:
    """Limits on the tool calls of one turn, i.e. since the last user message. Calls of `tool_search` count too.

    The defaults are 40 calls of one tool and 150 in total.

    A call that is rejected by a limit counts too. A model that only makes calls that do not run, for 10 rounds in a row
    or until 2 rounds had a search above the search limit or repeated too often, is asked once more with tool calls
    switched off. If it still calls tools, the turn ends.

    Args:
        per_tool: Calls of each tool. None sets no limit.
        total: Calls of all tools. None sets no limit.
        overrides: Other limits for single tools, by name or by identity (``"bank::pay"``). None sets no limit.
        exempt: Names or identities of tools without a limit of their own. Their calls count toward `total`.
        on_limit: ``"end"`` ends the turn with the finish reason ``tool_call_limit`` and `ChatResponse.limit`.
            ``"answer"`` answers the call with a sentence about the limit, and the turn goes on.
        max_repeats: A call with the same name and arguments in this many rounds in a row is answered instead of run,
            if it had the same result each time. Calls that failed and parallel calls of one round do not count. None
            turns this check off.

    Raises:
        ConfigurationError: If a value is out of range or has the wrong type.

    Example:
        >>> ToolCallLimits(per_tool=5, overrides={"search_web": 20}).of("search_web")
        20
    """

    per_tool: int | None = 40
    total: int | None = 150
    overrides: Mapping[str, int | None] = field(default_factory=dict)
    exempt: Collection[str] = ()
    on_limit: Literal["end", "answer"] = "end"
    max_repeats: int | None = 3

    def __post_init__(self) -> None:
        if not isinstance(self.overrides, Mapping):
            raise ConfigurationError(
                f"overrides must be a mapping of tool names to limits, got {short_repr(self.overrides)}; "
                "write overrides={'search_web': 20}"
            )
        for name, limit in (("per_tool", self.per_tool), ("total", self.total), *self.overrides.items()):
            _validate_integer(name, limit)
            if limit is not None and limit < 0:
                raise ConfigurationError(f"limit {name} must be 0 or more, got {limit}; None means no limit")
        _validate_integer("max_repeats", self.max_repeats)
        if self.max_repeats is not None and self.max_repeats < 2:
            raise ConfigurationError(
                f"max_repeats must be 2 or more, got {self.max_repeats}; None turns this check off"
            )
        if self.on_limit not in ("end", "answer"):
            raise ConfigurationError(f"on_limit must be 'end' or 'answer', got {self.on_limit!r}")
        if isinstance(self.exempt, str):
            raise ConfigurationError(f"exempt must be a list of tool names; write exempt=[{self.exempt!r}]")

    def of(self, name: str, identity: str | None = None) -> int | None:
        """Return the limit of the tool `name` with this `Tool.identity`; None means no limit."""
        if name in self.exempt or identity in self.exempt:
            return None
        limit = self.overrides.get(name, self.per_tool)
        return limit if identity is None else self.overrides.get(identity, limit)


def _validate_integer(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | None):
        raise ConfigurationError(f"{name} must be an integer or None, got {short_repr(value)}")
