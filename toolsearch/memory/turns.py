"""Operations on conversations: split them into turns, drop unpaired tool calls, join stored and given messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ..messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage

__all__ = [
    "JoinedConversation",
    "drop_unpaired",
    "join_conversation",
    "split_turns",
    "unpaired_call_ids",
    "without_system",
]

TurnMessages: TypeAlias = tuple[Message, ...]


def without_system(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return the messages that are not system messages."""
    return tuple(message for message in messages if not isinstance(message, SystemMessage))


def split_turns(messages: Sequence[Message]) -> tuple[TurnMessages, ...]:
    """Split messages into turns: each begins at a user message that does not directly follow another one.

    Messages before the first user message are a turn of their own.
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


def drop_unpaired(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return the messages without tool calls that have no result and results that have no call.

    A result belongs to the assistant message before it, with nothing but other results between them.
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


def unpaired_call_ids(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return the ids of tool calls without a result and of results without a call."""
    unpaired: list[str] = []
    for head, results in _batches(messages):
        calls = [call.id for call in head.tool_calls] if isinstance(head, AssistantMessage) else []
        answered = [result.tool_call_id for result in results]
        known_calls, known_results = set(calls), set(answered)
        unpaired.extend(call for call in calls if call not in known_results)
        unpaired.extend(result for result in answered if result not in known_calls)
    return tuple(unpaired)


def _batches(messages: Sequence[Message]) -> Iterator[tuple[Message | None, list[ToolMessage]]]:
    """Yield each message with the results that directly follow it; None for results at the very beginning."""
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
class JoinedConversation:
    """A stored conversation and the messages of a request, joined without duplicates.

    Args:
        past: The stored messages to put before those of the request.
        current: The messages of the request to send.
        known: The number of messages at the start of `current` that are stored already.
    """

    past: tuple[Message, ...]
    current: tuple[Message, ...]
    known: int = 0


def join_conversation(stored: Sequence[Message], given: Sequence[Message]) -> JoinedConversation:
    """Find the messages of `given` that are stored already, so that nothing is sent or stored twice.

    Callers may pass the whole conversation, its end, or messages that they pass every time, such as examples. Turns
    are compared by their user messages: the caller may have tool messages of a turn that was stored without them, or
    another version of an answer.
    """
    old, new = split_turns(stored), split_turns(given)
    goes_on = bool(old and new) and _goes_on(old[-1], new[-1])
    complete = len(new) if new and (_is_complete(new[-1]) or goes_on) else len(new) - 1
    surplus = len(new[-1]) - len(old[-1]) if goes_on else 0  # messages of the last turn that are not stored
    candidates = [_user_messages(turn) for turn in new[: max(0, complete)]]
    said = [_user_messages(turn) for turn in old]
    longest = 0
    for start, count in enumerate(_common_lengths(said, candidates)):
        if start + count == len(said):  # the end of the conversation: the caller's version of it is sent
            known = sum(map(len, new[:count])) - (surplus if count == len(new) else 0)
            return JoinedConversation(_flatten(old[:start]), tuple(given), known)
        longest = max(longest, count)
    if said[-1:] == candidates[-1:] != []:  # also the end, after a beginning of the caller, such as a summary
        return JoinedConversation((), tuple(given), sum(map(len, new[: len(candidates)])) - surplus)
    return JoinedConversation(tuple(stored), _flatten(new[longest:]))  # the beginning: the stored version is sent


def _common_lengths(said: Sequence[TurnMessages], candidates: Sequence[TurnMessages]) -> list[int]:
    """Return for each position of `said` how many of `candidates` are there from it on.

    This is the Z algorithm. The number of comparisons grows linearly, also if all turns are equal.
    """
    if not candidates:
        return []
    turns: list[TurnMessages | None] = [*candidates, None, *said]
    lengths = [0] * len(turns)
    begin = end = 0  # the known match that reaches furthest
    for at in range(1, len(turns)):
        length = min(lengths[at - begin], end - at) if at < end else 0
        while at + length < len(turns) and turns[at + length] == turns[length]:
            length += 1
        lengths[at] = length
        if at + length > end:
            begin, end = at, at + length
    return lengths[len(candidates) + 1 :]


def _is_complete(turn: TurnMessages) -> bool:
    return isinstance(turn[-1], AssistantMessage) and not turn[-1].tool_calls


def _goes_on(stored: TurnMessages, given: TurnMessages) -> bool:
    """Return whether the caller goes on with a turn that ended early, and of which its tool calls are stored."""
    return len(stored) > 1 and not _is_complete(stored) and given[: len(stored)] == stored


def _user_messages(turn: TurnMessages) -> TurnMessages:
    return tuple(message for message in turn if isinstance(message, UserMessage)) or turn


def _flatten(turns: Iterable[TurnMessages]) -> tuple[Message, ...]:
    return tuple(message for turn in turns for message in turn)
