"""Plots: lengths and positions match the values, text is shown as it is, and the output is reproducible."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolsearch.benchmarks.reports.charts import Bar, BarChart, BarPanel, Line, LineChart, Plot
from toolsearch.benchmarks.reports.plots import to_svg, validate_plot_path, write_plot
from toolsearch.errors import ConfigurationError, MissingExtraError

pytest.importorskip("matplotlib", reason="the extra plot is not installed")

BARS = BarChart("Tokens", [BarPanel("per task", [Bar("all tools", 900, "900"), Bar("bm25", 90, "90", "peer")])])
LINES = LineChart("Costs", [Line("all", [(0, 0), (10, 900)]), Line("search", [(0, 300), (10, 320)])], "tools", "tokens")


def texts(plot: Plot) -> list[str]:
    """Return the texts of a plot in order."""
    return [element.text or "" for element in ET.fromstring(to_svg(plot)).iter("{http://www.w3.org/2000/svg}text")]


def lengths(*bars: Bar, log: bool = False, maximum: float | None = None) -> list[float]:
    """Return the drawn lengths of bars in inches."""
    from toolsearch.benchmarks.reports import plots

    chart = BarChart("chart", [BarPanel("panel", bars, log, maximum)])
    with plots._drawing(chart):
        figure = plots._bar_figure(chart)
    (axes,) = figure.axes
    return [patch.get_window_extent().width / figure.dpi for patch in axes.patches]


def test_length_is_proportional_to_the_value() -> None:
    longest, half, none = lengths(Bar("a", 10, "10"), Bar("b", 5, "5"), Bar("c", 0, "0"))
    assert half == pytest.approx(longest / 2)
    assert none == 0


def test_maximum_sets_the_full_length() -> None:
    (full,) = lengths(Bar("a", 0.5, "50%"))
    (half,) = lengths(Bar("a", 0.5, "50%"), maximum=1.0)
    assert half == pytest.approx(full / 2)


def test_log_scale_has_equal_steps_for_equal_factors() -> None:
    hundred, ten, one = lengths(Bar("a", 100, ""), Bar("b", 10, ""), Bar("c", 1, ""), log=True)
    assert hundred - ten == pytest.approx(ten - one)
    assert one > 0.1


@pytest.mark.parametrize("value", [None, 0.0, -3.0, float("nan"), float("inf")])
@pytest.mark.parametrize("log", [True, False])
def test_value_without_a_length_draws_no_bar(value: float | None, log: bool) -> None:
    assert lengths(Bar("a", value, "?"), Bar("b", 4, "4"), log=log)[0] == 0
    assert lengths(Bar("a", value, "?"), log=log) == [0]


def test_bar_chart_has_its_texts() -> None:
    assert sorted(texts(BARS)) == sorted(["Tokens", "per task", "all tools", "900", "bm25", "90"])


def test_line_chart_has_its_texts() -> None:
    chart = LineChart("Costs", LINES.lines, "tools", "tokens", marker=3, marker_text="with 3 or more tools")
    assert {"Costs", "all", "search", "tools", "tokens", "with 3 or more tools", "10", "800"} <= set(texts(chart))


@pytest.mark.parametrize("points", [[], [(0, 0)], [(0, 0), (1, 0)], [(0, 5), (0, 5)]])
def test_flat_and_empty_lines_are_drawn(points: list[tuple[float, float]]) -> None:
    assert "line" in texts(LineChart("chart", [Line("line", points)], "x", "y"))


@settings(max_examples=15)
@example("_")
@given(st.text(st.characters(), min_size=1, max_size=12))
def test_any_text_is_well_formed(text: str) -> None:
    """Surrogates, control characters and markup too."""
    bars = BarChart(text, [BarPanel(text, [Bar(text, 1, text)])])
    lines = LineChart(text, [Line(text, [(0, 1), (2, 3)])], text, text, 1, text)
    for plot in (bars, lines):
        assert ET.fromstring(to_svg(plot).encode("utf-8")).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("<b>\"'&", "<b>\"'&"),
        ("a\x00b\ud800\u202e", "a\ufffdb\ufffd\ufffd"),
        ("$x_1$ and $", "$x_1$ and $"),
        ("größe 検索", "größe 検索"),
        ("a" * 48, "a" * 48),
        ("a" * 49, "a" * 47 + "…"),
        ("検" * 30, "検" * 23 + "…"),
    ],
)
def test_label_is_shown_as_text(label: str, shown: str) -> None:
    """Markup and math are text, control characters are replaced, and a long label is cut."""
    assert shown in texts(BarChart("chart", [BarPanel("panel", [Bar(label, 1, "1")])]))


@pytest.mark.parametrize("plot", [BARS, LINES], ids=["bars", "lines"])
def test_svg_is_reproducible_and_has_no_links(plot: Plot) -> None:
    svg = to_svg(plot)
    assert svg == to_svg(plot)
    assert "href" not in svg.replace('xlink:href="#', "")
    assert "<!DOCTYPE" not in svg
    assert "date" not in svg


def test_columns_are_side_by_side() -> None:
    panel = BARS.panels[0]
    two, one = (ET.fromstring(to_svg(BarChart("chart", [panel, panel], columns))) for columns in (2, 1))
    width, height = (lambda svg, name=name: float(svg.get(name).removesuffix("pt")) for name in ("width", "height"))
    assert width(two) > width(one)
    assert height(two) < height(one)


@pytest.mark.parametrize("plot", [BARS, LINES], ids=["bars", "lines"])
def test_plot_is_written_as_svg_or_png(tmp_path: Path, plot: Plot) -> None:
    write_plot(plot, tmp_path / "plot.svg")
    write_plot(plot, tmp_path / "plot.PNG")
    assert to_svg(plot) in (tmp_path / "plot.svg").read_text("utf-8")
    assert (tmp_path / "plot.PNG").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigurationError, match=r"\.svg or \.png"):
        write_plot(plot, tmp_path / "plot.gif")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_plot(plot, tmp_path / "none" / "plot.svg")


def test_missing_extra_is_named_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"toolsearch\[plot\]"):
        validate_plot_path(Path("plot.svg"))
    with pytest.raises(MissingExtraError, match=r"toolsearch\[plot\]"):
        to_svg(BARS)
