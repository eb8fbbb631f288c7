"""`Retry`: which errors it repeats, how long it waits, and what it never repeats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolsearch import ChatClient, ConfigurationError, ProviderError, ProviderProtocolError, Retry
from toolsearch.testing import FakeClock, OpenAIWireServer, ScriptedChatModel, ScriptedStream

Ask = Callable[..., Any]
BUSY = ProviderError("busy", status=503, retryable=True)
RAN: list[str] = []


def look_up(word: str) -> str:
    """Look a word up."""
    RAN.append(word)
    return f"{word} is a word"


def test_a_round_is_repeated_and_tools_are_not(ask: Ask) -> None:
    clock = FakeClock()
    script = [[("look_up", {"word": "a"})], BUSY, BUSY, "Here you are."]
    client = ChatClient(ScriptedChatModel(script), tools=[look_up], advisors=[Retry(jitter=0)], clock=clock)
    RAN.clear()
    outcome = ask(client, "Go")
    assert outcome.text_shown == outcome.response.text == "Here you are."
    assert clock.sleeps == [1.0, 2.0]
    assert RAN == ["a"]


@pytest.mark.parametrize(
    ("errors", "attempts", "sleeps"),
    [
        ([BUSY] * 3, 3, [1.0, 2.0]),
        ([BUSY], 1, []),
        ([ProviderError("wrong key", status=401)], 3, []),
        ([ProviderError("repeated", retryable=True, retried=True)], 3, []),
        ([ProviderError("long", retryable=True, retry_after=61)], 3, []),
        ([ProviderError("past", retryable=True, retry_after=-5), ProviderError("wrong", status=400)], 3, [0.0]),
        ([BUSY, ProviderError("wrong", status=400)], 3, [1.0]),
        ([ConfigurationError("a mistake")], 3, []),
    ],
)
def test_the_error_is_raised_if_a_retry_cannot_help(ask: Ask, errors: Any, attempts: int, sleeps: list[float]) -> None:
    clock = FakeClock()
    model = ScriptedChatModel([*errors, "unused"])
    client = ChatClient(model, advisors=[Retry(attempts, jitter=0)], clock=clock)
    with pytest.raises(type(errors[-1])) as raised:
        ask(client, "Go")
    assert raised.value is errors[-1]
    assert clock.sleeps == sleeps
    assert model.remaining == 1


def test_the_provider_decides_the_delay(ask: Ask) -> None:
    clock = FakeClock()
    script = [ProviderError("1", retryable=True, retry_after=7), ProviderProtocolError("2", retryable=True), "ok"]
    ask(ChatClient(ScriptedChatModel(script), advisors=[Retry(base_delay=3, jitter=0)], clock=clock), "Go")
    assert clock.sleeps == [7.0, 6.0]


def test_delays_grow_to_a_limit_and_are_random() -> None:
    clock = FakeClock()
    retry = Retry(40, base_delay=1, max_delay=8, jitter=0.5)
    ChatClient(ScriptedChatModel([*[BUSY] * 39, "ok"]), advisors=[retry], clock=clock).call("Go")
    limits = [1.0, 2.0, 4.0, *[8.0] * 36]
    assert all(limit / 2 <= slept <= limit for slept, limit in zip(clock.sleeps, limits, strict=True))
    assert len(set(clock.sleeps)) > 30


HALF = ScriptedStream("Half an answer", error=BUSY, after=1)


def test_text_that_was_shown_is_not_shown_again(ask: Ask) -> None:
    client = ChatClient(ScriptedChatModel([HALF, "Whole."]), advisors=[Retry(jitter=0)], clock=FakeClock())
    if ask.streams:  # type: ignore[attr-defined]
        with pytest.raises(ProviderError):
            ask(client, "Go")
    else:
        assert ask(client, "Go").response.text == "Whole."


def test_buffered_text_can_be_repeated(ask: Ask) -> None:
    client = ChatClient(
        ScriptedChatModel([HALF, "Whole."]), advisors=[Retry(jitter=0, buffered=True)], clock=FakeClock()
    )
    assert ask(client, "Go").text_shown == "Whole."


@pytest.mark.parametrize("order", [100, 900])
def test_a_turn_whose_tools_ran_is_not_repeated(ask: Ask, order: int) -> None:
    """Outside of the loop, a retry would run the tools again."""
    clock = FakeClock()
    model = ScriptedChatModel([BUSY, [("look_up", {"word": "a"})], BUSY, "Done."])
    client = ChatClient(model, tools=[look_up], advisors=[Retry(jitter=0, order=order)], clock=clock)
    RAN.clear()
    if order == 900:
        assert ask(client, "Go").response.text == "Done."
    else:
        with pytest.raises(ProviderError):
            ask(client, "Go")
    assert RAN == ["a"]


@pytest.mark.parametrize("max_retries", [0, 1])
def test_what_the_sdk_repeated_is_not_repeated(ask_pair: Ask, max_retries: int) -> None:
    """With `max_retries=1` the SDK asks twice and `Retry` not at all; with 0 only `Retry` asks again."""
    from toolsearch.models import OpenAIChatModel

    busy = ProviderError("busy", status=503, retry_after=0.001)
    with OpenAIWireServer([busy, busy, busy, "unused"]) as server:
        model = OpenAIChatModel("m", base_url=server.base_url, api_key="k", max_retries=max_retries)
        client = ChatClient(model, advisors=[Retry(3, jitter=0)], clock=(clock := FakeClock()))
        with pytest.raises(ProviderError) as raised:
            ask_pair(client, "Go")
        model.close()
    assert raised.value.retried is (max_retries > 0)
    assert len(server.requests) == (2 if max_retries else 3)
    assert clock.sleeps == ([] if max_retries else [0.001, 0.001])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"attempts": 0}, "attempts must be"),
        ({"attempts": True}, "attempts must be"),
        ({"attempts": "3"}, "attempts must be"),
        ({"base_delay": -1}, "base_delay must be"),
        ({"base_delay": 100}, "base_delay must be"),
        ({"base_delay": float("nan")}, "base_delay must be"),
        ({"jitter": 2}, "jitter must be"),
    ],
)
def test_wrong_arguments_are_rejected(options: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        Retry(**options)
