"""Speed of the tool-calling loop, compared with the same rounds written by hand in the same run.

::

    python -m pytest toolsearch/benchmarks/speed/bench_loop.py

A turn has 20 rounds with one trivial tool call each, in every driver, with few and with many tools. The model answers
at once, so the ratio is the cost of the chain, the hooks, limits, validation and events. Times are CPU times, and the
shortest of many turns counts, since a busy machine only adds time.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import pytest

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ChatRequest,
    ChatResponse,
    Tool,
    ToolCall,
    ToolCallingAdvisor,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolsearch.loop import ToolCallLimits
from toolsearch.messages import Message

CALLS = 20
ROUNDS = 30
MAX_RATIO = 40.0
"""Maximum time of a turn, as a multiple of the rounds by hand: 1.5 times the measured ratios of 12 to 27."""

MAX_THREAD_RATIO = 70.0
"""The same for a sync tool in an async driver, which runs in a worker thread: measured ratios of 30 to 47."""


class InstantModel:
    """Model that returns prepared responses."""

    def __init__(self) -> None:
        calls = [
            AssistantMessage("", (ToolCall.from_dict(f"call_{n}", "add", {"a": n, "b": 1}),)) for n in range(CALLS)
        ]
        answers = [*calls, AssistantMessage("done")]
        self.responses = [ChatResponse(messages=(answer,), usage=Usage(10, 1)) for answer in answers]

    def call(self, request: ChatRequest) -> ChatResponse:
        return self.responses[len(request.messages) // 2]

    async def acall(self, request: ChatRequest) -> ChatResponse:
        return self.call(request)

    def stream(self, request: ChatRequest) -> Iterator[ChatResponse]:
        yield self.call(request)

    async def astream(self, request: ChatRequest) -> AsyncIterator[ChatResponse]:
        yield self.call(request)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def add_async(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def run_by_hand(model: InstantModel, tools: tuple[Tool, ...]) -> None:
    """Run the rounds without the library."""
    messages: list[Message] = [UserMessage("Go.")]
    while True:
        response = model.call(ChatRequest(messages=messages, tools=tools))
        messages.append(response.message)
        if not response.tool_calls:
            return
        results = [(call, add(**json.loads(call.arguments))) for call in response.tool_calls]
        messages.extend(ToolMessage(call.id, call.name, str(result)) for call, result in results)


def baseline_seconds(model: InstantModel, tools: tuple[Tool, ...]) -> float:
    """Return the shortest time of the rounds by hand, in seconds."""
    durations = []
    for _ in range(10 * ROUNDS):
        started = time.process_time()
        run_by_hand(model, tools)
        durations.append(time.process_time() - started)
    return min(durations)


def start_turn(driver: str, client: ChatClient) -> Callable[[], Any]:
    """Return a function that runs a turn in a driver; for an async driver, in a new event loop."""
    if driver == "call":
        return lambda: client.call("Go.")
    if driver == "stream":
        return lambda: list(client.stream("Go."))
    way, backend = driver.split()

    async def turn() -> None:
        if way == "acall":
            await client.acall("Go.")
        else:
            async with client.astream("Go.") as stream:
                async for _ in stream:
                    pass

    return lambda: anyio.run(turn, backend=backend)


ASYNC_DRIVERS = [f"{way} {backend}" for way in ("acall", "astream") for backend in ("asyncio", "trio")]
CASES = [
    *((driver, "sync tool") for driver in ("call", "stream", *ASYNC_DRIVERS)),
    *((driver, "async tool") for driver in ASYNC_DRIVERS),
]


@pytest.mark.benchmark(timer=time.process_time)
@pytest.mark.parametrize("count", [1, 400], ids=lambda count: f"{count} tools")
@pytest.mark.parametrize(("driver", "kind"), CASES)
def test_turn_is_within_its_ratio_to_rounds_by_hand(benchmark: Any, driver: str, kind: str, count: int) -> None:
    model = InstantModel()
    tools = (
        Tool.from_function(add_async if kind == "async tool" else add, name="add"),
        *(Tool(f"tool_{n}", fn=lambda: None) for n in range(1, count)),
    )
    loop = ToolCallingAdvisor(limits=ToolCallLimits(per_tool=None))
    client = ChatClient(model, tools=tools, advisors=[loop])
    benchmark.pedantic(start_turn(driver, client), rounds=ROUNDS, warmup_rounds=2)
    ratio = benchmark.stats.stats.min / baseline_seconds(model, tools)
    benchmark.extra_info["ratio to rounds by hand"] = round(ratio, 1)
    is_threaded = kind == "sync tool" and driver in ASYNC_DRIVERS
    assert ratio < (MAX_THREAD_RATIO if is_threaded else MAX_RATIO)
