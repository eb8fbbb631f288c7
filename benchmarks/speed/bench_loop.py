"""What the loop itself adds to a round of tool calls: less than a millisecond.

::

    python -m pytest benchmarks/speed/bench_loop.py

A turn of 20 rounds with one trivial tool call each, in every driver and with few and many tools, beside the same
rounds written out by hand: ask the model, parse the arguments, call the function, go on. The difference, by round, is
what the chain, the hooks, limits, validation and events cost. The fastest of many turns is taken, as a shared machine
only ever adds time.
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
    Message,
    Tool,
    ToolCall,
    ToolCallingAdvisor,
    ToolCallLimits,
    ToolMessage,
    Usage,
    UserMessage,
)

ROUNDS = 20
ALLOWED = 0.001
SLACK = 1.5


class InstantModel:
    """Answers from a list, without any work of its own."""

    def __init__(self) -> None:
        calls = [
            AssistantMessage("", (ToolCall.from_dict(f"call_{n}", "add", {"a": n, "b": 1}),)) for n in range(ROUNDS)
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


async def aadd(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def by_hand(model: InstantModel, tools: tuple[Tool, ...]) -> None:
    """The same rounds as a program without this library would do them."""
    messages: list[Message] = [UserMessage("Go.")]
    while True:
        response = model.call(ChatRequest(messages=messages, tools=tools))
        messages.append(response.message)
        if not response.tool_calls:
            return
        results = [(call, add(**json.loads(call.arguments))) for call in response.tool_calls]
        messages.extend(ToolMessage(call.id, call.name, str(result)) for call, result in results)


def fastest(work: Callable[[], Any], times: int = 40) -> float:
    """The shortest time that `work` took, in seconds."""
    best = float("inf")
    for _ in range(times):
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def turn_of(way: str, client: ChatClient) -> Callable[[], Any]:
    """One turn, in the way that is named; async ones in an event loop of their own, which is not counted."""
    if way == "call":
        return lambda: client.call("Go.")
    if way == "stream":
        return lambda: list(client.stream("Go."))

    async def turn() -> float:
        started = time.perf_counter()
        if way == "acall":
            await client.acall("Go.")
        else:
            async with client.astream("Go.") as stream:
                async for _ in stream:
                    pass
        return time.perf_counter() - started

    return turn


def fastest_async(turn: Callable[[], Any], backend: str, times: int = 40) -> float:
    async def main() -> float:
        best = float("inf")
        for _ in range(times):
            best = min(best, await turn())
        return best

    return anyio.run(main, backend=backend)


ASYNC_WAYS = [f"{way} {backend}" for way in ("acall", "astream") for backend in ("asyncio", "trio")]
CASES = [
    *((way, "sync tool") for way in ("call", "stream", *ASYNC_WAYS)),
    *((way, "async tool") for way in ASYNC_WAYS),
]


@pytest.mark.parametrize("number", [1, 400], ids=lambda number: f"{number} tools")
@pytest.mark.parametrize(("way", "kind"), CASES)
def test_the_loop_adds_less_than_a_millisecond_a_round(way: str, kind: str, number: int, capsys: Any) -> None:
    way, _, backend = way.partition(" ")
    model = InstantModel()
    tools = [
        Tool.from_function(aadd if kind == "async tool" else add, name="add"),
        *(Tool(f"tool_{n}", fn=lambda: None) for n in range(1, number)),
    ]
    loop = ToolCallingAdvisor(limits=ToolCallLimits(per_tool=None))
    client = ChatClient(model, tools=tools, advisors=[loop])
    turn = turn_of(way, client)
    taken = fastest_async(turn, backend) if backend else fastest(turn)
    added = (taken - fastest(lambda: by_hand(model, tuple(tools)))) / ROUNDS
    with capsys.disabled():
        print(f"\n  {way:8}{backend:8} {kind:10} {number:4} tools: {added * 1e6:6.0f} us added to a round", end=" ")
    assert added < ALLOWED * SLACK
