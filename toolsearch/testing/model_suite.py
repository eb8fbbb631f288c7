"""`ChatModelSuite`: what every `ChatModel` is held to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

import pytest

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

Ask = Callable[[ChatModel, ChatRequest], ChatResponse]


class ChatModelSuite:
    """Conformance tests for a `ChatModel`: subclass it under a name that begins with ``Test``.

    `make_model` gives the model under test, connected to something that will answer with the given messages in
    order. An ``aclose`` or ``close`` of the model is called at the end of each test.

    Example:
        >>> from toolsearch.testing import ScriptedChatModel
        >>> class TestScripted(ChatModelSuite):
        ...     def make_model(self, answers):
        ...         return ScriptedChatModel(answers)
        >>> TestScripted().test_it_is_a_chat_model()
    """

    def make_model(self, answers: Sequence[AssistantMessage]) -> ChatModel:
        """Return a model that will answer with `answers`, one a request."""
        raise NotImplementedError

    def test_it_is_a_chat_model(self) -> None:
        """It has the four methods."""
        assert isinstance(self.make_model([AssistantMessage("x")]), ChatModel)

    @pytest.mark.parametrize("kind", _ANSWERS)
    def test_all_four_ways_give_the_same_answer(self, kind: str) -> None:
        """Text, call ids, names and arguments to the byte, usage and finish reason do not depend on the way."""
        answer = _ANSWERS[kind]
        responses = self._asked_in_all_ways([answer] * 4)
        for response in responses:
            assert response.messages == (answer,)
            assert response.finish_reason == ("tool_calls" if answer.tool_calls else "stop")
            assert response.usage == responses[0].usage

    def test_usage_is_reported(self) -> None:
        """Input and output tokens are known in every way of asking."""
        for response in self._asked_in_all_ways([AssistantMessage("It rains.")] * 4):
            assert response.usage.input_tokens > 0
            assert response.usage.output_tokens > 0

    @pytest.mark.parametrize("kind", _ANSWERS)
    def test_a_stream_is_chunks_then_the_aggregate(self, kind: str) -> None:
        """The chunks' text is the aggregate's text; the aggregate comes once, last."""
        answer = _ANSWERS[kind]
        for pieces in self._streamed_in_both_ways([answer] * 2):
            *chunks, last = pieces
            assert all(isinstance(chunk, ChatChunk) for chunk in chunks)
            assert isinstance(last, ChatResponse)
            assert "".join(chunk.text for chunk in chunks) == last.text == answer.text

    def test_text_comes_in_several_chunks(self) -> None:
        """A stream is not the whole answer in one piece."""
        for pieces in self._streamed_in_both_ways([_ANSWERS["text"]] * 2):
            assert sum(bool(piece.text) for piece in pieces[:-1]) > 1

    def test_chunks_with_calls_are_marked(self) -> None:
        """A consumer that keeps tool calls to itself can tell which chunks carry them."""
        for pieces in self._streamed_in_both_ways([_ANSWERS["text and call"]] * 2):
            marked = [piece for piece in pieces[:-1] if piece.tool_calls]
            assert marked
            assert not any(piece.text for piece in marked)

    def test_a_stream_can_be_left_early(self) -> None:
        """Closing a stream after its first chunk raises nothing, and the model serves the next request."""
        model = self.make_model([_ANSWERS["long"], AssistantMessage("next")])
        stream = cast(Any, model.stream(_REQUEST))
        assert next(stream).text
        stream.close()
        assert model.call(_REQUEST).text == "next"
        self._run(model, _closed)

        async def leave() -> str:
            stream = cast(Any, model.astream(_REQUEST))
            assert (await anext(stream)).text
            await stream.aclose()
            return (await model.acall(_REQUEST)).text

        model = self.make_model([_ANSWERS["long"], AssistantMessage("next")])
        assert self._run(model, lambda _: leave()) == "next"

    def test_a_whole_conversation_can_be_sent(self) -> None:
        """All kinds of messages, calls with their results, and odd texts are accepted in every way of asking."""
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
        for response in self._asked_in_all_ways([AssistantMessage("fine")] * 4, request):
            assert response.text == "fine"

    def test_the_request_is_left_as_it_was(self) -> None:
        """A request that was sent equals itself before."""
        request = _REQUEST.replace(context={"secret": object()}, session_id="s")
        before = request.replace()
        self._asked_in_all_ways([AssistantMessage("x")] * 4, request)
        assert request == before

    def _asked_in_all_ways(
        self, answers: Sequence[AssistantMessage], request: ChatRequest = _REQUEST
    ) -> list[ChatResponse]:
        model = self.make_model(answers)
        responses = [model.call(request), list(model.stream(request))[-1]]

        async def ask(model: ChatModel) -> list[ChatResponse | ChatChunk]:
            return [await model.acall(request), [piece async for piece in model.astream(request)][-1]]

        responses += self._run(model, ask)
        assert all(isinstance(response, ChatResponse) for response in responses)
        return cast("list[ChatResponse]", responses)

    def _streamed_in_both_ways(self, answers: Sequence[AssistantMessage]) -> Iterator[list[ChatChunk | ChatResponse]]:
        model = self.make_model(answers)
        yield list(model.stream(_REQUEST))

        async def read(stream: AsyncIterator[ChatChunk | ChatResponse]) -> list[ChatChunk | ChatResponse]:
            return [piece async for piece in stream]

        yield self._run(model, lambda model: read(model.astream(_REQUEST)))

    def _run(self, model: ChatModel, use: Callable[[ChatModel], Awaitable[_T]]) -> _T:
        """Run `use` in an event loop of its own, then close the model in it."""

        async def run() -> _T:
            try:
                return await use(model)
            finally:
                await _closed(model)

        return asyncio.run(run())


async def _closed(model: ChatModel) -> None:
    if (aclose := getattr(model, "aclose", None)) is not None:
        await aclose()
    elif (close := getattr(model, "close", None)) is not None:
        close()
