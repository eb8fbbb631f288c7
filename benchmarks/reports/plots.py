"""Drawing of charts with matplotlib (extra ``plot``).

The same chart always gives the same SVG, and text stays text in it: titles and labels can be searched, copied and read
aloud.
"""

from __future__ import annotations

import importlib.util
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size

from ...errors import ConfigurationError, MissingExtraError
from .charts import COLORS, Bar, BarChart, BarPanel, LineChart, Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["has_plot_extra", "to_svg", "validate_plot_path", "write_plot"]

MAX_LABEL_WIDTH = 48
"""Columns of a bar's label; a longer label is cut, since tables show it whole."""

_STYLE: Any = {
    "svg.fonttype": "none",  # text stays text
    "text.parse_math": False,  # a $ in a tool name is a dollar sign
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a929b",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "figure.titlesize": 13,
    "figure.titleweight": "bold",
}
_PNG_DPI = 160
# Sizes in inches. Charts are laid out by these and not by the measured width of text, which differs between fonts.
_COLUMN_WIDTH = 0.095
_BAR_WIDTH, _BAR_HEIGHT = 2.5, 0.27
_TITLE_HEIGHT, _PANEL_TITLE_HEIGHT, _MARGIN = 0.55, 0.45, 0.15
_LINE_CHART_SIZE = (9.0, 3.9)
_MIN_LOG_RANGE = 300.0

# Characters that XML cannot contain, and those that reverse the direction of text.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
# Groups are numbered in each SVG; nothing refers to them, and a page with two plots must not repeat an id.
_GROUP_ID = re.compile(r'(<g) id="[A-Za-z0-9.]+_\d+"')


def has_plot_extra() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def validate_plot_path(path: Path) -> None:
    """Validate the file of a plot, before the long run that the plot shows.

    Raises:
        ConfigurationError: The file name does not end in ``.svg`` or ``.png``.
        MissingExtraError: The extra ``plot`` is not installed.
    """
    if path.suffix.lower() not in (".svg", ".png"):
        raise ConfigurationError(f"{path}: a plot is a .svg or .png file; --html writes a page with tables and plots")
    if not has_plot_extra():
        raise MissingExtraError("plot", "Drawing plots")


def write_plot(plot: Plot, path: Path) -> None:
    """Draw a plot and write it as ``.svg`` or ``.png``, by the suffix of the file.

    Raises:
        ConfigurationError: The suffix is another one, or the file cannot be written.
        MissingExtraError: The extra ``plot`` is not installed.
    """
    validate_plot_path(path)
    content = _svg(plot) if path.suffix.lower() == ".svg" else _saved(plot, "png")
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written: {error.strerror or error}") from error


def to_svg(plot: Plot) -> str:
    """Return a plot as an SVG element to embed in HTML, without an XML declaration.

    Raises:
        MissingExtraError: The extra ``plot`` is not installed.

    Example:
        >>> from toolsearch.benchmarks.reports import Bar, BarChart, BarPanel
        >>> chart = BarChart("Tokens", [BarPanel("per task", [Bar("all tools", 900, "900"), Bar("bm25", 90, "90")])])
        >>> svg = to_svg(chart)
        >>> svg.startswith("<svg "), ">all tools</text>" in svg, svg == to_svg(chart)
        (True, True, True)
    """
    svg = _svg(plot).decode()
    return svg[svg.index("<svg ") :]


def _svg(plot: Plot) -> bytes:
    return _GROUP_ID.sub(r"\1", _saved(plot, "svg").decode()).encode()


def _saved(plot: Plot, file_format: str) -> bytes:
    with _drawing(plot):
        figure = _bar_figure(plot) if isinstance(plot, BarChart) else _line_figure(plot)
        stream = io.BytesIO()
        metadata = {"Title": _printable(plot.title)}
        if file_format == "svg":
            metadata |= dict.fromkeys(("Date", "Creator", "Format", "Type"))  # type: ignore[arg-type]  # None: left out
        figure.savefig(stream, format=file_format, dpi=_PNG_DPI, metadata=metadata)
    return stream.getvalue()


@contextmanager
def _drawing(plot: Plot) -> Iterator[None]:
    """Apply the style. The ids of an SVG are the same in every run, and differ between plots, which share a page.

    A character that the font lacks is left to the viewer's fonts (SVG) or drawn as a box (PNG).
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError("plot", "Drawing plots") from error
    with mpl.rc_context({**_STYLE, "svg.hashsalt": ascii(plot)}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def _bar_figure(chart: BarChart) -> Figure:
    from matplotlib.figure import Figure

    columns = max(1, min(chart.columns, len(chart.panels)))
    rows = [chart.panels[start : start + columns] for start in range(0, len(chart.panels), columns)]
    bars = [bar for panel in chart.panels for bar in panel.bars]
    label_width = _COLUMN_WIDTH * max((cell_len(_label(bar)) for bar in bars), default=0) + _MARGIN
    text_width = _COLUMN_WIDTH * max((cell_len(bar.text) for bar in bars), default=0) + _MARGIN
    panel_width = label_width + _BAR_WIDTH + text_width
    heights = [_PANEL_TITLE_HEIGHT + _BAR_HEIGHT * max(len(panel.bars) for panel in row) + _MARGIN for row in rows]
    width = max(columns * panel_width + _MARGIN, _COLUMN_WIDTH * 1.6 * cell_len(chart.title))
    height = _TITLE_HEIGHT + sum(heights) + _MARGIN
    figure = Figure(figsize=(width, height))
    figure.suptitle(_printable(chart.title), x=_MARGIN / width, y=1 - _MARGIN / height, ha="left", va="top")
    top = height - _TITLE_HEIGHT
    for row, row_height in zip(rows, heights, strict=True):
        for column, panel in enumerate(row):
            bars_height = _BAR_HEIGHT * len(panel.bars)
            left, bottom = column * panel_width + label_width, top - _PANEL_TITLE_HEIGHT - bars_height
            axes = figure.add_axes((left / width, bottom / height, _BAR_WIDTH / width, max(bars_height, 0.01) / height))
            _draw_bars(axes, panel)
        top -= row_height
    return figure


def _draw_bars(axes: Axes, panel: BarPanel) -> None:
    values = [_length(bar.value) for bar in panel.bars]
    positions = range(len(values))
    axes.set_title(_printable(panel.title))
    axes.set_yticks(positions, [_label(bar) for bar in panel.bars])
    axes.tick_params(left=False)
    axes.spines["bottom"].set_visible(False)
    axes.xaxis.set_visible(False)
    axes.set_ylim(len(values) - 0.5, -0.5)
    longest = panel.maximum or max(values, default=0) or 1
    start = 0.0
    if panel.log:
        axes.set_xscale("log")
        # Small values need a visible bar, and nearly equal ones must not look different by orders of magnitude.
        start = min(min(filter(None, values), default=longest) / 3, longest / _MIN_LOG_RANGE)
    axes.set_xlim(start, longest)
    colors = [COLORS[bar.kind] for bar in panel.bars]
    axes.barh(positions, [max(value - start, 0) for value in values], left=start, height=0.72, color=colors)
    for position, value, bar in zip(positions, values, panel.bars, strict=True):
        end = min(max(value, start), longest)
        axes.annotate(
            _printable(bar.text),
            (end, position),
            (4, 0),
            textcoords="offset points",
            va="center",
            annotation_clip=False,
        )


def _line_figure(chart: LineChart) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    figure = Figure(figsize=_LINE_CHART_SIZE)
    figure.suptitle(_printable(chart.title), x=0.016, y=0.96, ha="left", va="top")
    axes = figure.add_axes((0.1, 0.15, 0.86, 0.60))
    for line in chart.lines:
        xs, ys = zip(*line.points, strict=True) if line.points else ((), ())
        style = "--" if line.dashed else "-"
        axes.plot(xs, ys, style, color=COLORS[line.kind], linewidth=2, label=_legend_label(line.label))
    points = [point for line in chart.lines for point in line.points]
    x_max, y_max = (max((point[axis] for point in points), default=0) or 1 for axis in (0, 1))
    axes.set_xlim(0, x_max)
    axes.set_ylim(0, y_max * 1.05)
    axes.grid(axis="y", color="#d8dde3", linewidth=0.8)
    axes.set_axisbelow(True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel(_printable(chart.x_label), loc="right")
    axes.set_ylabel(_printable(chart.y_label))
    if chart.lines:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.04), ncols=len(chart.lines), frameon=False, borderaxespad=0)
    if chart.marker is not None:
        axes.axvline(chart.marker, color="#1f2328", linestyle=":", linewidth=1.2)
        # The text is on the side of the line that has more room.
        side, offset = ("right", -5) if chart.marker > x_max / 2 else ("left", 5)
        axes.annotate(
            _printable(chart.marker_text), (chart.marker, y_max), (offset, 0), textcoords="offset points", ha=side
        )
    return figure


def _length(value: float | None) -> float:
    return value if value is not None and isfinite(value) and value > 0 else 0.0


def _label(bar: Bar) -> str:
    label = _printable(bar.label)
    return label if cell_len(label) <= MAX_LABEL_WIDTH else set_cell_size(label, MAX_LABEL_WIDTH - 1).rstrip() + "…"


def _legend_label(text: str) -> str:
    """Return a label that matplotlib shows: it leaves out labels that begin with an underscore."""
    label = _printable(text)
    return f" {label}" if label.startswith("_") else label


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)
