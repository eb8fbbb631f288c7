"""The model reads the reason of a tool's error, whatever kind of exception it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from toolsearch import ChatClient, Tool
from toolsearch.testing import ScriptedChatModel


class NoTextError(Exception):
    """An error whose `__str__` fails."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def endless() -> Exception:
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first
    return first


REASONS: dict[str, tuple[Callable[[], BaseException], str]] = {
    "cause of an error without a text": (
        lambda: caused(RuntimeError(), ValueError("a")),
        "RuntimeError: ValueError: a",
    ),
    "group as a cause": (
        lambda: caused(RuntimeError(), ExceptionGroup("g", [ValueError("a")])),
        "RuntimeError: ValueError: a",
    ),
    "causes in a circle": (endless, "ValueError: KeyError: ValueError: KeyError"),
    "failing text": (NoTextError, "NoTextError"),
    "lone surrogate": (lambda: ValueError("a\ud800"), "ValueError: a\ufffd"),
    "iteration": (lambda: StopIteration(3), "StopIteration: 3"),
    "no text": (TimeoutError, "TimeoutError"),
}


@pytest.mark.parametrize(("make", "expected"), REASONS.values(), ids=REASONS)
def test_the_model_reads_the_reason(make: Callable[[], BaseException], expected: str) -> None:
    def fail() -> None:
        raise make()

    model = ScriptedChatModel([[("act", {})], "end"])
    message = ChatClient(model, tools=[Tool("act", "Act.", {}, fail)]).call("x").messages[1]
    assert message.is_error
    assert message.text == expected
