"""Drivers: the four ways to run a turn, early ends, context variables, and invalid streams."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from toolsearch import (
    AssistantMessage,
    ChatChunk,
    ChatClient,
    ChatRequest,
    ChatResponse,
    ConfigurationError,
    ProviderProtocolError,
    RoundStarted,
    StreamStateError,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    UserMessage,
)
from toolsearch.loop import AdvisorFlow, Perform
from toolsearch.testing import FakeClock, ScriptedChatModel, ScriptedStream

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="unset")


class Flow:
    """An advisor made of a generator function."""

    def __init__(self, advise: Callable[[ChatRequest], Any], order: int = 100) -> None:
        self.advise = advise
        self.order = order


class Ends:
    """Records its end, for whatever reason it ends."""

    def __init__(self, name: str, order: int, ended: list[str]) -> None:
        self.name, self.order, self.ended = name, order, ended

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        try:
            return (yield request)
        finally:
            self.ended.append(self.name)


class HangingModel(ScriptedChatModel):
    """Streams one chunk and then nothing, and records when it is stopped."""

    def __init__(self, ended: list[str]) -> None:
        super().__init__()
        self.ended = ended

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk | ChatResponse]:
        try:
            yield ChatChunk("first")
            raise AssertionError("read on")
        finally:
            self.ended.append("model")

    async def astream(self, request: ChatRequest) -> AsyncIterator[ChatChunk | ChatResponse]:
        try:
            yield ChatChunk("first")
            await anyio.sleep_forever()
        finally:
            self.ended.append("model")


def ping() -> str:
    """Answer."""
    return "pong"


# --- equal behaviour -------------------------------------------------------------------------------------------------


def test_a_turn_answers_in_every_driver(ask):
    outcome = ask(ChatClient(ScriptedChatModel(["Hello there"])), "Hi")
    assert outcome.response.text == outcome.text_shown == "Hello there"


def test_events_of_a_stream_are_in_order(ask_streaming):
    script = [[("ping", {}), ("ping", {"x": 1})], "Pong."]
    outcome = ask_streaming(ChatClient(ScriptedChatModel(script), tools=[ping]), "Hi")
    kinds = [type(event) for event in outcome.events]
    tools = [ToolStarted, ToolStarted, ToolFinished, ToolFinished]
    assert kinds[:6] == [RoundStarted, *tools, RoundStarted]
    assert set(kinds[6:-1]) == {ChatChunk}
    assert [event.number for event in outcome.events if isinstance(event, RoundStarted)] == [1, 2]
    finished = [event for event in outcome.events if isinstance(event, ToolFinished)]
    assert [(event.call.id, event.message.tool_call_id) for event in finished] == [
        ("call_1", "call_1"),
        ("call_2", "call_2"),
    ]
    assert outcome.events[-1] == TurnFinished(outcome.response)


def test_providers_list_tools_in_a_worker_thread(ask):
    threads: list[threading.Thread] = []

    class Provider:
        def tools(self) -> list[Any]:
            from toolsearch import Tool

            threads.append(threading.current_thread())
            return [Tool.from_function(ping)]

    model = ScriptedChatModel([[("ping", {})], "Pong."])
    ask(ChatClient(model, tools=[Provider()]), "Hi")
    assert [tool.name for tool in model.requests[0].tools] == ["ping"]
    assert [thread is threading.main_thread() for thread in threads] == [not ask.is_async]


def test_perform_runs_sync_functions_off_the_event_loop(ask):
    def work(request: ChatRequest) -> AdvisorFlow:
        thread = yield Perform(threading.current_thread)
        return ChatResponse.from_text(str(thread is threading.main_thread()))

    outcome = ask(ChatClient(ScriptedChatModel(), advisors=[Flow(work)]), "Hi")
    assert outcome.response.text == str(not ask.is_async)


# --- leaving early ---------------------------------------------------------------------------------------------------


def _break_in_with(client: ChatClient) -> None:
    with client.stream("Hi") as stream:
        for _ in stream:
            break


def _close(client: ChatClient) -> None:
    stream = client.stream("Hi")
    next(iter(stream))
    stream.close()
    stream.close()


def _close_among_events(client: ChatClient) -> None:
    stream = client.stream("Hi")
    events = stream.events()
    assert isinstance(next(events), RoundStarted)
    assert isinstance(next(events), ChatChunk)
    stream.close()


def _drop(client: ChatClient) -> None:
    for _ in client.stream("Hi"):
        break  # nothing refers to the stream any more, and nothing in it to itself: it ends here


def _error_of_the_consumer(client: ChatClient) -> None:
    try:
        with client.stream("Hi") as stream:
            for _ in stream:
                raise LookupError("the consumer's own")
    except LookupError:
        pass


@pytest.mark.parametrize("leave", [_break_in_with, _close, _close_among_events, _drop, _error_of_the_consumer])
def test_leaving_a_stream_closes_model_and_advisors(leave):
    ended: list[str] = []
    leave(ChatClient(HangingModel(ended), advisors=[Ends("inner", 2, ended), Ends("outer", 1, ended)]))
    assert ended == ["model", "inner", "outer"]


async def _abreak_in_with(client: ChatClient) -> None:
    async with client.astream("Hi") as stream:
        async for _ in stream:
            break


async def _aclose(client: ChatClient) -> None:
    stream = client.astream("Hi")
    await anext(aiter(stream))
    await stream.aclose()
    await stream.aclose()


async def _cancel_scope(client: ChatClient) -> None:
    with anyio.CancelScope() as scope:
        async for _ in client.astream("Hi"):
            scope.cancel()


async def _cancel_scope_in_with(client: ChatClient) -> None:
    with anyio.CancelScope() as scope:
        async with client.astream("Hi") as stream:
            async for _ in stream:
                scope.cancel()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("leave", [_abreak_in_with, _aclose, _cancel_scope, _cancel_scope_in_with])
def test_leaving_an_async_stream_closes_model_and_advisors(leave, backend):
    ended: list[str] = []
    client = ChatClient(HangingModel(ended), advisors=[Ends("inner", 2, ended), Ends("outer", 1, ended)])
    anyio.run(leave, client, backend=backend)
    assert ended == ["model", "inner", "outer"]


def test_cancelling_a_stream_closes_model_and_advisors():
    ended: list[str] = []
    client = ChatClient(HangingModel(ended), advisors=[Ends("inner", 2, ended), Ends("outer", 1, ended)])

    async def main() -> None:
        first = asyncio.Event()

        async def consume() -> None:
            async for _ in client.astream("Hi"):
                first.set()

        task = asyncio.create_task(consume())
        await first.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["model", "inner", "outer"]

    asyncio.run(main())


def test_a_dropped_async_stream_is_closed_by_the_event_loop():
    ended: list[str] = []
    client = ChatClient(HangingModel(ended), advisors=[Ends("inner", 2, ended), Ends("outer", 1, ended)])

    async def main() -> None:
        async for _ in client.astream("Hi"):
            break
        gc.collect()
        for _ in range(5):
            await asyncio.sleep(0)
        assert ended == ["model", "inner", "outer"]

    asyncio.run(main())


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelling_a_call_closes_the_advisors(backend):
    ended: list[str] = []
    scope: Any = None

    class Model(ScriptedChatModel):
        async def acall(self, request: ChatRequest) -> ChatResponse:
            scope.cancel()
            await anyio.sleep_forever()
            raise AssertionError

    async def main() -> None:
        nonlocal scope
        with anyio.CancelScope() as scope:
            await ChatClient(Model(), advisors=[Ends("inner", 2, ended), Ends("outer", 1, ended)]).acall("Hi")
        assert scope.cancelled_caught

    anyio.run(main, backend=backend)
    assert ended == ["inner", "outer"]


@pytest.mark.parametrize("model_streams", [True, False])
def test_leaving_during_a_tool_round_leaves_no_stream_open(model_streams):
    model = ScriptedChatModel([[("ping", {})], "Pong."])
    with ChatClient(model, tools=[ping]).stream("Hi") as stream:
        for event in stream.events():
            if isinstance(event, ChatChunk if model_streams else ToolStarted):
                break
        assert model.open_streams == int(model_streams)
    assert model.open_streams == 0


def test_an_unread_stream_does_not_start_the_turn():
    ended: list[str] = []
    model = ScriptedChatModel(["x"])
    client = ChatClient(model, advisors=[Ends("advisor", 1, ended)])
    with client.stream("Hi"):
        pass
    client.stream("Hi")
    assert model.requests == []
    assert ended == []


def test_a_base_exception_ends_the_turn(ask):
    handled: list[BaseException] = []
    ended: list[str] = []

    def greedy(request: ChatRequest) -> AdvisorFlow:
        try:
            return (yield request)
        except Exception as error:
            handled.append(error)
            raise

    class Exit(BaseException):
        pass

    client = ChatClient(ScriptedChatModel([Exit()]), advisors=[Flow(greedy), Ends("outer", 1, ended)])
    with pytest.raises(Exit):
        ask(client, "Hi")
    assert handled == []
    assert ended == ["outer"]


# --- the state of a stream -------------------------------------------------------------------------------------------


def test_a_stream_has_a_response_only_at_its_end():
    stream = ChatClient(ScriptedChatModel(["abc"])).stream("Hi")
    for _ in stream:
        with pytest.raises(StreamStateError, match="read to its end"):
            _ = stream.response
    assert stream.response.text == "abc"


def test_a_stream_can_be_read_once():
    stream = ChatClient(ScriptedChatModel(["abc"])).stream("Hi")
    assert "".join(stream) == "abc"
    with pytest.raises(StreamStateError, match="once"):
        iter(stream)
    with pytest.raises(StreamStateError, match="once"):
        stream.events()


def test_a_closed_stream_cannot_be_read():
    stream = ChatClient(ScriptedChatModel(["abc"])).stream("Hi")
    stream.close()
    with pytest.raises(StreamStateError, match="closed"):
        iter(stream)


def test_a_stream_that_failed_has_no_response():
    stream = ChatClient(ScriptedChatModel([ScriptedStream("abc", error=LookupError("cut"))])).stream("Hi")
    with pytest.raises(LookupError):
        list(stream)
    with pytest.raises(StreamStateError):
        _ = stream.response


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_async_streams_have_the_same_states(backend):
    async def main() -> None:
        stream = ChatClient(ScriptedChatModel(["abc"])).astream("Hi")
        async for _ in stream:
            with pytest.raises(StreamStateError, match="read to its end"):
                _ = stream.response
        assert stream.response.text == "abc"
        with pytest.raises(StreamStateError, match="once"):
            aiter(stream)
        closed = ChatClient(ScriptedChatModel(["abc"])).astream("Hi")
        await closed.aclose()
        with pytest.raises(StreamStateError, match="closed"):
            closed.events()

    anyio.run(main, backend=backend)


# --- context variables -----------------------------------------------------------------------------------------------


def test_tools_see_the_context_variables_of_the_caller(ask):
    seen: list[str] = []

    def look(n: int) -> str:
        """Look."""
        seen.append(VARIABLE.get())
        return "ok"

    def work(request: ChatRequest) -> AdvisorFlow:
        seen.append((yield Perform(VARIABLE.get)))
        return (yield request)

    script = [[("look", {"n": 1})], [("look", {"n": 2}), ("look", {"n": 3})], "done"]
    client = ChatClient(ScriptedChatModel(script), tools=[look], advisors=[Flow(work)])
    token = VARIABLE.set("the caller's")
    try:
        ask(client, "Hi")
    finally:
        VARIABLE.reset(token)
    assert seen == ["the caller's"] * 4


def _sets_variable(seen: list[str]) -> tuple[Flow, Flow]:
    """Return an advisor that sets the variable around its yield, and an inner one that reads it."""

    def setter(request: ChatRequest) -> AdvisorFlow:
        token = VARIABLE.set("the advisor's")
        try:
            return (yield request)
        finally:
            VARIABLE.reset(token)

    def inner(request: ChatRequest) -> AdvisorFlow:
        response = yield request
        seen.append(VARIABLE.get())
        return response

    return Flow(setter, 1), Flow(inner, 2)


def test_context_variables_of_an_advisor_reach_inner_advisors_only(ask):
    inside: list[str] = []
    outside: list[str] = []

    def answer(request: ChatRequest) -> Any:
        outside.append(VARIABLE.get())
        return "done" if len(outside) == 3 else [("look", {})]

    def look() -> str:
        """Look."""
        outside.append(VARIABLE.get())
        return "ok"

    client = ChatClient(ScriptedChatModel(answer), tools=[look], advisors=_sets_variable(inside))
    assert ask(client, "Hi").response.text == "done"
    assert inside == ["the advisor's"]
    assert outside == ["unset"] * 3


def test_context_variables_do_not_leak_to_the_consumer_of_a_stream():
    with ChatClient(ScriptedChatModel(["abc"]), advisors=_sets_variable([])).stream("Hi") as stream:
        seen = [VARIABLE.get() for _ in stream]
    assert seen == ["unset"] * 3


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_context_variables_do_not_leak_to_the_consumer_of_an_async_stream(backend):
    async def main() -> list[str]:
        async with ChatClient(ScriptedChatModel(["abc"]), advisors=_sets_variable([])).astream("Hi") as stream:
            return [VARIABLE.get() async for _ in stream]

    assert anyio.run(main, backend=backend) == ["unset"] * 3


def test_a_stream_can_be_read_from_several_threads():
    seen: list[str] = []
    stream = ChatClient(ScriptedChatModel(["abc"]), advisors=_sets_variable(seen)).stream("Hi")
    pieces = iter(stream)
    with ThreadPoolExecutor(1) as pool:
        steps = [
            lambda: pool.submit(next, pieces, None).result(),
            lambda: contextvars.Context().run(next, pieces, None),
        ]
        texts = [steps[n % 2]() for n in range(4)]
    assert texts == ["a", "b", "c", None]
    assert seen == ["the advisor's"]


# --- invalid streams -------------------------------------------------------------------------------------------------


def test_a_stream_without_an_aggregate_is_a_retryable_error(ask_streaming):
    with pytest.raises(ProviderProtocolError, match="ended without an aggregate") as raised:
        ask_streaming(ChatClient(ScriptedChatModel([ScriptedStream("half", complete=False)])), "Hi")
    assert raised.value.retryable


@pytest.mark.parametrize(
    ("pieces", "says"),
    [
        ([ChatResponse.from_text("a"), ChatChunk("b"), ChatResponse.from_text("ab")], "a chunk after its aggregate"),
        ([ChatChunk("a"), ChatResponse.from_text("a"), ChatResponse.from_text("a")], "another after its aggregate"),
    ],
)
def test_the_aggregate_must_be_last(ask_streaming, pieces, says):
    with pytest.raises(ProviderProtocolError, match=says):
        ask_streaming(ChatClient(ScriptedChatModel([pieces])), "Hi")


class PlainModel:
    """A model whose streams are iterators without `close`."""

    def __init__(self, *items: Any) -> None:
        self.items = items

    def call(self, request: ChatRequest) -> Any:
        return self.items[-1]

    async def acall(self, request: ChatRequest) -> Any:
        return self.items[-1]

    def stream(self, request: ChatRequest) -> Any:
        return list(self.items)

    def astream(self, request: ChatRequest) -> Any:
        return _AsyncItems(iter(self.items))


class _AsyncItems:
    def __init__(self, items: Iterator[Any]) -> None:
        self.items = items

    def __aiter__(self) -> _AsyncItems:
        return self

    async def __anext__(self) -> Any:
        for item in self.items:
            return item
        raise StopAsyncIteration


def test_a_model_stream_can_be_any_iterable(ask):
    outcome = ask(ChatClient(PlainModel(ChatChunk("a"), ChatChunk("b"), ChatResponse.from_text("ab"))), "Hi")
    assert outcome.text_shown == "ab"


def test_a_stream_of_other_types_is_rejected(ask):
    with pytest.raises(ConfigurationError, match=r"PlainModel must .*ChatResponse, got str"):
        ask(ChatClient(PlainModel("text")), "Hi")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (ChatResponse(messages=[]), r"one AssistantMessage in its ChatResponse, got \[\]"),
        (ChatResponse(messages=[UserMessage("Hi")]), r"got \[UserMessage\]"),
        (ChatResponse(messages=[AssistantMessage("a"), UserMessage("b")]), r"got \[AssistantMessage, UserMessage\]"),
        (ChatResponse(messages=["text"]), r"got \[str\]"),
        ("text", "a ChatResponse, got str"),
        (None, "a ChatResponse, got NoneType"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_invalid_responses_of_a_model_are_rejected(ask_pair, answer, says):
    with pytest.raises(ConfigurationError, match=f"PlainModel must .*{says}"):
        ask_pair(ChatClient(PlainModel(answer)), "Hi")


class MixedUpModel:
    """A model whose sync methods are async, and vice versa."""

    async def call(self, request: ChatRequest) -> Any:
        return ChatResponse.from_text("a")

    def acall(self, request: ChatRequest) -> Any:
        return ChatResponse.from_text("a")

    async def stream(self, request: ChatRequest) -> Any:
        yield ChatResponse.from_text("a")

    async def astream(self, request: ChatRequest) -> Any:
        return [ChatResponse.from_text("a")]


async def _read(stream: Any) -> list[Any]:
    return [piece async for piece in stream]


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda client: client.call("Hi"), "must return a ChatResponse, got coroutine"),
        (
            lambda client: asyncio.run(client.acall("Hi")),
            "must define acall with `async def`, and it must return a ChatResponse, got ChatResponse",
        ),
        (
            lambda client: list(client.stream("Hi")),
            "must define stream so that it yields ChatChunks and at the end a ChatResponse, got async_generator",
        ),
        (
            lambda client: asyncio.run(_read(client.astream("Hi"))),
            "must define astream with `async def` and yield, or return an async iterator from it, got coroutine",
        ),
    ],
    ids=["call", "acall", "stream", "astream"],
)
def test_sync_and_async_methods_of_a_model_are_not_interchangeable(use, says):
    with pytest.raises(ConfigurationError) as caught:
        use(ChatClient(MixedUpModel()))
    assert str(caught.value) == f"MixedUpModel {says}"


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (ScriptedChatModel, r"an instance, got the class ScriptedChatModel; write ScriptedChatModel\(\.\.\.\)"),
        ("gpt-5-mini", r"a chat model, got 'gpt-5-mini'; write OpenAIChatModel\('gpt-5-mini'\)"),
        (None, "a chat model, got None; it must define call, acall, stream and astream"),
    ],
)
def test_models_are_validated_when_the_client_is_created(model, says):
    with pytest.raises(ConfigurationError, match=f"model must be {says}"):
        ChatClient(model)


# --- several turns at once -------------------------------------------------------------------------------------------


class Spell:
    """A transformer with state that counts chunks."""

    order = 1

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        return (yield request)

    def chunk_transformer(self) -> Spell:
        fresh = Spell()
        fresh.count = 0
        return fresh

    def on_chunk(self, chunk: ChatChunk) -> ChatChunk:
        self.count: int = self.count + 1
        return ChatChunk(f"{self.count}{chunk.text}")

    def flush(self) -> None:
        return None


def _echo(request: ChatRequest) -> Any:
    return [ChatChunk(letter) for letter in request.messages[-1].text]


def test_streams_of_one_client_are_isolated():
    client = ChatClient(ScriptedChatModel(_echo), advisors=[Spell()])
    with client.stream("abc") as one, client.stream("xyz") as two:
        pairs = list(zip(one, two, strict=True))
    assert pairs == [("1a", "1x"), ("2b", "2y"), ("3c", "3z")]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_async_streams_of_one_client_are_isolated(backend):
    async def main() -> list[tuple[str, str]]:
        client = ChatClient(ScriptedChatModel(_echo), advisors=[Spell()])
        async with client.astream("abc") as one, client.astream("xyz") as two:
            other = aiter(two)
            pairs = [(text, await anext(other)) async for text in one]
            return [*pairs, *[("", text) async for text in other]]

    assert anyio.run(main, backend=backend) == [("1a", "1x"), ("2b", "2y"), ("3c", "3z")]


def test_turns_in_threads_are_isolated():
    meet = threading.Barrier(8)

    def say(text: str) -> str:
        """Say it."""
        meet.wait(30)
        return text

    def answer(request: ChatRequest) -> Any:
        last = request.messages[-1]
        return last.text if last.role == "tool" else [("say", {"text": last.text})]

    client = ChatClient(ScriptedChatModel(answer), tools=[say])
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda n: client.call(f"turn {n}").text, range(8)))
    assert texts == [f"turn {n}" for n in range(8)]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_turns_in_tasks_are_isolated(backend):
    async def main() -> dict[int, str]:
        arrived = 0
        all_there = anyio.Event()

        async def say(text: str) -> str:
            """Say it."""
            nonlocal arrived
            arrived += 1
            if arrived == 8:
                all_there.set()
            await all_there.wait()
            return text

        def answer(request: ChatRequest) -> Any:
            last = request.messages[-1]
            return last.text if last.role == "tool" else [("say", {"text": last.text})]

        client = ChatClient(ScriptedChatModel(answer), tools=[say])
        texts: dict[int, str] = {}

        async def turn(n: int) -> None:
            texts[n] = (await client.acall(f"turn {n}")).text

        async with anyio.create_task_group() as group:
            for n in range(8):
                group.start_soon(turn, n)
        return texts

    assert anyio.run(main, backend=backend) == {n: f"turn {n}" for n in range(8)}


def test_a_tool_can_run_a_turn(ask):
    inner = ChatClient(ScriptedChatModel(lambda request: "inner answer"))

    def consult(question: str) -> str:
        """Ask somebody else."""
        return inner.call(question).text

    outcome = ask(ChatClient(ScriptedChatModel([[("consult", {"question": "?"})], "done"]), tools=[consult]), "Hi")
    assert [m.text for m in outcome.response.messages if m.role == "tool"] == ["inner answer"]


def test_sleep_waits_on_the_clients_clock(ask):
    from toolsearch.loop import Sleep

    clock = FakeClock(10.0)

    def patient(request: ChatRequest) -> AdvisorFlow:
        yield Sleep(3600)
        return (yield request)

    ask(ChatClient(ScriptedChatModel(["x"]), advisors=[Flow(patient)], clock=clock), "Hi")
    assert clock.monotonic() == 3610.0


def test_closing_the_events_closes_an_async_stream():
    ended: list[str] = []

    async def main() -> None:
        client = ChatClient(HangingModel(ended), advisors=[Ends("advisor", 1, ended)])
        async with aclosing(client.astream("Hi").events()) as events:  # type: ignore[type-var]  # wrong on purpose
            async for event in events:
                if isinstance(event, ChatChunk):
                    break

    asyncio.run(main())
    assert ended == ["model", "advisor"]
