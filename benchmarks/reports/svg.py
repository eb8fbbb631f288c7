"""Bar charts as SVG, with nothing but text: for reports that open anywhere and need no plotting library."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from unicodedata import east_asian_width

from ...errors import ConfigurationError, MissingExtraError

__all__ = [
    "COLOURS",
    "INK",
    "RULE",
    "Bar",
    "Panel",
    "check_image",
    "document",
    "figure",
    "plain",
    "write_image",
]

COLOURS = {"own": "#2563a8", "peer": "#9aa3ad", "base": "#d18b2c", "bad": "#b3403a"}
INK, RULE = "#1f2328", "#d8dde3"

_ROOM, _VALUE, _GAP, _CHARACTER = 190, 150, 24, 7
_ROW, _HEAD, _FOOT = 22, 40, 14
_PAPER = "#ffffff"
_DECADES_SHOWN = 2.5
# XML 1.0 cannot hold these, however they are written.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar.

    Args:
        label: what it stands for, at its left.
        value: its length; None draws none.
        text: the value as it is to be read, at its right.
        kind: ``own``, ``peer``, ``base`` or ``bad``; gives the colour.
    """

    label: str
    value: float | None
    text: str
    kind: str = "own"


@dataclass(frozen=True, slots=True)
class Panel:
    """Bars under one heading.

    Args:
        title: the heading.
        bars: from the top down.
        log: the length goes by the logarithm: for values that differ by factors of ten. Zero and below have no length.
        most: the value of the full length; by default that of the longest bar.
        letters: how long a label may be; of a longer one the beginning is shown, and the whole when pointed at.
    """

    title: str
    bars: Sequence[Bar]
    log: bool = False
    most: float | None = None
    letters: int = 18

    @property
    def margin(self) -> int:
        """The pixels for the labels."""
        return max(120, self.letters * _CHARACTER)

    @property
    def width(self) -> int:
        """Its width in pixels."""
        return self.margin + _ROOM + _VALUE

    @property
    def height(self) -> int:
        """Its height in pixels."""
        return _HEAD + _ROW * len(self.bars) + _FOOT


def figure(title: str, panels: Sequence[Panel], *, columns: int = 2) -> str:
    """Return an SVG document with the panels side by side, `columns` in a row.

    Example:
        >>> svg = figure("Tokens", [Panel("a task", [Bar("all tools", 900, "900", "base"), Bar("bm25", 90, "90")])])
        >>> svg.startswith("<svg "), svg.count("<rect ")
        (True, 3)
    """
    columns = max(1, min(columns, len(panels)))
    rows = [panels[at : at + columns] for at in range(0, len(panels), columns)]
    column_width = max((panel.width for panel in panels), default=0) + _GAP
    parts: list[str] = []
    top = 44
    for row in rows:
        for column, panel in enumerate(row):
            parts.append(f'<g transform="translate({16 + column * column_width} {top})">{_drawn(panel)}</g>')
        top += max(panel.height for panel in row)
    return document(title, 16 + columns * column_width, top + 8, "".join(parts))


def document(title: str, width: int, height: int, content: str) -> str:
    """Return an SVG document of this size on white paper, with a heading above the content."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12" fill="{INK}">'
        f"<title>{plain(title)}</title>"
        f'<rect width="{width}" height="{height}" fill="{_PAPER}"/>'
        f'<text x="16" y="28" font-size="17" font-weight="bold">{plain(title)}</text>'
        f"{content}</svg>\n"
    )


def plain(text: object) -> str:
    """Return `text` as it may stand in SVG and HTML, in attributes too; what XML cannot hold becomes U+FFFD."""
    return escape(_UNWRITABLE.sub("\ufffd", str(text)), quote=True)


def check_image(path: Path) -> None:
    """Find out before a long run whether an image of this name can be made at its end.

    Raises:
        ConfigurationError: the name does not end as that of an image we can write.
        MissingExtraError: it ends in .png and resvg-py is not installed.
    """
    ending = path.suffix.lower()
    if ending not in (".svg", ".png"):
        raise ConfigurationError(f"{path}: a plot is written as .svg or .png, and of ranking as .html too")
    if ending == ".png":
        try:
            import resvg_py  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("plot", "Writing a plot as .png (.svg and .html need nothing)") from error


def write_image(svg: str, path: Path) -> None:
    """Write a figure as .svg, or as .png with resvg-py.

    Raises:
        ConfigurationError: the name ends otherwise, or the file cannot be written.
        MissingExtraError: a .png is asked for and resvg-py is not installed.
    """
    check_image(path)
    content = svg.encode() if path.suffix.lower() == ".svg" else _rastered(svg)
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written: {error.strerror or error}") from error


def _rastered(svg: str) -> bytes:
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=2))


def _drawn(panel: Panel) -> str:
    parts = [f'<text y="22" font-weight="bold">{plain(panel.title)}</text>']
    left = panel.margin
    parts.append(f'<line x1="{left}" y1="{_HEAD - 8}" x2="{left}" y2="{panel.height - _FOOT}" stroke="{RULE}"/>')
    for number, bar in enumerate(panel.bars):
        y = _HEAD + number * _ROW
        length = round(_ROOM * _share(bar.value, panel), 1)
        colour = COLOURS.get(bar.kind, COLOURS["own"])
        parts.append(
            f'<text x="{left - 8}" y="{y + 7}" text-anchor="end">{_label(bar.label, panel.letters)}</text>'
            f'<rect x="{left}" y="{y - 5}" width="{length}" height="15" rx="2" fill="{colour}"/>'
            f'<text x="{left + length + 6}" y="{y + 7}">{plain(bar.text)}</text>'
        )
    return "".join(parts)


def _share(value: float | None, panel: Panel) -> float:
    """The part of the full length, 0 to 1."""
    known = [bar.value for bar in panel.bars if bar.value is not None and math.isfinite(bar.value) and bar.value > 0]
    most = panel.most or max(known, default=0.0)
    if value is None or not math.isfinite(value) or value <= 0 or most <= 0:
        return 0.0
    if not panel.log:
        return min(1.0, value / most)
    least = min(known, default=most)
    decades = max(_DECADES_SHOWN, math.log10(most / least) * 1.15)
    return min(1.0, max(0.0, 1 + math.log10(value / most) / decades))


def _label(label: str, letters: int) -> str:
    if _breadth(label) <= letters:
        return plain(label)
    shown = label[:letters]
    while _breadth(shown) >= letters:
        shown = shown[:-1]
    return f"{plain(shown)}…<title>{plain(label)}</title>"


def _breadth(text: str) -> int:
    """The letters a text takes the room of; those of East Asia take two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
