"""Defaults that users rely on. A changed default changes what applications pay and do: name it in the changelog."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

from toolsearch import (
    ChatMemory,
    Fallback,
    InMemoryRepository,
    MemoryAdvisor,
    Retry,
    ToolCallingAdvisor,
    ToolSearchAdvisor,
    UsageLimits,
)
from toolsearch.disclosure import DisclosureSettings, SessionToolIndex
from toolsearch.indexes import Bm25ToolIndex, ToolReference
from toolsearch.loop.limits import ToolCallLimits
from toolsearch.output import StructuredOutputAdvisor
from toolsearch.tools import ResultLimits, ResultStore

TOOLS = [ToolReference(name="get_weather")]


def test_tool_search_reveals_5_tools_a_search_and_10_at_most() -> None:
    settings = ToolSearchAdvisor("regex").disclosure.settings
    assert (settings.max_results, settings.max_results_limit) == (5, 10)


def test_a_turn_has_10_searches() -> None:
    assert ToolSearchAdvisor("regex").disclosure.settings.max_searches == 10


def test_revealed_tools_are_kept_without_a_limit() -> None:
    settings = ToolSearchAdvisor("regex").disclosure.settings
    assert settings.keep_revealed
    assert settings.max_revealed is None


def test_nothing_is_revealed_without_a_search() -> None:
    settings = ToolSearchAdvisor("regex").disclosure.settings
    assert (settings.reveal_all_below, settings.reveal_upfront, settings.run_unrevealed) == (None, 0, False)


def test_advisor_takes_its_defaults_from_the_settings() -> None:
    """`DisclosureSettings` is the only place with defaults of disclosure."""
    assert ToolSearchAdvisor("regex").disclosure.settings == DisclosureSettings()


def test_environment_variables_take_their_defaults_from_the_settings() -> None:
    pytest.importorskip("pydantic_settings")
    from toolsearch.client.settings import ToolSearchSettings

    for field in fields(DisclosureSettings):
        assert ToolSearchSettings.model_fields[field.name].default == field.default, field.name
    advisor = ToolSearchSettings.load(enabled=True).advisor()
    assert isinstance(advisor, ToolSearchAdvisor)
    assert advisor.disclosure.settings == DisclosureSettings()


def test_the_least_recently_used_sessions_above_1000_are_evicted() -> None:
    sessions = SessionToolIndex("regex")
    for number in range(1001):
        sessions.index(number, TOOLS)
    assert sessions.session_ids() == tuple(range(1, 1001))


def test_orders_put_memory_outside_the_tool_loop() -> None:
    memory = MemoryAdvisor(ChatMemory(InMemoryRepository()))
    assert (memory.order, ToolCallingAdvisor().order, ToolSearchAdvisor("regex").order) == (400, 300, 300)


def test_a_turn_has_40_calls_of_a_tool_and_150_calls_and_answers_3_equal_ones() -> None:
    limits = ToolCallLimits()
    assert (limits.per_tool, limits.total, limits.max_repeats, limits.on_limit) == (40, 150, 3, "end")
    assert ToolSearchAdvisor("regex").limits == ToolCallingAdvisor().limits == limits


def test_results_are_cut_at_25000_tokens_and_20_megabytes_of_media() -> None:
    for limits in (ToolCallingAdvisor().result_limits, ToolSearchAdvisor("regex").result_limits, ResultLimits()):
        assert (limits.max_tokens, limits.max_media_bytes) == (25_000, 20_000_000)


def test_the_rests_of_long_results_take_10_megabytes_a_session_50_a_tenant_and_200_in_all() -> None:
    parameters = inspect.signature(ResultStore).parameters.values()
    assert [parameter.default for parameter in parameters] == [10_000_000, 50_000_000, 200_000_000]


def test_there_is_no_budget_of_tokens() -> None:
    assert ToolCallingAdvisor().usage_limits is None
    limits = UsageLimits()
    assert (limits.turn_tokens, limits.session_tokens, limits.turn_cost, limits.session_cost) == (None,) * 4


def test_no_score_is_too_low() -> None:
    """A weak hit costs less than a tool that is not found."""
    assert repr(Bm25ToolIndex()) == "Bm25ToolIndex(min_score=None)"


def test_an_advisor_evicts_the_least_recently_used_sessions_above_1000() -> None:
    sessions = ToolSearchAdvisor("regex").disclosure.sessions
    for number in range(1001):
        sessions.index(number, TOOLS)
    assert sessions.session_ids() == tuple(range(1, 1001))


def test_structured_output_is_retried_3_times() -> None:
    assert StructuredOutputAdvisor(list[int]).retries == 3


def test_the_openai_sdk_decides_its_own_retries() -> None:
    pytest.importorskip("openai")
    from toolsearch.models import OpenAIChatModel

    parameters = inspect.signature(OpenAIChatModel).parameters
    assert (parameters["max_retries"].default, parameters["max_tools"].default) == (None, 128)


def test_signatures_show_the_orders() -> None:
    defaults = {
        kind: inspect.signature(kind).parameters["order"].default
        for kind in (MemoryAdvisor, ToolCallingAdvisor, ToolSearchAdvisor)
    }
    assert defaults == {MemoryAdvisor: 400, ToolCallingAdvisor: 300, ToolSearchAdvisor: 300}


def test_what_the_tools_of_an_interrupted_turn_did_is_remembered() -> None:
    assert MemoryAdvisor(ChatMemory(InMemoryRepository())).keep_partial


def test_a_request_is_made_3_times_at_most_and_never_after_text() -> None:
    retry = Retry()
    assert (retry.attempts, retry.base_delay, retry.max_delay, retry.jitter) == (3, 1.0, 60.0, 0.5)
    assert (retry.buffered, retry.after_text, retry.order) == (False, False, 900)


def test_a_fallback_switches_at_the_start_of_a_turn_only() -> None:
    from toolsearch.testing import ScriptedChatModel

    fallback = Fallback(ScriptedChatModel())
    assert (fallback.buffered, fallback.after_text, fallback.after_tools, fallback.order) == (False, False, False, 850)
