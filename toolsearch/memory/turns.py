"""What a turn is, which calls have their results, and what of a request is known already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypeAlias

from ..messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage

__all__ = ["Joined", "half_pairs", "join", "split_turns", "whole_pairs", "without_system"]

MessageTurn: TypeAlias = tuple[Message, ...]


def without_system(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages that are not the application's instructions."""
    return tuple(message for message in messages if not isinstance(message, SystemMessage))


def split_turns(messages: Sequence[Message]) -> tuple[MessageTurn, ...]:
    """The messages in turns: each begins at a user message that does not directly follow another one.

    What comes before the first user message is a turn of its own.
    """
    turns: list[list[Message]] = []
    after_user = False
    for message in messages:
        is_user = isinstance(message, UserMessage)
        if not turns or (is_user and not after_user):
            turns.append([])
        turns[-1].append(message)
        after_user = is_user
    return tuple(map(tuple, turns))


def whole_pairs(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages without calls that have no result and results that have no call.

    A result belongs to the assistant message that it follows, with nothing but other results between them.
    """
    kept: list[Message] = []
    for head, results in _batches(messages):
        calls = head.tool_calls if isinstance(head, AssistantMessage) else ()
        answered = {result.tool_call_id for result in results}
        paired = tuple(call for call in calls if call.id in answered)
        if head is not None and paired != calls and isinstance(head, AssistantMessage):
            head = replace(head, tool_calls=paired) if paired or head.text else None
        kept.extend([head] if head is not None else [])
        called = {call.id for call in paired}
        kept.extend(result for result in results if result.tool_call_id in called)
    return tuple(kept)


def half_pairs(messages: Sequence[Message]) -> tuple[str, ...]:
    """The ids of calls without a result and of results without a call."""
    halves: list[str] = []
    for head, results in _batches(messages):
        calls = [call.id for call in head.tool_calls] if isinstance(head, AssistantMessage) else []
        answered = [result.tool_call_id for result in results]
        halves.extend(call for call in calls if call not in answered)
        halves.extend(result for result in answered if result not in calls)
    return tuple(halves)


def _batches(messages: Sequence[Message]) -> Iterator[tuple[Message | None, list[ToolMessage]]]:
    """Each message with the results that directly follow it; None for results at the very beginning."""
    head: Message | None = None
    results: list[ToolMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            results.append(message)
            continue
        if head is not None or results:
            yield head, results
        head, results = message, []
    if head is not None or results:
        yield head, results


@dataclass(frozen=True, slots=True)
class Joined:
    """A stored conversation and the messages of a request as one.

    Args:
        past: the stored messages to put before those of the request.
        current: the messages of the request to send.
        known: how many of `current` are stored already.
    """

    past: tuple[Message, ...]
    current: tuple[Message, ...]
    known: int = 0


def join(stored: Sequence[Message], given: Sequence[Message]) -> Joined:
    """Find what of `given` is stored already, so that nothing is sent or stored twice.

    Callers may pass the whole conversation, its end, or something that they pass every time. Turns are compared by what
    the user said: of a turn that was stored without its tool messages they may have those, and of an answer another
    version.
    """
    old, new = split_turns(stored), split_turns(given)
    complete = len(new) if new and _is_complete(new[-1]) else len(new) - 1
    candidates = [_said(turn) for turn in new[: max(0, complete)]]
    said = [_said(turn) for turn in old]
    longest = 0
    for at in range(len(said) if candidates else 0):
        count = _common(said, at, candidates)
        if at + count == len(said):  # the end of the conversation: what the caller has of it is sent
            return Joined(_flat(old[:at]), tuple(given), sum(map(len, new[:count])))
        longest = max(longest, count)
    if said[-1:] == candidates[-1:] != []:  # the end too, after a beginning of the caller's own, such as a summary
        return Joined((), tuple(given), sum(map(len, new[: len(candidates)])))
    return Joined(tuple(stored), _flat(new[longest:]))  # such as examples at its beginning: what is stored is sent


def _common(said: Sequence[MessageTurn], at: int, candidates: Sequence[MessageTurn]) -> int:
    """How many of `candidates` stand in `said` from `at` on."""
    pairs = zip((said[i] for i in range(at, len(said))), candidates, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _is_complete(turn: MessageTurn) -> bool:
    return isinstance(turn[-1], AssistantMessage) and not turn[-1].tool_calls


def _said(turn: MessageTurn) -> MessageTurn:
    return tuple(message for message in turn if isinstance(message, UserMessage)) or turn


def _flat(turns: Iterable[MessageTurn]) -> tuple[Message, ...]:
    return tuple(message for turn in turns for message in turn)
