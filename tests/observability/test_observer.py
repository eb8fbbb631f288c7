"""Observers receive every operation in order; each operation ends once, in every driver."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from toolsearch import ChatClient, ToolMessage, ToolSearchAdvisor
from toolsearch.observability import Observed, ObservedRound, ObservedSearch, ObservedToolCall, ObservedTurn
from toolsearch.testing import ScriptedChatModel


class RecordingObserver:
    """Observer that records the start and end of every operation."""

    def __init__(self) -> None:
        self.started: list[Observed] = []
        self.ended: list[tuple[Observed, Any, BaseException | None]] = []
        self.open = 0

    def begin(self, operation: Observed) -> RecordedOperation:
        self.started.append(operation)
        return RecordedOperation(self, operation)


class RecordedOperation:
    def __init__(self, observer: RecordingObserver, operation: Observed) -> None:
        self.observer, self.operation = observer, operation

    @contextmanager
    def current(self) -> Iterator[None]:
        self.observer.open += 1
        try:
            yield
        finally:
            self.observer.open -= 1

    def end(self, result: Any, error: BaseException | None) -> None:
        self.observer.ended.append((self.operation, result, error))


def fail(text: str = "") -> str:
    """Fail."""
    raise LookupError(text)


def client(observer: RecordingObserver) -> ChatClient:
    script = [[("tool_search", {"query": "fail"})], [("fail", {"text": "no"})], "Done"]
    return ChatClient(ScriptedChatModel(script), tools=[fail], advisors=[ToolSearchAdvisor("regex")], observer=observer)


def test_every_operation_starts_and_ends_once(ask: Any) -> None:
    observer = RecordingObserver()
    outcome = ask(client(observer), "Go", session_id="ann")
    kinds = [type(operation) for operation in observer.started]
    assert kinds == [
        ObservedTurn,
        ObservedRound,
        ObservedToolCall,
        ObservedSearch,
        ObservedRound,
        ObservedToolCall,
        ObservedRound,
    ]
    assert sorted(id(operation) for operation in observer.started) == sorted(id(done[0]) for done in observer.ended)
    assert observer.open == 0
    last, result, error = observer.ended[-1]
    assert isinstance(last, ObservedTurn)
    assert last.streaming is ask.streams
    assert result == outcome.response
    assert error is None
    assert [op.number for op in observer.started if isinstance(op, ObservedRound)] == [1, 2, 3]


def test_answered_error_is_reported_with_its_result(ask: Any) -> None:
    observer = RecordingObserver()
    ask(client(observer), "Go")
    ((result, error),) = [
        done[1:] for done in observer.ended if isinstance(done[0], ObservedToolCall) and done[0].call.name == "fail"
    ]
    assert isinstance(result, ToolMessage)
    assert result.is_error
    assert isinstance(error, LookupError)


def test_observer_receives_only_operations_of_its_client(ask: Any) -> None:
    """A client without an observer runs inside a tool of a client with one."""
    observer = RecordingObserver()
    inner = ChatClient(ScriptedChatModel(["Inner"]))

    def delegate() -> str:
        return inner.call("Go").text

    ask(ChatClient(ScriptedChatModel([[("delegate", {})], "Outer"]), tools=[delegate], observer=observer), "Go")
    assert [type(op) for op in observer.started] == [ObservedTurn, ObservedRound, ObservedToolCall, ObservedRound]


def test_exception_of_an_observer_ends_the_turn(ask: Any) -> None:
    class Broken:
        def begin(self, operation: Observed) -> RecordedOperation:
            raise RuntimeError("no observer")

    with pytest.raises(RuntimeError, match="no observer"):
        ask(ChatClient(ScriptedChatModel(["Hello"]), observer=Broken()), "Hi")


def test_answered_error_is_released(ask_sync: Any) -> None:
    """No frame that an error passed through may refer to the error, with or without an observer."""

    class Kept(Exception):
        pass

    seen: list[weakref.ref[Kept]] = []

    def keep() -> str:
        error = Kept()
        seen.append(weakref.ref(error))
        try:
            raise error
        finally:
            del error

    gc.disable()
    try:
        ask_sync(ChatClient(ScriptedChatModel([[("keep", {})], "Done"]), tools=[keep]), "Go")
        assert seen[0]() is None
    finally:
        gc.enable()
