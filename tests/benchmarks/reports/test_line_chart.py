"""Line charts as SVG: from zero, inside the picture, and text that stays text."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.benchmarks.reports.line_chart import Line, line_chart, ticks

SVG = "{http://www.w3.org/2000/svg}"


def places(line: Line, **more: float) -> list[tuple[float, float]]:
    """Where the points of a line are drawn."""
    tree = ET.fromstring(line_chart("title", [line], across="x", up="y", **more))
    (drawn,) = tree.iter(f"{SVG}polyline")
    return [(float(x), float(y)) for x, y in (point.split(",") for point in drawn.get("points", "").split())]


def test_equal_steps_are_equally_far_apart_and_up_is_up() -> None:
    (x0, y0), (x1, y1), (x2, y2) = places(Line("l", [(0, 0), (5, 50), (10, 100)]))
    assert x1 - x0 == pytest.approx(x2 - x1)
    assert y0 - y1 == pytest.approx(y1 - y2)
    assert y0 > y1


@pytest.mark.parametrize("points", [[], [(0, 0)], [(0, 0), (1, 0)], [(0, 5), (0, 5)]])
def test_flat_lines_and_none_are_drawn(points: list[tuple[float, float]]) -> None:
    assert len(places(Line("l", points))) == len(points)


@given(st.floats(1e-3, 1e9))
def test_ticks_are_whole_few_and_within(most: float) -> None:
    found = ticks(most)
    assert found[0] == 0
    assert found[-1] <= most
    assert len(found) <= 7
    assert all(isinstance(tick, int) for tick in found)
    assert len({b - a for a, b in pairwise(found)}) <= 1


@given(st.text(st.characters(), max_size=30))
def test_any_text_is_shown_and_never_markup(text: str) -> None:
    lines = [Line(text, [(0, 1), (2, 3)])]
    tree = ET.fromstring(line_chart(text, lines, across=text, up=text, mark=1, mark_text=text).encode())
    assert {child.tag for child in tree.iter()} == {
        f"{SVG}{tag}" for tag in ("svg", "title", "rect", "text", "line", "polyline")
    }


@pytest.mark.parametrize(("mark", "side"), [(1, None), (9, "end")])
def test_the_words_of_a_mark_stand_where_there_is_room(mark: float, side: str | None) -> None:
    tree = ET.fromstring(
        line_chart("t", [Line("l", [(0, 0), (10, 1)])], across="x", up="y", mark=mark, mark_text="here")
    )
    (words,) = (text for text in tree.iter(f"{SVG}text") if text.text == "here")
    assert words.get("text-anchor") == side
