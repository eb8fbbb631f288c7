"""Attacks on tool results: results that cannot be put into words, and results that are too large."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ChatRequest,
    Media,
    Tool,
    ToolCall,
    ToolCallingAdvisor,
    ToolMessage,
    UserMessage,
)
from toolsearch.loop import RunTools
from toolsearch.testing import ScriptedChatModel
from toolsearch.text.tokens import estimate_tokens


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


class BrokenMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError(f"no {name}")


class BrokenType(metaclass=BrokenMeta):
    def __str__(self) -> str:
        raise RuntimeError("no text")


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
    "type": lambda: object.__new__(BrokenType),
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


LARGE: dict[str, Callable[[], Any]] = {
    "text": lambda: "word " * 200_000,
    "one line": lambda: "x" * 1_000_000,
    "rows": lambda: [{"number": number, "name": "a name"} for number in range(30_000)],
    "bytes": lambda: b"plain text " * 100_000,
    "three bytes a character": lambda: "法令" * 100_000,
    "converted": lambda: 7,
}


def convert(value: Any) -> str:
    return "converted " * 100_000 if value == 7 else str(value)


@pytest.mark.parametrize("make", LARGE.values(), ids=LARGE.keys())
def test_a_large_result_is_cut(make: Callable[[], Any], ask_pair: Callable[..., Any]) -> None:
    tool = Tool("look", fn=make, result_converter=convert if make() == 7 else None)
    (message,) = results_of(tool, ask_pair)
    assert estimate_tokens(message.text) <= 25_000
    assert "[Truncated: characters 0 to " in message.text
    assert not message.is_error


def fail() -> str:
    """Fail."""
    raise LookupError("no such row " * 100_000)


@pytest.mark.parametrize(
    "tool",
    [
        Tool("fail", fn=fail),
        Tool("fail", fn=fail, return_direct=True),
    ],
    ids=["exception", "direct"],
)
def test_errors_are_cut_too(tool: Tool, ask_pair: Callable[..., Any]) -> None:
    (message,) = results_of(tool, ask_pair)
    assert estimate_tokens(message.text) <= 25_000


def test_the_answer_of_a_hook_is_cut_too(ask_pair: Callable[..., Any]) -> None:
    class Caching(ToolCallingAdvisor):
        def before_tool(self, *_: Any) -> str:
            return "cached " * 100_000

    model = ScriptedChatModel([[("look", {})], "ok"])
    reply = ask_pair(ChatClient(model, tools=[Tool("look", fn=lambda: 1)], advisors=[Caching()]), "Go").response
    assert estimate_tokens(reply.messages[1].text) <= 25_000


def test_a_direct_result_is_whole_for_the_user_and_cut_for_the_model(ask_pair: Callable[..., Any]) -> None:
    report = Tool("report", fn=lambda: "line\n" * 100_000, return_direct=True)
    other = Tool("other", fn=lambda: "ok")
    reply = ask_pair(ChatClient(ScriptedChatModel([[("report", {})]]), tools=[report]), "Go").response
    assert reply.text == "line\n" * 100_000
    model = ScriptedChatModel([[("report", {}), ("other", {})], "ok"])
    reply = ask_pair(ChatClient(model, tools=[report, other]), "Go").response
    assert estimate_tokens(reply.messages[1].text) <= 25_000


def test_results_of_run_tools_are_cut() -> None:
    call = AssistantMessage(tool_calls=(ToolCall("1", "look"),))
    client = ChatClient(ScriptedChatModel([]), tools=[Tool("look", fn=lambda: "word " * 200_000)])
    batch = client.run_tools(messages=[UserMessage("Go"), call])
    assert estimate_tokens(batch.messages[0].text) <= 25_000


def test_an_own_loop_without_limits_gets_the_default_ones(ask_pair: Callable[..., Any]) -> None:
    class Own(ToolCallingAdvisor):
        def advise(self, request: ChatRequest) -> Any:
            response = yield request
            batch = yield RunTools(
                calls=response.tool_calls, tools={tool.name: tool for tool in request.tools}, request=request
            )
            return response.replace(messages=(response.message, *batch.messages))

    model = ScriptedChatModel([[("look", {})]])
    client = ChatClient(model, tools=[Tool("look", fn=lambda: "word " * 200_000)], advisors=[Own()])
    assert estimate_tokens(ask_pair(client, "Go").response.messages[-1].text) <= 25_000


def test_clients_of_an_mcp_server_get_cut_results() -> None:
    pytest.importorskip("mcp")
    from mcp import Client

    from toolsearch.mcp import McpServer

    tools = [
        Tool("look", fn=lambda: "word " * 200_000),
        Tool("direct", fn=lambda: "word " * 200_000, return_direct=True),
        Tool("fail", fn=fail),
        Tool("draw", fn=lambda: Media("image/png", b"0" * 2_000)),
    ]

    async def sizes() -> list[int]:
        server = McpServer(tools, max_result_tokens=1_000, max_result_media_bytes=1_000)
        async with Client(server._sdk_server()) as client:
            results = [await client.call_tool(tool.name, {}) for tool in tools]
        assert [block.type for result in results for block in result.content] == ["text"] * 4
        return [estimate_tokens(result.content[0].text) for result in results]

    assert all(size <= 1_000 for size in asyncio.run(sizes()))


def test_a_large_result_of_an_mcp_server_is_cut(ask_pair: Callable[..., Any]) -> None:
    pytest.importorskip("mcp")
    from mcp_types import CallToolResult

    from toolsearch.mcp.client.results import convert_result

    structured = {"rows": list(range(300_000))}
    value = convert_result(CallToolResult(content=[], structured_content=structured), server="s", tool="t")
    (message,) = results_of(Tool("rows", fn=lambda: value, source="s"), ask_pair)
    assert estimate_tokens(message.text) <= 25_000
