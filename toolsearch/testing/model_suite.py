"""`ChatModelSuite`: conformance tests for chat models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

from ..chat.events import ChatChunk
from ..chat.model import ChatModel
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, UserMessage

__all__ = ["ChatModelSuite"]

_T = TypeVar("_T")

_REQUEST = ChatRequest(messages=[SystemMessage("Be brief."), UserMessage("What is the weather in Gouda?")])
_ONE = ToolCall.from_dict("call_a", "weather", {"city": "Gouda", "days": 3, "deep": {"list": [1, None, "x"]}})
_TWO = ToolCall.from_dict("call_b", "clock", {})
_THREE = ToolCall.from_dict("call_c", "weather", {"city": "'s-Hertogenbösch"})
_ANSWERS = {
    "text": AssistantMessage("It rains in Gouda, and it will for days."),
    "empty": AssistantMessage(""),
    "unicode": AssistantMessage('Grüße, 世界 👩‍👩‍👧 \u2028 é\n\ttabs "quotes" \\ and \x7f'),
    "long": AssistantMessage("word " * 20_000),
    "one call": AssistantMessage("", (_ONE,)),
    "parallel calls": AssistantMessage("", (_ONE, _TWO, _THREE)),
    "text and call": AssistantMessage("Let me look.", (_TWO,)),
}


class ChatModelSuite:
    """Conformance tests for a `ChatModel`.

    Subclass it under a name that starts with ``Test`` and override `make_model`. pytest collects the subclass. Tests
    that use an event loop call the ``aclose`` or ``close`` method of the model at their end.

    Example:
        >>> from toolsearch.testing import ScriptedChatModel
        >>> class TestScripted(ChatModelSuite):
        ...     def make_model(self, answers):
        ...         return ScriptedChatModel(answers)
        >>> TestScripted().test_implements_the_protocol()
    """

    def make_model(self, answers: Sequence[AssistantMessage]) -> ChatModel:
        """Return a model that answers each request with the next of `answers`; subclasses override this."""
        raise NotImplementedError("override make_model to return the model under test")

    def test_implements_the_protocol(self) -> None:
        """The model is a `ChatModel`."""
        assert isinstance(self.make_model([AssistantMessage("x")]), ChatModel)

    def test_all_methods_return_equal_answers(self) -> None:
        """Text, tool calls, usage and finish reason do not depend on the method."""
        for kind, answer in _ANSWERS.items():
            responses = self._call_all_methods([answer] * 4)
            for response in responses:
                assert response.messages == (answer,), kind
                assert response.finish_reason == ("tool_calls" if answer.tool_calls else "stop"), kind
                assert response.usage == responses[0].usage, kind

    def test_usage_is_reported(self) -> None:
        """Every method reports input and output tokens."""
        for response in self._call_all_methods([AssistantMessage("It rains.")] * 4):
            assert response.usage.input_tokens > 0
            assert response.usage.output_tokens > 0

    def test_stream_yields_chunks_and_then_the_response(self) -> None:
        """A stream ends with one response, whose text is that of the chunks."""
        for kind, answer in _ANSWERS.items():
            for pieces in self._stream_both_methods([answer] * 2):
                *chunks, last = pieces
                assert all(isinstance(chunk, ChatChunk) for chunk in chunks), kind
                assert isinstance(last, ChatResponse), kind
                assert "".join(chunk.text for chunk in chunks) == last.text == answer.text, kind

    def test_stream_yields_several_chunks(self) -> None:
        """A stream does not return the whole text in one chunk."""
        for pieces in self._stream_both_methods([_ANSWERS["text"]] * 2):
            assert sum(bool(piece.text) for piece in pieces[:-1]) > 1

    def test_chunks_with_tool_calls_are_marked(self) -> None:
        """Chunks of tool calls have `tool_calls` and no text."""
        for pieces in self._stream_both_methods([_ANSWERS["text and call"]] * 2):
            marked = [piece for piece in pieces[:-1] if piece.tool_calls]
            assert marked
            assert not any(piece.text for piece in marked)

    def test_stream_can_be_closed_early(self) -> None:
        """A stream can be closed after its first chunk, and the model answers the next request."""
        model = self.make_model([_ANSWERS["long"], AssistantMessage("next")])
        stream = cast(Any, model.stream(_REQUEST))
        assert next(stream).text
        stream.close()
        assert model.call(_REQUEST).text == "next"
        self._run(model, _close)

        async def leave() -> str:
            stream = cast(Any, model.astream(_REQUEST))
            assert (await anext(stream)).text
            await stream.aclose()
            return (await model.acall(_REQUEST)).text

        model = self.make_model([_ANSWERS["long"], AssistantMessage("next")])
        assert self._run(model, lambda _: leave()) == "next"

    def test_accepts_every_kind_of_message(self) -> None:
        """Every method accepts all kinds of messages, tool results and unusual texts."""
        call = ToolCall("call_x", "made.up name", "")
        request = ChatRequest(
            messages=[
                SystemMessage("Be brief."),
                UserMessage("half a pair: \ud83d"),
                AssistantMessage("", (_ONE, _TWO, call)),
                ToolMessage("call_a", "weather", "rain \udc00"),
                ToolMessage("call_b", "clock", "", is_error=True),
                ToolMessage("call_x", "made.up name", "no such tool", is_error=True),
                AssistantMessage("It rains."),
                UserMessage(""),
            ]
        )
        for response in self._call_all_methods([AssistantMessage("fine")] * 4, request):
            assert response.text == "fine"

    def test_request_is_not_modified(self) -> None:
        """The model does not modify a request."""
        request = _REQUEST.replace(context={"secret": object()}, session_id="s")
        before = request.replace()
        self._call_all_methods([AssistantMessage("x")] * 4, request)
        assert request == before

    def _call_all_methods(
        self, answers: Sequence[AssistantMessage], request: ChatRequest = _REQUEST
    ) -> list[ChatResponse]:
        model = self.make_model(answers)
        responses = [model.call(request), list(model.stream(request))[-1]]

        async def ask(model: ChatModel) -> list[ChatResponse | ChatChunk]:
            return [await model.acall(request), [piece async for piece in model.astream(request)][-1]]

        responses += self._run(model, ask)
        assert all(isinstance(response, ChatResponse) for response in responses)
        return cast("list[ChatResponse]", responses)

    def _stream_both_methods(self, answers: Sequence[AssistantMessage]) -> Iterator[list[ChatChunk | ChatResponse]]:
        model = self.make_model(answers)
        yield list(model.stream(_REQUEST))

        async def read(stream: AsyncIterator[ChatChunk | ChatResponse]) -> list[ChatChunk | ChatResponse]:
            return [piece async for piece in stream]

        yield self._run(model, lambda model: read(model.astream(_REQUEST)))

    def _run(self, model: ChatModel, use: Callable[[ChatModel], Awaitable[_T]]) -> _T:
        """Run `use` in a new event loop, then close the model in it."""

        async def run() -> _T:
            try:
                return await use(model)
            finally:
                await _close(model)

        return asyncio.run(run())


async def _close(model: ChatModel) -> None:
    if (aclose := getattr(model, "aclose", None)) is not None:
        await aclose()
    elif (close := getattr(model, "close", None)) is not None:
        close()
