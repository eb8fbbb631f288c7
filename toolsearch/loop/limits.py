"""`ToolCallLimits`: how often tools may be called in one turn, and the guard against going in circles."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

from ..errors import ConfigurationError
from ..messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage, json_object

__all__ = ["CallCounter", "Refusal", "ToolCallLimits"]

_PATIENCE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallLimits:
    """Limits on the tool calls of one turn, that is since the last user message. `tool_search` counts as well.

    The defaults, 40 and 150, are those of the system this library takes after.

    Args:
        per_tool: calls of one tool; None is unlimited.
        total: calls in all; None is unlimited.
        overrides: other limits for tools by name; None is unlimited.
        exempt: tools without a limit of their own; their calls count in `total`.
        on_limit: ``"end"`` ends the turn with finish reason ``tool_call_limit`` and the results so far,
            ``"answer"`` answers the call with the limit and goes on.
        max_repeats: a call with the same name and arguments this many times in a row is answered instead of run;
            None runs it.

    Calls that are answered instead of run count as well. A model that goes on for 10 rounds in which nothing may run
    is not asked again, whatever `on_limit` says.

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
        for name, limit in (("per_tool", self.per_tool), ("total", self.total), *self.overrides.items()):
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
                raise ConfigurationError(f"the limit {name} must be a number of calls or None, not {limit!r}")
            if limit is not None and limit < 0:
                raise ConfigurationError(f"the limit {name}={limit} is negative; None means unlimited")
        if self.max_repeats is not None and self.max_repeats < 2:
            raise ConfigurationError("max_repeats must be 2 or more, or None to switch the guard off")
        if self.on_limit not in ("end", "answer"):
            raise ConfigurationError(f"on_limit must be 'end' or 'answer', not {self.on_limit!r}")
        if isinstance(self.exempt, str):
            raise ConfigurationError("exempt must be a collection of tool names, not one string")

    def of(self, name: str) -> int | None:
        """The limit of one tool; None is unlimited."""
        return None if name in self.exempt else self.overrides.get(name, self.per_tool)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call is not run: `text` is for the model, `ends` says that the turn ends here."""

    text: str
    ends: bool


class CallCounter:
    """Counts the calls of one turn against its limits; what the history holds of the turn counts too."""

    def __init__(self, limits: ToolCallLimits, history: Sequence[Message] = ()) -> None:
        self._limits = limits
        self._counts: Counter[str] = Counter()
        self._last: tuple[str, str] | None = None
        self._repeats = 0
        self._fruitless = 0
        self._admitted = True
        turn = list(takewhile(lambda message: not isinstance(message, UserMessage), reversed(history)))
        self._counts.update(message.name for message in turn if isinstance(message, ToolMessage))
        answered = Counter(message.tool_call_id for message in turn if isinstance(message, ToolMessage))
        for message in reversed(turn):
            for call in message.tool_calls if isinstance(message, AssistantMessage) else ():
                if answered[call.id]:
                    answered[call.id] -= 1
                    self._circling(call)

    def next_round(self) -> None:
        """Note that the model was asked and has answered with calls."""
        self._fruitless = 0 if self._admitted else self._fruitless + 1
        self._admitted = False

    def admit(self, call: ToolCall) -> Refusal | None:
        """Count a call; return why it may not run, or None."""
        circling, limit = self._circling(call), self._limit(call)
        self._counts[call.name] += 1
        if limit is None and circling is None:
            self._admitted = True
            return None
        ends = self._fruitless >= _PATIENCE or (limit is not None and self._limits.on_limit == "end")
        return Refusal(limit or circling or "", ends)

    def _circling(self, call: ToolCall) -> str | None:
        canonical = _canonical(call.arguments)
        self._repeats = self._repeats + 1 if self._last == (call.name, canonical) else 1
        self._last = (call.name, canonical)
        limit = self._limits.max_repeats
        if limit is None or self._repeats < limit:
            return None
        return (
            f"Not run: {call.name} was called {self._repeats} times in a row with the same arguments. Use the result "
            "you have, change the arguments, or answer the user."
        )

    def _limit(self, call: ToolCall) -> str | None:
        limit, total = self._limits.of(call.name), self._limits.total
        if limit is not None and self._counts[call.name] >= limit:
            reached = f"{limit} calls of {call.name}"
        elif total is not None and self._counts.total() >= total:
            reached = f"{total} tool calls"
        else:
            return None
        return f"Not run: the limit of {reached} per turn is reached."


def _canonical(arguments: str) -> str:
    """The same text for the same arguments, however they were written."""
    found = json_object(arguments)
    try:
        return arguments if found is None else json.dumps(found, sort_keys=True)
    except RecursionError:
        return arguments
