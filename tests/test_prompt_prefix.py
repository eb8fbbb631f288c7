"""The prompt cache: what a provider receives only ever grows at its end, byte for byte, through the official SDK."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise
from typing import Any

import anyio
import pytest

from toolsearch import ChatClient, Message, Tool, ToolSearchAdvisor, UserMessage
from toolsearch.models import OpenAIChatModel
from toolsearch.testing import OpenAIWireServer

pytest.importorskip("openai")

VERBS = ("create", "read", "update", "delete", "list", "search")
NOUNS = ("invoice", "customer", "ticket", "calendar_event", "mail", "repository", "page", "photo", "song", "order")
TURNS = 50


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
    """The elements of the tools array as the text they came in."""
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


def answers(seed: int) -> Any:
    """A model that begins every turn with parallel searches, sometimes calls what it found, then answers."""
    chance = random.Random(seed)

    def answer(request: Any) -> Any:
        messages = request.json["messages"]
        if messages[-1]["role"] == "user":
            words = [f"{chance.choice(VERBS)} {chance.choice(NOUNS)}" for _ in range(3)]
            return [("tool_search", {"query": word, "max_results": chance.randint(1, 3)}) for word in words]
        names = [tool["function"]["name"] for tool in request.json["tools"][1:]]
        if messages[-1]["content"] != "ok" and names:
            return [(name, {}) for name in chance.sample(names, min(2, len(names)))]
        return "Done."

    return answer


@pytest.fixture
def driver(ask: Any) -> Any:
    """The drivers, under asyncio: the SDK leaves its generators to the collector, of which trio warns."""
    if ask.backend == "trio":
        pytest.skip("the official SDK does not close its inner generators under trio")
    return ask


def converse(ask: Any, server: OpenAIWireServer, turns: int, *, restart: bool) -> list[Message]:
    """A conversation of many turns; with `restart` nothing but its messages survives a turn."""

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


def test_tools_received_in_a_round_start_with_those_of_the_round_before(driver: Any) -> None:
    with OpenAIWireServer(answers(7)) as server:
        converse(driver, server, TURNS, restart=False)
        received = [elements_of_tools(request.body) for request in server.requests]
        messages = [request.json["messages"] for request in server.requests]
    assert len(received) >= 2 * TURNS
    assert json.loads(received[0][0])["function"]["name"] == "tool_search"
    for before, after in pairwise(received):
        assert after[: len(before)] == before
    assert len(received[-1]) > 20
    for before, after in pairwise(messages):
        assert after[: len(before)] == before


def test_a_restarted_process_sends_the_same_tools_again(driver: Any) -> None:
    with OpenAIWireServer(answers(11)) as server:
        converse(driver, server, 6, restart=True)
        received = [elements_of_tools(request.body) for request in server.requests]
    assert len(received) > 6
    for before, after in pairwise(received):
        assert after[: len(before)] == before
