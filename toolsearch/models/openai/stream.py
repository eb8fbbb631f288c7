"""Puts the chunks of a streamed chat completion together, tolerant of what servers other than OpenAI's send."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...chat.events import ChatChunk
from ...chat.responses import ChatResponse
from ...errors import ProviderProtocolError
from ...messages import AssistantMessage, Message, ToolCall, Usage
from .answers import CallIds, arguments_text, content_text, refused, usage_of

__all__ = ["StreamAssembler"]


@dataclass(slots=True)
class _Call:
    """A tool call on its way."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    @property
    def whole(self) -> bool:
        """Whether its arguments are a complete JSON object."""
        if not self.arguments.rstrip().endswith("}"):
            return False
        try:
            return isinstance(json.loads(self.arguments), dict)
        except (ValueError, RecursionError):
            return False


@dataclass(slots=True)
class _Answer:
    """One of the answers (`n` > 1 gives several) on its way."""

    text: list[str] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)
    by_index: dict[int, _Call] = field(default_factory=dict)
    finish_reason: str | None = None
    refused: bool = False

    def add(self, fragment: Any) -> ToolCall:
        """Take in a piece of a tool call and return it as a piece."""
        function = getattr(fragment, "function", None)
        given_id = str(getattr(fragment, "id", None) or "")
        name = getattr(function, "name", None) or ""
        arguments = arguments_text(getattr(function, "arguments", None))
        index = getattr(fragment, "index", None)
        call = self._find(index, given_id, name) or self._begin(index)
        call.id = call.id or given_id
        # OpenAI sends the name once; others repeat it with every piece.
        if name != call.name and not call.arguments:
            call.name += name
        # Some end with the whole arguments again.
        if not (arguments == call.arguments and call.whole):
            call.arguments += arguments
        return ToolCall(call.id, call.name, arguments)

    def _find(self, index: int | None, given_id: str, name: str) -> _Call | None:
        """The call that a piece belongs to; None if it begins a new one.

        The index decides, where there is one, except for servers that give every parallel call the index 0:
        a piece with another id and a name, after whole arguments, is another call. An id alone decides
        nothing: there are servers that make a new one for each piece.
        """
        if index is not None:
            call = self.by_index.get(index)
            another = call is not None and given_id and call.id not in ("", given_id)
            return None if call is not None and another and name and call.whole else call
        if given_id and (known := next((call for call in self.calls if call.id == given_id), None)):
            return known
        last = self.calls[-1] if self.calls else None
        if last is None or (name and (given_id or last.whole or name != last.name)):
            return None
        return last

    def _begin(self, index: int | None) -> _Call:
        call = _Call()
        self.calls.append(call)
        if index is not None:
            self.by_index[index] = call
        return call


class StreamAssembler:
    """Takes the SDK's chunks in order and gives ours, and at the end the aggregate.

    Args:
        messages: the conversation that is answered, to make ids that are not in use in it.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._ids = CallIds(messages)
        self._answers: dict[int, _Answer] = {}
        self._usage = Usage()
        self._last: Any = None

    def add(self, chunk: Any) -> ChatChunk | None:
        """Take in a chunk; None if it has nothing to pass on. Of several answers the first is passed on."""
        self._last = chunk
        if (usage := getattr(chunk, "usage", None)) is not None:
            self._usage = usage_of(usage)
        text: list[str] = []
        calls: list[ToolCall] = []
        for choice in getattr(chunk, "choices", None) or ():
            number = getattr(choice, "index", None) or 0
            answer = self._answers.setdefault(number, _Answer())
            answer.finish_reason = getattr(choice, "finish_reason", None) or answer.finish_reason
            delta = getattr(choice, "delta", None)
            piece = content_text(getattr(delta, "content", None)) or content_text(getattr(delta, "refusal", None))
            answer.text.append(piece)
            answer.refused = answer.refused or refused(delta)
            pieces = [answer.add(fragment) for fragment in getattr(delta, "tool_calls", None) or ()]
            if number == 0:
                text.append(piece)
                calls.extend(pieces)
        passed = ChatChunk("".join(text), tuple(calls), raw=chunk)
        return passed if passed.text or passed.tool_calls else None

    def finish(self) -> ChatResponse:
        """Return the aggregate.

        Raises:
            ProviderProtocolError: the stream ended before the answer did.
        """
        answers = [self._answers[number] for number in sorted(self._answers)]
        if not answers or any(answer.finish_reason is None for answer in answers):
            got = sum(len(piece) for answer in answers for piece in answer.text)
            raise ProviderProtocolError(
                f"the provider's stream ended without a finish reason, after {got} characters of text", retryable=True
            )
        candidates = [self._message(answer) for answer in answers]
        response = ChatResponse.from_candidates(candidates, usage=self._usage, raw=self._last)
        chosen = next(i for i, candidate in enumerate(candidates) if candidate is response.message)
        if answers[chosen].refused and not response.tool_calls:
            return response.replace(finish_reason="refusal")  # the format says "stop"
        return response.replace(finish_reason=answers[chosen].finish_reason or "stop")

    def _message(self, answer: _Answer) -> AssistantMessage:
        calls = (ToolCall(self._ids.take(call.id), call.name, call.arguments or "{}") for call in answer.calls)
        return AssistantMessage("".join(answer.text), tuple(calls))
