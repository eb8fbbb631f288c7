"""Observers: what they are told, in which order, and that every beginning has one end in every driver."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from toolsearch import ChatClient, ToolMessage, ToolSearchAdvisor
from toolsearch.observability.observer import Observed, ObservedRound, ObservedSearch, ObservedToolCall, ObservedTurn
from toolsearch.testing import ScriptedChatModel


class Notes:
    """Writes everything down."""

    def __init__(self) -> None:
        self.begun: list[Observed] = []
        self.ended: list[tuple[Observed, Any, BaseException | None]] = []
        self.open = 0

    def begin(self, operation: Observed) -> Noted:
        self.begun.append(operation)
        return Noted(self, operation)


class Noted:
    def __init__(self, notes: Notes, operation: Observed) -> None:
        self.notes, self.operation = notes, operation

    @contextmanager
    def current(self) -> Iterator[None]:
        self.notes.open += 1
        try:
            yield
        finally:
            self.notes.open -= 1

    def end(self, result: Any, error: BaseException | None) -> None:
        self.notes.ended.append((self.operation, result, error))


def fail(text: str = "") -> str:
    """Fail."""
    raise LookupError(text)


def client(notes: Notes) -> ChatClient:
    script = [[("tool_search", {"query": "fail"})], [("fail", {"text": "no"})], "Done"]
    return ChatClient(ScriptedChatModel(script), tools=[fail], advisors=[ToolSearchAdvisor("regex")], observer=notes)


def test_every_operation_begins_and_ends_once(ask: Any) -> None:
    notes = Notes()
    outcome = ask(client(notes), "Go", session_id="ann")
    kinds = [type(operation) for operation in notes.begun]
    assert kinds == [
        ObservedTurn,
        ObservedRound,
        ObservedToolCall,
        ObservedSearch,
        ObservedRound,
        ObservedToolCall,
        ObservedRound,
    ]
    assert sorted(id(operation) for operation in notes.begun) == sorted(id(done[0]) for done in notes.ended)
    assert notes.open == 0
    last, result, error = notes.ended[-1]
    assert isinstance(last, ObservedTurn)
    assert last.streaming is ask.streams
    assert result == outcome.response
    assert error is None
    assert [op.number for op in notes.begun if isinstance(op, ObservedRound)] == [1, 2, 3]


def test_an_answered_error_comes_with_the_answer(ask: Any) -> None:
    notes = Notes()
    ask(client(notes), "Go")
    ((result, error),) = [
        done[1:] for done in notes.ended if isinstance(done[0], ObservedToolCall) and done[0].call.name == "fail"
    ]
    assert isinstance(result, ToolMessage)
    assert result.is_error
    assert isinstance(error, LookupError)


def test_the_observer_of_one_client_is_not_told_of_another(ask: Any) -> None:
    """Two clients without anything in common, one inside a tool of the other."""
    notes = Notes()
    inner = ChatClient(ScriptedChatModel(["Inner"]))

    def delegate() -> str:
        return inner.call("Go").text

    ask(ChatClient(ScriptedChatModel([[("delegate", {})], "Outer"]), tools=[delegate], observer=notes), "Go")
    assert [type(op) for op in notes.begun] == [ObservedTurn, ObservedRound, ObservedToolCall, ObservedRound]


def test_what_an_observer_raises_ends_the_turn(ask: Any) -> None:
    class Broken:
        def begin(self, operation: Observed) -> Noted:
            raise RuntimeError("no observer")

    with pytest.raises(RuntimeError, match="no observer"):
        ask(ChatClient(ScriptedChatModel(["Hello"]), observer=Broken()), "Hi")


def test_an_answered_error_is_not_kept_alive(ask_sync: Any) -> None:
    """An error holds the frames it passed; nothing in these may hold the error, observed or not."""

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
