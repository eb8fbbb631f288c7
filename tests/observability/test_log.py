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


def operations(caplog: pytest.LogCaptureFixture) -> list[Any]:
    return [record for record in caplog.records if record.name == "toolsearch.operations"]


def test_the_level_alone_logs_the_operations(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    """`DEBUG` for the package is enough; nothing of the conversation is in the records."""
    steps = [[("tool_search", {"query": "weather"})], [("get_weather", {"city": "Nowhere"})], "Secret."]
    client = ChatClient(ScriptedChatModel(steps), tools=[get_weather], advisors=[ToolSearchAdvisor("regex")])
    with caplog.at_level(logging.DEBUG, "toolsearch"):
        ask(client, "secret prompt", session_id="ann", context={"key": "secret"})
    lines = [record.getMessage() for record in operations(caplog)]
    assert [line.split()[0].removeprefix("toolsearch.") for line in lines] == [
        "round", "search", "tool_call", "round", "tool_call", "round", "turn",
    ]  # fmt: skip
    assert "tool=get_weather" in lines[4]
    assert "failed=True" in lines[4]
    assert "result_characters=19" in lines[4]
    assert all("milliseconds=" in line and "\n" not in line for line in lines)
    assert "secret" not in caplog.text.lower()
    assert "Nowhere" not in "".join(lines)


def test_the_level_logs_beside_an_observer_and_not_twice(caplog: pytest.LogCaptureFixture) -> None:
    began: list[object] = []

    class Noting:
        def begin(self, operation: object) -> Any:
            began.append(operation)
            return LoggingObserver(logging.getLogger("elsewhere")).begin(operation)  # type: ignore[arg-type]

    for observer in (Noting(), LoggingObserver()):
        caplog.clear()
        client = ChatClient(ScriptedChatModel(["Hello!"]), observer=observer)
        with caplog.at_level(logging.DEBUG, "toolsearch"):
            client.call("Hi")
        assert len(operations(caplog)) == 2
    assert len(began) == 2


def test_names_of_the_model_cannot_forge_a_line(caplog: pytest.LogCaptureFixture) -> None:
    name = "a\n2026 ERROR forged\u2028\x1b[31m" + "x" * 10_000
    client = ChatClient(ScriptedChatModel([[(name, {})], "ok"]))
    with caplog.at_level(logging.DEBUG, "toolsearch"):
        client.call("Hi")
    for record in caplog.records:
        assert record.getMessage().isprintable()
        assert len(record.getMessage()) < 2000


def test_unknown_tools_are_warned_of_in_a_bounded_number(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    steps = [[("missing", {}), ("missing", {})], [(f"missing_{n}", {}) for n in range(20)], "ok"]
    client = ChatClient(ScriptedChatModel(steps), tools=[get_weather])
    with caplog.at_level(logging.WARNING, "toolsearch"):
        ask(client, "Hi")
    warned: list[Any] = [record for record in caplog.records if "toolsearch.unknown_tool" in record.getMessage()]
    assert [record.tool for record in warned] == ["missing", "missing_0", "missing_1", "missing_2", "missing_3"]
    assert {record.levelno for record in warned} == {logging.WARNING}


def test_tool_search_warns_of_unknown_tools_but_not_of_unrevealed_ones(
    ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    steps = [[("missing", {}), ("get_weather", {"city": "Delft"}), ("tool_search", {"query": "weather"})], "ok"]
    client = ChatClient(ScriptedChatModel(steps), tools=[get_weather], advisors=[ToolSearchAdvisor("bm25")])
    with caplog.at_level(logging.WARNING, "toolsearch"):
        ask(client, "Hi")
    warned: list[Any] = [record for record in caplog.records if "toolsearch.unknown_tool" in record.getMessage()]
    assert [record.tool for record in warned] == ["missing"]


def test_run_tools_warns_of_unknown_tools(caplog: pytest.LogCaptureFixture) -> None:
    client = ChatClient(ScriptedChatModel([[("missing", {})]]), tools=[get_weather], tool_calling=False)
    reply = client.call("Hi")
    with caplog.at_level(logging.WARNING, "toolsearch"):
        client.run_tools(messages=reply.messages)
    assert "toolsearch.unknown_tool tool=missing" in caplog.text
