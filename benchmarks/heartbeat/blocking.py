"""Turns with work that blocks a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import anyio

from ...chat.requests import ChatRequest
from ...chat.responses import ChatResponse
from ...client.client import ChatClient
from ...loop.effects import AdvisorFlow, Perform
from ...testing import ScriptedChatModel
from ...tools.tool_type import Tool
from .case import Case, client_case, search_client

__all__ = ["blocking_cases"]

WORK_SECONDS = 0.300


class _WorkingAdvisor:
    """Advisor that does blocking work before the model is called."""

    order = 100

    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        yield Perform(self.work)
        response: ChatResponse = yield request
        return response


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


def _advisor_client(work: Callable[[], object]) -> ChatClient:
    return ChatClient(ScriptedChatModel(["done"]), advisors=[_WorkingAdvisor(work)])


def _tools_client(*work: Callable[[], object]) -> ChatClient:
    tools = [Tool(f"tool_{n}", fn=fn) for n, fn in enumerate(work)]
    return ChatClient(ScriptedChatModel([[(tool.name, {}) for tool in tools], "done"]), tools=tools)


async def _idle() -> None:
    await anyio.sleep(WORK_SECONDS)


def blocking_cases() -> list[Case]:
    """Return one case for each kind of work. In the first one, nothing runs."""
    clients: dict[str, Callable[[], ChatClient]] = {
        "advisor that waits": lambda: _advisor_client(_wait),
        "advisor that computes": lambda: _advisor_client(_compute),
        "sync tool that waits": lambda: _tools_client(_wait),
        "sync tool that computes": lambda: _tools_client(_compute),
        "four sync tools that wait": lambda: _tools_client(*[_wait] * 4),
        "regex: 3,000 tools searched": lambda: search_client("regex", 3_000),
        "bm25: 3,000 tools indexed and searched": lambda: search_client("bm25", 3_000),
    }
    idle = Case("idle", "nothing runs", lambda: _idle)
    return [idle, *(client_case("blocking", name, client) for name, client in clients.items())]
