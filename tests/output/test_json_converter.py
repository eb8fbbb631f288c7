"""JSON answers: extraction, parsing as any type, and schemas."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import enum
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, TypeAdapter
from typing_extensions import TypedDict

from toolsearch import ConfigurationError, OutputError
from toolsearch.chat import OutputSchema
from toolsearch.models.openai.strict_schema import response_format, strict_schema
from toolsearch.output import JsonOutputConverter, TextOutputConverter, converter_for, fenced_blocks, unfenced


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class City(BaseModel):
    """A place."""

    name: str
    inhabitants: int = 0


@dataclasses.dataclass
class Trip:
    city: City
    days: list[dt.date]
    budget: Decimal | None = None


class Person(TypedDict):
    name: str
    nick: NotRequired[str]


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]

CITY = '{"name": "Gouda", "inhabitants": 75000}'
GOUDA = City(name="Gouda", inhabitants=75000)


@pytest.mark.parametrize(
    "text",
    [
        CITY,
        f"  \n\ufeff{CITY}\n ",
        f"```json\n{CITY}\n```",
        f"```\n{CITY}\n```",
        f"~~~json\r\n{CITY}\r\n~~~",
        f"````json\n{CITY}\n````",
        f"```json {CITY}```",
        f"```json\n{CITY}",
        f"Sure! Here is the city you asked for:\n\n```json\n{CITY}\n```\n\nAnything else?",
        f"Sure! {CITY} Hope that helps {{:",
        f"<think>Maybe {{}} or [1]? {{'no'</think>\n\n{CITY}",
        f"As [1] and [the map] say: {CITY}",
        f"Use {{name}} like {{ this }}: {CITY}",
        f'The schema is\n```json\n{{"type": "object"}}\n```\nand so\n```json\n{CITY}\n```\n',
        f'Not {{"name": 3}}, but {CITY}',
        f"[see below {CITY}",
        '{"name": "Gouda", "inhabitants": "75000", "province": "Zuid-Holland"}',
    ],
)
def test_json_is_found_in_surrounding_text(text: str) -> None:
    assert JsonOutputConverter(City).parse(text) == GOUDA


def test_the_first_fenced_block_that_fits_is_used() -> None:
    text = '```json\n{"nam": 1}\n```\n```json\n{"name": "Delft"}\n```\n```json\n{"name": "Gouda"}\n```'
    assert JsonOutputConverter(City).parse(text) == City(name="Delft")


def test_a_fenced_block_precedes_json_in_the_text() -> None:
    text = 'With {"a": 1} you mean:\n```json\n{"b": 2}\n```'
    assert JsonOutputConverter(dict).parse(text) == {"b": 2}


def test_fences_and_reasoning_tags_inside_the_json_are_part_of_it() -> None:
    text = json.dumps({"code": "```json\n{}\n```", "tag": "</think>"})
    assert JsonOutputConverter(dict).parse(text) == json.loads(text)
    assert JsonOutputConverter(dict).parse(f"```json\n{text}\n```") == json.loads(text)


def test_line_breaks_inside_strings_are_accepted() -> None:
    assert JsonOutputConverter(City).parse('{"name": "Den\nHaag"}') == City(name="Den\nHaag")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("I do not know.", "there is none in it"),
        ('{"name": "Gouda", "near": {"name": "Delft"}, ', "the JSON is invalid"),
        ('{"name": "Gouda", "near": {"name": "Delft"}', "the JSON is invalid"),
        ('{"near": {"name": "Delft"}, oops}', "the JSON is invalid"),
        ('{oops: 1, "near": {"name": "Delft"}}', "the JSON is invalid"),
        ('{\'near\': {"name": "Delft"}}', "the JSON is invalid"),
        ('[{"name": "Gouda"}, {"name": ', "the JSON is invalid"),
        ('{"unended [{"name": "Delft"}', "the JSON is invalid"),
        ("[" * 100_000, "nested too deeply"),
        ('{"name": ' + "9" * 5000 + "}", "the JSON cannot be parsed"),
    ],
)
def test_values_inside_invalid_json_are_not_used(text: str, says: str) -> None:
    with pytest.raises(OutputError, match=says) as raised:
        JsonOutputConverter(dict).parse(text)
    assert len(str(raised.value)) < 500


def test_problems_name_each_field_of_the_longest_value() -> None:
    with pytest.raises(OutputError) as raised:
        JsonOutputConverter(Trip).parse('Like [1]: {"city": {"inhabitants": "many"}, "days": ["2025-01-01", "soon"]}')
    text = str(raised.value)
    assert all(path in text for path in ("'city.name'", "'city.inhabitants'", "'days[1]'"))
    assert '"many"' in text


def test_long_lists_of_problems_are_cut() -> None:
    with pytest.raises(OutputError, match="and 92 more"):
        JsonOutputConverter(list[int]).parse(json.dumps(["x"] * 100))


def test_a_problem_of_the_whole_answer_is_named() -> None:
    with pytest.raises(OutputError, match="the answer: Input should be a valid array"):
        JsonOutputConverter(list[int]).parse("{}")


@pytest.mark.parametrize(
    ("output", "text", "value"),
    [
        (City, CITY, GOUDA),
        (Trip, f'{{"city": {CITY}, "days": ["2025-06-01"]}}', Trip(GOUDA, [dt.date(2025, 6, 1)])),
        (Person, '{"name": "Ann"}', {"name": "Ann"}),
        (list[City], f"[{CITY}]", [GOUDA]),
        (list[City], f'{{"answer": [{CITY}]}}', [GOUDA]),
        (dict, '{"answer": 1}', {"answer": 1}),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (list, '[1, "a"]', [1, "a"]),
        (tuple[int, str], '[1, "a"]', (1, "a")),
        (set[int], "[1, 1]", {1}),
        (int, "42", 42),
        (int, "**42**", 42),
        (int, '{"answer": 42}', 42),
        (float, "```\n4.5\n```", 4.5),
        (bool, "true", True),
        (bool, "True.", True),
        (Decimal, '{"answer": 1.10}', Decimal("1.10")),
        (dt.date, "2025-06-01", dt.date(2025, 6, 1)),
        (Literal["yes", "no"], "yes", "yes"),
        (Literal["yes", "no"], '"no"', "no"),
        (Literal["yes", "no"], "`yes`.", "yes"),
        (Colour, "red", Colour.RED),
        (City | None, "null", None),
        (City | None, CITY, GOUDA),
        (Optional[City], f'{{"answer": {CITY}}}', GOUDA),  # noqa: UP045
        (int | list[int], '{"answer": [3]}', [3]),
        (Cat | Dog, '{"kind": "dog", "tricks": []}', Dog(kind="dog", tricks=[])),
        (Pet, '{"answer": {"kind": "cat", "lives": 9}}', Cat(kind="cat", lives=9)),
        (Node, '{"value": 1, "children": [{"value": 2}]}', Node(value=1, children=[Node(value=2)])),
        (Any, '{"a": [1]}', {"a": [1]}),
        (RootModel[list[int]], "[1]", RootModel[list[int]]([1])),
        (TypeAdapter(list[int]), "[1]", [1]),
        (str, "Hello {", "Hello {"),
    ],
)
def test_every_kind_of_type_is_parsed(output: object, text: str, value: object) -> None:
    parsed = converter_for(output).parse(text)
    assert parsed == value
    assert type(parsed) is type(value)


def test_strict_types_are_validated_as_json() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True, extra="forbid")
        day: dt.date

    converter = JsonOutputConverter(Strict)
    assert converter.parse('{"day": "2025-06-01"}') == Strict(day=dt.date(2025, 6, 1))
    with pytest.raises(OutputError, match="Extra inputs"):
        converter.parse('{"day": "2025-06-01", "more": 1}')


def test_a_lone_surrogate_is_reported_to_the_model() -> None:
    assert JsonOutputConverter(dict).parse('{"a": "\\ud83d"}') == {"a": "\ud83d"}
    assert JsonOutputConverter(dict).parse('{"a": "\ud83d"}') == {"a": "\ud83d"}
    with pytest.raises(OutputError):
        JsonOutputConverter(City).parse("\ud83d")


def test_an_error_in_the_code_of_a_type_is_raised() -> None:
    @dataclasses.dataclass
    class Faulty:
        name: str

        def __post_init__(self) -> None:
            raise KeyError(self.name)

    with pytest.raises(KeyError):
        JsonOutputConverter(Faulty).parse('{"name": "x"}')


@pytest.mark.parametrize("output", [Callable[[], int], list[type], object(), 3, bytes.join])
def test_unsupported_types_are_rejected(output: object) -> None:
    with pytest.raises(ConfigurationError, match="the output type must be one that JSON can express"):
        converter_for(output)


def test_a_converter_class_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match="must be an instance of a converter"):
        converter_for(TextOutputConverter)


def test_converters_are_cached_and_unhashable_types_work() -> None:
    assert converter_for(list[City]) is converter_for(list[City])
    assert converter_for(list[int]) is not converter_for(list[str])
    unhashable = Annotated[list[int], Field(max_length=2, json_schema_extra={"examples": [[1]]}), []]
    assert converter_for(unhashable).parse("[1]") == [1]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4) | st.lists(VALUES, max_size=4)
PROSE = st.text(st.characters(exclude_characters='{}[]`~<>"', exclude_categories=["Cs"]))


@given(value=OBJECTS, preface=PROSE, after=PROSE, fenced=st.booleans(), ascii=st.booleans())
def test_json_in_prose_round_trips(value: Any, preface: str, after: str, fenced: bool, ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii)
    body = f"{preface}\n```json\n{text}\n```\n{after}" if fenced else f"{preface}{text}{after}"
    assert JsonOutputConverter(list[Any] | dict[str, Any]).parse(body) == wrapped_once(value)


def wrapped_once(value: Any) -> Any:
    return value["answer"] if isinstance(value, dict) and value.keys() == {"answer"} else value


@given(value=st.builds(City, name=st.text(), inhabitants=st.integers(-(2**60), 2**60)), indent=st.none() | st.just(2))
def test_dumped_models_round_trip(value: City, indent: int | None) -> None:
    assert JsonOutputConverter(City).parse(f"Here:\n```\n{value.model_dump_json(indent=indent)}\n```") == value


@given(text=st.text() | st.text("{}[]\"'`:,\\ a1\n"))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    for output in (dict, list, City, int, City | None):
        with contextlib.suppress(OutputError):
            assert isinstance(JsonOutputConverter(output).parse(text), output)


@given(value=OBJECTS, cut=st.integers(0, 10_000))
def test_parts_of_a_truncated_answer_are_not_used(value: Any, cut: int) -> None:
    text = json.dumps(value)
    cut = cut % len(text)
    with pytest.raises(OutputError):
        JsonOutputConverter(list[Any] | dict[str, Any]).parse(text[:cut])


def test_the_schema_is_an_object_with_its_definitions_at_the_root() -> None:
    for output in (City, Trip, Person, Node, list[Node], Pet, int, Any, dict, RootModel[list[City]]):
        schema = JsonOutputConverter(output).schema
        assert schema["type"] == "object"
        assert "title" not in schema
        assert '"$defs"' not in json.dumps({key: value for key, value in schema.items() if key != "$defs"})


def test_schemas_are_closed_and_keep_formats() -> None:
    schema = JsonOutputConverter(Trip).schema
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["City"]["additionalProperties"] is False
    assert schema["properties"]["days"]["items"] == {"type": "string", "format": "date"}
    assert schema["required"] == ["city", "days"]


def test_instructions_wrap_only_ambiguous_types() -> None:
    assert '"answer"' not in JsonOutputConverter(list[int]).instructions
    assert '"answer"' not in JsonOutputConverter(City).instructions
    assert '"answer"' in JsonOutputConverter(City | dict[str, int]).instructions


@pytest.mark.parametrize("output", [City, Trip, Node, list[Node], Pet, Colour, int, Literal["a", "b"], list[str]])
def test_strict_schemas_require_all_properties_and_close_objects(output: object) -> None:
    strict = strict_schema(JsonOutputConverter(output).schema)
    assert strict is not None
    for part in parts(strict):
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
        assert not part.keys() & {"default", "oneOf", "allOf", "discriminator", "title", "minLength", "maxLength"}
        assert "(?" not in part.get("pattern", "")


@pytest.mark.parametrize(
    "output", [dict, dict[str, int], Person, Any, tuple[int, str], list[Any], list[dict[str, int]]], ids=str
)
def test_schemas_that_strict_mode_would_change_are_sent_unchanged(output: object) -> None:
    converter = JsonOutputConverter(output)
    form = response_format(OutputSchema("x", converter.schema))
    assert form == {"type": "json_schema", "json_schema": {"name": "x", "schema": converter.schema, "strict": False}}


def test_properties_named_like_keywords_are_kept() -> None:
    class Odd(BaseModel):
        title: str
        default: str
        format: str

    strict = strict_schema(JsonOutputConverter(Odd).schema)
    assert strict is not None
    assert strict["required"] == ["title", "default", "format"]


def test_strict_schemas_work_for_schemas_of_any_origin() -> None:
    def of(schema: object) -> Any:
        return strict_schema({"type": "object", "properties": {"a": schema}, "required": ["a"]})

    assert of({"allOf": [{"type": "string"}], "description": "d"})["properties"]["a"] == {
        "type": "string",
        "description": "d",
    }
    for beyond in (True, {}, {"type": ["object", "null"]}, {"type": "array"}, {"not": {}}, {"allOf": [{}, {}]}):
        assert of(beyond) is None
    assert strict_schema({"type": "array", "items": {"type": "string"}}) is None


def parts(schema: Any) -> list[dict[str, Any]]:
    """Yield every schema within a schema."""
    found = [schema]
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            found += [part for member in value.values() for part in parts(member)]
        elif key == "items":
            found += parts(value)
        elif key == "anyOf":
            found += [part for member in value for part in parts(member)]
    return found


def test_fenced_blocks_are_found_for_other_formats() -> None:
    assert fenced_blocks("none") == []
    assert fenced_blocks("```yaml\na: |\n  ```x\n```\n\n~~~\nb\n~~~") == ["a: |\n  ```x", "b"]
    assert unfenced("<think>```\nno\n```</think>a: 1 ") == "a: 1"
    assert unfenced("Here:\n```csv\na,b\n```") == "a,b"
