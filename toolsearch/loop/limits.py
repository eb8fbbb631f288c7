"""Limits on the tool calls of one turn, and a check for repeated calls."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

from ..errors import ConfigurationError
from ..messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage, json_object
from ..text import short_repr

__all__ = ["CallCounter", "ToolCallLimits"]

MAX_FRUITLESS_ROUNDS = 10
"""Number of consecutive rounds without a permitted call after which the turn ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallLimits:
    """Limits on the tool calls of one turn, i.e. since the last user message. Calls of `tool_search` count too.

    The defaults are 40 calls of one tool and 150 in total.

    A call that is rejected by a limit counts too. After 10 consecutive rounds in which no call was permitted, the turn
    ends, whatever `on_limit` says.

    Args:
        per_tool: Calls of each tool. None sets no limit.
        total: Calls of all tools. None sets no limit.
        overrides: Other limits for single tools, by name. None sets no limit.
        exempt: Names of tools without a limit of their own. Their calls count toward `total`.
        on_limit: ``"end"`` ends the turn with the finish reason ``tool_call_limit``. ``"answer"`` answers the call
            with a sentence about the limit, and the turn goes on.
        max_repeats: A call that repeats the same name and arguments this many times in a row is answered instead of
            run. None turns this check off.

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

    def of(self, name: str) -> int | None:
        """Return the limit of the tool `name`; None means no limit."""
        return None if name in self.exempt else self.overrides.get(name, self.per_tool)


def _validate_integer(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | None):
        raise ConfigurationError(f"{name} must be an integer or None, got {short_repr(value)}")


@dataclass(frozen=True, slots=True)
class _Rejection:
    """A call that must not run: an explanation for the model, and whether the turn ends."""

    text: str
    ends_turn: bool


class CallCounter:
    """Count of the tool calls of one turn, compared with its limits. Calls of the turn in the history count too."""

    def __init__(self, limits: ToolCallLimits, history: Sequence[Message] = ()) -> None:
        self._limits = limits
        self._counts: Counter[str] = Counter()
        self._latest: tuple[str, str] | None = None
        self._repeats = 0
        self._fruitless_rounds = 0
        self._permitted_any = True
        turn = list(takewhile(lambda message: not isinstance(message, UserMessage), reversed(history)))
        self._counts.update(message.name for message in turn if isinstance(message, ToolMessage))
        answered = Counter(message.tool_call_id for message in turn if isinstance(message, ToolMessage))
        for message in reversed(turn):
            for call in message.tool_calls if isinstance(message, AssistantMessage) else ():
                if answered[call.id]:
                    answered[call.id] -= 1
                    self._count_repeat(call)

    def count_round(self, calls: Sequence[ToolCall]) -> tuple[dict[int, ToolMessage], str]:
        """Count the calls of a round.

        Returns:
            The answers to rejected calls, by position. The text of the limit that ends the turn, or an empty string.
        """
        answers: dict[int, ToolMessage] = {}
        limit_text = ""
        self._fruitless_rounds = 0 if self._permitted_any else self._fruitless_rounds + 1
        self._permitted_any = False
        for position, call in enumerate(calls):
            rejection = self._count(call)
            if limit_text or rejection:
                text = rejection.text if rejection else "Not run: the turn ended."
                answers[position] = ToolMessage(call.id, call.name, text, is_error=True)
                if rejection and rejection.ends_turn:
                    limit_text = limit_text or rejection.text
        return answers, limit_text

    def _count(self, call: ToolCall) -> _Rejection | None:
        """Count a call. Return None if it may run, or else the rejection."""
        repeated, limited = self._count_repeat(call), self._exceeded_limit(call)
        self._counts[call.name] += 1
        if limited is None and repeated is None:
            self._permitted_any = True
            return None
        ends_turn = self._fruitless_rounds >= MAX_FRUITLESS_ROUNDS or (
            limited is not None and self._limits.on_limit == "end"
        )
        return _Rejection(limited or repeated or "", ends_turn)

    def _count_repeat(self, call: ToolCall) -> str | None:
        """Compare a call with the one before. Return an explanation for the model if it was repeated too often."""
        arguments = _canonical_json(call.arguments)
        self._repeats = self._repeats + 1 if self._latest == (call.name, arguments) else 1
        self._latest = (call.name, arguments)
        limit = self._limits.max_repeats
        if limit is None or self._repeats < limit:
            return None
        return (
            f"Not run: {call.name} was called {self._repeats} times in a row with the same arguments. Use the result "
            "you have, change the arguments, or answer the user."
        )

    def _exceeded_limit(self, call: ToolCall) -> str | None:
        limit, total = self._limits.of(call.name), self._limits.total
        if limit is not None and self._counts[call.name] >= limit:
            reached = f"{limit} calls of {call.name}"
        elif total is not None and self._counts.total() >= total:
            reached = f"{total} tool calls"
        else:
            return None
        return f"Not run: the limit of {reached} per turn is reached."


def _canonical_json(arguments: str) -> str:
    """Return equal strings for equal arguments, regardless of key order and white space."""
    value = json_object(arguments)
    try:
        return arguments if value is None else json.dumps(value, sort_keys=True)
    except RecursionError:
        return arguments
