"""What a notebook shows: one line that says what a value is, without content that fills the screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ChatMemory,
    ChatResponse,
    InMemoryRepository,
    Media,
    MemoryAdvisor,
    SqliteRepository,
    ToolCall,
    ToolCallingAdvisor,
    ToolSearchAdvisor,
    ToolSearchReport,
    Usage,
    UserMessage,
)
from toolsearch.indexes import Bm25ToolIndex, RankedSearcher, RegexToolIndex, ToolReference
from toolsearch.memory import TurnWindow
from toolsearch.testing import ScriptedChatModel

TOOLS = [ToolReference(name="ring_bell"), ToolReference(name="open_door")]


def ping() -> str:
    return "pong"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (ToolCallingAdvisor(), "ToolCallingAdvisor()"),
        (ToolSearchAdvisor("bm25"), "ToolSearchAdvisor(index=Bm25ToolIndex)"),
        (InMemoryRepository(), "<InMemoryRepository of 0 conversations>"),
        (SqliteRepository("a.db"), "SqliteRepository('a.db')"),
        (
            ChatMemory(SqliteRepository("a.db"), TurnWindow(3)),
            "ChatMemory(SqliteRepository('a.db'), window=TurnWindow)",
        ),
        (
            MemoryAdvisor(ChatMemory(SqliteRepository("a.db")), order=200),
            "MemoryAdvisor(ChatMemory(SqliteRepository('a.db')), order=200)",
        ),
        (Bm25ToolIndex().build(TOOLS), "<Bm25Searcher of 2 tools>"),
        (RegexToolIndex().build(TOOLS), "<RegexSearcher of 2 tools>"),
        (RankedSearcher(TOOLS, lambda query: {}, search_type="Mine"), "<RankedSearcher of 2 tools>"),
        (Media("image/png", b"x" * 100_000, name="a.png"), "Media('image/png', <100000 bytes>, name='a.png')"),
        (
            ToolSearchReport(tokens_avoided=900, tokens_spent=250, revealed=("a",)),
            "ToolSearchReport(tokens_saved=650, tokens_avoided=900, tokens_spent=250, searches=0, revealed=['a'])",
        ),
        (
            ChatResponse.from_text("Hello", usage=Usage(10, 2)),
            "ChatResponse(text='Hello', finish_reason='stop', messages=1, tokens=12)",
        ),
    ],
)
def test_values_say_what_they_are(value: object, shown: str) -> None:
    assert repr(value) == shown


def test_a_client_shows_its_parts() -> None:
    client = ChatClient(ScriptedChatModel([]), tools=[ping], advisors=[ToolSearchAdvisor("regex")])
    assert repr(client).startswith("ChatClient(")
    assert repr(client).endswith(", tools=1, advisors=[ToolSearchAdvisor])")


def test_a_stream_shows_its_state_and_its_text() -> None:
    stream = ChatClient(ScriptedChatModel(["Hello"])).stream("Hi")
    assert repr(stream) == "<ChatStream: not started>"
    events = stream.events()
    next(events)
    assert repr(stream) == "<ChatStream: started>"
    assert len(list(events)) > 0
    assert repr(stream) == "<ChatStream: finished, 'Hello'>"


def test_a_long_response_stays_on_one_short_line() -> None:
    call = ToolCall("1", "ping", '{"long": "' + "x" * 10_000 + '"}')
    response = ChatResponse(
        messages=[UserMessage("x" * 10_000), AssistantMessage("line\n" * 5_000, (call,))],
        output={"z": "z" * 10_000},
    )
    assert len(repr(response)) < 700
    assert "tool_calls=['ping']" in repr(response)
    assert "\n" not in repr(response)


def test_a_path_is_not_opened_to_show_it(tmp_path: Path) -> None:
    assert "chats.db" in repr(SqliteRepository(tmp_path / "chats.db"))
    assert list(tmp_path.iterdir()) == []
