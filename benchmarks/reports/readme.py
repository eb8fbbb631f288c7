"""Script that writes the tables of a page: ``python -m toolsearch.benchmarks.reports.readme RESULTS.json... PAGE.md``.

It replaces the text between two markers, ``<!-- NAME -->`` and ``<!-- /NAME -->``. The name is that of the results file
if the page has such markers, otherwise ``results`` (savings), ``retrieval``, ``scaling`` or ``heartbeat``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import ConfigurationError, ToolSearchError
from .markdown_tables import render_heartbeat, render_retrieval, render_savings, render_scaling

__all__ = ["rewrite_page"]


def rewrite_page(page: str, report: Mapping[str, Any], name: str = "") -> str:
    """Return a page with the tables of a report between its markers.

    Args:
        page: The text of the page.
        report: A report of any kind.
        name: Name of the markers, if the page has them; by default, the kind of the report names them.

    Raises:
        ConfigurationError: The page does not have both markers, once each and in order.
    """
    kind, tables = _tables(report)
    marker = name if name and f"<!-- {name} -->" in page else kind
    start, end = f"<!-- {marker} -->", f"<!-- /{marker} -->"
    if page.count(start) != 1 or page.count(end) != 1 or page.index(end) < page.index(start):
        raise ConfigurationError(f"the page must have one line {start} and, after it, one line {end}")
    before, _, rest = page.partition(start)
    _, _, after = rest.partition(end)
    return f"{before}{start}\n{tables}\n{end}{after}"


def main(arguments: Sequence[str]) -> int:
    """Rewrite the page that is the last argument with the results files before it. Return the exit code."""
    if len(arguments) < 2:
        print("usage: python -m toolsearch.benchmarks.reports.readme RESULTS.json... PAGE.md", file=sys.stderr)
        return 2
    *results, page = map(Path, arguments)
    try:
        text = page.read_text("utf-8")
        for path in results:
            text = rewrite_page(text, json.loads(path.read_text("utf-8")), path.stem)
    except (OSError, ValueError, KeyError, ToolSearchError) as error:
        print(f"{error}", file=sys.stderr)
        return 2
    page.write_text(text, "utf-8")
    return 0


def _tables(report: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kind of a report and its tables."""
    if "sets" in report:
        return "retrieval", render_retrieval(report)
    if "pauses" in report:
        return "heartbeat", render_heartbeat(report)
    if "checks" in report:
        return "scaling", render_scaling(report)
    return "results", render_savings(report)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
