"""Names and arguments that models write in another form run the tool that they mean, or are explained."""

from __future__ import annotations

import enum
import json
from typing import Any, Literal

import pytest

from toolsearch import ChatClient, Tool, ToolCall, ToolCallingAdvisor, ToolSearchAdvisor, UserMessage
from toolsearch.messages import AssistantMessage
from toolsearch.testing import ScriptedChatModel


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


def order(
    name: str = "none",
    count: int = 1,
    tags: list[str] = [],  # noqa: B006
    sizes: list[int] = [],  # noqa: B006
    gift: bool = False,
    color: Color = Color.BLUE,
    kind: Literal["new", "used"] = "new",
    options: dict[str, int] | None = None,
) -> str:
    """Order something."""
    return f"{name} {count} {tags} {sizes} {gift} {color.value} {kind} {options}"


DEFAULT = "none 1 [] [] False blue new None"


def answer(arguments: object, name: str = "order") -> Any:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    model = ScriptedChatModel([[ToolCall("1", name, text)], "end"])
    return ChatClient(model, tools=[order]).call("x").messages[1]


FITTING: dict[str, tuple[object, str]] = {
    "empty string for a number": ({"count": ""}, DEFAULT),
    "None as text": ({"count": "None", "options": "None"}, DEFAULT),
    "null as text": ({"count": "null"}, DEFAULT),
    "empty string for a listed value": ({"kind": "", "color": ""}, DEFAULT),
    "number as text": ({"count": " 3 "}, DEFAULT.replace("1", "3", 1)),
    "Python's words": ({"gift": "True"}, DEFAULT.replace("False", "True")),
    "case of a listed value": ({"color": "RED", "kind": "Used "}, "none 1 [] [] False red used None"),
    "one item for a list": ({"sizes": 4}, DEFAULT.replace("[] []", "[] [4]")),
    "one string for a list": ({"tags": "a"}, DEFAULT.replace("[] []", "['a'] []")),
    "list in a code fence": ({"sizes": "```json\n[4]\n```"}, DEFAULT.replace("[] []", "[] [4]")),
    "strings in a list of numbers": ({"sizes": ["4"]}, DEFAULT.replace("[] []", "[] [4]")),
    "object as text": ({"options": '{"a": "2"}'}, DEFAULT.replace("None", "{'a': 2}")),
    "an empty list for no arguments": ("[]", DEFAULT),
    "a list with the object": ('[{"name": "pen"}]', DEFAULT.replace("none", "pen")),
    "a code fence": ('```json\n{"name": "pen"}\n```', DEFAULT.replace("none", "pen")),
    "a byte order mark": ('\ufeff{"name": "pen"}', DEFAULT.replace("none", "pen")),
    "a bracket too many": ('{"name": "pen"}}', DEFAULT.replace("none", "pen")),
    "an end tag": ('{"name": "pen"}\n</tool_call>', DEFAULT.replace("none", "pen")),
    "a special token": ('{"name": "pen"}<|call|>', DEFAULT.replace("none", "pen")),
    "the same object twice": ('{"name": "pen"} {"name":"pen"}', DEFAULT.replace("none", "pen")),
    "a line break in a string": ('{"name": "a\tb"}', DEFAULT.replace("none", "a\tb")),
    "the whole call": ('{"name": "order", "arguments": {"count": 2}}', DEFAULT.replace("1", "2")),
    "parameters around": ('{"parameters": {"count": 2}}', DEFAULT.replace("1", "2")),
    "arguments as text around": (json.dumps({"arguments": '{"count": 2}'}), DEFAULT.replace("1", "2")),
    "encoded three times": (json.dumps(json.dumps(json.dumps({"count": 2}))), DEFAULT.replace("1", "2")),
}


@pytest.mark.parametrize(("arguments", "expected"), FITTING.values(), ids=FITTING)
def test_arguments_with_a_clear_meaning_are_used(arguments: object, expected: str) -> None:
    assert answer(arguments).text == expected


UNCLEAR: dict[str, tuple[object, str]] = {
    "several items in a string": ({"tags": "a, b"}, "expected array"),
    "another object behind": ('{"name": "pen"}{"name": "cup"}', "Extra data"),
    "words behind": ('{"name": "pen"} // why', "Extra data"),
    "an unknown listed value": ({"color": "green"}, "expected one of"),
    "a word for a number": ({"count": "many"}, "expected integer"),
    "the call of another tool": ('{"name": "send", "arguments": {"count": 2}}', "unknown argument"),
    "two objects in a list": ('[{"count": 1}, {"count": 2}]', "one JSON object"),
    "thousands of equal objects": ("{}" * 5_000, "Extra data"),
    "cut": ('{"name": "pe', "cut off"),
}


@pytest.mark.parametrize(("arguments", "problem"), UNCLEAR.values(), ids=UNCLEAR)
def test_arguments_without_a_clear_meaning_are_explained(arguments: object, problem: str) -> None:
    message = answer(arguments)
    assert message.is_error
    assert problem in message.text


def test_a_wrapper_that_is_an_argument_of_the_tool_is_kept() -> None:
    got: list[Any] = []
    tool = Tool("run", parameters={"properties": {"input": {"type": "integer"}}}, fn=lambda **given: got.append(given))
    model = ScriptedChatModel([[("run", {"input": {"a": 1}}), ("run", {"input": 3})], "end"])
    ChatClient(model, tools=[tool]).call("x")
    assert got == [{"input": 3}]


NAMES = [
    "functions.order",
    "functions.order:0",
    "order:1",
    "default_api.order",
    "default_api:order",
    "tools.order",
    "to=functions.order",
    "order<|channel|>commentary",
    "order<|channel|>json",
    "functions.order<|constrain|>json",
    " order\n",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_with_parts_of_the_models_format_are_known(name: str) -> None:
    model = ScriptedChatModel([[ToolCall("1", name, "{}")], "end"])
    response = ChatClient(model, tools=[order]).call("x")
    assert response.messages[1].text == DEFAULT
    assert [call.name for call in model.requests[1].messages[1].tool_calls] == ["order"]


@pytest.mark.parametrize("name", ["functions.order", "order<|channel|>commentary"])
def test_names_are_known_to_run_tools(name: str) -> None:
    messages = [UserMessage("x"), AssistantMessage("", [ToolCall("1", name, "{}")])]
    client = ChatClient(ScriptedChatModel(["end"]), tools=[order])
    assert client.run_tools(messages=messages).messages[0].text == DEFAULT


@pytest.mark.parametrize("name", ["functions.secret", "secret<|channel|>commentary", "secret:0"])
@pytest.mark.parametrize("search", [False, True])
def test_such_a_name_does_not_pass_the_filter(name: str, search: bool) -> None:
    ran: list[str] = []
    tools = [Tool("secret", "Tell it.", {}, lambda: ran.append("x")), Tool("order", "Order.", {}, lambda: "y")]
    options: dict[str, Any] = {"tool_filter": lambda tool, context: tool.name != "secret"}
    advisor = ToolSearchAdvisor("bm25", **options) if search else ToolCallingAdvisor(**options)
    model = ScriptedChatModel([[ToolCall("1", name, "{}")], "end"])
    message = ChatClient(model, tools=tools, advisors=[advisor]).call("x").messages[1]
    assert not ran
    assert name in message.text  # the same as for a tool that does not exist
