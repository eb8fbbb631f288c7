"""Markdown tables: the pages show the committed results, and the tables have all values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolsearch.benchmarks.reports.markdown_tables import markdown_table, render_retrieval, render_scaling
from toolsearch.benchmarks.reports.readme import main, rewrite_page
from toolsearch.errors import ConfigurationError

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS = [ROOT / "benchmarks" / "results" / f"{name}.json" for name in ("retrieval", "scaling")]
ORIGIN: dict[str, Any] = {
    "date": "2030-01-02",
    "commit": "abc",
    "machine": {"python": "3.11.7", "processor": "a processor", "cpus": 2},
}
FIGURES = {"recall_1": 0.5, "recall_5": 0.91234, "ndcg_5": 0.8, "hit_1": 0.5, "mrr": 0.6, "p50_ms": 0.1234}
ROW: dict[str, Any] = {
    **FIGURES,
    "p99_ms": 12.34,
    "build_ms": 1234.5,
    "memory_mb": None,
    "peer": False,
    "version": None,
    "name": "bm25",
}
CHECK = {"what": "search / rank_bm25", "tools": 3_000, "value": 0.1, "target": 0.3, "unit": "", "verdict": "ok"}


def retrieval(sets: int) -> dict[str, Any]:
    each = [{"name": f"set {n}", "tools": 1_000, "queries": 5, "indexes": [ROW]} for n in range(sets)]
    mean = [ROW, {**ROW, "name": "peer", "peer": True, "version": "1.2"}]
    for one in each:
        one["indexes"] = mean
    return {**ORIGIN, "limit": 250, "sets": each, "mean": mean}


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_page_shows_the_committed_results(path: Path) -> None:
    page = PAGE.read_text("utf-8")
    assert rewrite_page(page, json.loads(path.read_text("utf-8"))) == page


def test_committed_results_have_no_text_of_the_sets() -> None:
    """Only values and names: the sets have their own licenses."""
    report = json.loads(RESULTS[0].read_text("utf-8"))
    for one in report["sets"]:
        assert one.keys() == {"name", "tools", "queries", "indexes"}
        for row in one["indexes"]:
            assert all(value is None or isinstance(value, (int, float)) for value in list(row.values())[3:])


def test_retrieval_tables_have_averages_and_each_set() -> None:
    text = render_retrieval(retrieval(2))
    assert "| bm25 | 50.0 | 91.2 | 80.0 | 50.0 | 60.0 | 0.12 | 12.3 | 1,234 | - |" in text
    assert "Average of 2 sets" in text
    assert "set 1 (1,000 tools)" in text
    assert "peer 1.2" in text
    assert "of each set" not in render_retrieval(retrieval(1))


def test_scaling_table_has_the_targets() -> None:
    rows = [
        {**CHECK, "toolsearch_ms": 0.25, "baseline_ms": 2.5},
        {
            **CHECK,
            "toolsearch_ms": None,
            "baseline_ms": None,
            "value": 237.1,
            "target": None,
            "unit": "bytes",
            "verdict": "",
        },
    ]
    text = render_scaling({**ORIGIN, "checks": rows, "tools": "generated tools"})
    assert "| search / rank_bm25 | 3,000 | 0.250 | 2.500 | 0.100 | 0.300 | ok |" in text
    assert "| 237 bytes |  |  |" in text


def test_pipes_in_cells_are_escaped() -> None:
    assert markdown_table(("a",), [["x|y"]]).endswith("| x\\|y |")


def test_page_takes_several_results(tmp_path: Path) -> None:
    page, ranking, scaling = tmp_path / "page.md", tmp_path / "ranking.json", tmp_path / "scaling.json"
    page.write_text("a\n<!-- retrieval -->\nold\n<!-- /retrieval -->\nb\n<!-- scaling -->\n<!-- /scaling -->\nc\n")
    ranking.write_text(json.dumps(retrieval(1)))
    scaling.write_text(json.dumps({**ORIGIN, "checks": [], "tools": "generated tools"}))
    assert main([str(ranking), str(scaling), str(page)]) == 0
    text = page.read_text("utf-8")
    assert text.startswith("a\n<!-- retrieval -->\n**set 0")
    assert text.endswith("<!-- /scaling -->\nc\n")
    assert "old" not in text
    page.write_text(f"{text}<!-- ranking -->\n<!-- /ranking -->\n")
    ranking.write_text(json.dumps(retrieval(2)))
    assert main([str(ranking), str(page)]) == 0
    assert page.read_text("utf-8").startswith(text), "the markers with the name of the file are used"
    assert "2 sets" in page.read_text("utf-8").partition("<!-- ranking -->")[2]
    with pytest.raises(ConfigurationError, match="<!-- scaling -->"):
        rewrite_page("nothing", {**ORIGIN, "checks": [], "tools": ""})
