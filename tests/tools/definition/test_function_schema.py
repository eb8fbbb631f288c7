"""Functions as tools: schemas from type hints, and conversion of arguments."""

from __future__ import annotations  # so that every annotation below is a string

# ruff: noqa: UP007, UP045, B008, RUF013 - the old spellings, and pydantic's own, are what is tested
import dataclasses
import datetime
import decimal
import enum
import functools
import json
import uuid
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Optional, Required, TypedDict, Union

import pytest
from jsonschema import Draft202012Validator
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from toolsearch.errors import ConfigurationError, ToolArgumentError
from toolsearch.tools.tool_type import Tool, ToolContext, tool


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    """Where somebody lives."""

    street: str = Field(description="Street and number")
    city: str = "Gouda"


@dataclasses.dataclass
class Node:
    value: int
    children: list[Node] = dataclasses.field(default_factory=list)


class Tree(BaseModel):
    title: str
    format: str = "a4"
    parts: list[Tree] = []


class Row(TypedDict, total=False):
    key: Required[str]
    parent: Row
    rows: list[Row]


class Movie(TypedDict):
    name: str
    year: NotRequired[int]


def schema_of(fn: Callable[..., Any]) -> dict[str, Any]:
    schema = dict(Tool.from_function(fn).parameters)
    Draft202012Validator.check_schema(schema)
    return schema


def properties_of(fn: Callable[..., Any]) -> dict[str, Any]:
    return schema_of(fn)["properties"]


def test_a_function_becomes_a_closed_object_schema():
    def book(
        city: str, nights: int = 1, note: str | None = None, code: Optional[int] = None, loud: Union[bool, None] = True
    ):
        """Book."""

    assert schema_of(book) == {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "nights": {"type": "integer", "default": 1},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "code": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "loud": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "default": True},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_a_nullable_parameter_is_optional():
    def note(text: str | None, mood: Literal["good", None]) -> tuple[str | None, str | None]:
        return text, mood

    assert "required" not in schema_of(note)
    assert Tool.from_function(note).call({}) == (None, None)


def test_a_parameter_of_any_type_is_required():
    def keep(value: Any, other, thing: object):
        return value, other, thing

    assert schema_of(keep)["required"] == ["value", "other", "thing"]
    assert properties_of(keep) == {"value": {}, "other": {}, "thing": {}}
    assert Tool.from_function(keep).call({"value": None, "other": [1], "thing": {"a": 1}}) == (None, [1], {"a": 1})


def test_a_default_of_none_makes_a_parameter_optional_but_not_nullable():
    def find(limit: int = None):  # type: ignore[assignment]  # wrong on purpose
        return limit

    assert properties_of(find) == {"limit": {"type": "integer"}}
    assert Tool.from_function(find).call({}) is None


def test_titles_and_formats_are_omitted_but_not_properties_with_these_names():
    def save(tree: Tree, when: datetime.datetime, id: uuid.UUID, title: str = "t", format: str = "f"):
        """Save."""

    schema = schema_of(save)
    assert set(schema["properties"]) == {"tree", "when", "id", "title", "format"}
    assert schema["properties"]["when"].keys() == {"type", "description"}
    assert schema["properties"]["id"].keys() == {"type", "description"}
    assert set(schema["$defs"]["Tree"]["properties"]) == {"title", "format", "parts"}
    assert '"title": "' not in json.dumps(schema)
    assert '"format": "' not in json.dumps(schema)


def test_definitions_are_at_the_root_and_objects_are_closed():
    def move(to: Address, via: list[Address] | None = None):
        """Move."""

    schema = schema_of(move)
    assert schema["properties"]["to"] == {"$ref": "#/$defs/Address"}
    assert schema["$defs"]["Address"] == {
        "type": "object",
        "description": "Where somebody lives.",
        "properties": {
            "street": {"type": "string", "description": "Street and number"},
            "city": {"type": "string", "default": "Gouda"},
        },
        "required": ["street"],
        "additionalProperties": False,
    }


def test_types_with_the_same_name_get_separate_definitions():
    def local() -> type:
        @dataclasses.dataclass
        class Address:
            zip: str

        return Address

    def move(a: Address, b: Address):
        """Move."""

    move.__annotations__["b"] = local()
    schema = schema_of(move)
    assert len(schema["$defs"]) == 2
    assert schema["properties"]["a"] != schema["properties"]["b"]


def test_a_mapping_keeps_its_own_additional_properties():
    def tag(labels: dict[str, int], free: dict, more: Mapping[str, Address]):
        """Tag."""

    assert properties_of(tag) == {
        "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
        "free": {"type": "object", "additionalProperties": True},
        "more": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Address"}},
    }


def test_a_model_that_allows_extra_fields_stays_open():
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")
        a: int

    @tool
    def use(value: Open):
        """Use."""

    assert schema_of(use)["$defs"]["Open"]["additionalProperties"] is True


def test_recursive_types_are_described():
    def plant(node: Node, tree: Tree, row: Row):
        return node, tree, row

    made = Tool.from_function(plant)
    Draft202012Validator.check_schema(made.parameters)
    node, tree, row = made.call(
        {
            "node": {"value": 1, "children": [{"value": 2}]},
            "tree": {"title": "a", "parts": [{"title": "b"}]},
            "row": {"key": "x", "parent": {"key": "y"}, "rows": [{"key": "z"}]},
        }
    )
    assert node == Node(1, [Node(2)])
    assert tree.parts[0].title == "b"
    assert row == {"key": "x", "parent": {"key": "y"}, "rows": [{"key": "z"}]}


@pytest.mark.parametrize(
    ("annotation", "sent", "received"),
    [
        (Colour, "red", Colour.RED),
        (Literal["a", "b"], "a", "a"),
        (datetime.date, "2025-01-31", datetime.date(2025, 1, 31)),
        (datetime.timedelta, "PT1H", datetime.timedelta(hours=1)),
        (decimal.Decimal, 12.3, decimal.Decimal("12.3")),
        (decimal.Decimal, "0.1", decimal.Decimal("0.1")),
        (set[int], [3, 1], {1, 3}),
        (frozenset[str], ["a"], frozenset("a")),
        (tuple[int, str], [1, "x"], (1, "x")),
        (tuple[int, ...], [1, 2], (1, 2)),
        (Sequence[int], [1, 2], [1, 2]),
        (Iterable[int], [1, 2], [1, 2]),
        (Collection[int], [1, 2], [1, 2]),
        (Iterable[Movie] | None, [{"name": "Up"}], [{"name": "Up"}]),
        (Iterable, [1, "a"], [1, "a"]),
        (Movie, {"name": "Up"}, {"name": "Up"}),
        (dict[str, Movie], {"a": {"name": "Up"}}, {"a": {"name": "Up"}}),
        (list[Address], [{"street": "Markt 1"}], [Address(street="Markt 1")]),
        (Union[int, str], "a", "a"),
        (Optional[Address], None, None),
        (Path, "/tmp/x", Path("/tmp/x")),
        (bytes, "é", "é".encode()),
        (float, 1, 1.0),
        (Annotated[int, Field(ge=1)], 1, 1),
    ],
    ids=str,
)
def test_values_arrive_as_the_annotated_type(annotation, sent, received):
    def take(value):
        return value

    take.__annotations__["value"] = annotation
    made = Tool.from_function(take)
    Draft202012Validator(made.parameters).validate({"value": sent})
    got = made.call({"value": sent})
    assert got == received
    assert type(got) is type(received)
    assert made.call({"value": received}) == received  # values that already have the type pass too


def test_a_strict_model_accepts_dates_as_strings():
    class Stamp(BaseModel):
        model_config = ConfigDict(strict=True)
        at: datetime.datetime

    @tool
    def stamp(value: Stamp) -> int:
        return value.at.year

    assert Tool.from_function(stamp).call({"value": {"at": "2025-01-01T00:00:00"}}) == 2025


def test_descriptions_come_from_annotations_before_docstrings():
    def find(
        city: Annotated[str, "The place"],
        day: Annotated[int, Field(description="Which day", ge=0, le=6)],
        unit: str = "C",
        address: Annotated[Address | None, Field(description="Near")] = None,
    ):
        """Find a forecast.

        Args:
            city: not this
            day: nor this
            unit: C or F
        """

    properties = properties_of(find)
    assert properties["city"] == {"type": "string", "description": "The place"}
    assert properties["day"] == {"type": "integer", "description": "Which day", "minimum": 0, "maximum": 6}
    assert properties["unit"] == {"type": "string", "default": "C", "description": "C or F"}
    assert properties["address"]["description"] == "Near"
    assert Tool.from_function(find).description == "Find a forecast."


def test_a_field_as_default_gives_description_and_default():
    def find(
        city: str = Field(description="Where"),
        days: int = Field(3, le=9),
        tags: list[str] = Field(default_factory=list),
    ):
        return city, days, tags

    made = Tool.from_function(find)
    assert made.parameters["required"] == ["city"]
    assert made.parameters["properties"]["city"] == {"type": "string", "description": "Where"}
    assert made.parameters["properties"]["days"] == {"type": "integer", "default": 3, "maximum": 9}
    assert made.call({"city": "Gouda"}) == ("Gouda", 3, [])


def test_an_alias_is_the_name_for_the_model():
    def find(class_: Annotated[str, Field(alias="class")], from_: int = Field(0, alias="from")):
        return class_, from_

    made = Tool.from_function(find)
    assert list(made.parameters["properties"]) == ["class", "from"]
    assert made.call({"class": "a"}) == ("a", 0)
    assert made.call({"class": "a", "from": 2}) == ("a", 2)


def test_defaults_are_json_or_omitted():
    marker = object()

    def use(
        colour: Colour = Colour.RED,
        day: datetime.date = datetime.date(2025, 1, 1),
        node: Node = Node(1),
        scale: float = float("inf"),
        thing: Any = marker,
        values: Sequence[int] = (1, 2),
    ):
        return colour, day, node, scale, thing, values

    properties = properties_of(use)
    assert properties["colour"]["default"] == "red"
    assert properties["day"]["default"] == "2025-01-01"
    assert properties["node"]["default"] == {"value": 1, "children": []}
    assert "default" not in properties["scale"]
    assert "default" not in properties["thing"]
    assert properties["values"]["default"] == [1, 2]
    assert Tool.from_function(use).call({})[4] is marker


def test_a_field_default_that_is_not_json_is_omitted_without_a_warning():
    class Settings(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        scale: Any = object()

    @tool
    def use(settings: Settings):
        """Use."""

    assert schema_of(use)["$defs"]["Settings"]["properties"] == {"scale": {}}


class Arbitrary:
    pass


@pytest.mark.parametrize(
    "annotation",
    [
        Callable,
        Callable[[int], str],
        "Callable[[int], str] | None",
        list[Callable[[], int]],
        str | Callable[[], int],
        Iterator[int],
        Generator[int, None, None],
        AsyncIterator[int],
        Awaitable[int],
        type,
        type[int],
        Arbitrary,
        dict[str, Arbitrary],
        Annotated[Arbitrary, "a thing"],
        "NoSuchType",
    ],
    ids=str,
)
def test_an_unsupported_type_is_rejected_with_function_and_parameter(annotation):
    def act(good: int, bad):
        """Act."""

    act.__annotations__["bad"] = annotation
    with pytest.raises(ConfigurationError, match=r"parameter 'bad' of .*act"):
        Tool.from_function(act)


@dataclasses.dataclass
class Job:
    run: Callable[[], int]


class Feed(BaseModel):
    lines: Iterable[str]


class Either(BaseModel):
    work: str | Callable[[], int]


@pytest.mark.parametrize("holder", [Job, Feed, Either, list[Job]])
def test_an_unsupported_type_inside_a_model_is_rejected(holder):
    def act(good: int, bad):
        """Act."""

    act.__annotations__["bad"] = holder
    with pytest.raises(ConfigurationError, match=r"parameter 'bad' of .*act has the type .*(Callable|generator)"):
        Tool.from_function(act)


@pytest.mark.parametrize(
    ("variadic", "shown"),
    [
        (lambda x, *args: x, r"\*args"),
        (lambda x, **options: x, r"\*\*options"),
        (lambda **options: 1, r"\*\*options"),
    ],
)
def test_variadic_parameters_are_rejected(variadic, shown):
    with pytest.raises(ConfigurationError, match=f"takes {shown},"):
        Tool.from_function(variadic, name="act")


def test_the_return_annotation_is_ignored():
    def act(a: int) -> NoSuchType:  # type: ignore[name-defined]  # noqa: F821
        return a

    assert Tool.from_function(act).call({"a": 1}) == 1


def test_the_context_is_injected_and_not_in_the_schema():
    def act(ctx: ToolContext, a: int, other: ToolContext | None = None, *, last: Annotated[ToolContext, "x"]):
        return ctx["user"], a, other is ctx, last is ctx

    made = Tool.from_function(act)
    assert list(made.parameters["properties"]) == ["a"]
    assert made.call({"a": 1}, ToolContext({"user": 7})) == (7, 1, True, True)


def test_positional_only_parameters_work_with_and_without_their_defaults():
    def act(a: int, ctx: ToolContext, b: int = 2, c: str | None = None, /, d: int = 4):
        return a, b, c, d

    made = Tool.from_function(act)
    assert made.call({"a": 1}) == (1, 2, None, 4)
    assert made.call({"a": 1, "c": "x", "d": 5}) == (1, 2, "x", 5)


def test_a_default_is_neither_copied_nor_converted():
    shared: list[int] = []

    def act(values: list[int] = shared):
        return values

    assert Tool.from_function(act).call({}) is shared


def test_arguments_of_a_partial_are_not_in_the_schema():
    def act(a: int, b: int, c: int = 3):
        """Add."""
        return a + b + c

    made = Tool.from_function(functools.partial(act, 1, c=5))
    assert made.name == "act"
    assert made.description == "Add."
    assert list(made.parameters["properties"]) == ["b"]
    assert made.call({"b": 2}) == 8


def test_all_wrong_values_are_named_with_their_values():
    def act(day: datetime.date, node: Node, colour: Colour = Colour.RED):
        return day

    with pytest.raises(ToolArgumentError) as caught:
        Tool.from_function(act).call({"day": "soon", "node": {"value": "x"}, "colour": "green", "color": 1})
    text = str(caught.value)
    assert text.startswith("Invalid arguments for act:\n")
    assert "'day': " in text
    assert 'got "soon"' in text
    assert "'node.value': " in text
    assert "'colour': " in text
    assert "'color': unknown argument; did you mean 'colour'?" in text
    assert text.endswith("Required: day, node. All arguments: day, node, colour.")


def test_a_missing_argument_is_named():
    def act(a: int, b: int):
        """Act."""

    with pytest.raises(ToolArgumentError, match="'b': required, but missing"):
        Tool.from_function(act).call({"a": 1})


def test_the_message_of_a_validator_reaches_the_model():
    def even(value: int) -> int:
        if value % 2:
            raise ValueError("must be even")
        return value

    @tool
    def act(n: Annotated[int, AfterValidator(even)]):
        return n

    with pytest.raises(ToolArgumentError, match=r"'n': .*must be even, got 3"):
        Tool.from_function(act).call({"n": 3})


def test_a_local_type_of_an_unmarked_function_is_rejected_with_advice():
    class Local(BaseModel):
        a: int

    def act(value: Local) -> int:
        return value.a

    with pytest.raises(ConfigurationError, match=r"'Local' of parameter 'value'.*mark the function with @tool"):
        Tool.from_function(act)


def test_a_marked_function_resolves_local_types():
    def make() -> Callable[..., Any]:
        class Local(BaseModel):
            a: int

        @tool
        def act(value: list[Local]) -> int:
            return value[0].a

        return act

    assert Tool.from_function(make()).call({"value": [{"a": 3}]}) == 3


def test_a_wrapped_function_has_the_signature_of_the_inner_one():
    def logged(fn: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fn)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return ["logged", fn(*args, **kwargs)]

        return wrapper

    @logged
    def act(value: Colour) -> Colour:
        """Act."""
        return value

    assert Tool.from_function(act).call({"value": "blue"}) == ["logged", Colour.BLUE]


def test_a_cached_description_does_not_keep_its_function_alive():
    import gc
    import weakref

    def make() -> weakref.ref[Any]:
        def act(a: int) -> int:
            return a

        assert Tool.from_function(act).call({"a": 1}) == 1
        return weakref.ref(act)

    gone = make()
    gc.collect()
    assert gone() is None


def test_the_schema_of_a_function_is_deterministic():
    def act(b: Colour, a: Address, c: Row):
        """Act."""

    first, second = Tool.from_function(act), Tool.from_function(functools.partial(act))
    assert json.dumps(first.parameters) == json.dumps(second.parameters)


def test_annotated_others_accept_further_arguments() -> None:
    def report(kind: str, context: ToolContext, **fields: int) -> str:
        return f"{kind} {sorted(fields.items())} {context.tool_name}"

    made = Tool.from_function(report)
    assert made.parameters["additionalProperties"] == {"type": "integer"}
    assert made.parameters["required"] == ["kind"]
    assert made.call({"kind": "sales", "year": 2027, "quarter": "3"}) == "sales [('quarter', 3), ('year', 2027)] report"
    with pytest.raises(ToolArgumentError, match=r"'year': .*valid integer"):
        made.call({"kind": "sales", "year": "x"})


def test_others_of_any_type_are_open() -> None:
    def report(**fields: Any) -> int:
        return len(fields)

    made = Tool.from_function(report)
    assert made.parameters["additionalProperties"] is True
    assert made.call({"a": 1, "b": [2]}) == 2


def test_a_further_argument_cannot_take_the_place_of_a_parameter() -> None:
    """The model must not be able to pass the context, or an argument twice."""

    def report(name: Annotated[str, Field(alias="title")], context: ToolContext, **fields: Any) -> str:
        return f"{name} {context.tool_name}"

    made = Tool.from_function(report)
    for taken in ("context", "name"):
        with pytest.raises(ToolArgumentError, match=f"{taken!r}: unknown argument"):
            made.call({"title": "a", taken: {"tenant_id": "other"}})
    assert made.call({"title": "a", "more": 1}) == "a report"
