"""`ScriptedChatModel`: a chat model for tests that answers from a script and records its requests."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard, Union, cast

from ..chat.events import ChatChunk
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..errors import AsyncCallableError, ConfigurationError
from ..messages import AssistantMessage, Message, ToolCall, ToolMessage, Usage
from ..shared.fork import new_lock
from ..text import short_repr
from .script import Script, ScriptExhaustedError

__all__ = ["ScriptExhaustedError", "ScriptedAnswer", "ScriptedChatModel", "ScriptedStream", "estimate_usage"]

CallLike: TypeAlias = ToolCall | tuple[str, Mapping[str, Any]]
Piece: TypeAlias = ChatChunk | ChatResponse | BaseException

# `Union`, because the alias refers to itself.
ScriptedAnswer: TypeAlias = Union[
    str,
    AssistantMessage,
    ChatResponse,
    CallLike,
    Sequence[CallLike],
    Sequence[Piece],
    "ScriptedStream",
    BaseException,
    Callable[[ChatRequest], "ScriptedAnswer | Awaitable[ScriptedAnswer]"],
]
"""A step of the script of a `ScriptedChatModel`."""


@dataclass(frozen=True, slots=True)
class ScriptedStream:
    """An answer whose stream fails or ends early.

    Args:
        answer: The answer; `call` and `acall` return it whole.
        error: The exception raised in the stream after `after` chunks (the default is all chunks), and by `call`.
        after: The number of chunks before the stream ends.
        complete: Whether the stream ends with the response. False simulates a broken connection.

    Example:
        >>> model = ScriptedChatModel([ScriptedStream("Hello", after=1, complete=False)])
        >>> [chunk.text for chunk in model.stream(ChatRequest(messages=()))]
        ['He']
    """

    answer: ScriptedAnswer
    error: BaseException | None = None
    after: int | None = None
    complete: bool = True


class ScriptedChatModel:
    """A `ChatModel` that answers each request with the next step of a script.

    A step of the script is one of these:

    - A string or an `AssistantMessage`.
    - A `ChatResponse`, which is returned unchanged.
    - A tool call or a list of them. Each is a `ToolCall` or a pair ``(name, arguments)``, whose ids are ``call_1``,
      ``call_2`` and so on.
    - An exception, which is raised.
    - A list of `ChatChunk` objects, which are the chunks of a stream. A `ChatResponse` at the end is the response of
      the stream. An exception in the list is raised at its position.
    - A `ScriptedStream`.
    - A callable that gets the request and returns any of these. An async callable works in `acall` and `astream`.

    A stream yields the text in up to three chunks, each tool call in a chunk, and then the response. The model is
    thread-safe: each request takes one step.

    Args:
        script: The steps, one for each request, or one callable that answers every request. An iterator is read step by
            step, so it may be endless.
        usage: The usage of each response, or a function that computes it. The default is `estimate_usage`. A
            `ChatResponse` in the script keeps its own usage.
        supports_output_schema: Whether requests for structured output contain the schema, as in `ChatModel`.

    Attributes:
        requests: All requests in order of arrival.
        open_streams: The number of streams that were neither read to the end nor closed.

    Example:
        >>> from toolsearch.messages import UserMessage
        >>> model = ScriptedChatModel([[("weather", {"city": "Gouda"})], "It rains."])
        >>> request = ChatRequest(messages=[UserMessage("Weather in Gouda?")])
        >>> model.call(request).tool_calls
        (ToolCall(id='call_1', name='weather', arguments='{"city": "Gouda"}'),)
        >>> [chunk.text for chunk in model.stream(request)]
        ['It ', 'rai', 'ns.', 'It rains.']
    """

    def __init__(
        self,
        script: Iterable[object] | Callable[[ChatRequest], object] = (),
        *,
        usage: Usage | Callable[[ChatRequest, AssistantMessage], Usage] | None = None,
        supports_output_schema: bool = False,
    ) -> None:
        if isinstance(script, str | AssistantMessage | ChatResponse | ScriptedStream | BaseException):
            script = [script]
        # The steps are checked when they are used; a precise type would reject lists of mixed steps.
        self._script = Script(script)
        self._usage = usage if usage is not None else estimate_usage
        self.supports_output_schema = supports_output_schema
        self._lock = new_lock()
        self._calls_made = 0
        self.requests: list[ChatRequest] = []
        self.open_streams = 0

    @property
    def remaining(self) -> int:
        """The number of unused steps of the script. An iterator counts as one step until its end."""
        return self._script.remaining

    def call(self, request: ChatRequest) -> ChatResponse:
        """Return the next answer of the script."""
        return self._whole(request, _resolve(self._next(request), request))

    async def acall(self, request: ChatRequest) -> ChatResponse:
        """Return the next answer of the script."""
        return self._whole(request, await _resolve_async(self._next(request), request))

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk | ChatResponse]:
        """Yield the chunks of the next answer, then the whole response."""
        with _OpenStream(self):
            for piece in self._pieces(request, _resolve(self._next(request), request)):
                if isinstance(piece, BaseException):
                    raise piece
                yield piece

    async def astream(self, request: ChatRequest) -> AsyncIterator[ChatChunk | ChatResponse]:
        """Yield the chunks of the next answer, then the whole response."""
        with _OpenStream(self):
            for piece in self._pieces(request, await _resolve_async(self._next(request), request)):
                if isinstance(piece, BaseException):
                    raise piece
                yield piece

    def _next(self, request: ChatRequest) -> ScriptedAnswer:
        with self._lock:
            self.requests.append(request)
            try:
                return cast("ScriptedAnswer", self._script.take())
            except ScriptExhaustedError as error:
                raise ScriptExhaustedError(f"{error}{_describe_last(request)}") from None

    def _whole(self, request: ChatRequest, answer: ScriptedAnswer) -> ChatResponse:
        """Return the answer as one response, or raise its error."""
        if isinstance(answer, ScriptedStream):
            if answer.error is not None:
                raise answer.error
            return self._whole(request, _resolve(answer.answer, request))
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, ChatResponse):
            return answer
        pieces = _as_pieces(answer)
        if pieces is None:
            return self._response(request, self._message(answer))
        for piece in pieces:
            if isinstance(piece, BaseException):
                raise piece
        if pieces and isinstance(pieces[-1], ChatResponse):
            return pieces[-1]
        chunks = [piece for piece in pieces if isinstance(piece, ChatChunk)]
        text = "".join(chunk.text for chunk in chunks)
        return self._response(request, AssistantMessage(text, tuple(c for chunk in chunks for c in chunk.tool_calls)))

    def _pieces(self, request: ChatRequest, answer: ScriptedAnswer) -> list[Piece]:
        """Return the pieces of a stream; the caller raises an exception in the list at its position."""
        if isinstance(answer, BaseException):
            return [answer]
        if isinstance(answer, ScriptedStream):
            *chunks, last = self._pieces(request, _resolve(answer.answer, request))
            if answer.after is not None:
                chunks = chunks[: answer.after]
            if answer.error is not None:
                return [*chunks, answer.error]
            return [*chunks, last] if answer.complete else chunks
        pieces = None if isinstance(answer, ChatResponse) else _as_pieces(answer)
        if pieces is None:
            response = self._whole(request, answer)
            return [*_chunks(response.message), response]
        if any(not isinstance(piece, ChatChunk) for piece in pieces):
            return pieces
        return [*pieces, self._whole(request, answer)]

    def _message(self, answer: ScriptedAnswer) -> AssistantMessage:
        if isinstance(answer, AssistantMessage):
            return answer
        if isinstance(answer, str):
            return AssistantMessage(answer)
        calls = [answer] if isinstance(answer, ToolCall) or _is_pair(answer) else answer
        if not isinstance(calls, Sequence) or not calls:
            raise ConfigurationError(
                f"a step of a script must be one of the types listed in ScriptedChatModel, got {answer!r}"
            )
        return AssistantMessage("", tuple(self._tool_call(call) for call in calls))

    def _tool_call(self, call: object) -> ToolCall:
        if isinstance(call, ToolCall):
            return call
        if not _is_pair(call):
            raise ConfigurationError(
                f"a tool call in a script must be ToolCall(...) or (name, arguments), got {call!r}"
            )
        name, arguments = call
        with self._lock:
            self._calls_made += 1
            return ToolCall.from_dict(f"call_{self._calls_made}", name, arguments)

    def _response(self, request: ChatRequest, message: AssistantMessage) -> ChatResponse:
        usage = self._usage(request, message) if callable(self._usage) else self._usage
        reason = "tool_calls" if message.tool_calls else "stop"
        return ChatResponse(messages=(message,), usage=usage, finish_reason=reason)


class _OpenStream:
    """A context manager that counts a stream of `model` as open."""

    def __init__(self, model: ScriptedChatModel) -> None:
        self._model = model

    def __enter__(self) -> None:
        self._add(1)

    def __exit__(self, *_: object) -> None:
        self._add(-1)

    def _add(self, number: int) -> None:
        with self._model._lock:
            self._model.open_streams += number


def estimate_usage(request: ChatRequest, message: AssistantMessage) -> Usage:
    """Return a deterministic usage: one token for every four characters, rounded up.

    Args:
        request: The request. Its messages and tool definitions are the input.
        message: The answer, which is the output.

    Example:
        >>> estimate_usage(ChatRequest(messages=()), AssistantMessage("It rains.")).output_tokens
        3
    """
    definitions = (
        json.dumps([tool.name, tool.description, tool.parameters], ensure_ascii=False, default=str)
        for tool in request.tools
    )
    sent = sum(len(_content(m)) for m in request.messages) + sum(len(definition) for definition in definitions)
    return Usage(-(-sent // 4), -(-len(_content(message)) // 4))


def _content(message: Message) -> str:
    if isinstance(message, ToolMessage):
        return message.text
    calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
    return message.text + "".join(call.name + call.arguments for call in calls)


def _resolve(answer: ScriptedAnswer, request: ChatRequest) -> ScriptedAnswer:
    """Call a callable step until it is an answer."""
    while callable(answer):
        result = answer(request)
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise AsyncCallableError("an async step of a script works only in acall and astream")
        answer = result
    return answer


def _describe_last(request: ChatRequest) -> str:
    """Return a clause about the last message of a request; empty if it has no messages."""
    if not request.messages:
        return ""
    message = request.messages[-1]
    role = type(message).__name__.removesuffix("Message").lower()
    return f"; the last message is {role}: {short_repr(message.text)}"


async def _resolve_async(answer: ScriptedAnswer, request: ChatRequest) -> ScriptedAnswer:
    while callable(answer):
        result = answer(request)
        answer = await result if inspect.isawaitable(result) else result
    return answer


def _is_pair(value: object) -> TypeGuard[tuple[str, Mapping[str, Any]]]:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], Mapping)


def _as_pieces(answer: ScriptedAnswer) -> list[Piece] | None:
    """Return the answer as a list of stream pieces; None if it is not such a list."""
    if not isinstance(answer, list | tuple) or not answer:
        return None
    pieces: list[Piece] = [piece for piece in answer if isinstance(piece, ChatChunk | ChatResponse | BaseException)]
    return pieces if len(pieces) == len(answer) else None


def _chunks(message: AssistantMessage) -> list[ChatChunk]:
    """Return up to three chunks of text, then a chunk for each tool call."""
    size = max(1, -(-len(message.text) // 3))
    texts = [ChatChunk(message.text[start : start + size]) for start in range(0, len(message.text), size)]
    return [*texts, *(ChatChunk(tool_calls=(call,)) for call in message.tool_calls)]
