"""Async tools in sync code: they run on one background loop, with the caller's context, and never wait for ever."""

from __future__ import annotations

import asyncio
import contextvars
import multiprocessing
import subprocess
import sys
import textwrap
import threading
from typing import Any

import pytest

from toolsearch import ChatClient, Tool
from toolsearch.errors import TookTooLongError
from toolsearch.testing import ScriptedChatModel
from toolsearch.tools.background_loop import run_coroutine

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


def turn(*tools: Any, via: str = "call", calls: list[Any] | None = None) -> list[str]:
    """Run a sync turn that calls the tools, and return the tool results."""
    calls = calls or [(tool.__name__, {}) for tool in tools]
    client = ChatClient(ScriptedChatModel([calls, "done"]), tools=tools)
    if via == "stream":
        with client.stream("go") as stream:
            "".join(stream)
            response = stream.response
    else:
        response = client.call("go")
    return [message.text for message in response.messages[1:-1]]


@pytest.mark.parametrize("via", ["call", "stream"])
def test_sync_turns_run_async_and_sync_tools(via: str) -> None:
    async def first() -> int:
        await asyncio.sleep(0)
        return 1

    def second() -> int:
        return 2

    assert turn(first, second, via=via) == ["1", "2"]


def test_run_tools_runs_async_tools() -> None:
    async def later() -> int:
        return 7

    client = ChatClient(ScriptedChatModel([[("later", {})]]), tools=[later], tool_calling=False)
    reply = client.call("go")
    assert client.run_tools(messages=reply.messages).messages[0].text == "7"


def test_calls_of_one_batch_overlap_on_one_loop() -> None:
    loops: list[object] = []
    both = asyncio.Barrier(2)

    async def meet() -> str:
        loops.append(asyncio.get_running_loop())
        await both.wait()
        return "met"

    assert turn(meet, calls=[("meet", {}), ("meet", {})]) == ["met", "met"]
    assert turn(meet, calls=[("meet", {}), ("meet", {})]) == ["met", "met"]  # what a tool keeps works in later turns
    assert len(set(map(id, loops))) == 1


def test_tools_see_the_context_variables_of_the_caller() -> None:
    async def read() -> str:
        return VARIABLE.get()

    token = VARIABLE.set("mine")
    try:
        assert turn(read) == ["mine"]
    finally:
        VARIABLE.reset(token)


def test_sync_turns_inside_a_running_loop_and_inside_an_async_tool() -> None:
    """The caller's own loop is blocked, as by any sync call; the background loop does not wait for itself."""

    async def inner() -> str:
        return "inner"

    async def outer() -> str:
        return turn(inner)[0]

    async def main() -> list[str]:
        return turn(outer)

    assert asyncio.run(main()) == ["inner"]


def test_a_timeout_cancels_the_tool() -> None:
    cancelled = threading.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    tool = Tool("slow", fn=slow, timeout=0.01)
    client = ChatClient(ScriptedChatModel([[("slow", {})], "done"]), tools=[tool])
    assert "did not answer within 0.01 seconds" in client.call("go").messages[1].text
    assert cancelled.wait(10)


def test_a_timeout_ends_the_wait_for_a_tool_that_blocks_the_loop() -> None:
    release = threading.Event()

    async def stuck() -> None:
        release.wait(10)

    with pytest.raises(TookTooLongError):
        run_coroutine(stuck, timeout_seconds=0.01)
    release.set()


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_exit_in_a_tool_ends_the_turn_and_not_the_loop(stop: type[BaseException]) -> None:
    async def leave() -> None:
        raise stop

    async def stay() -> str:
        return "here"

    with pytest.raises(stop):
        turn(leave)
    assert turn(stay) == ["here"]


def test_an_error_is_answered_to_the_model() -> None:
    async def fail() -> None:
        raise ValueError("no such city")

    assert turn(fail) == ["ValueError: no such city"]


def test_a_program_ends_while_a_tool_runs() -> None:
    code = """
        import asyncio, threading
        from toolsearch.tools.background_loop import run_coroutine
        async def wait(): await asyncio.sleep(600)
        threading.Thread(target=run_coroutine, args=(wait,), daemon=True).start()
        async def answer(): return 42
        print(run_coroutine(answer))
    """
    result = subprocess.run(
        [sys.executable, "-X", "dev", "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=30
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "42\n", "")


async def _answer() -> int:
    return 42


def _exit_with_answer() -> None:
    sys.exit(run_coroutine(_answer))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_has_a_loop_of_its_own() -> None:
    assert run_coroutine(_answer) == 42
    child = multiprocessing.get_context("fork").Process(target=_exit_with_answer)
    child.start()
    child.join(30)
    assert child.exitcode == 42


def test_code_on_trio_runs_async_tools() -> None:
    trio = pytest.importorskip("trio")

    async def which() -> str:
        return type(asyncio.get_running_loop()).__module__.partition(".")[0]

    async def main() -> list[str]:
        return turn(which)

    assert trio.run(main) == ["asyncio"]


def test_a_tool_that_ctrl_c_cancels_cleans_up_before_the_program_ends() -> None:
    program = textwrap.dedent("""
        import asyncio, os, signal, threading
        from toolsearch.tools.background_loop import run_coroutine
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs that ignore it
        async def hang():
            asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGINT)
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                print("cleaned")
        try:
            run_coroutine(hang)
        except KeyboardInterrupt:
            pass
    """)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "cleaned\n", "")
