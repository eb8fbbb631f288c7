"""Strings for messages and requests: surrogates replaced, long values cut."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.text import clip, one_line, replace_surrogates, replace_surrogates_in, short_json, short_repr

any_text = st.text(st.characters(), max_size=300)


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@given(any_text)
def test_replaced_surrogates_leave_text_that_utf8_can_encode(text: str) -> None:
    replaced = replace_surrogates(text)
    replaced.encode()
    try:
        text.encode()
    except UnicodeEncodeError:
        assert "\ufffd" in replaced or len(replaced) < len(text)
    else:
        assert replaced == text


def test_a_surrogate_pair_becomes_its_character() -> None:
    assert replace_surrogates("\ud83d\ude80") == "\U0001f680"


def test_surrogates_are_replaced_in_keys_and_values_in_order() -> None:
    cleaned = replace_surrogates_in({"b\ud800": [1, "\udfff"], "a": ("x", None)})
    assert list(cleaned.items()) == [("b\ufffd", [1, "\ufffd"]), ("a", ["x", None])]


@given(any_text, st.integers(5, 100))
def test_a_short_repr_of_a_string_is_quoted_and_bounded(text: str, max_length: int) -> None:
    shown = short_repr(text, max_length)
    assert len(shown) <= max_length
    assert shown[0] == shown[-1]
    assert shown[0] in "'\""
    assert shown == repr(text) if len(repr(text)) <= max_length else "…" in shown


def deeply_nested() -> list[Any]:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    return nested


@pytest.mark.parametrize("value", [Unprintable(), deeply_nested(), {"a": {1, 2}}, float("nan"), b"\xff"], ids=type)
def test_any_value_has_a_short_form(value: object) -> None:
    assert 0 < len(short_repr(value, 20)) <= 20
    assert 0 < len(short_json(value, 20)) <= 20


@given(any_text, st.integers(1, 50))
def test_clipped_text_is_a_prefix(text: str, max_length: int) -> None:
    clipped = clip(text, max_length)
    assert len(clipped) <= max_length
    assert text.startswith(clipped.removesuffix("…"))


def test_one_line_has_no_line_breaks() -> None:
    assert one_line(" first\n\tsecond\u2028third ", 14) == "first second …"
