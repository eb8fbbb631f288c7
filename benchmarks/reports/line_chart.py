"""Line charts as SVG: both axes from zero, one line and one colour for each way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .svg import COLOURS, INK, RULE, document, plain

__all__ = ["Line", "line_chart", "ticks"]

_WIDTH, _HEIGHT = 900, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 40, 92, 52
_TICKS = 6


@dataclass(frozen=True, slots=True)
class Line:
    """One line.

    Args:
        label: what it stands for, in the legend.
        points: pairs across and up, from the left to the right; all of them zero or more.
        kind: ``own``, ``peer``, ``base`` or ``bad``; gives the colour.
        dashed: for what is not measured but drawn as far as it can go.
    """

    label: str
    points: Sequence[tuple[float, float]]
    kind: str = "own"
    dashed: bool = False


def line_chart(
    title: str, lines: Sequence[Line], *, across: str, up: str, mark: float | None = None, mark_text: str = ""
) -> str:
    """Return an SVG document with the lines, a legend, and a dotted line upwards at `mark` if there is one.

    Example:
        >>> both = [Line("all tools", [(0, 0), (10, 900)], "base"), Line("search", [(0, 300), (10, 320)])]
        >>> svg = line_chart("Tokens", both, across="tools", up="tokens", mark=3)
        >>> svg.startswith("<svg "), svg.count("<polyline ")
        (True, 2)
    """
    scale = _Scale(
        max((x for line in lines for x, _ in line.points), default=0) or 1,
        max((y for line in lines for _, y in line.points), default=0) or 1,
    )
    parts = [_axes(scale, across, up)]
    if mark is not None:
        parts.append(_mark(scale, mark, mark_text))
    parts += [_line(scale, line) for line in lines]
    parts.append(_legend(lines))
    return document(title, _WIDTH, _HEIGHT, "".join(parts))


def ticks(most: float) -> list[int]:
    """Return whole round numbers from zero up to `most`, at most six steps of 1, 2 or 5 times a power of ten.

    Example:
        >>> ticks(16), ticks(2), ticks(107_331)
        ([0, 5, 10, 15], [0, 1, 2], [0, 20000, 40000, 60000, 80000, 100000])
    """
    least = max(1.0, most / _TICKS)
    power = 10 ** int(math.log10(least))
    step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= least)
    return [step * at for at in range(int(most / step) + 1)]


@dataclass(frozen=True, slots=True)
class _Scale:
    """From values to places in the picture."""

    most_across: float
    most_up: float

    def x(self, value: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * value / self.most_across, 1)

    def y(self, value: float) -> float:
        return round(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / self.most_up, 1)


def _axes(scale: _Scale, across: str, up: str) -> str:
    left, right, bottom = scale.x(0), scale.x(scale.most_across), scale.y(0)
    parts = []
    for value in ticks(scale.most_up):
        y = scale.y(value)
        parts.append(f'<line x1="{left}" y1="{y}" x2="{right}" y2="{y}" stroke="{RULE}"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{value:,.0f}</text>')
    for value in ticks(scale.most_across):
        x = scale.x(value)
        parts.append(f'<line x1="{x}" y1="{bottom}" x2="{x}" y2="{bottom + 5}" stroke="{INK}"/>')
        parts.append(f'<text x="{x}" y="{bottom + 19}" text-anchor="middle">{value:,.0f}</text>')
    parts.append(f'<line x1="{left}" y1="{bottom}" x2="{right}" y2="{bottom}" stroke="{INK}"/>')
    parts.append(f'<text x="{right}" y="{bottom + 38}" text-anchor="end">{plain(across)}</text>')
    parts.append(f'<text x="16" y="{_TOP - 14}">{plain(up)}</text>')
    return "".join(parts)


def _mark(scale: _Scale, mark: float, text: str) -> str:
    x, top, bottom = scale.x(mark), _TOP - 8, scale.y(0)
    # Beside the line, on the side where there is room.
    place = f'x="{x - 6}" text-anchor="end"' if mark > scale.most_across / 2 else f'x="{x + 6}"'
    return (
        f'<line x1="{x}" y1="{top}" x2="{x}" y2="{bottom}" stroke="{INK}" stroke-dasharray="2 3"/>'
        f'<text {place} y="{top - 4}">{plain(text)}</text>'
    )


def _line(scale: _Scale, line: Line) -> str:
    points = " ".join(f"{scale.x(x)},{scale.y(y)}" for x, y in line.points)
    dashes = ' stroke-dasharray="7 4"' if line.dashed else ""
    return f'<polyline points="{points}" fill="none" stroke="{_colour(line)}" stroke-width="2.5"{dashes}/>'


def _legend(lines: Sequence[Line]) -> str:
    parts = []
    x = 16
    for line in lines:
        dashes = ' stroke-dasharray="7 4"' if line.dashed else ""
        parts.append(
            f'<line x1="{x}" y1="52" x2="{x + 26}" y2="52" stroke="{_colour(line)}" stroke-width="2.5"{dashes}/>'
            f'<text x="{x + 33}" y="56">{plain(line.label)}</text>'
        )
        x += 60 + 7 * len(line.label)
    return "".join(parts)


def _colour(line: Line) -> str:
    return COLOURS.get(line.kind, COLOURS["own"])
