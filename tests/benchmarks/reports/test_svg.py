"""Bar charts as SVG: well-formed whatever the labels, and lengths that say what the values say."""

from __future__ import annotations

import importlib.util
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.benchmarks.reports.svg import Bar, Panel, check_image, figure, plain, write_image
from toolsearch.errors import ConfigurationError, MissingExtraError

SVG = "{http://www.w3.org/2000/svg}"


def widths(panel: Panel) -> list[float]:
    """The lengths of the bars; the first rectangle is the paper."""
    tree = ET.fromstring(figure("title", [panel]))
    return [float(rect.get("width", "nan")) for rect in tree.iter(f"{SVG}rect")][1:]


def test_a_bar_is_as_long_as_its_value_is_large() -> None:
    longest, half, none = widths(Panel("p", [Bar("a", 10, "10"), Bar("b", 5, "5"), Bar("c", 0, "0")]))
    assert half == pytest.approx(longest / 2)
    assert none == 0


def test_the_full_length_may_be_given() -> None:
    (all_of_it,) = widths(Panel("p", [Bar("a", 0.5, "50 %")]))
    (half,) = widths(Panel("p", [Bar("a", 0.5, "50 %")], most=1.0))
    assert half == pytest.approx(all_of_it / 2)


def test_by_the_logarithm_equal_factors_are_equal_steps() -> None:
    hundred, ten, one = widths(Panel("p", [Bar("a", 100, ""), Bar("b", 10, ""), Bar("c", 1, "")], log=True))
    assert hundred - ten == pytest.approx(ten - one, abs=0.2)
    assert one > 0


@pytest.mark.parametrize("value", [None, 0.0, -3.0, float("nan"), float("inf")])
@pytest.mark.parametrize("log", [True, False])
def test_a_value_that_has_no_length_has_none(value: float | None, log: bool) -> None:
    assert widths(Panel("p", [Bar("a", value, "?"), Bar("b", 4, "4")], log=log))[0] == 0
    assert widths(Panel("p", [Bar("a", value, "?")], log=log)) == [0]


@given(st.text(st.characters(), max_size=30))
def test_any_text_is_shown_and_never_markup(text: str) -> None:
    """Surrogates and control characters too, which XML cannot hold."""
    document = figure(text, [Panel(text, [Bar(text, 1, text)])])
    tree = ET.fromstring(document.encode("utf-8"))
    assert {child.tag for child in tree.iter()} == {
        f"{SVG}{tag}" for tag in ("svg", "title", "rect", "text", "g", "line")
    }


def test_markup_in_labels_is_escaped() -> None:
    assert plain("<b>\"'&\x00\ud800") == "&lt;b&gt;&quot;&#x27;&amp;\ufffd\ufffd"


def test_panels_stand_side_by_side() -> None:
    panel = Panel("p", [Bar("a", 1, "1")])
    two, one = (ET.fromstring(figure("t", [panel, panel], columns=columns)) for columns in (2, 1))
    assert int(two.get("width", "")) > int(one.get("width", ""))
    assert int(two.get("height", "")) < int(one.get("height", ""))


def test_a_plot_is_written_by_the_ending_of_its_name(tmp_path: Path) -> None:
    document = figure("t", [Panel("p", [Bar("a", 1, "1")])])
    write_image(document, tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_text("utf-8") == document
    with pytest.raises(ConfigurationError, match=r"\.svg or \.png"):
        write_image(document, tmp_path / "plot.gif")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_image(document, tmp_path / "none" / "plot.svg")


def test_without_the_extra_a_png_is_refused_before_there_is_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    check_image(Path("plot.svg"))
    with pytest.raises(MissingExtraError, match="plot"):
        check_image(Path("plot.PNG"))


def test_a_png_needs_the_extra_and_says_so(tmp_path: Path) -> None:
    document, path = figure("t", [Panel("p", [Bar("a", 1, "1")])]), tmp_path / "plot.png"
    if importlib.util.find_spec("resvg_py") is None:
        with pytest.raises(MissingExtraError, match="plot"):
            write_image(document, path)
    else:
        write_image(document, path)
        assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("label", "cut"), [("a" * 18, False), ("a" * 19, True), ("検" * 9, False), ("検" * 10, True)])
def test_a_label_too_long_for_its_room_is_cut_and_told_whole(label: str, cut: bool) -> None:
    tree = ET.fromstring(figure("t", [Panel("p", [Bar(label, 1, "1")])]))
    (text,) = (text for text in tree.iter(f"{SVG}text") if (text.text or "").startswith(label[:3]))
    assert (text.text != label) == cut
    assert text.findtext(f"{SVG}title") == (label if cut else None)


def test_room_for_longer_labels_makes_the_figure_wider() -> None:
    label = "a" * 40
    narrow, wide = (ET.fromstring(figure("t", [Panel("p", [Bar(label, 1, "1")], letters=n)])) for n in (18, 40))
    assert int(wide.get("width", "")) > int(narrow.get("width", ""))
    assert label in {text.text for text in wide.iter(f"{SVG}text")}
