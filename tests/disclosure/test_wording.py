"""Nothing depends on the wording of the sentences that a model reads."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ChatMemory,
    MemoryAdvisor,
    SqliteRepository,
    Tool,
    ToolCall,
    ToolMessage,
    ToolSearchAdvisor,
    UserMessage,
)
from toolsearch.disclosure import SEARCH_TOOL, DisclosureSettings, ToolSet, sentences
from toolsearch.disclosure.history import replay_reveals
from toolsearch.indexes import ToolReference
from toolsearch.testing import ScriptedChatModel

NAMES = ("get_weather", "send_mail", "play_music", "add_event")
REWORDED = "Blah."


def tools() -> list[Tool]:
    """Make tools with descriptions, so that a search result lists them."""
    return [Tool(name, f"Does {name.replace('_', ' ')}.", fn=lambda: "done") for name in NAMES]


@pytest.fixture
def reworded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace every sentence that a model reads by one that names nothing."""
    for name in sentences.__all__:
        value = getattr(sentences, name)
        if inspect.isfunction(value):
            monkeypatch.setattr(sentences, name, lambda *args, **kwargs: REWORDED)
        elif name != "SEARCH_TOOL":
            monkeypatch.setattr(sentences, name, REWORDED)


def client_of(steps: list[Any], path: Path, **options: Any) -> tuple[ChatClient, ScriptedChatModel]:
    """Make the client of a new process: stored messages are all that it knows of a session."""
    model = ScriptedChatModel(steps)
    memory = MemoryAdvisor(ChatMemory(SqliteRepository(path)), order=400)
    search = ToolSearchAdvisor("regex", instructions=REWORDED, **options)
    return ChatClient(model, tools=tools(), advisors=[memory, search]), model


def search(query: str) -> list[tuple[str, dict[str, str]]]:
    return [(SEARCH_TOOL, {"query": query})]


def sent(model: ScriptedChatModel) -> list[list[str]]:
    return [[tool.name for tool in request.tools] for request in model.requests]


def results(response: Any) -> list[ToolMessage]:
    return [message for message in response.messages if isinstance(message, ToolMessage)]


@pytest.mark.usefixtures("reworded")
def test_reworded_results_reveal_tools_and_restore_them_after_a_restart(
    ask: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "memory.db"
    first, model = client_of([search("weather|mail"), [("play_music", {})], "Found."], path)
    response = ask(first, "Find them", session_id="ann").response
    assert {line for message in results(response) for line in message.text.split("\n")} == {REWORDED}
    assert [set(message.revealed or ()) for message in results(response)] == [
        {"get_weather", "send_mail"},
        {"play_music"},
    ]
    assert not any(message.is_error for message in results(response))
    assert set(sent(model)[-1]) == {SEARCH_TOOL, "get_weather", "send_mail", "play_music"}
    again, model_after_restart = client_of(["Hi."], path)
    ask(again, "Hello again", session_id="ann")
    assert sent(model_after_restart) == [sent(model)[-1]]


@pytest.mark.usefixtures("reworded")
def test_reworded_results_keep_only_the_latest_search_if_asked_to(ask: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    first, _ = client_of([search("weather"), search("mail"), "Found."], path, keep_revealed=False)
    ask(first, "Find them", session_id="ann")
    again, model = client_of(["Hi."], path, keep_revealed=False)
    ask(again, "Hello again", session_id="ann")
    assert sent(model) == [[SEARCH_TOOL, "send_mail"]]


def test_savings_do_not_depend_on_the_wording(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """A call of an unrevealed tool costs a round of search, whatever its answer says."""

    def report(name: str) -> Any:
        client, _ = client_of([search("weather"), [("send_mail", {})], [("send_mail", {})], "Done."], tmp_path / name)
        response = client.call("Go", session_id="ann")
        counted = sum(len(message.text) for message in results(response) if message.revealed is not None)
        return response.tool_search, counted

    (plain, characters), _ = report("plain.db"), request.getfixturevalue("reworded")
    reworded_report, fewer_characters = report("reworded.db")
    assert (plain.searches, plain.revealed) == (reworded_report.searches, reworded_report.revealed)
    assert 0 < fewer_characters < characters
    assert reworded_report.tokens_spent < plain.tokens_spent


def test_a_result_without_a_marker_is_read_by_its_list(ask: Callable[..., Any], tmp_path: Path) -> None:
    """A conversation can come from elsewhere: from an older version, or rebuilt by the application."""
    history = [
        UserMessage("Find it"),
        AssistantMessage("", (ToolCall("1", SEARCH_TOOL, '{"query": "mail"}'),)),
        ToolMessage("1", SEARCH_TOOL, "Found:\n- send_mail: Does send mail."),
        AssistantMessage("Found."),
        UserMessage("Go on"),
    ]
    model = ScriptedChatModel(["Hi."])
    ask(ChatClient(model, tools=tools(), advisors=[ToolSearchAdvisor("regex")]), messages=history)
    assert sent(model) == [[SEARCH_TOOL, "send_mail"]]


def test_providers_never_receive_the_marker() -> None:
    """The marker is for memory and restore; the wire format has no place for it."""
    from toolsearch.models.openai.wire import wire_messages

    wire = wire_messages([ToolMessage("1", SEARCH_TOOL, "Found.", revealed=("secret_name",))])
    assert "secret_name" not in str(wire)


def test_an_error_of_a_search_reveals_nothing_after_a_restart() -> None:
    """The text of an error can look like a list of tools."""
    history = [
        UserMessage("Find it"),
        AssistantMessage("", (ToolCall("1", SEARCH_TOOL, '{"query": "mail"}'),)),
        ToolMessage("1", SEARCH_TOOL, "shards failed:\n- send_mail: timeout", is_error=True),
        AssistantMessage("It failed."),
    ]
    present = ToolSet(ToolReference(name=name) for name in NAMES)
    assert replay_reveals(history, DisclosureSettings(), present).revealed == ()


def test_every_tool_can_reveal_tools() -> None:
    """An adapter can give the search tool another name."""
    result = ToolMessage("1", "find_tools", "Found.", revealed=("send_mail",))
    present = ToolSet(ToolReference(name=name) for name in NAMES)
    assert replay_reveals([result], DisclosureSettings(), present).revealed == ("send_mail",)


def test_a_search_above_the_limit_keeps_revealed_tools_after_a_restart(ask: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    options: dict[str, Any] = {"keep_revealed": False, "max_searches": 1}
    first, live = client_of([search("weather"), search("mail"), "Found."], path, **options)
    ask(first, "Find them", session_id="ann")
    again, restored = client_of(["Hi."], path, **options)
    ask(again, "Hello again", session_id="ann")
    assert sent(restored) == [sent(live)[-1]] == [[SEARCH_TOOL, "get_weather"]]
