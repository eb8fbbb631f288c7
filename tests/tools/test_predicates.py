"""Predicates of the application: an answer that cannot be used never permits a tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolsearch import ChatClient, ConfigurationError, Tool, ToolCallingAdvisor, ToolSearchAdvisor
from toolsearch.testing import ScriptedChatModel

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
    ],
    ids=["async filter", "async key", "async should_continue", "one argument", "text", "no argument"],
)
def test_wrong_predicates_are_rejected_by_the_constructor(make: Callable[[], Any]) -> None:
    with pytest.raises(ConfigurationError, match="must be a callable"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: ToolSearchAdvisor("regex", tool_filter=lazily),
        lambda: ToolSearchAdvisor("regex", pinned=lazily),
        lambda: ToolCallingAdvisor(should_continue=lazily),
    ],
    ids=["filter", "pinned", "should_continue"],
)
def test_an_awaitable_answer_is_an_error(ask: Ask, make: Callable[[], Any]) -> None:
    chat, ran = client(make())
    with pytest.raises(ConfigurationError, match="is async"):
        ask(chat, "go", session_id="ann")
    assert ran == []


def test_an_awaitable_answer_of_may_run_is_an_error(ask: Ask) -> None:
    class Lazy(ToolSearchAdvisor):
        def may_run(self, tool: Any, request: Any) -> bool:
            return lazily()  # type: ignore[no-any-return]  # wrong on purpose

    chat, ran = client(Lazy("regex"))
    with pytest.raises(ConfigurationError, match=r"Lazy\.may_run is async"):
        ask(chat, "go")
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
        ({"limits": None, "raise_on_eror": True}, "did you mean 'raise_on_error'"),
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
    ],
)
def test_wrong_client_arguments_are_rejected_with_advice(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        ChatClient(ScriptedChatModel(["ok"]), **wrong)


@pytest.mark.parametrize(
    ("unknown", "says"),
    [
        ({"sesion_id": "ann"}, "did you mean 'session_id'"),
        ({"temperature": 0}, r"pass options of the model as options=\{'temperature': \.\.\.\}"),
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
