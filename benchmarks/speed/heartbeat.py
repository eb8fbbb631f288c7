"""Is the event loop ever held? A heartbeat every 5 ms beside turns that block for 300 ms.

::

    python -m toolsearch.benchmarks.speed.heartbeat

For each kind of blocking work, in `acall` and `astream`, under asyncio and trio, it prints the longest time between
two beats: the best of three runs, as a shared machine adds pauses of its own (the first row shows them). The exit code
is 1 when one is over 50 ms.
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
from ...tools.tool import Tool

__all__ = ["CASES", "longest_pause", "main"]

BEAT = 0.005
ALLOWED = 0.050
BLOCKED = 0.300
RUNS = 3
WORDS = "read write list delete update issue pull request file branch user invoice order report chart mail"


def _wait() -> str:
    """Block without using the CPU."""
    threading.Event().wait(BLOCKED)
    return "waited"


def _compute() -> str:
    """Block and hold the interpreter, as far as one thread can."""
    until = time.perf_counter() + BLOCKED
    while time.perf_counter() < until:
        sum(range(100))
    return "computed"


class _Performs:
    """An advisor that does blocking work before it asks the model."""

    order = 100

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        yield Perform(self.work)
        response: ChatResponse = yield request
        return response


def _advisor_that(work: Callable[[], object]) -> ChatClient:
    return ChatClient(ScriptedChatModel(["done"]), advisors=[_Performs(work)])


def _tool_that(*work: Callable[[], object]) -> ChatClient:
    tools = [Tool(f"tool_{n}", fn=fn) for n, fn in enumerate(work)]
    return ChatClient(ScriptedChatModel([[(tool.name, {}) for tool in tools], "done"]), tools=tools)


def _build_and_search(index: str, number: int) -> ChatClient:
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
    "an advisor that waits": lambda: _advisor_that(_wait),
    "an advisor that computes": lambda: _advisor_that(_compute),
    "a sync tool that waits": lambda: _tool_that(_wait),
    "a sync tool that computes": lambda: _tool_that(_compute),
    "four sync tools that wait": lambda: _tool_that(*[_wait] * 4),
    "regex: 3,000 tools read and searched": lambda: _build_and_search("regex", 3_000),
    "bm25: 3,000 tools indexed and searched": lambda: _build_and_search("bm25", 3_000),
}


def longest_pause(turn: Callable[[], Any], backend: str) -> tuple[float, float]:
    """Return the longest time between two beats while `turn` runs, and the time of the turn, in seconds."""

    async def main() -> tuple[float, float]:
        beats: list[float] = []
        started = ended = 0.0

        async def beat() -> None:
            while True:
                beats.append(time.perf_counter())
                await anyio.sleep(BEAT)

        async with anyio.create_task_group() as group:
            group.start_soon(beat)
            await anyio.sleep(2 * BEAT)
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
    await anyio.sleep(BLOCKED)


def main() -> int:
    """Print the table; return 1 if the event loop was held."""
    held = False
    print(f"{'':42}{'longest pause':>14}{'turn':>10}")
    for backend in ("asyncio", "trio"):
        pause, taken = min(longest_pause(_idle, backend) for _ in range(RUNS))
        print(f"{'(nothing runs)':42}{pause * 1000:11.1f} ms{taken * 1000:7.0f} ms  {backend}")
        for name, make in CASES.items():
            for way, (pause, taken) in _measure(make, backend).items():
                held = held or pause > ALLOWED
                mark = "  HELD" if pause > ALLOWED else ""
                print(f"{name:42}{pause * 1000:11.1f} ms{taken * 1000:7.0f} ms  {way}, {backend}{mark}")
    return int(held)


if __name__ == "__main__":
    sys.exit(main())
