"""Settings: a variable for each field, and errors for invalid values."""

from __future__ import annotations

import logging
import math
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_settings", reason="the extra `settings` is not installed")

from toolsearch import ChatClient, ConfigurationError, Tool, ToolCallingAdvisor, ToolReference, ToolSearchAdvisor
from toolsearch.client.settings import ToolSearchSettings
from toolsearch.disclosure import ToolSearchRequest
from toolsearch.eviction import CompositeEviction, LruEviction
from toolsearch.loop import StaticToolResolver
from toolsearch.testing import ScriptedChatModel


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in list(os.environ):
        if name.startswith("TOOLSEARCH_"):
            monkeypatch.delenv(name)


def search_advisor(settings: ToolSearchSettings) -> ToolSearchAdvisor:
    advisor = settings.advisor()
    assert isinstance(advisor, ToolSearchAdvisor)
    return advisor


def test_off_by_default() -> None:
    advisor = ToolSearchSettings.load().advisor()
    assert type(advisor) is ToolCallingAdvisor
    assert (advisor.order, advisor.limits.per_tool, advisor.limits.total) == (300, 40, 150)


def test_limits_on_results_and_usage_reach_both_advisors(monkeypatch: pytest.MonkeyPatch) -> None:
    for enabled in (False, True):
        assert ToolSearchSettings.load(enabled=enabled, index="regex").advisor().usage_limits is None
    variables = {"MAX_RESULT_TOKENS": "500", "MAX_TURN_TOKENS": "1000", "MAX_SESSION_TOKENS": "9000"}
    for name, value in variables.items():
        monkeypatch.setenv(f"TOOLSEARCH_{name}", value)
    for enabled in (False, True):
        advisor = ToolSearchSettings.load(enabled=enabled, index="regex").advisor()
        assert advisor.result_limits.max_tokens == 500
        assert advisor.usage_limits is not None
        assert (advisor.usage_limits.turn_tokens, advisor.usage_limits.session_tokens) == (1000, 9000)
    monkeypatch.setenv("TOOLSEARCH_MAX_RESULT_TOKENS", "none")
    assert ToolSearchSettings.load().advisor().result_limits.max_tokens == math.inf


def test_variables_reach_the_advisor(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {
        "ENABLED": "true",
        "INDEX": "regex",
        "MAX_RESULTS": "3",
        "MAX_RESULTS_LIMIT": "7",
        "KEEP_REVEALED": "false",
        "INSTRUCTIONS": "Search!",
        "ORDER": "250",
        "EVICTION_TTL": "PT8H",
        "EVICTION_MAX_SESSIONS": "9",
        "REVEAL_ALL_BELOW": "100",
        "REVEAL_UPFRONT": "2",
        "MAX_REVEALED": "20",
        "MAX_SEARCHES": "4",
        "RUN_UNREVEALED": "true",
        "PINNED": "core_*, source:mail",
        "MAX_CALLS_PER_TOOL_DEFAULT": "5",
        "MAX_CALLS_PER_TOOL": '{"web": 50, "free": null}',
        "MAX_TOTAL_TOOL_CALLS": "60",
        "EXEMPT": '["a", "b"]',
        "ON_LIMIT": "answer",
    }
    for name, value in variables.items():
        monkeypatch.setenv(f"TOOLSEARCH_{name}", value)
    settings = ToolSearchSettings.load()
    advisor = search_advisor(settings)
    disclosure = advisor.disclosure.settings
    assert advisor.describe() == {"advisor": "ToolSearchAdvisor", "index": "RegexToolIndex"}
    assert (disclosure.max_results, disclosure.max_results_limit, disclosure.keep_revealed) == (3, 7, False)
    assert (advisor.instructions, advisor.order) == ("Search!", 250)
    assert (disclosure.reveal_all_below, disclosure.reveal_upfront, disclosure.max_revealed) == (100, 2, 20)
    assert (disclosure.max_searches, disclosure.run_unrevealed) == (4, True)
    assert settings.pinned == ("core_*", "source:mail")
    limits = advisor.limits
    assert (limits.per_tool, limits.of("web"), limits.of("free"), limits.total) == (5, 50, None, 60)
    assert (tuple(limits.exempt), limits.on_limit) == (("a", "b"), "answer")
    assert settings.eviction_ttl == timedelta(hours=8)


def test_none_removes_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_CALLS_PER_TOOL_DEFAULT", "MAX_TOTAL_TOOL_CALLS", "MAX_SEARCHES", "EVICTION_TTL"):
        monkeypatch.setenv(f"TOOLSEARCH_{name}", "none")
    settings = ToolSearchSettings.load()
    limits = settings.advisor().limits
    assert (limits.per_tool, limits.total, settings.max_searches, settings.eviction_ttl) == (None, None, None, None)


@pytest.mark.parametrize("enabled", [True, False])
def test_variables_set_error_handling_and_the_resolver(monkeypatch: pytest.MonkeyPatch, enabled: bool) -> None:
    def fail() -> str:
        """Fail."""
        raise LookupError("nothing there")

    hidden = StaticToolResolver([Tool("hidden", "Hidden.", {}, lambda: "found")])
    monkeypatch.setenv("TOOLSEARCH_ENABLED", str(enabled))
    monkeypatch.setenv("TOOLSEARCH_RAISE_ON_ERROR", "true")
    monkeypatch.setenv("TOOLSEARCH_RESOLVE_FALLBACK", "true")
    settings = ToolSearchSettings.load(pinned=["fail"])
    with pytest.raises(ConfigurationError, match="resolver"):
        settings.advisor()
    advisor = settings.advisor(resolver=hidden)
    model = ScriptedChatModel([[("hidden", {})], "ok", [("fail", {})]])
    client = ChatClient(model, tools=[fail], advisors=[advisor], tool_calling=settings.tool_calling)
    assert client.call("go").messages[1].text == "found"
    with pytest.raises(LookupError, match="nothing there"):
        client.call("go")
    assert settings.advisor(resolver=hidden, raise_on_error=KeyError).raise_on_error == (KeyError,)


def test_a_variable_switches_tool_calling_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLSEARCH_TOOL_CALLING", "false")
    settings = ToolSearchSettings.load()
    tools: list[Any] = [Tool("x", "X.", {}, lambda: "")]
    model = ScriptedChatModel([[("x", {})]])
    client = ChatClient(model, tools=tools, advisors=[settings.advisor()], tool_calling=settings.tool_calling)
    assert [call.name for call in client.call("hi").tool_calls] == ["x"]


@pytest.mark.parametrize(("ttl", "kind"), [(None, LruEviction), (timedelta(hours=1), CompositeEviction)])
def test_eviction_combines_idle_time_and_session_count(ttl: timedelta | None, kind: type) -> None:
    advisor = search_advisor(ToolSearchSettings.load(enabled=True, eviction_ttl=ttl))
    assert kind.__name__ in repr(advisor.disclosure.sessions)


def test_the_session_id_can_come_from_the_context() -> None:
    settings = ToolSearchSettings.load(enabled=True, index="regex", session_id_key="thread")
    advisor = search_advisor(settings)
    client = ChatClient(ScriptedChatModel(["a", "b"]), tools=[Tool("x", "X.", {}, lambda: "")], advisors=[advisor])
    client.call("hi", context={"thread": 7})
    client.call("hi")
    assert advisor.disclosure.sessions.session_ids() == ((None, "7"),)


WRONG = [
    ("MAX_RESULTS", "many", "TOOLSEARCH_MAX_RESULTS: Input should be a valid integer"),
    ("MAX_RESULTS", "50", "TOOLSEARCH_MAX_RESULTS must be at most TOOLSEARCH_MAX_RESULTS_LIMIT=10, got 50"),
    ("MAX_RESULTS_LIMIT", "3", "TOOLSEARCH_MAX_RESULTS must be at most TOOLSEARCH_MAX_RESULTS_LIMIT=3, got 5"),
    ("MAX_RESULTS", "0", "TOOLSEARCH_MAX_RESULTS: Input should be greater than or equal to 1"),
    ("INDEX", "lucene", "TOOLSEARCH_INDEX=lucene: unknown index 'lucene'; expected one of: bm25"),
    ("EMBEDDER", "some/model", "TOOLSEARCH_EMBEDDER has no effect with TOOLSEARCH_INDEX=bm25"),
    ("BM25_MIN_SCORE", "2", "TOOLSEARCH_BM25_MIN_SCORE: Input should be less than or equal to 1"),
    ("ON_LIMIT", "explode", "TOOLSEARCH_ON_LIMIT: Input should be 'end' or 'answer'"),
    ("MAX_CALLS_PER_TOOL", "web=3", "TOOLSEARCH_MAX_CALLS_PER_TOOL: write a mapping, .* as JSON"),
    (
        "MAX_TOTAL_TOOL_CALLS",
        "-1",
        "TOOLSEARCH_MAX_TOTAL_TOOL_CALLS: a limit must be 0 or more; write none for no limit",
    ),
    ("PINNED", "[", "TOOLSEARCH_PINNED: write a list, as JSON"),
    ("EVICTION_MAX_SESSIONS", "0", "TOOLSEARCH_EVICTION_MAX_SESSIONS: Input should be greater than or equal to 1"),
    ("EVICTION_TTL", "half an hour", "TOOLSEARCH_EVICTION_TTL: write a number and s, m, h or d, e.g. 30m"),
    ("EVICTION_TTL", "0s", "TOOLSEARCH_EVICTION_TTL: Input should be greater than"),
    ("REVEAL_UPFRONT", "-1", "TOOLSEARCH_REVEAL_UPFRONT: Input should be greater than or equal to 0"),
]


@pytest.mark.parametrize(("variable", "value", "says"), WRONG)
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_invalid_settings_are_errors_that_name_the_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, says: str, enabled: str
) -> None:
    monkeypatch.setenv("TOOLSEARCH_ENABLED", enabled)
    monkeypatch.setenv(f"TOOLSEARCH_{variable}", value)
    with pytest.raises(ConfigurationError, match=says):
        ToolSearchSettings.load()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("30m", timedelta(minutes=30)),
        ("8h", timedelta(hours=8)),
        ("PT8H", timedelta(hours=8)),
        ("2d", timedelta(days=2)),
    ],
)
def test_durations_are_short_or_iso_8601(monkeypatch: pytest.MonkeyPatch, written: str, meant: timedelta) -> None:
    monkeypatch.setenv("TOOLSEARCH_EVICTION_TTL", written)
    assert ToolSearchSettings.load().eviction_ttl == meant


@pytest.mark.parametrize("index", ["vector", "hybrid"])
def test_an_index_without_its_extra_is_rejected(monkeypatch: pytest.MonkeyPatch, index: str) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)  # what Python itself does for a package that is not there
    monkeypatch.setenv("TOOLSEARCH_INDEX", index)
    with pytest.raises(ConfigurationError, match=rf"TOOLSEARCH_INDEX={index}: .*pip install 'toolsearch\[vector\]'"):
        ToolSearchSettings.load()


def test_variables_configure_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLSEARCH_ENABLED", "true")
    tools = [ToolReference(name="send_mail", description="Send a mail."), ToolReference(name="read_file")]
    for score, found in [("none", ("send_mail",)), ("0.9", ())]:
        monkeypatch.setenv("TOOLSEARCH_BM25_MIN_SCORE", score)
        sessions = search_advisor(ToolSearchSettings.load()).disclosure.sessions
        sessions.index("ann", tools)
        assert sessions.search(ToolSearchRequest(session_id="ann", query="mail zebras elephants")).names == found
    monkeypatch.delenv("TOOLSEARCH_BM25_MIN_SCORE")
    monkeypatch.setenv("TOOLSEARCH_EMBEDDER", "./no/such/folder")
    for index, kind in [("vector", "VectorToolIndex"), ("hybrid", "HybridToolIndex")]:
        monkeypatch.setenv("TOOLSEARCH_INDEX", index)
        assert search_advisor(ToolSearchSettings.load()).describe()["index"] == kind


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("enable", "'enable' is not a setting; did you mean 'enabled'"),
        ("max_result", "'max_result' is not a setting; did you mean 'max_results'"),
        ("zzz", "'zzz' is not a setting$"),
    ],
)
def test_unknown_settings_are_rejected(name: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        ToolSearchSettings.load(**{name: True})


def test_the_active_advisor_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    tools: list[Any] = [Tool(name, "X.", {}, lambda: "") for name in "ab"]
    with caplog.at_level(logging.INFO, "toolsearch"):
        ChatClient(ScriptedChatModel([]), tools=tools, advisors=[ToolSearchSettings.load(enabled=True).advisor()])
        ChatClient(ScriptedChatModel([]), tools=tools)
    assert [record.getMessage() for record in caplog.records] == [
        "toolsearch.client_ready advisor=ToolSearchAdvisor index=Bm25ToolIndex tools=2 providers=0",
        "toolsearch.client_ready advisor=ToolCallingAdvisor tools=2 providers=0",
    ]


def settings_table() -> str:
    """Return the table of docs/how-to/settings.md: each variable, its default and its meaning."""
    lines = ["| variable | default | meaning |", "| --- | --- | --- |"]
    for name, field in ToolSearchSettings.model_fields.items():
        value = field.default
        written = str(value).lower() if isinstance(value, bool) else "" if value in (None, (), {}) else str(value)
        default = "a paragraph" if name == "instructions" else f"`{written}`" if written else ""
        lines.append(f"| `TOOLSEARCH_{name.upper()}` | {default} | {field.description} |")
    return "\n".join(lines)


def test_the_page_lists_every_variable_with_its_default_and_meaning() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "settings.md").read_text("utf-8")
    table = page.partition("<!-- settings -->\n")[2].partition("\n<!-- /settings -->")[0]
    assert table == settings_table()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("MAX_RESULTS", '"3"', 3),
        ("MAX_RESULTS", " '3'\r", 3),
        ("ENABLED", "TRUE\n", True),
        ("INDEX", " regex", "regex"),
        ("MAX_REVEALED", "None", None),
        ("MAX_REVEALED", "null", None),
        ("PINNED", '"a, b"', ("a", "b")),
        ("EVICTION_TTL", '"1h"', timedelta(hours=1)),
        ("MAX_CALLS_PER_TOOL", "'{\"a\": 1}'", {"a": 1}),
    ],
)
def test_quotes_and_white_space_of_files_of_variables_are_dropped(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: object
) -> None:
    monkeypatch.setenv(f"TOOLSEARCH_{name}", value)
    assert getattr(ToolSearchSettings.load(), name.lower()) == expected
