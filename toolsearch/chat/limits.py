"""The limit that ended a turn, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..serialization import Serializable

__all__ = ["LimitKind", "ReachedLimit"]

LimitKind: TypeAlias = Literal[
    "calls_per_tool", "calls_total", "rounds_without_tool", "turn_tokens", "turn_cost", "session_tokens", "session_cost"
]
"""``calls_per_tool``: calls of one tool. ``calls_total``: calls of all tools. ``rounds_without_tool``: rounds in a row
in which the model called tools but none could run. The others are budgets of `UsageLimits`."""


@dataclass(frozen=True, slots=True)
class ReachedLimit(Serializable):
    """A limit that ended a turn.

    Args:
        kind: The limit.
        number: Its value.
        tool: The name of the tool, if the limit belongs to one tool.

    Example:
        >>> str(ReachedLimit("calls_per_tool", 40, "search_web"))
        'the limit of 40 calls of search_web per turn is reached'
    """

    kind: LimitKind
    number: float
    tool: str | None = None

    def __str__(self) -> str:
        return _SENTENCES[self.kind].format(number=f"{self.number:,.10g}", tool=self.tool)


_SENTENCES: dict[LimitKind, str] = {
    "calls_per_tool": "the limit of {number} calls of {tool} per turn is reached",
    "calls_total": "the limit of {number} tool calls per turn is reached",
    "rounds_without_tool": "no tool could run in {number} rounds in a row",
    "turn_tokens": "the budget of {number} tokens of the turn is used up",
    "turn_cost": "the budget of the turn is used up",
    "session_tokens": "the budget of {number} tokens of the session is used up",
    "session_cost": "the budget of the session is used up",
}
