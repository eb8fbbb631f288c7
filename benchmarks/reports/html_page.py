"""HTML report in one file: tables and plots, without scripts, fonts or other files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from string import Template

from .charts import Plot
from .plots import has_plot_extra, to_svg

__all__ = ["HtmlPage"]

_TEMPLATE = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2328; background: #fff; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #d8dde3; text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; }
footer { margin-top: 2.5rem; color: #59636e; font-size: .85rem; }
</style>
</head>
<body>
<h1>$title</h1>
$body
<footer>$footer</footer>
</body>
</html>
""")

_NO_PLOTS = "This page has no plots. To add them, run pip install 'toolsearch[plot]' and write the report again."
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


class HtmlPage:
    """Page that is built block by block. Every argument is plain text and is escaped.

    Without the extra ``plot``, plots are left out, and the page says how to install it.

    Args:
        title: Title of the page.

    Example:
        >>> page = HtmlPage("Report")
        >>> page.table(("tool", "tokens"), [("<b>", "12")])
        >>> html = page.render("Measured today.")
        >>> "<td>&lt;b&gt;</td><td>12</td>" in html
        True
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._blocks: list[str] = []
        self._plots_left_out = False

    def heading(self, text: str, level: int = 2) -> None:
        """Add a heading of a level from 2 to 6."""
        self._blocks.append(f"<h{level}>{_escaped(text)}</h{level}>")

    def paragraph(self, text: str) -> None:
        """Add a paragraph."""
        self._blocks.append(f"<p>{_escaped(text)}</p>")

    def bullets(self, items: Sequence[str]) -> None:
        """Add a list."""
        self._blocks.append(f"<ul>{''.join(f'<li>{_escaped(item)}</li>' for item in items)}</ul>")

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table. The first column is aligned left, the others right."""
        head = "".join(f"<th>{_escaped(heading)}</th>" for heading in headings)
        body = "".join(f"<tr>{''.join(f'<td>{_escaped(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
        self._blocks.append(f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>")

    def plot(self, plot: Plot) -> None:
        """Add a plot as inline SVG, if the extra ``plot`` is installed."""
        if has_plot_extra():
            self._blocks.append(f'<figure role="group" aria-label="{_escaped(plot.title)}">{to_svg(plot)}</figure>')
        else:
            self._plots_left_out = True

    def render(self, footer: str) -> str:
        """Return the page as HTML."""
        blocks = [*self._blocks, f"<p>{_escaped(_NO_PLOTS)}</p>"] if self._plots_left_out else self._blocks
        return _TEMPLATE.substitute(title=_escaped(self._title), body="\n".join(blocks), footer=_escaped(footer))


def _escaped(text: str) -> str:
    return escape(_INVALID.sub("\ufffd", text), quote=True)
