"""Assembly of streamed completions, tolerant of servers that deviate from OpenAI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...chat.call_ids import CallIds
from ...chat.events import ChatChunk
from ...chat.responses import ChatResponse
from ...errors import ProviderProtocolError
from ...messages import AssistantMessage, Message, ToolCall, Usage
from .answers import arguments_text, content_text, is_refusal, usage_of
from .streamed_arguments import StreamedArguments

__all__ = ["StreamAssembler"]

MAX_NAME_CHARACTERS = 1_000
"""The length of a tool's name from which further pieces of it are dropped."""


@dataclass(slots=True)
class _Call:
    """A tool call of which pieces have arrived."""

    id: str = ""
    name: str = ""
    arguments: StreamedArguments = field(default_factory=StreamedArguments)


@dataclass(slots=True)
class _Answer:
    """One answer (`n` > 1 gives several) of which pieces have arrived."""

    text: list[str] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)
    by_id: dict[str, _Call] = field(default_factory=dict)
    by_index: dict[int, _Call] = field(default_factory=dict)
    finish_reason: str | None = None
    is_refusal: bool = False

    def add(self, fragment: Any) -> ToolCall:
        """Add a piece of a tool call and return it as a `ToolCall`."""
        function = getattr(fragment, "function", None)
        given_id = str(getattr(fragment, "id", None) or "")
        name = getattr(function, "name", None) or ""
        arguments = arguments_text(getattr(function, "arguments", None))
        index = getattr(fragment, "index", None)
        call = self._find(index, given_id, name) or self._begin(index)
        call.id = call.id or given_id
        self.by_id.setdefault(call.id, call)
        # OpenAI sends the name once; other servers repeat it with every piece.
        if name != call.name and not call.arguments.length and len(call.name) <= MAX_NAME_CHARACTERS:
            call.name += name
        # Some servers send the complete arguments again at the end.
        if not (call.arguments.equals(arguments) and call.arguments.is_complete):
            call.arguments.add(arguments)
        return ToolCall(call.id, call.name, arguments)

    def _find(self, index: int | None, given_id: str, name: str) -> _Call | None:
        """Return the call that a piece belongs to, or None if it begins a new call.

        An index decides, except for servers that send index 0 for every parallel call: a piece with another id and a
        name, after complete arguments, begins a new call. An id alone does not decide, because some servers make a
        new id for each piece.
        """
        if index is not None:
            call = self.by_index.get(index)
            another = call is not None and given_id and call.id not in ("", given_id)
            return None if call is not None and another and name and call.arguments.is_complete else call
        if given_id and given_id in self.by_id:
            return self.by_id[given_id]
        last = self.calls[-1] if self.calls else None
        if last is None or (name and (given_id or last.arguments.is_complete or name != last.name)):
            return None
        return last

    def _begin(self, index: int | None) -> _Call:
        call = _Call()
        self.calls.append(call)
        if index is not None:
            self.by_index[index] = call
        return call


class StreamAssembler:
    """Converts the SDK's chunks to `ChatChunk`, and collects them into one response.

    Args:
        messages: The conversation that is answered. Generated ids of tool calls differ from the ids in it.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._ids = CallIds(messages)
        self._answers: dict[int, _Answer] = {}
        self._usage = Usage()
        self._last: Any = None

    def add(self, chunk: Any) -> ChatChunk | None:
        """Add a chunk. Return it converted, or None if it has nothing of the first answer."""
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
            answer.is_refusal = answer.is_refusal or is_refusal(delta)
            pieces = [answer.add(fragment) for fragment in getattr(delta, "tool_calls", None) or ()]
            if number == 0:
                text.append(piece)
                calls.extend(pieces)
        passed = ChatChunk("".join(text), tuple(calls), raw=chunk)
        return passed if passed.text or passed.tool_calls else None

    def finish(self) -> ChatResponse:
        """Return the complete response.

        Raises:
            ProviderProtocolError: If the stream ended before the answer.
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
        if answers[chosen].is_refusal and not response.tool_calls:
            return response.replace(finish_reason="refusal")  # the provider says "stop"
        return response.replace(finish_reason=answers[chosen].finish_reason or "stop")

    def _message(self, answer: _Answer) -> AssistantMessage:
        calls = (ToolCall(self._ids.take(call.id), call.name, call.arguments.text or "{}") for call in answer.calls)
        return AssistantMessage("".join(answer.text), tuple(calls))
