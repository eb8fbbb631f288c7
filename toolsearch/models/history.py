"""Repair of a conversation for the wire: a provider rejects every later request for one odd message in it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from .changes import log_change
from .profiles import ProviderProfile

__all__ = ["acceptable_history"]

_NO_RESULT = "(no result: the call was interrupted)"
_EMPTY = "(empty message)"
_FIRST = "(earlier messages were left out)"


def acceptable_history(messages: Sequence[Message], profile: ProviderProfile) -> list[Message]:
    """Return a conversation that a provider accepts. The given messages stay as they are.

    - A call without a result gets a note as its result. A result without a call is left out.
    - Results follow their calls, before any other message. Ids are replaced by ones that the provider accepts; they
      are unique in the conversation.
    - Empty system messages and empty answers are left out. An empty user message becomes a note.
    - If the profile asks for it, system messages are joined in front, and neighboring answers are joined. The
      encoding joins neighboring user messages, because those of tool results are added there.

    Example:
        >>> from toolsearch.messages import ToolCall
        >>> from toolsearch.models.profiles import PROFILES
        >>> cut = [UserMessage("Hi"), AssistantMessage("", [ToolCall("c1", "ping")]), UserMessage("Go on")]
        >>> [message.role for message in acceptable_history(cut, PROFILES["openai"])]
        ['user', 'assistant', 'tool', 'user']
    """
    kept = [message for message in messages if not _is_empty(message)]
    if len(kept) < len(messages):
        log_change("empty message left out", "history", profile.name)
    repaired = list(_pair(kept, profile))
    if not profile.several_system_messages:
        repaired = _join_system_messages(repaired, profile)
    return _alternate(repaired, profile) if profile.alternating else repaired


def _is_empty(message: Message) -> bool:
    match message:
        case SystemMessage(text=text):
            return not text.strip()
        case AssistantMessage(text=text, tool_calls=calls):
            return not text.strip() and not calls
    return False


def _pair(messages: Sequence[Message], profile: ProviderProfile) -> Iterator[Message]:
    """Yield the messages with each result behind its call, and with acceptable ids."""
    ids = _Ids(profile)
    used: set[int] = set()
    for at, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and message.tool_calls:
            wire_ids = [ids.of(call) for call in message.tool_calls]
            calls = zip(message.tool_calls, wire_ids, strict=True)
            yield replace(message, tool_calls=tuple(replace(call, id=wire_id) for call, wire_id in calls))
            results = _results_after(messages, at)
            found = _match(message.tool_calls, results, messages, used)
            for call, wire_id, position in zip(message.tool_calls, wire_ids, found, strict=True):
                result = None if position is None else messages[position]
                if isinstance(result, ToolMessage):
                    yield replace(result, tool_call_id=wire_id)
                else:
                    log_change("note for a missing result", "history", profile.name)
                    yield ToolMessage(wire_id, call.name, _NO_RESULT, is_error=True, ran=False)
        elif isinstance(message, ToolMessage):
            if at not in used:
                log_change("result without a call left out", "history", profile.name)
        elif isinstance(message, UserMessage) and not message.text.strip() and not message.media:
            yield replace(message, text=_EMPTY)
        else:
            yield message


def _results_after(messages: Sequence[Message], at: int) -> list[int]:
    """Return the positions of the results between an assistant message and the next one."""
    positions: list[int] = []
    for position in range(at + 1, len(messages)):
        if isinstance(messages[position], AssistantMessage):
            break
        if isinstance(messages[position], ToolMessage):
            positions.append(position)
    return positions


def _match(
    calls: Sequence[ToolCall], results: Sequence[int], messages: Sequence[Message], used: set[int]
) -> list[int | None]:
    """Return the position of each call's result, by id and name, else by id alone."""
    found: list[int | None] = [None] * len(calls)
    for by_name in (True, False):
        for index, call in enumerate(calls):
            if found[index] is None:
                fitting = (at for at in results if at not in used and _answers(messages[at], call, by_name))
                if (at := next(fitting, None)) is not None:
                    found[index] = at
                    used.add(at)
    return found


def _answers(message: Message, call: ToolCall, by_name: bool) -> bool:
    if not isinstance(message, ToolMessage) or message.tool_call_id != call.id:
        return False
    return not by_name or message.name == call.name


class _Ids:
    """Ids of calls on the wire. An id depends on the conversation up to its call only."""

    def __init__(self, profile: ProviderProfile) -> None:
        self._profile = profile
        self._taken: set[str] = set()

    def of(self, call: ToolCall) -> str:
        """Return the id for a call."""
        wire_id = call.id
        attempt = 0
        while wire_id in self._taken or not re.fullmatch(self._profile.call_ids, wire_id):
            # 9 characters: the shortest form that a profile asks for.
            digest = hashlib.sha256(f"{call.id}\0{attempt}".encode("utf-8", "replace")).hexdigest()
            wire_id = digest[:9] if re.fullmatch(self._profile.call_ids, digest[:9]) else f"call_{digest[:24]}"
            attempt += 1
        if wire_id != call.id:
            log_change("id of a call replaced", "history", self._profile.name)
        self._taken.add(wire_id)
        return wire_id


def _join_system_messages(messages: Sequence[Message], profile: ProviderProfile) -> list[Message]:
    systems = [message for message in messages if isinstance(message, SystemMessage)]
    others = [message for message in messages if not isinstance(message, SystemMessage)]
    if not systems or (len(systems) == 1 and messages[0] is systems[0]):
        return list(messages)
    log_change("system messages joined", "history", profile.name)
    return [SystemMessage("\n\n".join(message.text for message in systems)), *others]


def _alternate(messages: Sequence[Message], profile: ProviderProfile) -> list[Message]:
    joined: list[Message] = []
    for message in messages:
        last = joined[-1] if joined else None
        if isinstance(message, AssistantMessage) and isinstance(last, AssistantMessage):  # without calls
            text = "\n\n".join(filter(None, (last.text, message.text)))
            joined[-1] = replace(message, text=text)
        elif isinstance(message, AssistantMessage) and (last is None or isinstance(last, SystemMessage)):
            joined += [UserMessage(_FIRST), message]
        else:
            joined.append(message)
            continue
        log_change("messages made to alternate", "history", profile.name)
    return joined
