"""`LoggingObserver`: one record for each operation, without content."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from toolsearch import ChatClient, ConfigurationError, ProviderError, ToolSearchAdvisor
from toolsearch.observability import LoggingObserver
from toolsearch.testing import ScriptedChatModel

Ask = Callable[..., Any]


def get_weather(city: str) -> str:
    """Current weather in a city."""
    if city == "Nowhere":
        raise LookupError("secret")
    return f"rain in {city}"


def test_every_operation_is_a_record_with_its_facts(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    steps = [[("tool_search", {"query": "weather"})], [("get_weather", {"city": "Nowhere"})], "Secret."]
    client = ChatClient(
        ScriptedChatModel(steps),
        tools=[get_weather],
        advisors=[ToolSearchAdvisor("regex")],
        observer=LoggingObserver(),
    )
    with caplog.at_level(logging.DEBUG, "toolsearch.operations"):
        ask(client, "secret prompt", session_id="ann", context={"key": "secret"})
    records: list[Any] = [record for record in caplog.records if record.name == "toolsearch.operations"]
    events = [record.getMessage().split()[0].removeprefix("toolsearch.") for record in records]
    assert events == ["round", "search", "tool_call", "round", "tool_call", "round", "turn"]
    search, failed, turn = records[1], records[4], records[6]
    assert (search.hits, records[0].tools, records[3].tools) == (1, 1, 2)
    assert (failed.tool, failed.failed, failed.error_type) == ("get_weather", True, "LookupError")
    assert (turn.session_id, turn.finish_reason, turn.streaming) == ("ann", "stop", ask.streams)  # type: ignore[attr-defined]
    assert turn.input_tokens == sum(records[n].input_tokens for n in (0, 3, 5))
    assert all(record.milliseconds >= 0 and record.levelno == logging.DEBUG for record in records)
    assert "secret" not in caplog.text.lower()


def test_failed_turn_is_logged(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("an.application")
    client = ChatClient(ScriptedChatModel([ProviderError("down")]), observer=LoggingObserver(logger, logging.INFO))
    with caplog.at_level(logging.INFO, "an.application"), pytest.raises(ProviderError):
        ask(client, "Hi")
    ended: list[Any] = [record for record in caplog.records if record.name == "an.application"]
    assert [record.error_type for record in ended] == ["ProviderError", "ProviderError"]


def test_no_record_below_the_level(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    client = ChatClient(ScriptedChatModel(["Hello!"]), observer=LoggingObserver())
    with caplog.at_level(logging.INFO, "toolsearch"):
        ask(client, "Hi")
    assert [record for record in caplog.records if record.name == "toolsearch.operations"] == []


@pytest.mark.parametrize("level", ["DEBUG", None, True])
def test_level_must_be_an_integer(level: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"level must be an integer such as logging.DEBUG, got {level!r}"):
        LoggingObserver(level=level)
