"""Attacks on the record of a turn: whatever ends a turn, what its tools did is known to the caller and to memory."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolsearch import (
    AssistantMessage,
    ChatChunk,
    ChatClient,
    ChatMemory,
    ChatRequest,
    ChatResponse,
    ConfigurationError,
    InMemoryRepository,
    MemoryAdvisor,
    MemoryStoreError,
    Message,
    ProviderError,
    SqliteRepository,
    StructuredOutputError,
    ToolCall,
    ToolCallingAdvisor,
    ToolFinished,
    ToolMessage,
    ToolSearchAdvisor,
    ToolStarted,
    UserMessage,
    partial_response,
)
from toolsearch.loop import AdvisorFlow, RunTools
from toolsearch.memory import SessionKey
from toolsearch.memory.turns import unpaired_call_ids
from toolsearch.testing import ScriptedChatModel, ScriptedStream

Ask = Callable[..., Any]

OUTSIDE, INSIDE = 200, 400
SENT: list[str] = []
MAIL = [("send_mail", {"to": "bob"})]
BUSY = ProviderError("busy", status=503, retryable=True)


@pytest.fixture(autouse=True)
def nothing_sent() -> None:
    SENT.clear()


@pytest.fixture(params=[OUTSIDE, INSIDE], ids=["outside", "inside"])
def order(request: pytest.FixtureRequest) -> int:
    """The position of memory: outside or inside of the loop."""
    value: int = request.param
    return value


def send_mail(to: str) -> str:
    """Send a mail."""
    SENT.append(to)
    return f"sent to {to}"


def explode(to: str) -> str:
    """Send a mail and fail."""
    SENT.append(to)
    raise ValueError("after the mail was sent")


class Raises:
    """An advisor of the application that fails after the turn."""

    def __init__(self, order: int, error: BaseException) -> None:
        self.order = order
        self.error = error

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        yield request
        raise self.error


class BadHook(ToolCallingAdvisor):
    """A loop whose last hook fails."""

    def finalize_loop(self, state: Any, response: Any) -> Any:
        raise LookupError("in a hook")


class OwnLoop:
    """A loop of the application that knows nothing about records, and makes new requests."""

    order = 300

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        messages = tuple(request.messages)
        while True:
            response: ChatResponse = yield ChatRequest(messages=messages, tools=request.tools)
            if not response.tool_calls:
                return response
            tools = {tool.name: tool for tool in request.tools}
            batch = yield RunTools(calls=response.tool_calls, tools=tools, request=request)
            messages = (*messages, response.message, *batch.messages)


def words(messages: Sequence[Message]) -> list[str]:
    """Return each message as one word."""
    return [_word(message) for message in messages]


def _word(message: Message) -> str:
    if isinstance(message, ToolMessage):
        return f"={message.text.split(':')[0]}"
    calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
    return f"{message.role[0]}:{message.text}" if not calls else "!" + "+".join(call.name for call in calls)


MAILED = ["!send_mail", "=sent to bob"]

ENDS: dict[str, tuple[Any, dict[str, Any], type[BaseException], list[str]]] = {
    "provider error": ([MAIL, BUSY], {}, ProviderError, []),
    "stream breaks": ([MAIL, ScriptedStream("I sent", error=BUSY, after=1)], {}, ProviderError, []),
    "model raises": ([MAIL, ConnectionError("gone")], {}, ConnectionError, []),
    "wrong response": ([MAIL, ChatResponse()], {}, ConfigurationError, []),
    "exit": ([MAIL, SystemExit(3)], {}, SystemExit, []),
    "interrupt": ([MAIL, KeyboardInterrupt()], {}, KeyboardInterrupt, []),
    "inner advisor": ([MAIL, "Done."], {"advisors": [Raises(900, LookupError())]}, LookupError, []),
    "hook": ([MAIL, "Done."], {"advisors": [BadHook()]}, LookupError, ["a:Done."]),
    "output": ([MAIL, "x", "y"], {"output_type": int, "retries": 1}, StructuredOutputError, ["a:y"]),
    "second tool": (
        [MAIL, [("explode", {"to": "eve"})]],
        {"advisors": [ToolCallingAdvisor(raise_on_error=True)]},
        ValueError,
        ["!explode", "=Failed"],
    ),
    "search": (
        [[("tool_search", {"query": "mail"})], MAIL, BUSY],
        {"advisors": [ToolSearchAdvisor("regex")]},
        ProviderError,
        [],
    ),
}


def run(ask: Ask, script: Any, memory: ChatMemory | None, order: int, **options: Any) -> tuple[BaseException, Any]:
    """Run one turn that fails. Return its error and the client."""
    from toolsearch import StructuredOutputAdvisor

    advisors = list(options.pop("advisors", ()))
    if memory is not None:
        advisors.append(MemoryAdvisor(memory, order=order))
    if "retries" in options:
        advisors.append(StructuredOutputAdvisor(retries=options.pop("retries")))
    client = ChatClient(ScriptedChatModel(script), tools=[send_mail, explode], advisors=advisors)
    with pytest.raises(BaseException) as raised:
        ask(client, "Mail Bob", session_id="s", **options)
    return raised.value, client


@pytest.mark.parametrize("end", ENDS)
def test_the_error_that_ends_a_turn_carries_what_ran(ask: Ask, end: str) -> None:
    script, options, kind, more = ENDS[end]
    if "inner" in end:
        script = [MAIL, "unused"]
        options = {"advisors": [_RaisesLater(900)]}
    error, _ = run(ask, script, None, 0, **options)
    assert isinstance(error, kind)
    response = partial_response(error)
    assert response is not None
    assert words(response.messages)[-2 - len(more) :] == [*MAILED, *more]
    assert "bob" in response.started_calls[-1 if end != "second tool" else 0].arguments
    assert response.unfinished_calls == ()
    assert response.usage.total > 0
    assert unpaired_call_ids(response.messages) == ()
    if hasattr(error, "response"):
        assert error.response is response


class _RaisesLater:
    """Fails in the second round, after it received the answer."""

    def __init__(self, order: int) -> None:
        self.order = order

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        if isinstance(request.messages[-1], ToolMessage):
            raise LookupError
        return (yield request)


@pytest.mark.parametrize("end", [end for end in ENDS if end != "inner advisor"])
def test_memory_keeps_what_ran_however_the_turn_fails(ask: Ask, order: int, end: str) -> None:
    """The next turn is told, so the mail is not sent twice. The answer that nobody accepted is not stored."""
    script, options, _, more = ENDS[end]
    memory = ChatMemory(InMemoryRepository())
    run(ask, script, memory, order, **options)
    stored = memory.messages("s")
    ran = [word for word in more if not word.startswith("a:")]
    assert words(stored)[0] == "u:Mail Bob"
    assert words(stored)[-2 - len(ran) :] == [*MAILED, *ran]
    assert unpaired_call_ids(stored) == ()
    model = ScriptedChatModel(["Yes."])
    ask(ChatClient(model, advisors=[MemoryAdvisor(memory, order=order)]), "Did you?", session_id="s")
    assert words(model.requests[0].messages)[-3 - len(ran) :] == [*MAILED, *ran, "u:Did you?"]


@pytest.mark.parametrize("error", [LookupError(), KeyboardInterrupt(), ProviderError("x")])
def test_an_outer_advisor_that_fails_cannot_undo_what_is_stored(ask: Ask, order: int, error: BaseException) -> None:
    memory = ChatMemory(InMemoryRepository())
    raised, _ = run(ask, [MAIL, "Done."], memory, order, advisors=[Raises(100, error)])
    assert words(memory.messages("s"))[-1] == "a:Done."
    response = partial_response(raised)
    assert response is not None
    assert words(response.messages) == [*MAILED, "a:Done."]


def test_a_turn_that_ran_nothing_stores_nothing(ask: Ask, order: int) -> None:
    memory = ChatMemory(InMemoryRepository())
    error, _ = run(ask, [BUSY], memory, order)
    assert memory.messages("s") == ()
    assert isinstance(error, ProviderError)
    assert error.response.messages == ()


def test_rejected_calls_are_not_called_run(ask: Ask, order: int) -> None:
    """Calls of unknown tools and with wrong arguments have no effect, so there is nothing to remember."""
    memory = ChatMemory(InMemoryRepository())
    error, _ = run(ask, [[("nothing", {}), ("send_mail", {})], BUSY], memory, order)
    assert memory.messages("s") == ()
    assert isinstance(error, ProviderError)
    assert error.response.started_calls == ()
    assert [message.role for message in error.response.messages] == ["assistant", "tool", "tool"]


def test_a_loop_of_the_application_is_recorded_too(ask: Ask) -> None:
    client = ChatClient(ScriptedChatModel([MAIL, BUSY]), tools=[send_mail], advisors=[OwnLoop()], tool_calling=False)
    with pytest.raises(ProviderError) as raised:
        ask(client, "Mail Bob")
    assert words(raised.value.response.messages) == MAILED
    assert [call.name for call in raised.value.response.started_calls] == ["send_mail"]


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_loop_that_repeats_or_splits_a_batch_is_recorded(ask: Ask, times: int) -> None:
    """An own loop runs equal calls more often than the model made them, and one by one."""

    class Splits:
        order = 300

        def advise(self, request: ChatRequest) -> AdvisorFlow:
            response: ChatResponse = yield request
            tools = {tool.name: tool for tool in request.tools}
            yield RunTools(calls=response.tool_calls * times, tools=tools, request=request)
            for call in response.tool_calls:
                yield RunTools(calls=(call,), tools=tools, request=request)
            raise LookupError

    same = ToolCall("1", "send_mail", '{"to": "bob"}')
    client = ChatClient(
        ScriptedChatModel([[same, ToolCall("2", "send_mail", '{"to": "eve"}')]]),
        tools=[send_mail],
        advisors=[Splits()],
        tool_calling=False,
    )
    with pytest.raises(LookupError) as raised:
        ask(client, "Go")
    response = partial_response(raised.value)
    assert response is not None
    assert {call.id for call in response.started_calls} == {"1", "2"}
    assert unpaired_call_ids(response.messages) == ()
    assert len(SENT) == 2 * times + 2


def test_many_calls_in_one_round_are_recorded_in_linear_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model may make thousands of calls, which differ in their last character only."""
    from toolsearch.chat import TurnRecord

    compared = 0
    equal = ToolCall.__eq__

    def counting(self: ToolCall, other: object) -> bool:
        nonlocal compared
        compared += 1
        return equal(self, other)

    calls = [ToolCall(f"call_{n}", "send_mail") for n in range(3_000)]
    monkeypatch.setattr(ToolCall, "__eq__", counting)
    record = TurnRecord()
    record.accept(ChatResponse(messages=[AssistantMessage("", tuple(calls))]))
    batch = record.begin_batch(calls)
    for position in range(len(calls)):
        batch.start(position)
    assert len(record.partial().unfinished_calls) == 3_000
    assert compared < 30_000


class MarkedLoop(OwnLoop):
    """An own loop that takes the place of the default one, with memory inside of it."""

    is_tool_loop = True

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        messages = tuple(request.messages)
        while True:
            response: ChatResponse = yield request.replace(messages=messages)
            if not response.tool_calls:
                return response
            tools = {tool.name: tool for tool in request.tools}
            batch = yield RunTools(calls=response.tool_calls, tools=tools, request=request, raise_on_error=True)
            messages = (*messages, response.message, *batch.messages)


@pytest.mark.parametrize(
    ("script", "stored"),
    [
        ([MAIL, BUSY], MAILED),
        ([[("explode", {"to": "eve"})]], ["!explode", "=Failed"]),
        ([MAIL, "Done."], [*MAILED, "a:Done."]),
    ],
    ids=["model", "tool", "answered"],
)
def test_memory_keeps_what_an_own_loop_ran(ask: Ask, order: int, script: Any, stored: list[str]) -> None:
    memory = ChatMemory(InMemoryRepository())
    client = ChatClient(
        ScriptedChatModel(script),
        tools=[send_mail, explode],
        advisors=[MarkedLoop(), MemoryAdvisor(memory, order=order)],
    )
    with suppress(ProviderError, ValueError):
        ask(client, "Mail Bob", session_id="s")
    expected = ["a:Done."] if "Done." in script and order == OUTSIDE else stored
    assert words(memory.messages("s")) == ["u:Mail Bob", *expected]


def test_a_turn_that_its_caller_continues_is_not_stored_as_interrupted(ask: Ask, order: int) -> None:
    """A loop that runs some calls and leaves others to the caller."""
    memory = ChatMemory(InMemoryRepository())
    loop = ToolCallingAdvisor(should_continue=lambda response: any(c.name == "send_mail" for c in response.tool_calls))
    script = [MAIL, [("explode", {"to": "eve"})], "Done."]
    client = ChatClient(
        ScriptedChatModel(script), tools=[send_mail, explode], advisors=[loop, MemoryAdvisor(memory, order=order)]
    )
    response = ask(client, "Mail both", session_id="s").response
    assert response.tool_calls
    assert memory.messages("s") == ()


def test_run_tools_records_what_ran() -> None:
    """Without the loop: one tool of a batch raises, the results of the others are on the error."""
    calls = (ToolCall("1", "send_mail", '{"to": "bob"}'), ToolCall("2", "explode", '{"to": "eve"}'))
    messages = [UserMessage("Hi"), AssistantMessage("", calls)]
    client = ChatClient(
        ScriptedChatModel(), tools=[send_mail, explode], advisors=[ToolCallingAdvisor(raise_on_error=True)]
    )

    async def arun() -> None:
        await client.arun_tools(messages=messages)

    starts: list[Callable[[], Any]] = [lambda: client.run_tools(messages=messages)]
    starts += [partial(anyio.run, arun, backend=backend) for backend in ("asyncio", "trio")]
    for start in starts:
        with pytest.raises(ValueError, match="after the mail") as raised:
            start()
        response = partial_response(raised.value)
        assert response is not None
        assert words(response.messages) == ["=sent to bob", "=Failed"]
        assert [call.name for call in response.started_calls] == ["send_mail", "explode"]


def test_an_error_outside_of_a_turn_has_no_record() -> None:
    assert partial_response(ValueError()) is None
    with pytest.raises(ConfigurationError) as raised:
        ChatClient(ScriptedChatModel([])).call(session_id="s")
    assert partial_response(raised.value) is None


def test_causes_and_groups_are_searched(ask: Ask) -> None:
    error, _ = run(ask, [MAIL, BUSY], None, 0)
    wrapped = RuntimeError("of the application")
    wrapped.__cause__ = error
    group = BaseExceptionGroup("tasks", [ValueError(), wrapped])
    assert partial_response(group) is error.response  # type: ignore[attr-defined]


# --- streams that are left -------------------------------------------------------------------------------------------


def _until(kind: type[Any]) -> Callable[[Any], bool]:
    return lambda event: isinstance(event, kind)


def _leave_sync(client: ChatClient, stop: Callable[[Any], bool], way: str) -> Any:
    stream = client.stream("Mail Bob", session_id="s")
    events = stream.events()
    while not stop(next(events)):
        pass
    if way == "close":
        stream.close()
    elif way == "drop":
        turn = stream._turn
        del stream, events
        gc.collect()
        return turn.partial()
    else:
        with stream:
            pass
    return stream.partial


@pytest.mark.parametrize("way", ["close", "with", "drop"])
@pytest.mark.parametrize(("stop", "text"), [(ToolFinished, []), (ChatChunk, ["a:It"])])
def test_a_stream_that_is_left_keeps_what_ran(order: int, way: str, stop: type[Any], text: list[str]) -> None:
    memory = ChatMemory(InMemoryRepository())
    client = ChatClient(
        ScriptedChatModel([MAIL, "It is."]), tools=[send_mail], advisors=[MemoryAdvisor(memory, order=order)]
    )
    partial = _leave_sync(client, _until(stop), way)
    assert words(partial.messages) == [*MAILED, *text]
    assert partial.finish_reason == "interrupted"
    assert words(memory.messages("s")) == ["u:Mail Bob", *MAILED]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("way", ["aclose", "with", "cancel"])
@pytest.mark.parametrize(("stop", "text"), [(ToolFinished, []), (ChatChunk, ["a:It"])])
def test_an_async_stream_that_is_left_keeps_what_ran(
    order: int, way: str, stop: type[Any], text: list[str], backend: str
) -> None:
    memory = ChatMemory(InMemoryRepository())
    client = ChatClient(
        ScriptedChatModel([MAIL, "It is."]), tools=[send_mail], advisors=[MemoryAdvisor(memory, order=order)]
    )
    streams = []

    async def main() -> None:
        with anyio.CancelScope() as scope:
            streams.append(stream := client.astream("Mail Bob", session_id="s"))
            if way == "with":
                async with stream:
                    async for event in stream.events():
                        if isinstance(event, stop):
                            break
                return
            async for event in stream.events():
                if isinstance(event, stop):
                    if way == "aclose":
                        break
                    scope.cancel()
                    await anyio.lowlevel.checkpoint()
            await stream.aclose()
        with anyio.CancelScope(shield=True):
            await streams[0].aclose()

    anyio.run(main, backend=backend)
    assert words(streams[0].partial.messages) == [*MAILED, *text]
    assert words(memory.messages("s")) == ["u:Mail Bob", *MAILED]


def test_a_dropped_async_stream_keeps_what_ran(order: int) -> None:
    inner: list[InMemoryRepository] = []

    async def main() -> None:
        store = AsyncStore()
        inner.append(store.inner)
        advisor = MemoryAdvisor(ChatMemory(store), order=order)
        client = ChatClient(ScriptedChatModel([MAIL, "It is."]), tools=[send_mail], advisors=[advisor])
        async for _ in client.astream("Mail Bob", session_id="s"):
            break
        gc.collect()
        await store.stored.wait()  # the event loop closes what was dropped

    asyncio.run(main())
    assert words(inner[0].load(SessionKey("s"))) == ["u:Mail Bob", *MAILED]


def test_partial_is_available_at_any_time() -> None:
    stream = ChatClient(ScriptedChatModel([MAIL, "It is."]), tools=[send_mail]).stream("Mail Bob")
    assert stream.partial.messages == ()
    seen = []
    for event in stream.events():
        if isinstance(event, ToolStarted):
            assert stream.partial.unfinished_calls == ()  # about to run
        seen.append(words(stream.partial.messages))
    assert seen[0] == []
    assert [*MAILED] in seen
    assert [*MAILED, "a:It"] in seen
    assert stream.partial == stream.response


# --- cancelled tasks -------------------------------------------------------------------------------------------------


async def _cancel_when(running: anyio.Event, work: Callable[[], Any]) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(work)
        await running.wait()
        group.cancel_scope.cancel()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("mode", ["acall", "astream"])
def test_a_cancelled_batch_keeps_results_and_says_what_is_open(order: int, backend: str, mode: str) -> None:
    """One call of the batch has finished, one runs, one waits for it."""
    memory = ChatMemory(InMemoryRepository())
    errors: list[BaseException] = []

    async def main() -> None:
        running, mailed = anyio.Event(), anyio.Event()

        async def quick() -> str:
            SENT.append("quick")
            mailed.set()
            return "sent"

        async def slow() -> str:
            await mailed.wait()
            await anyio.lowlevel.checkpoint()
            await anyio.lowlevel.checkpoint()
            running.set()
            await anyio.sleep_forever()
            return "never"

        from toolsearch import Tool

        tools = [
            quick,
            Tool.from_function(slow, concurrent=False, source="s"),
            Tool.from_function(explode, concurrent=False, source="s"),
        ]
        script = [[("quick", {}), ("slow", {}), ("explode", {"to": "x"})], "Done."]
        client = ChatClient(ScriptedChatModel(script), tools=tools, advisors=[MemoryAdvisor(memory, order=order)])

        async def turn() -> None:
            try:
                if mode == "acall":
                    await client.acall("Go", session_id="s")
                else:
                    async with client.astream("Go", session_id="s") as stream:
                        async for _ in stream:
                            pass
            except BaseException as error:
                errors.append(error)
                raise

        await _cancel_when(running, turn)

    anyio.run(main, backend=backend)
    calls = "!quick+slow+explode"
    assert words(memory.messages("s")) == ["u:Go", calls, "=sent", "=Interrupted", "=Not run"]
    assert "may have taken effect" in memory.messages("s")[3].text
    response = partial_response(errors[0])
    assert response is not None
    assert [call.name for call in response.started_calls] == ["quick", "slow"]
    assert [call.name for call in response.unfinished_calls] == ["slow"]
    assert SENT == ["quick"]


def test_an_interrupted_batch_keeps_results() -> None:
    """Sync: Ctrl-C while one of two tools runs, and the other has finished."""
    finished = threading.Event()

    def quick() -> str:
        """Answer."""
        return "quick"

    def slow() -> str:
        """Wait for the other tool, then Ctrl-C."""
        assert finished.wait(5)
        raise KeyboardInterrupt

    class Watch:
        def begin(self, operation: Any) -> Any:
            return self

        def current(self) -> Any:
            from contextlib import nullcontext

            return nullcontext()

        def end(self, result: Any, error: BaseException | None) -> None:
            if isinstance(result, ToolMessage) and result.name == "quick":
                finished.set()

    client = ChatClient(ScriptedChatModel([[("slow", {}), ("quick", {})]]), tools=[quick, slow], observer=Watch())
    with pytest.raises(KeyboardInterrupt) as raised:
        client.call("Go")
    response = partial_response(raised.value)
    assert response is not None
    assert words(response.messages) == ["!slow+quick", "=Interrupted", "=quick"]
    assert [call.name for call in response.unfinished_calls] == ["slow"]


class SlowStore(InMemoryRepository):
    """A store that tells when it begins, and waits until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.go = threading.Event()
        self.appends = 0

    def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
        self.appends += 1
        self.begun.set()
        assert self.go.wait(5)
        super().append(key, messages)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_turn_cancelled_while_it_is_stored_is_stored_once_and_whole(order: int, backend: str) -> None:
    store = SlowStore()
    memory = ChatMemory(store)
    client = ChatClient(
        ScriptedChatModel([MAIL, "Done."]), tools=[send_mail], advisors=[MemoryAdvisor(memory, order=order)]
    )

    async def main() -> None:
        async with anyio.create_task_group() as group:

            async def turn() -> None:
                await client.acall("Mail Bob", session_id="s")

            group.start_soon(turn)
            await anyio.to_thread.run_sync(store.begun.wait)
            group.cancel_scope.cancel()
            store.go.set()

    anyio.run(main, backend=backend)
    assert store.appends == 1
    tools = MAILED if order == INSIDE else []
    assert words(memory.messages("s")) == ["u:Mail Bob", *tools, "a:Done."]


class AsyncStore:
    """An async store whose `append` can be cancelled between its steps."""

    def __init__(self) -> None:
        self.inner = InMemoryRepository()
        self.begun = anyio.Event()
        self.stored = anyio.Event()

    async def load(self, key: SessionKey) -> Sequence[Message]:
        return self.inner.load(key)

    async def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
        self.begun.set()
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        self.inner.append(key, messages)
        self.stored.set()

    async def replace(self, key: SessionKey, messages: Sequence[Message], *, upto: int | None = None) -> None:
        self.inner.replace(key, messages, upto=upto)

    async def delete(self, key: SessionKey) -> None:
        self.inner.delete(key)

    async def sessions(self) -> Sequence[SessionKey]:
        return self.inner.sessions()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("script", [[MAIL, "Done."], [MAIL, BUSY]], ids=["answered", "failed"])
def test_an_async_store_is_not_cut_off(order: int, backend: str, script: Any) -> None:
    inner: list[InMemoryRepository] = []

    async def main() -> None:
        store = AsyncStore()
        inner.append(store.inner)
        advisor = MemoryAdvisor(ChatMemory(store), order=order)
        client = ChatClient(ScriptedChatModel(script), tools=[send_mail], advisors=[advisor])

        async def turn() -> None:
            with suppress(ProviderError):
                await client.acall("Mail Bob", session_id="s")

        await _cancel_when(store.begun, turn)

    anyio.run(main, backend=backend)
    stored = inner[0].load(SessionKey("s"))
    assert words(stored)[-1] == ("a:Done." if script[-1] == "Done." else "=sent to bob")


class BrokenStore(InMemoryRepository):
    """A store that cannot store."""

    def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
        raise MemoryStoreError("disk full")


def test_a_store_that_fails_at_the_end_leaves_the_turn_on_the_error(ask: Ask, order: int) -> None:
    error, _ = run(ask, [MAIL, "Done."], ChatMemory(BrokenStore()), order)
    assert isinstance(error, MemoryStoreError)
    assert words(error.response.messages) == [*MAILED, "a:Done."]


def test_a_store_that_fails_does_not_hide_why_the_turn_ended(
    ask: Ask, order: int, caplog: pytest.LogCaptureFixture
) -> None:
    error, _ = run(ask, [MAIL, BUSY], ChatMemory(BrokenStore()), order)
    assert error is BUSY
    (record,) = [record for record in caplog.records if "turn_not_stored" in record.getMessage()]
    assert "error_type=MemoryStoreError" in record.getMessage()


# --- what the next turn gets -----------------------------------------------------------------------------------------


class Again:
    """An outer advisor that runs the whole turn again."""

    order = 100

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        try:
            return (yield request)
        except ProviderError:
            return (yield request)


def test_a_turn_that_is_run_again_sees_what_it_did(ask: Ask, order: int) -> None:
    memory = ChatMemory(InMemoryRepository())
    model = ScriptedChatModel([MAIL, BUSY, "It was sent."])
    client = ChatClient(model, tools=[send_mail], advisors=[MemoryAdvisor(memory, order=order), Again()])
    assert ask(client, "Mail Bob", session_id="s").response.text == "It was sent."
    assert words(model.requests[2].messages) == ["u:Mail Bob", *MAILED, "u:Mail Bob"]
    assert words(memory.messages("s")) == ["u:Mail Bob", *MAILED, "u:Mail Bob", "a:It was sent."]
    assert SENT == ["bob"]


class Apology:
    """An outer advisor that hides the error from the user, and from memory."""

    order = 100

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        try:
            return (yield request)
        except ProviderError:
            return ChatResponse.from_text("Sorry.")


def test_an_error_that_an_outer_advisor_hides_is_not_lost(ask: Ask, order: int) -> None:
    memory = ChatMemory(InMemoryRepository())
    advisors = [MemoryAdvisor(memory, order=order), Apology()]
    client = ChatClient(ScriptedChatModel([MAIL, BUSY]), tools=[send_mail], advisors=advisors)
    assert ask(client, "Mail Bob", session_id="s").response.text == "Sorry."
    assert words(memory.messages("s")) == ["u:Mail Bob", *MAILED]


def test_a_caller_that_goes_on_from_the_error_repeats_nothing(ask: Ask, order: int) -> None:
    """The messages of the error are in memory already, so they are neither sent nor stored twice."""
    memory = ChatMemory(InMemoryRepository())
    model = ScriptedChatModel(["Hello.", MAIL, BUSY, "It was sent."])
    client = ChatClient(model, tools=[send_mail], advisors=[MemoryAdvisor(memory, order=order)])
    ask(client, "Hi", session_id="s")
    with pytest.raises(ProviderError) as raised:
        ask(client, "Mail Bob", session_id="s")
    ask(client, messages=[UserMessage("Mail Bob"), *raised.value.response.messages], session_id="s")
    assert words(model.requests[-1].messages) == ["u:Hi", "a:Hello.", "u:Mail Bob", *MAILED]
    assert words(memory.messages("s")) == ["u:Hi", "a:Hello.", "u:Mail Bob", *MAILED, "a:It was sent."]


def test_parallel_turns_stay_whole(order: int) -> None:
    memory = ChatMemory(InMemoryRepository())
    client = ChatClient(
        ScriptedChatModel(lambda r: BUSY if isinstance(r.messages[-1], ToolMessage) else MAIL),
        tools=[send_mail],
        advisors=[MemoryAdvisor(memory, order=order)],
    )

    async def main() -> None:
        async def turn(prompt: str) -> None:
            with pytest.raises(ProviderError):
                await client.acall(prompt, session_id="s")

        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(turn, str(number))

    anyio.run(main)
    stored = words(memory.messages("s"))
    assert len(stored) == 24
    assert {tuple(stored[at + 1 : at + 3]) for at in range(0, 24, 3)} == {tuple(MAILED)}
    assert sorted(stored[::3]) == [f"u:{number}" for number in range(8)]


class HangingModel(ScriptedChatModel):
    """Calls a tool, then streams one chunk and nothing more."""

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk | ChatResponse]:
        if len(self.requests) < 1:
            yield from super().stream(request)
            return
        yield ChatChunk("It")
        raise KeyboardInterrupt

    async def astream(self, request: ChatRequest) -> AsyncIterator[ChatChunk | ChatResponse]:
        if len(self.requests) < 1:
            async for piece in super().astream(request):
                yield piece
            return
        yield ChatChunk("It")
        await anyio.sleep_forever()


def test_ctrl_c_in_a_stream_keeps_what_ran(order: int) -> None:
    memory = ChatMemory(InMemoryRepository())
    client = ChatClient(HangingModel([MAIL]), tools=[send_mail], advisors=[MemoryAdvisor(memory, order=order)])
    stream = client.stream("Mail Bob", session_id="s")
    with pytest.raises(KeyboardInterrupt):
        list(stream)
    assert words(stream.partial.messages) == [*MAILED, "a:It"]
    assert words(memory.messages("s")) == ["u:Mail Bob", *MAILED]


def test_asyncio_cancellation_keeps_what_ran(order: int) -> None:
    """`asyncio.timeout` and `task.cancel`, without anyio."""
    memory = ChatMemory(InMemoryRepository())
    client = ChatClient(HangingModel([MAIL]), tools=[send_mail], advisors=[MemoryAdvisor(memory, order=order)])

    async def main() -> None:
        first = asyncio.Event()

        async def consume() -> None:
            async for _ in client.astream("Mail Bob", session_id="s"):
                first.set()

        task = asyncio.create_task(consume())
        await first.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert words(memory.messages("s")) == ["u:Mail Bob", *MAILED]


@pytest.mark.parametrize("value", [None, 1, "yes"])
def test_keep_partial_is_a_bool(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="keep_partial must be True or False"):
        MemoryAdvisor(ChatMemory(InMemoryRepository()), keep_partial=value)


PROGRAM = """
import sys
from toolsearch import ChatClient, ChatMemory, MemoryAdvisor, SqliteRepository, ToolFinished
from toolsearch.testing import ScriptedChatModel

def send_mail(to):
    return f"sent to {to}"

memory = MemoryAdvisor(ChatMemory(SqliteRepository(sys.argv[1])))
steps = [[("send_mail", {"to": "bob"})], "It is done"]
client = ChatClient(ScriptedChatModel(steps), tools=[send_mail], advisors=[memory])
stream = client.stream("Mail Bob", session_id="s")
"""


@pytest.mark.parametrize(
    "ending",
    [
        "next(iter(stream))",
        "text = iter(stream); next(text); del stream",
        "events = stream.events(); any(isinstance(event, ToolFinished) for event in events)",
        "next(iter(stream)); stream.me = stream; del stream; sys.exit(0)",
    ],
)
def test_a_stream_that_is_open_at_exit_is_stored(tmp_path: Path, ending: str) -> None:
    """The program ends, and the next process knows of the mail."""
    file = str(tmp_path / "chats.db")
    command = [sys.executable, "-c", PROGRAM + ending, file]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    with SqliteRepository(file) as repository:
        assert words(ChatMemory(repository).messages("s")) == ["u:Mail Bob", *MAILED]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_store_the_streams_of_its_parent(tmp_path: Path) -> None:
    file = str(tmp_path / "chats.db")
    ending = (
        "import os\ntext = iter(stream); next(text)\n"
        "if os.fork() == 0: sys.exit(0)\nassert os.wait()[1] == 0\nprint(*text)"
    )
    command = [sys.executable, "-c", PROGRAM + ending, file]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    with SqliteRepository(file) as repository:
        assert words(ChatMemory(repository).messages("s")) == ["u:Mail Bob", *MAILED, "a:It is done"]
