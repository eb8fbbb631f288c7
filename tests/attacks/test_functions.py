"""Functions, results and settings as they occur in the wild."""

import copy
import datetime
import enum
import functools
import json
import logging
import pickle
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, SecretStr

from toolsearch import (
    AssistantMessage,
    ChatClient,
    ChatResponse,
    ConfigurationError,
    Media,
    Tool,
    ToolArgumentError,
    ToolContext,
    ToolMessage,
    UserMessage,
)
from toolsearch.chat import ChatRequest, ToolSearchReport
from toolsearch.client import ToolSearchSettings
from toolsearch.memory import TokenWindow
from toolsearch.memory.window import apply_window
from toolsearch.output import JsonOutputConverter
from toolsearch.testing import ScriptedChatModel


class Vehicle(BaseModel):
    wheels: int


class Truck(Vehicle):
    load: str
    key: SecretStr = SecretStr("hush")


class Garage(BaseModel):
    one: Vehicle | None = None
    many: list[Vehicle] = []
    named: dict[str, Vehicle] = {}


@dataclass
class Street:
    garages: list[Garage]


TRUCK = Truck(wheels=6, load="gravel")


@pytest.mark.parametrize(
    "value",
    [
        Garage(one=TRUCK),
        Garage(many=[TRUCK]),
        Garage(named={"a": TRUCK}),
        {"garage": Garage(one=TRUCK)},
        [Garage(many=[TRUCK])],
        Street([Garage(one=TRUCK)]),
    ],
)
def test_fields_of_subclasses_are_in_results(value: Any) -> None:
    def show() -> Any:
        """Show it."""
        return value

    text = ChatClient(ScriptedChatModel([[("show", {})], "ok"]), tools=[show]).call("x").messages[1].text
    assert "gravel" in text
    assert "hush" not in text


DENIED = PermissionError("the places API is off")


@pytest.mark.parametrize(
    "error",
    [
        ExceptionGroup("unhandled", [DENIED]),
        ExceptionGroup("outer", [ExceptionGroup("inner", [DENIED])]),
        ExceptionGroup("two", [ValueError("bad city"), DENIED]),
        ExceptionGroup("many", [DENIED, *(ValueError(str(n)) for n in range(50))]),
    ],
)
def test_errors_in_groups_are_answered(error: Exception) -> None:
    def find() -> str:
        """Find a place."""
        raise error

    client = ChatClient(ScriptedChatModel([[("find", {})], "ok"]), tools=[find])
    answer = client.call("x").messages[1]
    assert "PermissionError: the places API is off" in answer.text
    assert len(answer.text) < 300


def add(a: int, b: int = 1) -> int:
    """Add numbers."""
    return a + b


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_requests_tools_and_responses_can_be_copied(duplicate: Any) -> None:
    tool = duplicate(Tool.from_function(add, annotations={"readOnlyHint": True}, output_schema={"type": "integer"}))
    assert tool.call({"a": "1"}) == 2
    assert (tool.annotations, tool.output_schema) == ({"readOnlyHint": True}, {"type": "integer"})
    assert tool.fingerprint
    plain = duplicate(Tool("add", "Add.", {"type": "object", "properties": {"a": {}}}, add))
    assert plain.call({"a": 1}) == 2
    request = duplicate(ChatRequest(messages=[UserMessage("Hi")], tools=[tool]))
    assert (request.messages[0].text, request.tools[0].call({"a": 1}), request.options) == ("Hi", 2, {})
    context = duplicate(ToolContext({"user": 1}, tool_call_id="c", tenant_id="t"))
    assert (dict(context), context.tool_call_id, context.tenant_id) == ({"user": 1}, "c", "t")
    response = ChatResponse.from_text("ok", tool_search=ToolSearchReport(tokens_avoided=3))
    assert duplicate(response) == response


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_requests_of_a_running_turn_can_be_copied(duplicate: Any) -> None:
    seen = []

    class Copy:
        order = 900

        def advise(self, request: ChatRequest) -> Any:
            seen.append(duplicate(request))
            return (yield request)

    ChatClient(ScriptedChatModel([[("add", {"a": 1})], "ok"]), tools=[add], advisors=[Copy()]).call("x")
    assert [len(request.messages) for request in seen] == [1, 3]


SERVICE = {
    "SERVICE_HOST": "10.0.48.109",
    "SERVICE_PORT": "80",
    "SERVICE_PORT_HTTP": "80",
    "PORT": "tcp://10.0.48.109:80",
    "PORT_80_TCP": "tcp://10.0.48.109:80",
    "PORT_80_TCP_PROTO": "tcp",
    "INDEX_SERVICE_HOST": "10.0.0.1",
    "INDEX_PORT_9200_TCP_ADDR": "10.0.0.1",
    "NAME": "/app/toolsearch",
    "VERSION": "2",
}


def test_variables_of_services_are_ignored(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    for name, value in SERVICE.items():
        monkeypatch.setenv(f"TOOLSEARCH_{name}", value)
    with caplog.at_level(logging.WARNING):
        assert ToolSearchSettings.load() == ToolSearchSettings()
    assert not caplog.records


@pytest.mark.parametrize("field", ["INDEX", "MAX_RESULTS", "PINNED", "EVICTION_TTL", "ENABLED", "ON_LIMIT"])
def test_empty_variables_are_not_set(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    default = ToolSearchSettings.load()
    monkeypatch.setenv(f"TOOLSEARCH_{field}", "")
    assert ToolSearchSettings.load() == default


@pytest.mark.parametrize("name", ["MAX_RESULT", "MAX_RESULTSS", "max_reults"])
def test_misspelt_variables_are_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    monkeypatch.setenv(f"TOOLSEARCH_{name}", "3")
    with caplog.at_level(logging.WARNING):
        ToolSearchSettings.load()
    assert "TOOLSEARCH_MAX_RESULT" in caplog.text
    assert name in caplog.text


IMAGE = Media("image/png", b"\x89PNG" + b"0" * 100_000)


@pytest.mark.parametrize(
    "message",
    [
        lambda medium: UserMessage("see", media=(medium,)),
        lambda medium: ToolMessage("c", "show", "see", media=(medium,)),
    ],
)
@pytest.mark.parametrize(
    "medium", [IMAGE, Media("image/png", url="https://example.org/a.png"), Media("audio/wav", b"a")]
)
def test_token_windows_count_media(message: Any, medium: Media) -> None:
    past = []
    for number in range(40):
        past += [UserMessage(str(number)), message(medium), AssistantMessage("seen")]
    kept = apply_window(past, [UserMessage("now")], TokenWindow(8_000))
    assert 2 <= sum(bool(getattr(one, "media", ())) for one in kept) <= 16
    assert len(apply_window(past, [UserMessage("now")], TokenWindow(8_000, media_tokens=0))) == 120


def test_media_tokens_must_be_a_number() -> None:
    with pytest.raises(ConfigurationError, match="media_tokens"):
        TokenWindow(100, media_tokens=-1)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"
    ONE = 1


class Paint(BaseModel):
    color: Literal[Color.RED, Color.BLUE]


MEMBERS = [
    (Literal[Color.RED], "red", Color.RED),
    (Literal[Color.ONE, "none"], 1, Color.ONE),
    (Literal[Color.ONE, "none"], "none", "none"),
    (Literal[Color.RED] | None, "red", Color.RED),
    (list[Literal[Color.RED, Color.BLUE]], ["red", "blue"], [Color.RED, Color.BLUE]),
    (dict[str, Literal[Color.RED]], {"a": "red"}, {"a": Color.RED}),
    (Paint, {"color": "blue"}, Paint(color=Color.BLUE)),
    (list[Paint | int], [1, {"color": "red"}], [1, Paint(color=Color.RED)]),
]


@pytest.mark.parametrize(("kind", "value", "expected"), MEMBERS)
def test_enum_members_in_literals_are_read_by_value(kind: Any, value: Any, expected: Any) -> None:
    def paint(color):  # type: ignore[no-untyped-def]
        """Paint it."""
        return color

    paint.__annotations__["color"] = kind
    assert Tool.from_function(paint).call({"color": value}) == expected
    converter = JsonOutputConverter(kind)
    wrapped = {"answer": value} if "answer" in converter.schema.get("properties", {}) else value
    assert converter.parse(json.dumps(wrapped)) == expected


@pytest.mark.parametrize("value", ["green", "RED", True, None, ["red"]])
def test_other_values_of_such_literals_are_rejected(value: Any) -> None:
    def paint(color: Literal[Color.RED, Color.ONE]) -> str:
        """Paint it."""
        return color.name

    with pytest.raises(ToolArgumentError, match="color"):
        Tool.from_function(paint).call({"color": value})


class Trip(BaseModel):
    start: datetime.date
    note: str = ""


def test_times_say_how_to_write_them() -> None:
    def book(
        day: datetime.date,
        at: datetime.time | None,
        length: datetime.timedelta,
        trips: list[Trip],
        named: Annotated[datetime.date, Field(description="Of arrival.")],
        documented: datetime.date,
    ) -> str:
        """Book it.

        Args:
            documented: Of departure.
        """
        return str(length)

    tool = Tool.from_function(book)
    shown = tool.parameters["properties"]
    assert shown["day"]["description"] == "ISO 8601 date, e.g. 2027-01-05"
    assert "ISO 8601 time" in json.dumps(shown["at"])
    assert "PT1H30M" in shown["length"]["description"]
    assert "ISO 8601 date" in json.dumps(tool.parameters["$defs"]["Trip"])
    assert shown["named"]["description"] == "Of arrival."
    assert shown["documented"]["description"] == "Of departure."


def test_private_parameters_are_not_shown() -> None:
    client = object()

    def find(query: str, _client: Any = client, *, _limit: int = 3) -> Any:
        """Find it."""
        return query, _client is client, _limit

    tool = Tool.from_function(find)
    assert list(tool.parameters["properties"]) == ["query"]
    assert tool.call({"query": "x"}) == ("x", True, 3)
    with pytest.raises(ToolArgumentError, match="_limit"):
        tool.call({"query": "x", "_limit": 4})


def test_private_parameters_by_position_keep_their_place() -> None:
    def find(query: str, _limit: int = 3, page: int = 1, /) -> Any:
        """Find it."""
        return query, _limit, page

    assert Tool.from_function(find).call({"query": "x", "page": 2}) == ("x", 3, 2)


def test_an_underscore_without_a_default_or_with_a_field_is_shown() -> None:
    def find(_query: str, _page: int = Field(1, description="The page.")) -> Any:
        """Find it."""
        return _query, _page

    tool = Tool.from_function(find)
    assert list(tool.parameters["properties"]) == ["_query", "_page"]
    assert tool.call({"_query": "x"}) == ("x", 1)


def with_user(fn: Any) -> Any:
    """Fill in the user, in a wrapper that names its parameters."""

    @functools.wraps(fn)
    def wrapper(query: str, page: int = 1) -> Any:
        return fn(query, "ann", page)

    return wrapper


def passing_on(fn: Any) -> Any:
    """Pass all arguments on."""

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return wrapper


def search(query: str, user: str, page: int = 1) -> Any:
    """Search it."""
    return query, user, page


@pytest.mark.parametrize("wrapped", [with_user(search), passing_on(with_user(search))])
def test_wrappers_that_fill_in_parameters_hide_them(wrapped: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        tool = Tool.from_function(wrapped)
    assert list(tool.parameters["properties"]) == ["query", "page"]
    assert tool.parameters["properties"]["query"] == {"type": "string"}
    assert tool.call({"query": "x", "page": "2"}) == ("x", "ann", 2)
    assert "wrapper_signature" in caplog.text


@pytest.mark.parametrize("wrapped", [passing_on(search), passing_on(passing_on(search))])
def test_wrappers_that_pass_on_are_read_as_the_function(wrapped: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        tool = Tool.from_function(wrapped)
    assert list(tool.parameters["properties"]) == ["query", "user", "page"]
    assert tool.call({"query": "x", "user": "bob"}) == ("x", "bob", 1)
    assert not caplog.records
