"""Attacks on fairness: one tenant, tool or server that is slow, hung or flooded must not delay the others.

Gates replace time: slow tools wait for an event that is set only after the others have answered.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from toolsearch import ChatClient, ChatMemory, InMemoryRepository, MemoryAdvisor, Tool, ToolSearchAdvisor
from toolsearch.testing import ScriptedChatModel
from toolsearch.tools import ToolThreads

LONG = 30.0  # seconds a test would wait at most, if something were broken
FLOOD = 20


@pytest.fixture(params=["asyncio", "trio"])
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class Gate:
    """A tool that many calls wait in, until the gate opens."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.inside = 0
        self.lock = threading.Lock()

    def wait(self) -> str:
        """Wait at the gate."""
        with self.lock:
            self.inside += 1
        assert self.opened.wait(LONG)
        return "opened"


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


def client(steps: Any, *tools: Any, **options: Any) -> ChatClient:
    """Return a client whose model gives the same steps in every turn."""
    return ChatClient(ScriptedChatModel(steps), tools=tools, **options)


def calling(name: str, turns: int = 1) -> list[Any]:
    """Return the steps of turns that each call one tool."""
    return [step for _ in range(turns) for step in ([(name, {})], "done")]


async def until(condition: Any) -> None:
    """Let other tasks and threads run until the condition holds."""
    with anyio.fail_after(LONG):
        while not condition():
            await anyio.lowlevel.checkpoint()


def flood(gate: Gate, turns: int = FLOOD, **options: Any) -> list[ChatClient]:
    """Return clients whose turns call a tool that waits at the gate."""
    return [client(calling("slow"), Tool("slow", fn=gate.wait), **options) for _ in range(turns)]


@pytest.mark.parametrize("tenant_of_b", ["b", None])
@pytest.mark.parametrize("what", ["no tool", "a tool", "memory and tool search"])
def test_slow_tools_of_a_tenant_do_not_delay_another(
    backend: str, gate: Gate, what: str, tenant_of_b: str | None
) -> None:
    threads = ToolThreads(8)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for one in flood(gate, threads=threads):
                group.start_soon(lambda one=one: one.acall("go", tenant_id="a"))
            await until(lambda: threads.waiting == FLOOD - threads.running and gate.inside == threads.running)
            advisors: list[Any] = []
            if what == "memory and tool search":
                advisors = [ToolSearchAdvisor("regex"), MemoryAdvisor(ChatMemory(InMemoryRepository()))]
            steps: Any = ["hello"] if what == "no tool" else calling("quick")
            other = client(steps, Tool("quick", fn=lambda: "quick"), advisors=advisors, threads=threads)
            with anyio.fail_after(LONG):
                reply = await other.acall("go", tenant_id=tenant_of_b, session_id="s")
            assert reply.text in ("hello", "done")
            assert not gate.opened.is_set()
            gate.opened.set()

    anyio.run(main, backend=backend)


def test_a_slow_tool_does_not_delay_another_tool_of_the_same_tenant(backend: str, gate: Gate) -> None:
    async def main() -> None:
        threads = ToolThreads(8)
        async with anyio.create_task_group() as group:
            for one in flood(gate, threads=threads):
                group.start_soon(lambda one=one: one.acall("go", session_id="1"))
            await until(lambda: threads.running + threads.waiting == FLOOD)
            other = client(calling("quick"), Tool("quick", fn=lambda: "quick"), threads=threads)
            assert (await other.acall("go", session_id="2")).text == "done"
            gate.opened.set()

    anyio.run(main, backend=backend)


def test_the_threads_of_the_host_stay_free(backend: str, gate: Gate) -> None:
    async def main() -> None:
        async with anyio.create_task_group() as group:
            for one in flood(gate, 60):
                group.start_soon(lambda one=one: one.acall("go", tenant_id="a"))
            await until(lambda: gate.inside == 60)  # the default has more threads than that
            assert anyio.to_thread.current_default_thread_limiter().borrowed_tokens == 0
            with anyio.fail_after(LONG):
                await anyio.to_thread.run_sync(lambda: None)
            gate.opened.set()

    anyio.run(main, backend=backend)


def nested_by_from_thread(inner: ChatClient) -> str:
    return anyio.from_thread.run(inner.acall, "go").text


def nested_by_own_loop(inner: ChatClient) -> str:
    return asyncio.run(inner.acall("go")).text  # type: ignore[arg-type]


def nested_by_call(inner: ChatClient) -> str:
    return inner.call("go").text


@pytest.mark.parametrize("nest", [nested_by_from_thread, nested_by_own_loop, nested_by_call])
@pytest.mark.parametrize("timeout", [None, LONG])
def test_nested_turns_do_not_deadlock(backend: str, nest: Any, timeout: float | None) -> None:
    """Every thread is held by a tool that waits for a turn, which needs threads for three tools and a second level."""
    turns = 12
    threads = ToolThreads(4)
    everyone_inside = threading.Barrier(2)  # at least two tools are inside at once
    meet = iter([True, True])

    def leaf() -> str:
        return "leaf"

    def middle() -> str:
        steps = [[("leaf", {}), ("leaf", {}), ("leaf", {})], "middle"]
        return nest(client(steps, Tool("leaf", fn=leaf, timeout=timeout), threads=threads))

    def outer() -> str:
        if next(meet, False):
            everyone_inside.wait(LONG)
        search = [ToolSearchAdvisor("regex", pinned=["middle"])]
        return nest(client(calling("middle"), Tool("middle", fn=middle), threads=threads, advisors=search))

    async def main() -> None:
        with anyio.fail_after(LONG):
            async with anyio.create_task_group() as group:
                for number in range(turns):
                    one = client(calling("outer"), Tool("outer", fn=outer), threads=threads)
                    group.start_soon(lambda one=one, number=number: one.acall("go", tenant_id=f"{number % 2}"))

    anyio.run(main, backend=backend)
    assert (threads.running, threads.waiting) == (0, 0)


@pytest.mark.parametrize("sync", [True, False])
def test_hung_tools_use_up_their_own_share_only(sync: bool, gate: Gate) -> None:
    """Each call of a hung tool leaves a thread behind. They are bounded, and the tool's next call says so."""
    threads = ToolThreads(9)
    hung = Tool("hung", fn=gate.wait, timeout=0.1)  # long enough to enter the gate

    def ask(name: str, tenant_id: str) -> str:
        one = client(calling(name), hung, Tool("quick", fn=lambda: "quick"), threads=threads)
        reply = one.call("go", tenant_id=tenant_id) if sync else anyio.run(lambda: one.acall("go", tenant_id=tenant_id))
        return reply.messages[1].text

    answers = [ask("hung", "a") for _ in range(10)]
    assert gate.inside == threads.running == 3
    assert ["did not answer" in answer for answer in answers] == [True] * 3 + [False] * 7
    assert answers[-1] == "Too many earlier calls are still running. Try again later."
    assert ask("quick", "a") == ask("quick", "b") == "quick"
    assert "did not answer" in ask("hung", "b")


@pytest.mark.parametrize("tenant_of_b", ["b", None])
def test_sessions_of_a_tenant_do_not_take_those_of_another_away(tenant_of_b: str | None) -> None:
    """Tenant A opens more sessions than are kept. What tenant B found stays revealed."""
    steps = [[("tool_search", {"query": "send mail"})], "found"]
    model = ScriptedChatModel([*steps, *["hello"] * 1002])
    mail = Tool("send_mail", "Send a mail.", fn=lambda: "sent")
    one = ChatClient(model, tools=[mail], advisors=[ToolSearchAdvisor("regex")])
    one.call("mail", session_id="s", tenant_id=tenant_of_b)
    for number in range(1001):
        one.call("go", session_id=str(number), tenant_id="a")
    one.call("again", session_id="s", tenant_id=tenant_of_b)
    assert [tool.name for tool in model.requests[-1].tools] == ["tool_search", "send_mail"]


def test_waiting_for_a_thread_can_be_cancelled(backend: str, gate: Gate) -> None:
    async def main() -> None:
        threads = ToolThreads(1)
        async with anyio.create_task_group() as group:
            for one in flood(gate, threads=threads):
                group.start_soon(lambda one=one: one.acall("go", tenant_id="a"))
            await until(lambda: threads.waiting == FLOOD - 1 and gate.inside == 1)
            group.cancel_scope.cancel()
        assert threads.waiting == 0
        assert threads.running == 1  # the tool that runs cannot be stopped

    anyio.run(main, backend=backend)


def test_a_batch_of_a_tenant_leaves_threads_to_others_in_sync_code(gate: Gate) -> None:
    """A large batch takes its share; another tenant's batch still runs its calls at the same time."""
    threads = ToolThreads(6)
    batch = [("slow", {})] * 40
    first = client([batch, "done"], Tool("slow", fn=gate.wait), threads=threads)
    worker = threading.Thread(target=lambda: first.call("go", tenant_id="a"), daemon=True)
    worker.start()
    while gate.inside < 3:  # the caller's thread and two of the six
        pass
    meet = threading.Barrier(2)
    second = client([[("meet", {}), ("meet", {})], "done"], Tool("meet", fn=lambda: meet.wait(LONG)), threads=threads)
    assert second.call("go", tenant_id="b").text == "done"
    gate.opened.set()
    worker.join(LONG)
    assert gate.inside == 40
    assert threads.running == threads.waiting == 0


def test_slow_tools_of_a_server_do_not_delay_its_other_tools(gate: Gate) -> None:
    """Clients over memory are one session, which floods one tool; another tool still answers."""
    pytest.importorskip("mcp")
    from mcp import Client

    from toolsearch.mcp import McpServer

    async def main() -> None:
        threads = ToolThreads(8)
        server = McpServer([Tool("slow", fn=gate.wait), Tool("quick", fn=lambda: "quick")], threads=threads)
        async with Client(server._sdk_server()) as one, anyio.create_task_group() as group:
            for _ in range(FLOOD):
                group.start_soon(one.call_tool, "slow", {})
            await until(lambda: threads.running + threads.waiting == FLOOD)
            with anyio.fail_after(LONG):
                assert (await one.call_tool("quick", {})).content[0].text == "quick"
            gate.opened.set()

    anyio.run(main)


def run_program(text: str, *, interrupt: bool = False) -> str:
    """Run a program to its end, with Ctrl-C once it prints a line, and return its output."""
    with subprocess.Popen([sys.executable, "-c", PROGRAM + text], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            if interrupt:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(LONG / 6)
                except subprocess.TimeoutExpired:  # Python loses an interrupt that comes in a weak reference's callback
                    process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=LONG)
        finally:
            process.kill()
    return first + rest


# The hung tools never return: a program that waits for one of them does not end at all.
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs that ignore it
import threading, asyncio, anyio, os, sys
from toolsearch import ChatClient, Tool, ToolSearchAdvisor
from toolsearch.testing import ScriptedChatModel
inside = threading.Semaphore(0)
def hang():
    inside.release()
    threading.Event().wait()
def client(steps, *tools, **options):
    return ChatClient(ScriptedChatModel(steps), tools=tools, **options)
async def ticking(one):
    async def tick():  # asyncio alone can miss a signal that comes just before it goes to sleep
        while True:
            await asyncio.sleep(0.05)
    ticker = asyncio.create_task(tick())
    await one.acall('go')
def announce(number):
    def wait():
        for _ in range(number):
            inside.acquire()
        print("inside", flush=True)
    threading.Thread(target=wait, daemon=True).start()
"""

INTERRUPTED = {
    "sync batch": "client([[('hang', {})] * 3, 'x'], Tool('hang', fn=hang)).call('go')",
    "sync timeout": "client([[('hang', {})] * 3, 'x'], Tool('hang', fn=hang, timeout=1e6)).call('go')",
    "asyncio": "asyncio.run(ticking(client([[('hang', {})] * 3, 'x'], Tool('hang', fn=hang))))",
    "trio": "anyio.run(client([[('hang', {})] * 3, 'x'], Tool('hang', fn=hang)).acall, 'go', backend='trio')",
}


@pytest.mark.parametrize("how", INTERRUPTED)
def test_ctrl_c_ends_a_turn_whose_tools_hang(how: str) -> None:
    text = f"announce(3)\ntry:\n    {INTERRUPTED[how]}\nexcept KeyboardInterrupt:\n    print('interrupted')"
    assert run_program(text, interrupt=True) == "inside\ninterrupted\n"


@pytest.mark.parametrize("how", ["call('go')", "acall"])
def test_a_program_ends_although_a_tool_hangs(how: str) -> None:
    one = "client([[('hang', {})], 'answered'], Tool('hang', fn=hang, timeout=0.01))"
    turn = f"{one}.call('go')" if how != "acall" else f"asyncio.run({one}.acall('go'))"
    assert run_program(f"print({turn}.text, flush=True)") == "answered\n"


FORKING = """
from toolsearch.eviction import CompositeEviction, LruEviction, TtlEviction
from toolsearch.indexes import RegexToolIndex
begun, release = threading.Event(), threading.Event()
class SlowIndex(RegexToolIndex):
    def build(self, tools):
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            release.wait()
        return super().build(tools)
def ping():
    return 'pong'
def in_child(work):
    child = os.fork()
    if not child:
        threading.Timer(20, lambda: os._exit(9)).start()
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
steps = [[('tool_search', {'query': 'ping'})], [('ping', {})], 'pong']
"""

FORKS = {
    "while a thread builds the same index": """
search = ToolSearchAdvisor(SlowIndex())
threading.Thread(target=lambda: client(steps, ping, advisors=[search]).call('go', session_id='1'), daemon=True).start()
begun.wait()
print(in_child(lambda: client(steps, ping, advisors=[search]).call('go', session_id='1')))
""",
    "while all threads are taken": """
from toolsearch.tools import ToolThreads
threads = ToolThreads(2)
def busy():
    asyncio.run(client([[('hang', {})], 'x'], Tool('hang', fn=hang), threads=threads).acall('go'))
for _ in range(3):
    threading.Thread(target=busy, daemon=True).start()
inside.acquire()
print(in_child(lambda: asyncio.run(client([[('ping', {})], 'x'], ping, threads=threads).acall('go'))))
""",
    "while threads are at work": """
search = ToolSearchAdvisor('regex', eviction=LruEviction(3))
one = client(steps * 10_000, ping, advisors=[search])
one.call('go', session_id='first')  # imports: Python itself cannot fork while another thread imports
def work(name):
    for number in range(10_000):
        try:
            one.call('go', session_id=f'{name}{number}')
        except Exception:
            pass
for name in 'abcdefgh':
    threading.Thread(target=work, args=(name,), daemon=True).start()
print(*{in_child(lambda: client(steps, ping, advisors=[search]).call('go', session_id='child')) for _ in range(5)})
""",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("when", FORKS)
def test_a_forked_child_does_not_hang(when: str) -> None:
    assert run_program(FORKING + FORKS[when]) == "0\n"


def test_every_lock_survives_a_fork() -> None:
    """A lock is made by `new_lock`, which a forked child finds unlocked. The others are renewed in another way."""
    renewed = {
        "toolsearch/shared/fork.py",
        "toolsearch/disclosure/sessions/record.py",  # by its `SessionToolIndex`
        "toolsearch/loop/execution/lanes.py",  # lives as long as one batch
        "toolsearch/mcp/client/session/background_loop.py",
        "toolsearch/tools/background_loop.py",
        "toolsearch/testing/openai_server.py",  # its thread does not exist in the child
    }
    root = Path(__file__).parents[2]
    files = [path for folder in ("toolsearch", "indexes", "eviction") for path in (root / folder).rglob("*.py")]
    made = {
        path.relative_to(root).as_posix()
        for path in files
        if re.search(r"(?<!asyncio\.)\b(R?Lock|Condition)\(\)", path.read_text("utf-8"))
    }
    assert made - renewed == set()
