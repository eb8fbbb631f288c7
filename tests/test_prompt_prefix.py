"""Prompt cache: requests to a provider only grow at their end, byte for byte."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise
from typing import Any

import anyio
import pytest

from toolsearch import ChatClient, ChatRequest, Message, Tool, ToolSearchAdvisor, UserMessage
from toolsearch.models import OpenAIChatModel
from toolsearch.models.openai.wire import wire_messages, wire_tools
from toolsearch.testing import OpenAIWireServer, ScriptedChatModel

pytest.importorskip("openai")

VERBS = ("create", "read", "update", "delete", "list", "search")
NOUNS = ("invoice", "customer", "ticket", "calendar_event", "mail", "repository", "page", "photo", "song", "order")


def many_tools() -> list[Tool]:
    return [
        Tool(
            f"{verb}_{noun}",
            f"{verb.title()} one {noun.replace('_', ' ')} or more; «{noun}» in full.",
            {"type": "object", "properties": {f"{noun}_id": {"type": "string"}, "été": {"type": "integer"}}},
            lambda **_: "ok",
        )
        for noun in NOUNS
        for verb in VERBS
    ]


def elements_of_tools(body: bytes) -> list[str]:
    """Return the elements of the tools array, each as the text in which it was received."""
    text = body.decode()
    at = re.search(r'"tools":\s*\[', text)
    if at is None:
        return []
    position, decoder, found = at.end(), json.JSONDecoder(), []
    while text[position] != "]":
        _, end = decoder.raw_decode(text, position)
        found.append(text[position:end])
        position = end + len(re.match(r"[,\s]*", text[end:]).group())  # type: ignore[union-attr]  # it matches nothing too
    return found


class Answers:
    """Answers of a model that starts every turn with parallel searches, sometimes calls what it found, then answers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def __call__(self, role: str, text: str, names: list[str]) -> Any:
        if role == "user":
            words = [f"{self.random.choice(VERBS)} {self.random.choice(NOUNS)}" for _ in range(3)]
            return [("tool_search", {"query": word, "max_results": self.random.randint(1, 3)}) for word in words]
        if text != "ok" and names:
            return [(name, {}) for name in self.random.sample(names, min(2, len(names)))]
        return "Done."

    def from_wire(self, request: Any) -> Any:
        """Answer a request that a server received."""
        last = request.json["messages"][-1]
        return self(last["role"], last["content"], [tool["function"]["name"] for tool in request.json["tools"][1:]])

    def from_request(self, request: ChatRequest) -> Any:
        """Answer a request to a scripted model."""
        last = request.messages[-1]
        return self(last.role, last.text, [tool.name for tool in request.tools[1:]])


@pytest.fixture
def driver(ask: Any) -> Any:
    """Return the drivers under asyncio: trio warns about generators that the SDK leaves to the collector."""
    if ask.backend == "trio":
        pytest.skip("the official SDK does not close its inner generators under trio")
    return ask


def converse(ask: Any, server: OpenAIWireServer, turns: int, *, restart: bool) -> list[Message]:
    """Run a conversation. With `restart`, a new client starts every turn from the messages alone."""

    def client() -> tuple[ChatClient, OpenAIChatModel]:
        model = OpenAIChatModel("gpt-5-mini", base_url=server.base_url, api_key="test")
        return ChatClient(model, tools=many_tools(), advisors=[ToolSearchAdvisor("bm25", max_searches=None)]), model

    history: list[Message] = []
    chat, model = client()

    def sync() -> None:
        nonlocal chat, model
        for turn in range(turns):
            if restart and turn:
                model.close()
                chat, model = client()
            history.append(UserMessage(f"Question {turn}"))
            history.extend(ask(chat, messages=history, session_id="ann").response.messages)
        model.close()

    async def asynchronous() -> None:
        nonlocal chat, model
        for turn in range(turns):
            if restart and turn:
                await model.aclose()
                chat, model = client()
            history.append(UserMessage(f"Question {turn}"))
            outcome = await ask.aturn(chat, (), {"messages": history, "session_id": "ann"})
            history.extend(outcome.response.messages)
        await model.aclose()

    if ask.is_async:
        anyio.run(asynchronous, backend=ask.backend)
    else:
        sync()
    return history


def assert_each_starts_with_the_one_before(requests: list[list[Any]]) -> None:
    for before, after in pairwise(requests):
        assert after[: len(before)] == before


def test_received_requests_only_grow_at_their_end(driver: Any) -> None:
    """The tools and messages that a server receives start with those of the round before."""
    with OpenAIWireServer(Answers(7).from_wire) as server:
        converse(driver, server, 8, restart=False)
        tools = [elements_of_tools(request.body) for request in server.requests]
        messages = [request.json["messages"] for request in server.requests]
    assert len(tools) >= 16
    assert len(tools[-1]) > 15
    assert json.loads(tools[0][0])["function"]["name"] == "tool_search"
    assert_each_starts_with_the_one_before(tools)
    assert_each_starts_with_the_one_before(messages)


def test_fifty_turns_only_grow_at_their_end() -> None:
    """A long conversation in the wire format, without the SDK, which is slow with long requests."""
    model = ScriptedChatModel(Answers(7).from_request)
    chat = ChatClient(model, tools=many_tools(), advisors=[ToolSearchAdvisor("bm25", max_searches=None)])
    history: list[Message] = []
    for turn in range(50):
        history.append(UserMessage(f"Question {turn}"))
        history.extend(chat.call(messages=history, session_id="ann").messages)
    tools = [[json.dumps(tool) for tool in wire_tools(request.tools)] for request in model.requests]
    assert len(tools) >= 100
    assert len(tools[-1]) > 20
    assert_each_starts_with_the_one_before(tools)
    assert_each_starts_with_the_one_before([wire_messages(request.messages) for request in model.requests])


def test_restarted_process_sends_the_same_tools(driver: Any) -> None:
    """A new client that knows only the messages sends the tools in the same order."""
    with OpenAIWireServer(Answers(11).from_wire) as server:
        converse(driver, server, 6, restart=True)
        tools = [elements_of_tools(request.body) for request in server.requests]
    assert len(tools) > 6
    assert_each_starts_with_the_one_before(tools)
