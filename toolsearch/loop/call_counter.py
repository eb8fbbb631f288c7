"""Counts of the tool calls of one turn, compared with its limits."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ..chat.limits import ReachedLimit
from ..messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage, json_object
from ..tools.names import RESERVED_NAMES
from .limits import MAX_ROUNDS_WITH_REJECTED_SEARCH, MAX_ROUNDS_WITHOUT_TOOL, ToolCallLimits

__all__ = ["CallCounter"]


@dataclass(frozen=True, slots=True)
class _Repeats:
    """The rounds in a row in which one call had the same result."""

    result: str
    rounds: int


class CallCounter:
    """Counts of the tool calls of one turn, compared with its limits. Calls of the turn in the history count too.

    For each round, `begin_round` gets the calls, and `end_round` their results.

    Args:
        limits: The limits.
        history: The conversation so far. Its part since the last user message belongs to the turn.
    """

    def __init__(self, limits: ToolCallLimits, history: Sequence[Message] = ()) -> None:
        self._limits = limits
        self._counts: Counter[str] = Counter()
        self._repeats: dict[tuple[str, str], _Repeats] = {}
        self._keys: list[tuple[str, str]] = []  # of the calls of the current round
        self._rounds_without_tool = 0
        self._rounds_with_rejected_search = 0
        turn = list(takewhile(lambda message: not isinstance(message, UserMessage), reversed(history)))[::-1]
        self._counts.update(message.name for message in turn if isinstance(message, ToolMessage))
        for calls, results in _rounds_of(turn):
            self._keys = list(map(_key, calls))
            self.end_round(results)

    def begin_round(
        self, calls: Sequence[ToolCall], identities: Mapping[str, str] | None = None
    ) -> tuple[dict[int, ToolMessage], ReachedLimit | None]:
        """Count the calls of a round.

        Args:
            calls: The calls.
            identities: The identities of the tools by name, for limits that are given by identity.

        Returns:
            The answers to calls that must not run, by position. The limit that ends the turn, or None.
        """
        answers: dict[int, ToolMessage] = {}
        ends = self.exhausted
        self._keys = list(map(_key, calls))
        for position, call in enumerate(calls):
            limit = self._exceeded_limit(call.name, (identities or {}).get(call.name))
            self._counts[call.name] += 1
            text = f"Not run: {limit}." if limit is not None else self._describe_repeat(call, self._keys[position])
            if limit is not None and self._limits.on_limit == "end":
                ends = ends or limit
            if ends is not None or text:
                answers[position] = ToolMessage.rejected(call, text or "Not run: the turn ended.")
        return answers, ends

    def end_round(self, results: Sequence[ToolMessage]) -> None:
        """Note the results of the round that `begin_round` began, in the order of its calls."""
        rejected_search = any(map(self._is_rejected_search, self._keys, results))
        repeats: dict[tuple[str, str], _Repeats] = {}
        for key, result in zip(self._keys, results, strict=False):
            before = self._repeats.get(key)
            if not result.ran and before is not None:
                repeats.setdefault(key, before)  # a rejected repetition does not end the row
            elif result.ran and not result.is_error:
                same = before is not None and before.result == result.text
                repeats[key] = _Repeats(result.text, before.rounds + 1 if before is not None and same else 1)
        self._repeats = repeats
        progress = any(result.ran or result.revealed for result in results)
        self._rounds_without_tool = 0 if progress else self._rounds_without_tool + 1
        self._rounds_with_rejected_search = 0 if progress else self._rounds_with_rejected_search + rejected_search

    @property
    def exhausted(self) -> ReachedLimit | None:
        """The limit on rounds without a tool run, if it is reached."""
        if self._rounds_without_tool >= MAX_ROUNDS_WITHOUT_TOOL:
            return ReachedLimit("rounds_without_tool", self._rounds_without_tool)
        if self._rounds_with_rejected_search >= MAX_ROUNDS_WITH_REJECTED_SEARCH:
            return ReachedLimit("rounds_without_tool", self._rounds_with_rejected_search)
        return None

    def _is_rejected_search(self, key: tuple[str, str], result: ToolMessage) -> bool:
        """Return whether a search did not run because of the search limit, or because it was repeated too often."""
        return not result.ran and (not result.is_error or (key[0] in RESERVED_NAMES and self._repeated_rounds(key) > 0))

    def _describe_repeat(self, call: ToolCall, key: tuple[str, str]) -> str:
        """Return an explanation for the model if a call was repeated too often, else an empty string."""
        rounds = self._repeated_rounds(key)
        return (
            ""
            if not rounds
            else (
                f"Not run: {call.name} was called with the same arguments in {rounds} rounds in a row and had the "
                "same result each time. Use the result you have, change the arguments, or answer the user."
            )
        )

    def _repeated_rounds(self, key: tuple[str, str]) -> int:
        """Return in how many rounds in a row a call was repeated, or 0 if it was not repeated too often."""
        limit, repeats = self._limits.max_repeats, self._repeats.get(key)
        return 0 if limit is None or repeats is None or repeats.rounds < limit - 1 else repeats.rounds

    def _exceeded_limit(self, name: str, identity: str | None) -> ReachedLimit | None:
        limit, total = self._limits.of(name, identity), self._limits.total
        if limit is not None and self._counts[name] >= limit:
            return ReachedLimit("calls_per_tool", limit, name)
        if total is not None and self._counts.total() >= total:
            return ReachedLimit("calls_total", total)
        return None


def _rounds_of(turn: Sequence[Message]) -> Iterator[tuple[list[ToolCall], list[ToolMessage]]]:
    """Yield the calls and results of each round. Calls without a result are left out."""
    for at, message in enumerate(turn):
        if not isinstance(message, AssistantMessage) or not message.tool_calls:
            continue
        following = takewhile(lambda later: isinstance(later, ToolMessage), turn[at + 1 :])
        results = [result for result in following if isinstance(result, ToolMessage)]
        pairs: list[tuple[ToolCall, ToolMessage]] = []
        for call in message.tool_calls:
            found = next((result for result in results if result.tool_call_id == call.id), None)
            if found is not None:
                results.remove(found)
                pairs.append((call, found))
        if pairs:
            yield [call for call, _ in pairs], [result for _, result in pairs]


def _key(call: ToolCall) -> tuple[str, str]:
    """Return equal keys for equal calls, regardless of the order of arguments and of white space."""
    value = json_object(call.arguments)
    try:
        return call.name, call.arguments if value is None else json.dumps(value, sort_keys=True)
    except RecursionError:
        return call.name, call.arguments
