"""Execution of a batch of tool calls, with threads and with tasks."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest
from trio.testing import MockClock

from toolsearch import (
    ChatRequest,
    ConfigurationError,
    Media,
    Tool,
    ToolCall,
    ToolContext,
    ToolMessage,
)
from toolsearch.loop import RunTools, ToolBatchResult
from toolsearch.loop.execution.batch import arun_batch, run_batch
from toolsearch.tools import ToolThreads

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("VARIABLE", default="unset")
LONG = 30.0  # seconds a test would wait at most, if something were broken


class Execute:
    """Executes a batch with threads, asyncio or trio."""

    def __init__(self, backend: str | None) -> None:
        self.backend = backend

    def __call__(self, *calls: Any, tools: Any = (), **options: Any) -> ToolBatchResult:
        batch = batch_of(*calls, tools=tools, **options)
        if self.backend is None:
            return run_batch(batch)
        result: ToolBatchResult = anyio.run(arun_batch, batch, backend=self.backend)
        return result


@pytest.fixture(params=[None, "asyncio", "trio"], ids=["threads", "asyncio", "trio"])
def execute(request: pytest.FixtureRequest) -> Execute:
    return Execute(request.param)


@pytest.fixture(params=["asyncio", "trio"])
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """An event for tools to wait on. It is set at the end, so that no thread remains."""
    event = threading.Event()
    yield event
    event.set()


def batch_of(*calls: Any, tools: Any = (), request: ChatRequest | None = None, **options: Any) -> RunTools:
    made = tuple(
        call if isinstance(call, ToolCall) else ToolCall.from_dict(f"call_{n}", call[0], call[1])
        for n, call in enumerate(calls)
    )
    return RunTools(
        calls=made, tools={tool.name: tool for tool in tools}, request=request or ChatRequest(messages=()), **options
    )


def contents(result: ToolBatchResult) -> list[str]:
    return [message.text for message in result.messages]


def twin(name: str, body: Callable[[], Any], *, is_async: bool, **options: Any) -> Tool:
    """Return a sync or an async tool with the same function."""

    async def fn() -> Any:
        return body()

    return Tool(name, fn=fn if is_async else body, **options)


echo = Tool("echo", fn=lambda text: text)


# --- results ---------------------------------------------------------------------------------------------------------


def test_results_are_in_call_order(execute):
    second_done = threading.Event()

    def first() -> str:
        assert second_done.wait(LONG)
        return "first"

    def second() -> str:
        second_done.set()
        return "second"

    calls = [ToolCall("x", "first"), ToolCall("a", "second")]
    result = execute(*calls, tools=[Tool("first", fn=first), Tool("second", fn=second)])
    assert result.messages == (ToolMessage("x", "first", "first"), ToolMessage("a", "second", "second"))


def test_an_empty_batch_has_no_results(execute):
    assert execute() == ToolBatchResult(())


def test_calls_of_a_batch_run_concurrently(execute):
    meet = threading.Barrier(3)

    def wait_for_the_others(n: int) -> int:
        meet.wait(LONG)
        return n

    result = execute(*[("wait", {"n": n}) for n in range(3)], tools=[Tool("wait", fn=wait_for_the_others)])
    assert contents(result) == ["0", "1", "2"]


def test_async_and_sync_tools_run_concurrently(backend):
    sync_ran, async_ran = threading.Event(), threading.Event()

    def blocking() -> str:
        sync_ran.set()
        assert async_ran.wait(LONG)
        return "sync"

    async def awaiting() -> str:
        while not sync_ran.is_set():
            await anyio.lowlevel.checkpoint()
        async_ran.set()
        return "async"

    tools = [Tool("awaiting", fn=awaiting), Tool("blocking", fn=blocking)]
    assert contents(Execute(backend)(("awaiting", {}), ("blocking", {}), tools=tools)) == ["async", "sync"]


def test_a_batch_can_have_two_hundred_calls(execute):
    result = execute(*[("echo", {"text": str(n)}) for n in range(200)], tools=[echo])
    assert contents(result) == [str(n) for n in range(200)]
    assert [message.tool_call_id for message in result.messages] == [f"call_{n}" for n in range(200)]


def test_calls_with_equal_ids_all_get_results(execute):
    calls = [ToolCall.from_dict("same", "echo", {"text": text}) for text in "abc"]
    result = execute(*calls, tools=[echo])
    assert [(message.tool_call_id, message.text) for message in result.messages] == [("same", text) for text in "abc"]


@pytest.mark.parametrize(("value", "content"), [(None, "Done"), ("", ""), ("text", "text"), ({"a": [1]}, '{"a":[1]}')])
def test_return_values_are_converted(execute, value, content):
    assert contents(execute(("give", {}), tools=[Tool("give", fn=lambda: value)])) == [content]


def test_media_stay_with_their_result(execute):
    picture = Media("image/png", b"\x89PNG\r\n\x1a\n")
    (message,) = execute(("draw", {}), tools=[Tool("draw", fn=lambda: picture)]).messages
    assert message.media == (picture,)


def test_an_error_of_a_converter_is_not_a_failure_of_the_tool(execute, caplog):
    tool = Tool("give", fn=lambda: 1, result_converter=lambda value: value / 0)
    (message,) = execute(("give", {}), tools=[tool]).messages
    assert (message.text, message.is_error) == ("give ran; its result of type int cannot be shown.", False)
    assert "toolsearch.result_not_shown tool=give error_type=ZeroDivisionError" in caplog.text


def test_an_error_of_a_converter_can_be_raised(execute):
    tool = Tool("give", fn=lambda: 1, result_converter=lambda value: value / 0)
    with pytest.raises(ZeroDivisionError):
        execute(("give", {}), tools=[tool], raise_on_error=True)


def test_running_out_of_memory_is_raised(execute):
    def fill() -> None:
        """Fail."""
        raise MemoryError

    with pytest.raises(MemoryError):
        execute(("fill", {}), tools=[Tool.from_function(fill)])


@pytest.mark.parametrize("arguments", ["", "  ", "{}", "null"])
def test_empty_arguments_are_an_empty_object(execute, arguments):
    assert contents(execute(ToolCall("1", "ping", arguments), tools=[Tool("ping", fn=lambda: "pong")])) == ["pong"]


@pytest.mark.parametrize("arguments", ["[1]", "{", '"text"', "7", '{"n": "many"}', "{}", '{"n": 1, "m": 2}'])
def test_invalid_arguments_are_answered(execute, arguments):
    ran: list[int] = []

    def count(n: int) -> None:
        """Count."""
        ran.append(n)

    (message,) = execute(ToolCall("1", "count", arguments), tools=[Tool.from_function(count)]).messages
    assert message.is_error
    assert "count" in message.text
    assert ran == []


def test_tool_context_has_call_and_session(execute):
    seen: list[Any] = []

    def look(ctx: ToolContext) -> None:
        """Look."""
        seen.append((dict(ctx), ctx.tool_call_id, ctx.tool_name, ctx.session_id, ctx.tenant_id))

    request = ChatRequest(messages=(), context={"user": 7}, session_id="s", tenant_id="t")
    execute(ToolCall("id-1", "look"), tools=[Tool.from_function(look)], request=request)
    assert seen == [({"user": 7}, "id-1", "look", "s", "t")]


# --- calls that do not run--------------------------------------------------------------------------------------------


def test_an_unknown_name_is_answered_with_the_closest_names(execute):
    tools = [echo, Tool("get_weather", fn=lambda: "rain")]
    result = execute(("getWeather", {}), ("echo", {"text": "a"}), tools=tools)
    assert contents(result) == ["There is no tool 'getWeather'. Did you mean 'get_weather'?", "a"]
    assert [message.is_error for message in result.messages] == [True, False]


def test_an_unknown_name_is_answered_with_the_available_names(execute):
    tools = [Tool(f"tool_{n:02}", fn=lambda: None) for n in range(25)]
    (content,) = contents(execute(("zzz", {}), tools=tools))
    assert content.startswith("There is no tool 'zzz'. Available: tool_00, tool_01,")
    assert content.endswith("tool_19, ....")
    assert contents(execute(("zzz", {}))) == ["There is no tool 'zzz'; no tools are available."]


@pytest.mark.parametrize("known", [[], ["echo"], ["x_echo"]])
def test_long_unknown_names_are_shortened(execute, known):
    tools = [Tool(name, fn=lambda: None) for name in known]
    (content,) = contents(execute(("x" * 9_995 + "_echo", {}), tools=tools))
    assert content.startswith(f"There is no tool '{'x' * 97}…'")
    assert len(content) < 200


def test_answered_calls_are_not_run(execute):
    answer = ToolMessage("call_0", "echo", "not run", is_error=True)
    result = execute(("echo", {"text": "a"}), ("echo", {"text": "b"}), tools=[echo], answers={0: answer})
    assert contents(result) == ["not run", "b"]


def test_a_fully_answered_batch_runs_nothing(execute):
    answer = ToolMessage("call_0", "echo", "not run", is_error=True)
    assert execute(("echo", {}), tools=[echo], answers={0: answer}).messages == (answer,)


def test_a_tool_without_a_function_is_an_error(execute):
    (message,) = execute(("listed", {}), tools=[Tool("listed", parameters={"type": "object"})]).messages
    assert message.is_error
    assert message.text == "It failed because of the configuration of this service."


# --- lanes -----------------------------------------------------------------------------------------------------------


class Overlap:
    """Counts how many calls run at once."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()

    def __call__(self, n: int) -> int:
        """Run."""
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        self.order.append(n)
        with self._lock:
            self._now -= 1
        return n


def test_serial_tools_run_in_call_order(execute):
    overlap = Overlap()
    tools = [Tool(name, fn=overlap.__call__, concurrent=False) for name in ("a", "b")]
    result = execute(*[("ab"[n % 2], {"n": n}) for n in range(50)], tools=tools)
    assert overlap.order == list(range(50))
    assert overlap.most == 1
    assert contents(result) == [str(n) for n in range(50)]


def test_each_source_has_its_own_lane(execute):
    meet = threading.Barrier(2)
    tools = [Tool(source, fn=lambda: meet.wait(LONG), source=source, concurrent=False) for source in ("one", "two")]
    result = execute(("one", {}), ("two", {}), tools=tools)
    assert not any(message.is_error for message in result.messages)


def test_serial_async_tools_run_one_after_the_other(backend):
    events: list[str] = []

    async def step(n: int) -> None:
        events.append(f"begin {n}")
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        events.append(f"end {n}")

    Execute(backend)(*[("step", {"n": n}) for n in range(3)], tools=[Tool("step", fn=step, concurrent=False)])
    assert events == [f"{what} {n}" for n in range(3) for what in ("begin", "end")]


# --- errors ----------------------------------------------------------------------------------------------------------


def fails(error: BaseException) -> Callable[[], Any]:
    def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize("concurrent", [True, False])
def test_a_failing_call_does_not_affect_the_others(execute, concurrent):
    tools = [
        Tool("fail", fn=fails(LookupError("no such thing")), concurrent=concurrent),
        Tool("echo", fn=lambda text: text, concurrent=concurrent),
    ]
    result = execute(("echo", {"text": "a"}), ("fail", {}), ("echo", {"text": "b"}), tools=tools)
    assert contents(result) == ["a", "LookupError: no such thing", "b"]
    assert [message.is_error for message in result.messages] == [False, True, False]


def test_answered_exceptions_are_logged(execute, caplog):
    caplog.set_level(logging.DEBUG, "toolsearch.loop.execution.call")
    error = LookupError("no such thing")
    execute(("fail", {}), ("nothing", {}), ("echo", {"wrong": 1}), tools=[Tool("fail", fn=fails(error)), echo])
    (record,) = [record for record in caplog.records if record.name == "toolsearch.loop.execution.call"]
    assert record.getMessage().startswith("toolsearch.tool_failed tool=fail error_type=LookupError at=")
    assert (record.levelname, record.tool, record.error_type) == ("DEBUG", "fail", "LookupError")
    assert record.at.endswith(" fail")
    assert "no such thing" not in record.getMessage()  # an error can quote the arguments


def test_raised_exceptions_are_not_logged(execute, caplog):
    caplog.set_level(logging.DEBUG, "toolsearch.loop.execution.call")
    with pytest.raises(LookupError):
        execute(("fail", {}), tools=[Tool("fail", fn=fails(LookupError()))], raise_on_error=True)
    assert [record for record in caplog.records if record.name == "toolsearch.loop.execution.call"] == []


@pytest.mark.parametrize("error", [ValueError(), TimeoutError("mine"), RuntimeError("x"), NotImplementedError()])
def test_an_exception_is_answered_with_its_type_and_text(execute, error):
    (message,) = execute(("fail", {}), tools=[Tool("fail", fn=fails(error))]).messages
    assert message.text == (f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


@pytest.mark.parametrize("is_async", [False, True])
def test_stop_iteration_is_an_error_of_the_tool(execute, is_async):
    if is_async and execute.backend is None:
        execute = Execute("asyncio")
    tool = twin("fail", lambda: next(iter(())), is_async=is_async)
    result = execute(("fail", {}), ("echo", {"text": "a"}), tools=[tool, echo])
    assert "StopIteration" in result.messages[0].text
    assert result.messages[1].text == "a"


@pytest.mark.parametrize("raise_on_error", [True, (LookupError,), (ValueError, KeyError)])
def test_errors_are_raised_after_the_other_calls(execute, raise_on_error):
    ran: list[str] = []
    error = KeyError("gone")
    tools = [Tool("fail", fn=fails(error)), Tool("note", fn=lambda: ran.append("sibling"))]
    with pytest.raises(KeyError) as raised:
        execute(("fail", {}), ("note", {}), tools=tools, raise_on_error=raise_on_error)
    assert raised.value is error
    assert ran == ["sibling"]


@pytest.mark.parametrize("raise_on_error", [False, (ValueError,)])
def test_raise_on_error_answers_errors_of_other_types(execute, raise_on_error):
    result = execute(("fail", {}), tools=[Tool("fail", fn=fails(KeyError("gone")))], raise_on_error=raise_on_error)
    assert contents(result) == ["KeyError: 'gone'"]


def test_on_error_must_return_a_string(execute):
    def worded(call: ToolCall, error: Exception) -> str:
        if isinstance(error, KeyError):
            raise error
        return f"{call.name} is closed today"

    tools = [Tool("fail", fn=fails(ValueError("secret"))), Tool("gone", fn=fails(KeyError("gone"))), echo]
    calls = [("fail", {}), ("echo", {"text": "hi"}), ("echo", {})]
    result = execute(*calls, tools=tools, on_error=worded)
    assert contents(result)[:2] == ["fail is closed today", "hi"]
    assert "'text': required" in contents(result)[2]  # what the model got wrong is told as ever
    assert [message.is_error for message in result.messages] == [True, False, True]
    with pytest.raises(KeyError):
        execute(("gone", {}), tools=tools, on_error=worded)
    with pytest.raises(ConfigurationError, match="on_error must return a string"):
        execute(("fail", {}), tools=tools, on_error=lambda call, error: None)
    with pytest.raises(ValueError, match="secret"):
        execute(("fail", {}), tools=tools, on_error=worded, raise_on_error=(ValueError,))


def test_the_first_error_in_call_order_is_raised(execute):
    later = threading.Event()

    def first() -> None:
        assert later.wait(LONG)
        raise ValueError("first")

    def second() -> None:
        later.set()
        raise ValueError("second")

    with pytest.raises(ValueError, match="first"):
        execute(
            ("first", {}),
            ("second", {}),
            tools=[Tool("first", fn=first), Tool("second", fn=second)],
            raise_on_error=True,
        )


def test_argument_errors_and_timeouts_are_always_answered(execute, release):
    tools = [Tool.from_function(lambda n: n, name="count", description="Count."), _slow(release)]
    result = execute(ToolCall("1", "count", "[]"), ("slow", {}), ("none", {}), tools=tools, raise_on_error=True)
    assert all(message.is_error for message in result.messages)


class Exit(BaseException):
    """A base exception that, unlike `SystemExit`, has no special meaning."""


@pytest.mark.parametrize("kind", [Exit, KeyboardInterrupt, SystemExit, asyncio.CancelledError])
@pytest.mark.parametrize("siblings", [0, 2])
@pytest.mark.parametrize("is_async", [False, True])
def test_base_exceptions_are_always_raised(execute, kind, siblings, is_async):
    if is_async and execute.backend is None:
        execute = Execute("asyncio")
    error = kind("out")
    calls = [("fail", {}), *[("echo", {"text": "a"})] * siblings]
    with pytest.raises(kind) as raised:
        execute(*calls, tools=[twin("fail", fails(error), is_async=is_async), echo])
    assert raised.value is error or kind is asyncio.CancelledError


@pytest.mark.parametrize("timeout", [None, LONG])
def test_base_exceptions_stop_the_remaining_calls(execute, timeout):
    ran: list[str] = []
    tools = [
        Tool("fail", fn=fails(Exit("out")), concurrent=False, timeout=timeout),
        Tool("note", fn=lambda: ran.append("later"), concurrent=False),
    ]
    with pytest.raises(Exit, match="out"):
        execute(("fail", {}), ("note", {}), tools=tools)
    assert ran == []


# --- timeouts --------------------------------------------------------------------------------------------------------


def _slow(release: threading.Event, **options: Any) -> Tool:
    return Tool("slow", fn=lambda: release.wait(LONG), timeout=0.01, **options)


def test_a_timeout_does_not_affect_other_calls(execute, release):
    result = execute(("slow", {}), ("echo", {"text": "a"}), tools=[_slow(release), echo])
    assert contents(result) == ["slow did not answer within 0.01 seconds; it may still be running.", "a"]
    assert result.messages[0].is_error


def test_a_timeout_cancels_an_async_tool(backend):
    cancelled: list[str] = []

    async def slow() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append("slow")

    result = Execute(backend)(("slow", {}), tools=[Tool("slow", fn=slow, timeout=0.01)])
    assert contents(result) == ["slow did not answer within 0.01 seconds; it may still be running."]
    assert cancelled == ["slow"]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_within_its_timeout_answers(execute, is_async):
    if is_async and execute.backend is None:
        execute = Execute("asyncio")
    tool = twin("quick", lambda: VARIABLE.get(), is_async=is_async, timeout=LONG)
    token = VARIABLE.set("seen")
    try:
        assert contents(execute(("quick", {}), ("quick", {}), tools=[tool])) == ["seen", "seen"]
    finally:
        VARIABLE.reset(token)


def test_an_error_of_a_tool_with_a_timeout_is_answered(execute):
    tool = Tool("fail", fn=fails(TimeoutError("the server's")), timeout=LONG)
    assert contents(execute(("fail", {}), tools=[tool])) == ["TimeoutError: the server's"]


def test_the_timeout_excludes_waiting_for_a_thread(release):
    """The timeout starts when the tool starts, also if all threads are busy."""
    clock = MockClock()  # stands still, except when it is told to jump
    begun = threading.Event()

    def occupy() -> str:
        begun.set()
        release.wait(LONG)
        return "first"

    results: list[ToolBatchResult] = []

    async def main() -> None:
        threads = ToolThreads(1)

        async def let_time_pass() -> None:
            while not (begun.is_set() and threads.waiting):
                await anyio.lowlevel.checkpoint()
            clock.jump(3600)
            await anyio.lowlevel.checkpoint()
            release.set()

        tools = [Tool("occupy", fn=occupy), Tool("quick", fn=lambda: "second", timeout=60)]
        async with anyio.create_task_group() as group:
            group.start_soon(let_time_pass)
            batch = batch_of(("occupy", {}), ("quick", {}), tools=tools)
            results.append(await arun_batch(batch, threads=threads))

    anyio.run(main, backend="trio", backend_options={"clock": clock})
    assert contents(results[0]) == ["first", "second"]


# --- threads, contexts, cancelling -----------------------------------------------------------------------------------


def test_a_single_sync_call_stays_on_the_callers_thread():
    (content,) = contents(run_batch(batch_of(("where", {}), tools=[Tool("where", fn=lambda: threading.get_ident())])))
    assert content == str(threading.get_ident())


def test_the_first_of_several_calls_stays_on_the_callers_thread():
    calls = [("where", {})] * 5
    result = run_batch(batch_of(*calls, tools=[Tool("where", fn=lambda: threading.get_ident())]))
    assert contents(result)[0] == str(threading.get_ident())


def test_the_only_unanswered_call_stays_on_the_callers_thread():
    answer = ToolMessage("call_0", "where", "not run", is_error=True)
    where = Tool("where", fn=lambda: threading.get_ident())
    result = run_batch(batch_of(("where", {}), ("where", {}), tools=[where], answers={0: answer}))
    assert contents(result)[1] == str(threading.get_ident())


def test_sync_tools_do_not_block_the_event_loop(backend):
    calls = [("where", {})] * 3
    result = Execute(backend)(*calls, tools=[Tool("where", fn=lambda: threading.get_ident())])
    assert str(threading.get_ident()) not in contents(result)


@pytest.mark.parametrize("number", [1, 3])
def test_context_variables_are_copied_to_every_call(execute, number):
    token = VARIABLE.set("the caller's")
    try:
        result = execute(*[("look", {})] * number, tools=[Tool("look", fn=lambda: VARIABLE.get())])
    finally:
        VARIABLE.reset(token)
    assert contents(result) == ["the caller's"] * number


def test_context_variables_of_a_call_are_not_shared(execute):
    meet = threading.Barrier(4)

    def write_then_read(n: int) -> str:
        VARIABLE.set(str(n))
        meet.wait(LONG)
        return VARIABLE.get()

    tool = Tool("write", fn=write_then_read)

    def run() -> list[str]:
        return contents(execute(*[("write", {"n": n}) for n in range(4)], tools=[tool]))

    assert contextvars.copy_context().run(run) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("number", [1, 2])
def test_cancelling_abandons_a_slow_sync_tool(backend, release, number):
    finished: list[str] = []

    async def main() -> None:
        begun = threading.Event()

        def slow() -> None:
            begun.set()
            release.wait(LONG)
            finished.append("slow")

        async def cancel_when_begun() -> None:
            while not begun.is_set():
                await anyio.lowlevel.checkpoint()
            scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(cancel_when_begun)
            with anyio.CancelScope() as scope:
                await arun_batch(batch_of(*[("slow", {})] * number, tools=[Tool("slow", fn=slow)]))
        assert scope.cancelled_caught
        assert finished == []
        release.set()

    anyio.run(main, backend=backend)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("is_async", [False, True])
def test_cancelling_the_task_cancels_the_batch(release, number, is_async):
    async def main() -> None:
        begun = threading.Event()

        def slow() -> None:
            begun.set()
            release.wait(LONG)

        async def aslow() -> None:
            begun.set()
            await asyncio.sleep(LONG)

        batch = batch_of(*[("slow", {})] * number, tools=[Tool("slow", fn=aslow if is_async else slow)])
        task = asyncio.create_task(arun_batch(batch))
        while not begun.is_set():
            await anyio.lowlevel.checkpoint()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        release.set()

    asyncio.run(main())


# --- async tools in sync drivers, and vice versa --------------------------------------------------------------------


async def _later(n: int = 1) -> int:
    """Answer later."""
    return n


@pytest.mark.parametrize("timeout", [None, LONG])
def test_threads_run_async_tools_and_awaitable_results(timeout):
    tools = [
        Tool.from_function(_later, name="later", timeout=timeout),
        Tool("soon", fn=lambda: _later(2), timeout=timeout),
        Tool("now", fn=lambda: 3, timeout=timeout),
    ]
    calls = [("later", {}), ("soon", {}), ("now", {})]
    assert contents(run_batch(batch_of(*calls, tools=tools))) == ["1", "2", "3"]


@pytest.mark.parametrize("timeout", [None, LONG])
def test_tasks_await_awaitable_results(backend, timeout):
    tools = [Tool("later", fn=lambda: _later(7), timeout=timeout)]
    assert contents(Execute(backend)(("later", {}), tools=tools)) == ["7"]


def test_tasks_prefer_the_async_function_of_a_tool(backend):
    tool = Tool("twin", fn=lambda n: "sync", afn=_later)
    assert contents(Execute(backend)(("twin", {"n": 3}), tools=[tool])) == ["3"]
    assert contents(run_batch(batch_of(("twin", {"n": 3}), tools=[tool]))) == ["sync"]


# --- return direct ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "direct"),
    [
        ([("direct", {})], True),
        ([("direct", {}), ("direct", {})], True),
        ([("direct", {}), ("echo", {"text": "a"})], False),
        ([("direct", {}), ("unknown", {})], False),
        ([("direct", {}), ("failing", {})], False),
        ([("echo", {"text": "a"})], False),
    ],
)
def test_a_batch_of_direct_tools_is_returned_directly(execute, calls, direct):
    tools = [
        Tool("direct", fn=lambda: "x", return_direct=True),
        Tool("failing", fn=fails(ValueError("x")), return_direct=True),
        echo,
    ]
    assert execute(*calls, tools=tools).return_direct is direct


def test_a_batch_with_answered_calls_is_not_returned_directly(execute):
    tool = Tool("direct", fn=lambda: "x", return_direct=True)
    answer = ToolMessage("call_0", "direct", "not run", is_error=True)
    assert not execute(("direct", {}), ("direct", {}), tools=[tool], answers={0: answer}).return_direct
