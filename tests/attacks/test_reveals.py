"""Attacks on reveals: a session is sent the same tools whichever processes run its turns, and after every restart."""

from __future__ import annotations

import random
from typing import Any

import pytest

from toolsearch import (
    ChatClient,
    ChatMemory,
    InMemoryRepository,
    MemoryAdvisor,
    ProviderError,
    Tool,
    ToolSearchAdvisor,
)
from toolsearch.testing import ScriptedChatModel

NAMES = ("weather_get", "mail_send", "mail_read", "time_now", "file_open", "file_close", "joke_tell", "pay_bill")
TOOLS = {name: Tool(name, f"{name.replace('_', ' ')} tool", {}, lambda: "ok", source="office") for name in NAMES}
SAID = ("hello", "what is the weather", "send a mail", "tell a joke")


class World:
    """A random conversation of one session: searches, calls, failed turns, withdrawn permissions, removed tools."""

    def __init__(self, seed: int, order: int, options: dict[str, Any]) -> None:
        self.random = random.Random(seed)
        self.memory = ChatMemory(InMemoryRepository())
        self.order, self.options = order, options
        self.listed, self.denied = set(NAMES[:6]), set[str]()
        self.steps: list[Any] = []

    def tools(self) -> list[Tool]:
        return [TOOLS[name] for name in NAMES if name in self.listed]

    def worker(self) -> ChatClient:
        loop = ToolSearchAdvisor("regex", tool_filter=lambda tool, _: tool.name not in self.denied, **self.options)
        model = ScriptedChatModel(lambda _: self.steps.pop(0) if self.steps else "done")
        return ChatClient(model, tools=[self], advisors=[loop, MemoryAdvisor(self.memory, order=self.order)])

    def run(self, mode: str) -> list[Any]:
        """Return the tools of each request. In the mode "one", one process runs all turns."""
        workers = [self.worker() for _ in range(3)]
        sent: list[Any] = []
        for _ in range(6):
            self._change_something()
            self.steps = [self._step() for _ in range(self.random.randint(0, 3))]
            if self.random.random() < 0.2:
                self.steps.append(ProviderError("busy"))
            at, said = self.random.randrange(3), self.random.choice(SAID)
            workers = [self.worker() for _ in range(3)] if mode == "restart" else workers
            client = workers[0 if mode == "one" else at]
            model: Any = client.model
            before = len(model.requests)
            try:
                client.call(said, session_id="ann")
            except ProviderError:
                sent.append("failed")
            sent.append([[tool.name for tool in request.tools] for request in model.requests[before:]])
        return sent

    def _change_something(self) -> None:
        changed = self.random.choice([self.denied, self.listed, None, None, None, None])
        if changed is not None:
            changed ^= {self.random.choice(NAMES)}

    def _step(self) -> list[Any]:
        name = self.random.choice(NAMES)
        search = ("tool_search", {"query": self.random.choice(NAMES).partition("_")[0]})
        return self.random.choice([[search], [(name, {})], [search, (name, {})]])


@pytest.mark.parametrize("order", [200, 400], ids=["outside", "inside"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_revealed": 2},
        {"keep_revealed": False},
        {"reveal_upfront": 2},
        {"reveal_upfront": 2, "max_revealed": 3},
        {"keep_revealed": False, "reveal_upfront": 1},
        {"pinned": ["mail_*"], "max_revealed": 1},
        {"max_results": 1, "run_unrevealed": True},
    ],
    ids=str,
)
def test_workers_and_restarts_make_no_difference(order: int, options: dict[str, Any]) -> None:
    for seed in range(6):
        expected = World(seed, order, options).run("one")
        assert World(seed, order, options).run("workers") == expected, seed
        assert World(seed, order, options).run("restart") == expected, seed
