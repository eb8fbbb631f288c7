"""Conversion of return values of tools for the model."""

import concurrent.futures
import dataclasses
import datetime
import decimal
import enum
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from toolsearch.errors import ConfigurationError
from toolsearch.messages import Media
from toolsearch.tools import Tool, convert_result
from toolsearch.tools.results.conversion import apply_converter

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


def convert(value, **options):
    return apply_converter(value, Tool("act", fn=lambda: None, **options))


class Colour(enum.Enum):
    RED = "red"


class Word(enum.StrEnum):
    YES = "yes"


@dataclasses.dataclass
class Point:
    x: int
    y: float


class User(BaseModel):
    name: str
    born: datetime.date


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "Done"),
        ("as it is\n", "as it is\n"),
        ("", ""),
        (Word.YES, "yes"),
        (Colour.RED, "red"),
        (True, "true"),
        (3, "3"),
        (1.5, "1.5"),
        ({"é": [1, None]}, '{"é":[1,null]}'),
        ([], "[]"),
        (("a", 1), '["a",1]'),
        (Point(1, 2.0), '{"x":1,"y":2.0}'),
        ([User(name="Zoë", born=datetime.date(2000, 1, 2))], '[{"name":"Zoë","born":"2000-01-02"}]'),
        ({Colour.RED: decimal.Decimal("1.10")}, '{"red":"1.10"}'),
        (float("nan"), '"NaN"'),
        (b"plain text", "plain text"),
        ({"data": b"\xff"}, '{"data":"_w=="}'),
        (Path("a/b"), '"a/b"'),
        ({3: 1}, '{"3":1}'),
    ],
    ids=str,
)
def test_text_is_kept_and_other_values_become_json(value, text):
    assert convert(value) == (text, ())


def test_other_objects_become_their_text():
    class Thing:
        def __str__(self) -> str:
            return "a thing"

    assert convert({"thing": Thing()}) == ('{"thing":"a thing"}', ())
    assert convert(ValueError("no")) == ('"no"', ())


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no")


class Plain:
    pass


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Broken(), "(a value of type Broken that cannot be shown)"),
        (Plain(), "(a value of type Plain)"),
        (Plain, "(the class Plain)"),
        (len, "(the function len)"),
        (convert, "(the function convert)"),
        (concurrent.futures.Future(), "(a Future that was not awaited)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects_without_text_are_named(value, words):
    assert convert(value) == (f'"{words}"', ())
    assert convert({"value": value}) == (f'{{"value":"{words}"}}', ())


def test_a_coroutine_as_result_is_named_and_closed():
    async def late() -> None:
        """Never run."""

    coroutine = late()
    assert convert([coroutine]) == ('["(the coroutine late, which was not awaited)"]', ())
    with pytest.raises(RuntimeError, match="cannot reuse"):
        coroutine.send(None)


def find_dict() -> dict[str, int] | None: ...
def find_optional() -> Optional[int]: ...  # noqa: UP045
def find_anything() -> Any: ...
def find_unknown() -> "Missing | None": ...  # noqa: F821
def act() -> None: ...
def act_without_annotation(): ...
def act_as_text() -> "None": ...
async def find_later() -> str | None: ...
async def act_later() -> None: ...


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (find_dict, "null"),
        (find_optional, "null"),
        (find_anything, "null"),
        (find_unknown, "null"),
        (find_later, "null"),
        (partial(find_dict), "null"),
        (act, "Done"),
        (act_without_annotation, "Done"),
        (act_as_text, "Done"),
        (act_later, "Done"),
        (partial(act), "Done"),
    ],
)
def test_none_is_null_where_a_value_is_declared(fn, text):
    tool = Tool.from_function(fn, name="find")
    assert convert_result(None, tool) == (text, ())
    assert convert_result(None, tool.renamed("other")) == (text, ())
    assert convert_result(None, Tool("find", fn=fn, parameters={})) == (text, ())


def test_a_tool_can_say_whether_none_is_a_value():
    assert convert_result(None, Tool("find", fn=lambda: None, returns_value=True)) == ("null", ())
    assert convert_result(None, Tool.from_function(find_dict, returns_value=False)) == ("Done", ())


def test_arrays_become_lists():
    class Array:
        def tolist(self) -> list[int]:
            return [1, 2]

    assert convert({"values": Array()}) == ('{"values":[1,2]}', ())


def test_a_circular_reference_does_not_fail_the_call():
    circle: list = []
    circle.append(circle)
    assert convert(circle) == ("[[...]]", ())


def test_sets_are_sorted():
    code = (
        "from toolsearch.tools import Tool, convert_result; "
        "print(convert_result({'tags': {'a', 'b', 'c', 'd', 'e'}}, Tool('t'))[0])"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert seen == {'{"tags":["a","b","c","d","e"]}\n'}


def test_a_set_of_mixed_types_is_sorted():
    assert json.loads(convert({1, "a", None, (2, 3)})[0]) == [None, 1, [2, 3], "a"]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a\xff", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8", "image/webp"),
        (b"%PDF-1.7", "application/pdf"),
        (b"\xff\xfe\xfd", "application/octet-stream"),
    ],
)
def test_bytes_become_media(data, kind):
    for value in (data, bytearray(data), memoryview(data)):
        assert convert(value) == (f"[{kind}, {len(data)} bytes]", (Media(kind, data),))


def test_media_are_kept_and_named_in_the_text():
    link = Media("image/png", url="https://example.com/a.png")
    assert convert(link) == ("[image/png, https://example.com/a.png]", (link,))


def test_a_list_can_mix_text_media_and_data():
    text, media = convert(["Here it is:", PNG, {"size": 2}])
    assert text == 'Here it is:\n[image/png, 16 bytes]\n{"size":2}'
    assert media == (Media("image/png", PNG),)


def test_image_objects_become_png():
    class Image:
        mode, size = "CMYK", (1, 1)

        def convert(self, mode: str) -> "Image":
            self.mode = mode
            return self

        def tobytes(self) -> bytes:
            return b""

        def save(self, file, format: str) -> None:
            file.write(f"{self.mode} as {format}".encode())

    assert convert(Image()) == ("[image/png, 10 bytes]", (Media("image/png", b"RGB as PNG"),))


def test_a_converter_can_take_the_tool_and_delegate():
    def convert_named(value: Any, tool: Tool) -> str:
        return f"{tool.name}: {convert_result(value, tool)[0]}"

    assert convert({"a": 1}, result_converter=convert_named) == ('act: {"a":1}', ())
    assert convert({"a": 1}, result_converter=json.dumps) == ('{"a": 1}', ())
    assert convert(5, result_converter=str) == ("5", ())


def test_result_converter_is_used_first():
    picture = Media("image/png", PNG)
    assert convert(None, result_converter=lambda value: f"got {value}") == ("got None", ())
    assert convert(1, result_converter=lambda _: ("see", picture)) == ("see", (picture,))
    assert convert(1, result_converter=lambda _: ("see", [picture, picture])) == ("see", (picture, picture))


@pytest.mark.parametrize("wrong", [None, 3, ("text", 3), ("text", ["no media"]), ("a", "b"), ["text"]])
def test_invalid_results_of_a_converter_are_rejected(wrong):
    with pytest.raises(ConfigurationError, match="result_converter of tool 'act'"):
        convert(1, result_converter=lambda _: wrong)


@pytest.mark.parametrize("value", ["x\ud800y", {"a": "x\ud800y"}, ["\udfff"], {"\ud800": 1}, Point("\ud800", 1)])
def test_lone_surrogates_are_replaced(value):
    text, _ = convert(value)
    assert "\ufffd" in text
    text.encode()


def test_surrogate_pairs_are_joined():
    assert convert("\ud83d\ude00") == ("😀", ())


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner) | st.tuples(inner, inner),
        max_leaves=10,
    )
)
def test_every_value_becomes_text(value):
    text, media = convert(value)
    text.encode()
    assert all(isinstance(item, Media) for item in media)


class Opaque:
    def __str__(self):
        return "opaque"


def circle():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "types"),
    [(Opaque(), "Opaque"), ([Opaque(), Opaque(), "\ud800"], "Opaque"), (circle(), "list"), ({"a": [1, None]}, None)],
    ids=["object", "list", "circle", "JSON"],
)
def test_an_object_that_json_cannot_express_is_logged(value, types, caplog):
    convert(value)
    assert [record.getMessage() for record in caplog.records] == (
        [f"toolsearch.result_not_json tool=act types={types}"] if types else []
    )


def test_mappings_of_other_kinds_are_objects():
    from types import MappingProxyType, SimpleNamespace

    assert convert_result({"a": MappingProxyType({"b": 1})}, Tool("f")) == ('{"a":{"b":1}}', ())
    assert convert_result(SimpleNamespace(a=[1]), Tool("f")) == ('{"a":[1]}', ())
