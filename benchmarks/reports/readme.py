"""Writes the tables of a page from measured results: ``python -m toolsearch.benchmarks.reports.readme results.json README.md``.

What stands between the lines ``<!-- results -->`` and ``<!-- /results -->`` is replaced; the rest of the page stays.
Results of ranking stand between ``<!-- retrieval -->`` lines, those of scaling between ``<!-- scaling -->`` lines;
where the page has lines named after the file of results, between these.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import ConfigurationError, ToolSearchError
from .markdown_tables import markdown_table, render_retrieval, render_scaling

__all__ = ["render", "rewrite"]


def render(report: Mapping[str, Any]) -> str:
    """The tables in Markdown, with what is needed to read them and to measure them again."""
    parts = [_suite(suite, report["counter"]) for suite in report["suites"]]
    return "\n\n".join([*parts, _origin(report)])


def rewrite(page: str, report: Mapping[str, Any], name: str = "") -> str:
    """The page with the tables of one report made anew, whichever kind of report it is.

    Args:
        page: the text of the page.
        report: the results.
        name: of the marks between which they stand, if the page has those; by default it follows from the kind.

    Raises:
        ConfigurationError: the page does not have the two marks, once each and in order.
    """
    mark, tables = _tables(report)
    mark = name if name and f"<!-- {name} -->" in page else mark
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(end) < page.index(begin):
        raise ConfigurationError(f"the page needs one line {begin} and, after it, one line {end}")
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{tables}\n{end}{after}"


def main(arguments: Sequence[str]) -> int:
    """Rewrite the page named last from the results named before it."""
    if len(arguments) < 2:
        print("usage: python -m toolsearch.benchmarks.reports.readme RESULTS.json... README.md", file=sys.stderr)
        return 2
    *results, page = map(Path, arguments)
    try:
        text = page.read_text("utf-8")
        for path in results:
            text = rewrite(text, json.loads(path.read_text("utf-8")), path.stem)
    except (OSError, ValueError, KeyError, ToolSearchError) as error:
        print(f"{error}", file=sys.stderr)
        return 2
    page.write_text(text, "utf-8")
    return 0


def _tables(report: Mapping[str, Any]) -> tuple[str, str]:
    """The name of a report's marks, and what stands between them."""
    if "sets" in report:
        return "retrieval", render_retrieval(report)
    if "checks" in report:
        return "scaling", render_scaling(report)
    return "results", render(report)


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
    return "\n\n".join(filter(None, [heading, markdown_table(headings, cells), below]))


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
