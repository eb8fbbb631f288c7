"""Attacks on tool results: results that cannot be put into words, and results that are too large."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from toolsearch import ChatClient, Media, Tool, ToolMessage
from toolsearch.testing import ScriptedChatModel


class BrokenRepr:
    def __repr__(self) -> str:
        raise PermissionError("tenant-B-password")


class BrokenAttributes:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


class BrokenClass:
    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("no class")


class BrokenText(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no text")


class NearlyImage:
    mode, size, tobytes = "RGB", (1, 1), None

    def save(self, *args: Any, **options: Any) -> None:
        raise OSError("not an image")


class BrokenRow(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError("no items")


class Deep:
    def __repr__(self) -> str:
        return repr(self)


RESULTS: dict[str, Callable[[], Any]] = {
    "repr": BrokenRepr,
    "set of repr": lambda: {BrokenRepr(), BrokenRepr()},
    "nested repr": lambda: {"rows": [BrokenRepr()]},
    "getattr": BrokenAttributes,
    "nested getattr": lambda: [BrokenAttributes()],
    "class": BrokenClass,
    "nested class": lambda: (1, BrokenClass()),
    "text": lambda: BrokenText("mail sent"),
    "image": NearlyImage,
    "list with image": lambda: ["see", NearlyImage()],
    "media": lambda: Media(None, None),  # type: ignore[arg-type]
    "media as text": lambda: Media("image/png", "not bytes"),  # type: ignore[arg-type]
    "items": lambda: BrokenRow(a=1),
    "recursion": Deep,
    "function": lambda: print,
    "coroutine": lambda: {"later": asyncio.sleep(0)},
    "memory": lambda: memoryview(bytearray(8)).cast("I"),
}


def results_of(tool: Tool, ask: Callable[..., Any]) -> tuple[ToolMessage, ...]:
    """Return the results of a turn in which the model calls `tool` once."""
    model = ScriptedChatModel([[(tool.name, {})], "ok"])
    reply = ask(ChatClient(model, tools=[tool]), "Go").response
    return tuple(message for message in reply.messages if isinstance(message, ToolMessage))


@pytest.mark.parametrize("make", RESULTS.values(), ids=RESULTS.keys())
def test_a_tool_that_ran_is_never_told_to_have_failed(make: Callable[[], Any], ask: Callable[..., Any]) -> None:
    ran = []

    def send_mail():  # type: ignore[no-untyped-def]
        """Send a mail."""
        ran.append(1)
        return make()

    (message,) = results_of(Tool.from_function(send_mail), ask)
    assert ran == [1]
    assert not message.is_error
    assert message.text
    assert "Error" not in message.text
    assert "password" not in message.text


@pytest.mark.parametrize("shape", ["generator", "map", "nested generator", "nested map"])
def test_a_generator_that_fails_midway_is_a_failure(shape: str, ask: Callable[..., Any]) -> None:
    def rows() -> Iterator[int]:
        yield 1
        raise LookupError("the disk is gone")

    lazy = {"generator": rows, "map": lambda: map(int, rows())}[shape.rpartition(" ")[2]]
    tool = Tool("rows", fn=(lambda: {"rows": lazy()}) if " " in shape else lazy)
    (message,) = results_of(tool, ask)
    assert (message.text, message.is_error) == ("LookupError: the disk is gone", True)
