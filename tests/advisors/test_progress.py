"""`Progress`: the events of a turn, in every driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from toolsearch import (
    AsyncCallableError,
    ChatChunk,
    ChatClient,
    ConfigurationError,
    Progress,
    StreamEvent,
    TurnFinished,
    UserMessage,
)
from toolsearch.testing import ScriptedChatModel

Ask = Callable[..., Any]


def now() -> str:
    """Tell the time."""
    return "12:00"


def client_of(callback: Any, *script: Any) -> ChatClient:
    model = ScriptedChatModel(script or [[("now", {})], "It is noon."])
    return ChatClient(model, tools=[now], advisors=[Progress(callback)])


def test_the_events_are_those_of_a_stream(ask: Ask) -> None:
    events: list[StreamEvent] = []
    outcome = ask(client_of(events.append), "Go")
    kinds = [type(event).__name__ for event in events if not isinstance(event, ChatChunk)]
    assert kinds == ["RoundStarted", "ToolStarted", "ToolFinished", "RoundStarted", "TurnFinished"]
    assert events[-1] == TurnFinished(outcome.response)
    if ask.streams:  # type: ignore[attr-defined]
        assert tuple(events) == outcome.events


def test_run_tools_reports_too() -> None:
    events: list[str] = []
    client = client_of(lambda event: events.append(type(event).__name__), [("now", {})])
    response = client.call("Go", tool_calling=False)
    events.clear()
    client.run_tools(messages=[UserMessage("Go"), response.message])
    assert events == ["ToolStarted", "ToolFinished", "TurnFinished"]


def test_an_async_function_is_awaited(ask_async: Ask) -> None:
    events: list[str] = []

    async def report(event: StreamEvent) -> None:
        await anyio.lowlevel.checkpoint()
        events.append(type(event).__name__)

    ask_async(client_of(report), "Go")
    assert events[-1] == "TurnFinished"


def test_an_async_function_is_rejected_in_sync_calls(ask_sync: Ask) -> None:
    async def report(event: StreamEvent) -> None: ...

    with pytest.raises(AsyncCallableError, match="report must not be async"):
        ask_sync(client_of(report), "Go")


def test_an_exception_of_the_function_does_not_end_the_turn(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    def report(event: StreamEvent) -> None:
        raise BrokenPipeError

    assert ask(client_of(report, "Hi."), "Go").response.text == "Hi."
    assert "progress_failed error_type=BrokenPipeError" in caplog.records[0].getMessage()


def test_a_stream_that_is_left_ends_the_turn() -> None:
    model = ScriptedChatModel(["It is noon."])
    with ChatClient(model, advisors=[Progress(lambda event: None)]).stream("Go") as stream:
        for _ in stream:
            break
        assert model.open_streams == 1
    assert model.open_streams == 0


def test_a_callback_is_needed() -> None:
    with pytest.raises(ConfigurationError, match="callback must be a function"):
        Progress(None)  # type: ignore[arg-type]
