"""Descriptions of bar charts and line charts as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["COLORS", "Bar", "BarChart", "BarPanel", "Line", "LineChart", "Plot"]

COLORS = {"own": "#2563a8", "peer": "#9aa3ad", "baseline": "#d18b2c", "bad": "#b3403a"}
"""Colors by kind of bar or line."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Bar of a `BarPanel`.

    Args:
        label: Text at the left.
        value: Length of the bar. None, zero, negative and infinite values draw no bar.
        text: The value as text, at the right.
        kind: A key of `COLORS`.
    """

    label: str
    value: float | None
    text: str
    kind: str = "own"


@dataclass(frozen=True, slots=True)
class BarPanel:
    """Horizontal bars under one title.

    Args:
        title: Title of the panel.
        bars: Bars from top to bottom.
        log: Use a logarithmic scale, for values that differ by orders of magnitude.
        maximum: Value of a bar of full length; by default the largest value.
    """

    title: str
    bars: Sequence[Bar]
    log: bool = False
    maximum: float | None = None


@dataclass(frozen=True, slots=True)
class BarChart:
    """Panels of bars side by side.

    Args:
        title: Title of the chart.
        panels: Panels in reading order.
        columns: Number of panels in a row.
    """

    title: str
    panels: Sequence[BarPanel]
    columns: int = 2


@dataclass(frozen=True, slots=True)
class Line:
    """Line of a `LineChart`.

    Args:
        label: Text in the legend.
        points: Pairs of x and y, with x ascending.
        kind: A key of `COLORS`.
        dashed: Draw a dashed line, for a bound instead of a measurement.
    """

    label: str
    points: Sequence[tuple[float, float]]
    kind: str = "own"
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class LineChart:
    """Lines over two axes that both start at zero.

    Args:
        title: Title of the chart.
        lines: Lines to draw.
        x_label: Label of the horizontal axis.
        y_label: Label of the vertical axis.
        marker: Value of x with a vertical dotted line, or None.
        marker_text: Text at the dotted line.
    """

    title: str
    lines: Sequence[Line]
    x_label: str
    y_label: str
    marker: float | None = None
    marker_text: str = ""


Plot: TypeAlias = BarChart | LineChart
"""Description of a plot."""
