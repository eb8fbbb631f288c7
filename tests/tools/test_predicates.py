"""Predicates of the application: an answer that cannot be used never permits a tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolsearch import ChatClient, ConfigurationError, Tool, ToolCallingAdvisor, ToolCallLimits, ToolSearchAdvisor
from toolsearch.client import ToolSearchSettings
from toolsearch.observability import LoggingObserver
from toolsearch.testing import FakeClock, ScriptedChatModel

Ask = Callable[..., Any]


async def deny(*_: Any) -> bool:
    return False


def lazily(*arguments: Any) -> Any:
    """A sync function that returns an awaitable."""
    return deny(*arguments)


def client(*advisors: Any, **options: Any) -> tuple[ChatClient, list[str]]:
    ran: list[str] = []
    tool = Tool("hi", "Say hi.", {}, lambda: ran.append("hi"))
    model = ScriptedChatModel([[("hi", {})], [("hi", {})], "ok"])
    return ChatClient(model, tools=[tool], advisors=advisors, **options), ran


@pytest.mark.parametrize(
    "make",
    [
        lambda: ToolSearchAdvisor("regex", tool_filter=deny),
        lambda: ToolSearchAdvisor("regex", session_key=deny),
        lambda: ToolCallingAdvisor(should_continue=deny),
        lambda: ToolSearchAdvisor("regex", tool_filter=lambda tool: True),  # type: ignore[arg-type,misc]
        lambda: ToolSearchAdvisor("regex", tool_filter="all"),  # type: ignore[arg-type]  # wrong on purpose
        lambda: ToolCallingAdvisor(should_continue=lambda: True),  # type: ignore[arg-type,misc]  # wrong on purpose
        lambda: ToolSearchAdvisor("regex", pinned=deny),
    ],
    ids=["async filter", "async key", "async should_continue", "one argument", "text", "no argument", "async pinned"],
)
def test_wrong_predicates_are_rejected_by_the_constructor(make: Callable[[], Any]) -> None:
    with pytest.raises(ConfigurationError, match="must be a callable"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: ToolSearchAdvisor("regex", pinned=lazily),
        lambda: ToolCallingAdvisor(should_continue=lazily),
    ],
    ids=["pinned", "should_continue"],
)
def test_an_awaitable_answer_is_an_error(ask: Ask, make: Callable[[], Any]) -> None:
    chat, ran = client(make())
    with pytest.raises(ConfigurationError, match="is async"):
        ask(chat, "go", session_id="ann")
    assert ran == []


def test_a_slow_filter_does_not_block_the_event_loop(ask: Ask) -> None:
    import threading

    threads: set[str] = set()

    def slow(tool: Any, context: Any) -> bool:
        threads.add(threading.current_thread().name)
        return True

    chat, ran = client(ToolSearchAdvisor("regex", tool_filter=slow))
    ask(chat, "go")
    assert ran == ["hi"]
    assert (threading.main_thread().name in threads) != ask.is_async  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"max_results": "5"}, "max_results must be an integer, got '5'"),
        ({"reveal_all_below": "3000"}, "reveal_all_below must be an integer or None"),
        ({"max_result": 3}, "no option 'max_result'; did you mean 'max_results'"),
        ({"token_counter": len}, "token_counter must have"),
        (
            {"min_score": 0.5},
            r"'min_score'; it belongs to the index: ToolSearchAdvisor\(Bm25ToolIndex\(min_score=0\.5\)\)",
        ),
        ({"embedder": "x"}, r"it belongs to the index: ToolSearchAdvisor\(VectorToolIndex\(embedder='x'\)\)"),
        ({"limits": None, "raise_on_eror": True}, "did you mean 'raise_on_error'"),
        ({"session_key": "ann"}, r"session_key must be a callable \(request\) -> session id or None, got 'ann'"),
        ({"pinned": lambda tool, context: True}, r"pinned must be a callable \(tool\) -> bool: missing"),
        ({"on_error": "text"}, r"on_error must be a callable \(call, error\) -> str, got 'text'"),
        ({"on_error": lambda call: ""}, r"on_error must be a callable \(call, error\) -> str: too many"),
        ({"limits": 10}, r"limits must be a ToolCallLimits, got 10; write limits=ToolCallLimits\(per_tool=10\)"),
        ({"limits": {}}, r"limits must be a ToolCallLimits, got \{\}; write limits="),
        ({"limits": ToolCallLimits}, "limits must be an instance, got the class ToolCallLimits; write limits="),
        ({"raise_on_error": "ValueError"}, "raise_on_error must be .*, got 'ValueError'; write raise_on_error=ValueEr"),
        ({"raise_on_error": ["ValueError"]}, r"raise_on_error must be .*, got \['ValueError'\]; write"),
        ({"raise_on_error": None}, "raise_on_error must be .*, got None; write"),
    ],
)
def test_wrong_options_are_rejected_with_advice(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        ToolSearchAdvisor("regex", **wrong)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"advisors": ToolCallingAdvisor()}, r"advisors must be a list; write advisors=\[ToolCallingAdvisor"),
        ({"tool_calling": "no"}, "tool_calling must be True or False"),
        (
            {"advisors": [ToolCallingAdvisor(order="first")]},  # type: ignore[arg-type]  # wrong on purpose
            "order must be an integer, got 'first' in ToolCallingAdvisor; write order=300",
        ),
        (
            {"advisors": [ToolSearchSettings()]},
            r"advise\(request\)`, got ToolSearchSettings.*…; write settings\.advisor",
        ),
        ({"system": 5}, r'system must be a string, got 5; write system="\.\.\."'),
        ({"context": "ann"}, r"context must be a mapping, got 'ann'; write context=\{\"user\": \"ann\"\}"),
        ({"clock": FakeClock}, r"clock must be an instance, got the class FakeClock; write clock=SystemClock\(\)"),
        ({"clock": 5}, "clock must be an object with the methods of Clock, got 5"),
        (
            {"observer": LoggingObserver},
            "observer must be an instance, got the class LoggingObserver; write obs",
        ),
        ({"observer": print}, r"observer must be an object with begin\(operation\), got <built-in"),
    ],
)
def test_wrong_client_arguments_are_rejected_with_advice(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        ChatClient(ScriptedChatModel(["ok"]), **wrong)


@pytest.mark.parametrize(
    ("unknown", "says"),
    [
        ({"sesion_id": "ann"}, "did you mean 'session_id'"),
        ({"temperature": 0}, r"if it is an option of the model, write options=\{'temperature': \.\.\.\}"),
        ({"stream": True}, r"call client\.stream\(\.\.\.\)"),
        ({"response_format": dict}, "'response_format'; write output_type="),
        ({"memory": None}, r"write advisors=\[MemoryAdvisor\(ChatMemory"),
        ({"tenant": "x"}, "write tenant_id="),
    ],
)
def test_unknown_arguments_of_a_call_are_type_errors(unknown: dict[str, Any], says: str) -> None:
    model = ScriptedChatModel(["ok"])
    with pytest.raises(TypeError, match=says):
        ChatClient(model).call("hi", **unknown)
    assert not model.requests


def test_restore_takes_a_list_of_names() -> None:
    with pytest.raises(ConfigurationError, match="must be a list"):
        ToolSearchAdvisor("regex").restore("ann", "name")
