"""Assembly of streamed completions, tolerant of servers that deviate from OpenAI."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ...chat.call_ids import CallIds
from ...chat.events import ChatChunk
from ...chat.responses import ChatResponse
from ...errors import ProviderProtocolError
from ...messages import AssistantMessage, Message, ToolCall, Usage
from .answers import content_text, final_arguments, is_refusal, usage_in, usage_of
from .failures import reported_failure
from .fields import get_calls, get_field, get_index, get_list, get_object, get_text
from .streamed_calls import StreamedCalls

__all__ = ["StreamAssembler"]


class _Answer:
    """One answer (`n` > 1 gives several) of which pieces have arrived."""

    def __init__(self, names: Collection[str]) -> None:
        self.text: list[str] = []
        self.calls = StreamedCalls(names)
        self.finish_reason = ""
        self.is_refusal = False

    @property
    def has_whole_calls(self) -> bool:
        """True if there are calls and each of them has complete arguments."""
        return len(self.calls) > 0 and all(call.name and call.arguments.is_complete for call in self.calls)


class StreamAssembler:
    """Converts the SDK's chunks to `ChatChunk`, and collects them into one response.

    Args:
        messages: The conversation that is answered. Generated ids of tool calls differ from the ids in it.
        names: The names of the tools that the model was sent. They tell a name in pieces from two names.
    """

    def __init__(self, messages: Sequence[Message], names: Collection[str] = ()) -> None:
        self._ids = CallIds(messages)
        self._names = frozenset(names)
        self._answers: dict[int, _Answer] = {}
        self._usage = Usage()
        self._is_counted = False
        self._failure: ProviderProtocolError | None = None
        self._last: Any = None

    def add(self, chunk: Any) -> ChatChunk | None:
        """Add a chunk. Return it converted, or None if it has nothing of the first answer.

        Raises:
            ProviderProtocolError: If a field has a wrong type, or if the chunk reports an error.
        """
        self._last = chunk
        choices, usage = get_list(chunk, "choices"), usage_in(chunk)
        if usage is not None and (counted := usage_of(usage)) != Usage():
            self._usage = counted
            self._is_counted = not choices  # the counts come last, after the end of all answers
        elif choices:
            self._is_counted = False
        elif usage is None:
            self._note_failure(chunk)
        text: list[str] = []
        calls: list[ToolCall] = []
        for choice in choices:
            number = get_index(choice) or 0
            answer = self._answers.setdefault(number, _Answer(self._names))
            if (failure := reported_failure(get_field(choice, "finish_reason"))) is not None:
                raise failure  # SGLang gives the failure in place of a reason
            answer.finish_reason = get_text(choice, "finish_reason") or answer.finish_reason
            if answer.finish_reason == "error":
                raise _unexplained(reported_failure(choice) or reported_failure(chunk))
            delta = get_object(choice, "delta") or get_object(choice, "message")
            piece = content_text(get_field(delta, "content")) or content_text(get_field(delta, "refusal"))
            answer.text.append(piece)
            answer.is_refusal = answer.is_refusal or is_refusal(delta)
            pieces = [answer.calls.add(fragment) for fragment in get_calls(delta)]
            if number == 0:
                text.append(piece)
                calls.extend(piece for piece in pieces if piece is not None)
        passed = ChatChunk("".join(text), tuple(calls), raw=chunk)
        return passed if passed.text or passed.tool_calls else None

    def _note_failure(self, chunk: Any) -> None:
        """Raise the error that a chunk without choices reports. A mere message counts if the answer does not end."""
        if (failure := reported_failure(chunk)) is not None:
            raise failure
        self._failure = self._failure or reported_failure(chunk, certain=False)

    def finish(self) -> ChatResponse:
        """Return the complete response.

        An answer is complete if it has a finish reason, if all its calls are, or if the token counts came after it.

        Raises:
            ProviderProtocolError: If the stream ended before the answer.
        """
        answers = [self._answers[number] for number in sorted(self._answers)]
        if not answers or not all(a.finish_reason or a.has_whole_calls or self._is_counted for a in answers):
            got = sum(len(piece) for answer in answers for piece in answer.text)
            raise self._failure or ProviderProtocolError(
                f"the provider's stream ended without a finish reason, after {got} characters of text", retryable=True
            )
        candidates = [self._message(answer) for answer in answers]
        response = ChatResponse.from_candidates(candidates, usage=self._usage, raw=self._last)
        chosen = next(i for i, candidate in enumerate(candidates) if candidate is response.message)
        if answers[chosen].is_refusal and not response.tool_calls:
            return response.replace(finish_reason="refusal")  # the provider says "stop"
        reason = answers[chosen].finish_reason or ("tool_calls" if response.tool_calls else "stop")
        return response.replace(finish_reason=reason)

    def _message(self, answer: _Answer) -> AssistantMessage:
        calls = list(answer.calls)
        return AssistantMessage(
            "".join(answer.text),
            tuple(
                ToolCall(
                    self._ids.take(call.id),
                    call.name,
                    final_arguments(call.arguments.final_text, answer.finish_reason, is_last=call is calls[-1]),
                )
                for call in calls
            ),
        )


def _unexplained(failure: ProviderProtocolError | None) -> ProviderProtocolError:
    return failure or ProviderProtocolError("the provider ended its answer with an error", retryable=True)
