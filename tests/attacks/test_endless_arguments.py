"""Endless iterables in place of lists: refused after a bounded number of items, or read only as far as needed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from toolsearch import (
    ChatClient,
    ConfigurationError,
    Tool,
    ToolCallingAdvisor,
    ToolReference,
    ToolSearchAdvisor,
    UserMessage,
)
from toolsearch.disclosure import SessionToolIndex
from toolsearch.testing import OpenAIWireServer, ScriptedChatModel
from toolsearch.tools import argument_types

LIMIT = 50


@pytest.fixture(autouse=True)
def _small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(argument_types, "MAX_ITEMS", LIMIT)


def counted(make: Callable[[int], Any], read: list[int]) -> Iterator[Any]:
    """Yield made values without end, and note how many were read."""
    for number in itertools.count():
        read.append(number)
        yield make(number)


def client() -> ChatClient:
    return ChatClient(ScriptedChatModel(["ok"]))


WAYS: dict[str, tuple[Callable[[int], Any], Callable[[Iterator[Any]], Any]]] = {
    "messages": (lambda n: UserMessage("Hi"), lambda values: client().call(messages=values)),
    "messages as dicts": (lambda n: {"role": "user", "text": ""}, lambda values: client().call(messages=values)),
    "tools of a client": (lambda n: Tool(f"t{n}"), lambda values: ChatClient(ScriptedChatModel([]), tools=values)),
    "tools of a call": (lambda n: Tool(f"t{n}"), lambda values: client().call("Hi", tools=values)),
    "tools in a list": (lambda n: Tool(f"t{n}"), lambda values: client().call("Hi", tools=[[values]])),
    "advisors": (lambda n: ToolCallingAdvisor(), lambda values: client().call("Hi", advisors=values)),
    "tags": (lambda n: "tag", lambda values: Tool("t", tags=values)),
    "pins": (lambda n: "pin", lambda values: ToolSearchAdvisor("regex", pinned=values)),
    "references": (lambda n: ToolReference(name=f"t{n}"), lambda values: SessionToolIndex("regex").index("s", values)),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_endless_argument_is_refused(way: str) -> None:
    make, use = WAYS[way]
    read: list[int] = []
    with pytest.raises(ConfigurationError, match="items, got more"):
        use(counted(make, read))
    assert len(read) == LIMIT + 1


def test_an_endless_script_is_read_as_far_as_it_is_needed() -> None:
    read: list[int] = []
    model = ScriptedChatModel(counted(lambda n: f"answer {n}", read))
    assert ChatClient(model).call("Hi").text == "answer 0"
    assert read == [0]
    with OpenAIWireServer(counted(lambda n: "Hi", read)):
        pass
    assert read == [0]
