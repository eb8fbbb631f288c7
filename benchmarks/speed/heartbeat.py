"""Check that blocking work does not block the event loop.

::

    python -m toolsearch.benchmarks.speed.heartbeat

A task wakes up every 5 ms while a turn does 300 ms of blocking work. For each kind of work, with `acall` and `astream`
on asyncio and trio, the script prints the longest time between two wake-ups: the best of three runs, since a busy
machine adds pauses, which the first row shows. The exit code is 1 if one is over 50 ms.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import anyio

from ...chat.requests import ChatRequest
from ...chat.responses import ChatResponse
from ...client.client import ChatClient
from ...disclosure.advisor import ToolSearchAdvisor
from ...loop.advisor import Advisor
from ...loop.effects import AdvisorFlow, Perform
from ...testing import ScriptedAnswer, ScriptedChatModel
from ...tools.tool_type import Tool

__all__ = ["CASES", "longest_pause", "main"]

BEAT_SECONDS = 0.005
MAX_PAUSE_SECONDS = 0.050
WORK_SECONDS = 0.300
RUNS = 3
WORDS = "read write list delete update issue pull request file branch user invoice order report chart mail"


def _wait() -> str:
    """Block without using the CPU."""
    threading.Event().wait(WORK_SECONDS)
    return "waited"


def _compute() -> str:
    """Block with Python code, which holds the interpreter lock."""
    until = time.perf_counter() + WORK_SECONDS
    while time.perf_counter() < until:
        sum(range(100))
    return "computed"


class _WorkingAdvisor:
    """Advisor that does blocking work before the model is called."""

    order = 100

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        yield Perform(self.work)
        response: ChatResponse = yield request
        return response


def _advisor_client(work: Callable[[], object]) -> ChatClient:
    return ChatClient(ScriptedChatModel(["done"]), advisors=[_WorkingAdvisor(work)])


def _tools_client(*work: Callable[[], object]) -> ChatClient:
    tools = [Tool(f"tool_{n}", fn=fn) for n, fn in enumerate(work)]
    return ChatClient(ScriptedChatModel([[(tool.name, {}) for tool in tools], "done"]), tools=tools)


def _search_client(index: str, number: int) -> ChatClient:
    words = WORDS.split()
    tools = [
        Tool(
            f"{words[n % 15]}_{words[n % 13]}_{n}",
            f"{words[n % 7].capitalize()} the {words[n % 11]} of a {words[n % 16]}, with all that belongs to it.",
            {"type": "object", "properties": {f"{words[n % 9]}_id": {"type": "string", "description": "Which one."}}},
        )
        for n in range(number)
    ]
    script: list[ScriptedAnswer] = [[("tool_search", {"query": "delete the invoice of a user"})], "done"]
    advisors: list[Advisor] = [ToolSearchAdvisor(index)]
    return ChatClient(ScriptedChatModel(script), tools=tools, advisors=advisors)


CASES: dict[str, Callable[[], ChatClient]] = {
    "advisor that waits": lambda: _advisor_client(_wait),
    "advisor that computes": lambda: _advisor_client(_compute),
    "sync tool that waits": lambda: _tools_client(_wait),
    "sync tool that computes": lambda: _tools_client(_compute),
    "four sync tools that wait": lambda: _tools_client(*[_wait] * 4),
    "regex: 3,000 tools searched": lambda: _search_client("regex", 3_000),
    "bm25: 3,000 tools indexed and searched": lambda: _search_client("bm25", 3_000),
}


def longest_pause(turn: Callable[[], Any], backend: str) -> tuple[float, float]:
    """Return the longest time between two wake-ups while `turn` runs, and the time of the turn, in seconds."""

    async def main() -> tuple[float, float]:
        beats: list[float] = []
        started = ended = 0.0

        async def beat() -> None:
            while True:
                beats.append(time.perf_counter())
                await anyio.sleep(BEAT_SECONDS)

        async with anyio.create_task_group() as group:
            group.start_soon(beat)
            await anyio.sleep(2 * BEAT_SECONDS)
            del beats[:-1]
            started = time.perf_counter()
            await turn()
            ended = time.perf_counter()
            beats.append(ended)
            group.cancel_scope.cancel()
        return max(after - before for before, after in pairwise(beats)), ended - started

    return anyio.run(main, backend=backend)


def _ways(make: Callable[[], ChatClient]) -> Iterator[tuple[str, Callable[[], Any]]]:
    async def acall() -> None:
        await client.acall("Go.")

    async def astream() -> None:
        async with client.astream("Go.") as stream:
            async for _ in stream:
                pass

    client = make()
    yield "acall", acall
    client = make()
    yield "astream", astream


def _measure(make: Callable[[], ChatClient], backend: str) -> dict[str, tuple[float, float]]:
    best: dict[str, tuple[float, float]] = {}
    for _ in range(RUNS):
        for way, turn in _ways(make):
            best[way] = min(best.get(way, (float("inf"), 0.0)), longest_pause(turn, backend))
    return best


async def _idle() -> None:
    await anyio.sleep(WORK_SECONDS)


def main() -> int:
    """Print the table. Return 1 if the event loop was blocked."""
    blocked = False
    print(f"{'':42}{'longest pause':>14}{'turn':>10}")
    for backend in ("asyncio", "trio"):
        pause, taken = min(longest_pause(_idle, backend) for _ in range(RUNS))
        print(f"{'(nothing runs)':42}{pause * 1000:11.1f} ms{taken * 1000:7.0f} ms  {backend}")
        for name, make in CASES.items():
            for way, (pause, taken) in _measure(make, backend).items():
                blocked = blocked or pause > MAX_PAUSE_SECONDS
                mark = "  BLOCKED" if pause > MAX_PAUSE_SECONDS else ""
                print(f"{name:42}{pause * 1000:11.1f} ms{taken * 1000:7.0f} ms  {way}, {backend}{mark}")
    return int(blocked)


if __name__ == "__main__":
    sys.exit(main())
