"""Writes the tables of a page from measured results: ``python -m toolsearch.benchmarks.readme results.json README.md``.

What stands between the lines ``<!-- results -->`` and ``<!-- /results -->`` is replaced; the rest of the page stays.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError, ToolSearchError

__all__ = ["render", "rewrite"]

_BEGIN, _END = "<!-- results -->", "<!-- /results -->"


def render(report: Mapping[str, Any]) -> str:
    """The tables in Markdown, with what is needed to read them and to measure them again."""
    parts = [_suite(suite, report["counter"]) for suite in report["suites"]]
    return "\n\n".join([*parts, _origin(report)])


def rewrite(page: str, report: Mapping[str, Any]) -> str:
    """The page with its tables made anew.

    Raises:
        ConfigurationError: the page does not have the two marks, once each and in order.
    """
    if page.count(_BEGIN) != 1 or page.count(_END) != 1 or page.index(_END) < page.index(_BEGIN):
        raise ConfigurationError(f"the page needs one line {_BEGIN} and, after it, one line {_END}")
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{render(report)}\n{_END}{after}"


def main(arguments: Sequence[str]) -> int:
    """Rewrite the page named second from the results named first."""
    if len(arguments) != 2:
        print("usage: python -m toolsearch.benchmarks.readme RESULTS.json README.md", file=sys.stderr)
        return 2
    results, page = map(Path, arguments)
    try:
        text = rewrite(page.read_text("utf-8"), json.loads(results.read_text("utf-8")))
    except (OSError, ValueError, KeyError, ToolSearchError) as error:
        print(f"{error}", file=sys.stderr)
        return 2
    page.write_text(text, "utf-8")
    return 0


def _suite(suite: Mapping[str, Any], counter: str) -> str:
    tasks = "one task" if suite["tasks"] == 1 else f"{suite['tasks']} tasks"
    heading = (
        f"**{suite['name']}**: {suite['tools']} tools, {suite['definition_tokens']:,} tokens of definitions, {tasks}; "
        f"tokens by `{counter}`"
    )
    rows = [suite["baseline"], *suite["contenders"]]
    headings = ["", "tokens a task", "saved", "requests", "tasks done", "cost, cold cache", "cost, warm cache"]
    cells = [_cells(row, plain=row is rows[0]) for row in rows]
    if "paraphrase" in suite["baseline"]["styles"]:
        headings.insert(5, "of which without a word of the tool")
        for row, listed in zip(rows, cells, strict=True):
            style = row["styles"]["paraphrase"]
            listed.insert(5, f"{style['succeeded']} of {style['tasks']}")
    least = (suite["break_even"] or {}).get("tools")
    pays = f"For a task of one call, searching takes fewer tokens from {least} tools of this size on." if least else ""
    below = " ".join(filter(None, [suite["note"], pays]))
    return "\n\n".join(filter(None, [heading, _table(headings, cells), below]))


def _cells(row: Mapping[str, Any], *, plain: bool) -> list[str]:
    tasks = row["tasks"]

    def cost(kind: str) -> str:
        return f"{row[kind] / tasks:,.0f}" + ("" if plain else f" ({_change(row[f'saving_{kind}'])})")

    return [
        row["name"],
        f"{row['total'] / tasks:,.0f}",
        "" if plain else f"{row['saving']:.0%}",
        f"{row['requests'] / tasks:.1f}",
        f"{row['succeeded']} of {tasks}",
        cost("cold"),
        cost("warm"),
    ]


def _change(saving: float) -> str:
    return f"{abs(saving):.0%} {'less' if saving >= 0 else 'more'}"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    align = ["---", *["---:"] * (len(headings) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, align, *rows))


def _origin(report: Mapping[str, Any]) -> str:
    prices, machine = report["prices"], report["machine"]
    extras = " EXTRAS=vector" if any(c["name"] == "vector" for c in report["suites"][0]["contenders"]) else ""
    return (
        f"Measured with `make demo{extras}` at commit {report['commit']} on {report['date']}, "
        f"Python {machine['python']}, {machine['cpus']} CPUs. "
        f"Cost is in tokens of plain input: {prices['read']:g} to read from the prompt cache, "
        f"{prices['write']:g} to write, {prices['output']:g} for output; a warm cache holds tools and system message "
        "from other conversations."
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
