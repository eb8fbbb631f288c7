"""`Fallback`: when it asks another model, and that the rest of the turn stays with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolsearch import ChatClient, ConfigurationError, Fallback, ProviderError, Retry, Usage
from toolsearch.testing import FakeClock, ScriptedChatModel, ScriptedStream

Ask = Callable[..., Any]
BUSY = ProviderError("busy", status=503, retryable=True)
DENIED = ProviderError("wrong key", status=401)
RAN: list[str] = []


def look_up(word: str) -> str:
    """Look a word up."""
    RAN.append(word)
    return f"{word} is a word"


LOOK = [("look_up", {"word": "a"})]


def client_of(
    first: Any, *others: Any, advisors: Any = (), **options: Any
) -> tuple[ChatClient, list[ScriptedChatModel]]:
    models = [ScriptedChatModel(script) for script in (first, *others)]
    fallback = Fallback(*models[1:], **options)
    return ChatClient(models[0], tools=[look_up], advisors=[fallback, *advisors], clock=FakeClock()), models


def test_the_next_model_answers(ask: Ask) -> None:
    client, models = client_of([BUSY], [BUSY], ["Third."])
    outcome = ask(client, "Go", options={"temperature": 0})
    assert outcome.text_shown == outcome.response.text == "Third."
    assert models[0].requests[0].messages == models[2].requests[0].messages
    assert models[2].requests[0].options == {"temperature": 0}


def test_usage_and_raw_are_those_of_the_model_that_answered(ask: Ask) -> None:
    client, models = client_of([BUSY], ["Second."])
    models[1]._usage = Usage(5, 6)
    assert ask(client, "Go").response.usage == Usage(5, 6)


def test_the_turn_stays_with_the_model_and_the_next_one_begins_anew(ask: Ask) -> None:
    client, models = client_of([BUSY, "First."], [LOOK, "Second."])
    RAN.clear()
    assert ask(client, "Go").response.text == "Second."
    assert (len(models[0].requests), len(models[1].requests)) == (1, 2)
    assert ask(client, "Go").response.text == "First."
    assert RAN == ["a"]


def test_it_does_not_switch_after_a_tool_ran(ask: Ask) -> None:
    client, models = client_of([LOOK, BUSY], ["Second."])
    with pytest.raises(ProviderError) as raised:
        ask(client, "Go")
    assert models[1].requests == []
    assert [call.name for call in raised.value.response.started_calls] == ["look_up"]


def test_it_switches_after_a_tool_ran_if_told(ask: Ask) -> None:
    client, models = client_of([LOOK, BUSY], ["Second."], after_tools=True)
    assert ask(client, "Go").response.text == "Second."
    assert [message.role for message in models[1].requests[0].messages] == ["user", "assistant", "tool"]


HALF = ScriptedStream("Half an answer", error=BUSY, after=1)


def test_it_does_not_switch_after_text_was_shown(ask: Ask) -> None:
    client, _ = client_of([HALF], ["Second."])
    if ask.streams:  # type: ignore[attr-defined]
        with pytest.raises(ProviderError):
            ask(client, "Go")
    else:
        assert ask(client, "Go").response.text == "Second."


def test_buffered_text_does_not_count_as_shown(ask: Ask) -> None:
    client, _ = client_of([HALF], ["Second."], buffered=True)
    assert ask(client, "Go").text_shown == "Second."


@pytest.mark.parametrize(("when", "switches"), [(None, False), (lambda error: error.status == 401, True)])
def test_which_errors_count(ask: Ask, when: Any, switches: bool) -> None:
    client, _ = client_of([DENIED], ["Second."], **({} if when is None else {"when": when}))
    if switches:
        assert ask(client, "Go").response.text == "Second."
    else:
        with pytest.raises(ProviderError, match="wrong key"):
            ask(client, "Go")


def test_each_model_is_retried_before_the_next_one_is_asked(ask: Ask) -> None:
    client, models = client_of([BUSY, BUSY], [BUSY, "Second."], advisors=[Retry(2)])
    assert ask(client, "Go").response.text == "Second."
    assert [len(model.requests) for model in models] == [2, 2]


@pytest.mark.parametrize("supports", [True, False])
def test_structured_output_works_with_a_model_without_schemas(ask: Ask, supports: bool) -> None:
    first = ScriptedChatModel([BUSY], supports_output_schema=True)
    other = ScriptedChatModel(['{"a": 1}'], supports_output_schema=supports)
    client = ChatClient(first, advisors=[Fallback(other)])
    assert ask(client, "Go", output_type=dict[str, int]).response.output == {"a": 1}
    assert (other.requests[0].output_schema is not None) is (first.requests[0].output_schema is not None and supports)
    if first.requests[0].output_schema is not None and not supports:
        assert "JSON Schema" in other.requests[0].messages[-1].text


def test_the_last_error_is_raised(ask: Ask) -> None:
    client, _ = client_of([BUSY], [DENIED])
    with pytest.raises(ProviderError, match="wrong key"):
        ask(client, "Go")


@pytest.mark.parametrize("models", [(), (ScriptedChatModel,), ("gpt-5",)])
def test_wrong_models_are_rejected(models: Any) -> None:
    with pytest.raises(ConfigurationError, match="model"):
        Fallback(*models)
