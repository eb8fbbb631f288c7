"""Table cells of measured values, shared by the terminal, HTML and Markdown reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .wording import count_noun

__all__ = [
    "COST_HEADINGS",
    "LOSS_HEADINGS",
    "QUALITY",
    "QUALITY_HEADINGS",
    "RETRIEVAL_HEADINGS",
    "SPEED_HEADINGS",
    "STYLES",
    "TOKEN_HEADINGS",
    "check_cells",
    "cost_cells",
    "loss_cells",
    "number_text",
    "percent",
    "quality_cells",
    "retrieval_tables",
    "set_title",
    "speed_cells",
    "token_cells",
]

STYLES = {
    "named": "Requests with words of the tool name",
    "paraphrase": "Requests without any word of the tool name",
    "no_tool": "Requests that no tool can serve",
}
"""Description of each style of task."""

TOKEN_HEADINGS = ("input", "output", "total", "saved", "requests", "searches", "completed")
COST_HEADINGS = ("cold cache", "saved", "warm cache", "saved", "costlier tasks, warm cache")
LOSS_HEADINGS = ("index", "task", "reason", "tokens", "tokens with all tools")
QUALITY = (("recall_1", "recall@1"), ("recall_5", "recall@5"), ("ndcg_5", "nDCG@5"), ("hit_1", "hit@1"), ("mrr", "MRR"))
"""Key and heading of each quality metric in tables."""

_SPEED = (("p50_ms", "p50 ms"), ("p99_ms", "p99 ms"), ("build_ms", "build ms"), ("memory_mb", "MB"))
QUALITY_HEADINGS = tuple(heading for _, heading in QUALITY)
SPEED_HEADINGS = tuple(heading for _, heading in _SPEED)
RETRIEVAL_HEADINGS = QUALITY_HEADINGS + SPEED_HEADINGS


def token_cells(row: Mapping[str, Any], *, baseline: bool) -> list[str]:
    """Return the averages of a strategy per task, for `TOKEN_HEADINGS`.

    Args:
        row: Totals of a strategy, or of one style of its tasks.
        baseline: Whether the row is the baseline, which saves nothing.
    """
    tasks = row["tasks"]
    return [
        *(f"{row[key] / tasks:,.0f}" for key in ("input", "output", "total")),
        "" if baseline else percent(row["saving"]),
        f"{row['requests'] / tasks:.1f}",
        f"{row['searches'] / tasks:.1f}",
        f"{row['succeeded']}/{tasks}",
    ]


def cost_cells(row: Mapping[str, Any], *, baseline: bool) -> list[str]:
    """Return the costs of a strategy per task with a prompt cache, for `COST_HEADINGS`."""
    tasks = row["tasks"]
    cold, warm = (f"{row[key] / tasks:,.0f}" for key in ("cold", "warm"))
    if baseline:
        return [cold, "", warm, "", ""]
    costlier = f"{row['tasks_costlier_warm']} of {tasks}"
    return [cold, percent(row["saving_cold"]), warm, percent(row["saving_warm"]), costlier]


def loss_cells(loss: Mapping[str, Any]) -> list[str]:
    """Return a task that search lost, for `LOSS_HEADINGS`."""
    reason = "tool not found" if loss["reason"] == "failed" else "more tokens"
    return [loss["strategy"], loss["task"], reason, f"{loss['tokens']:,}", f"{loss['tokens_all_tools']:,}"]


def quality_cells(row: Mapping[str, Any]) -> list[str]:
    """Return the quality metrics of a row in percent, for `QUALITY_HEADINGS`."""
    return [f"{row[key] * 100:.1f}" for key, _ in QUALITY]


def speed_cells(row: Mapping[str, Any]) -> list[str]:
    """Return the times and the memory of a row, for `SPEED_HEADINGS`."""
    return [number_text(row.get(key)) for key, _ in _SPEED]


def check_cells(row: Mapping[str, Any]) -> list[str]:
    """Return a scaling check: its name, tools, both times, value, target and verdict."""
    return [
        row["what"],
        f"{row['tools']:,}",
        _milliseconds(row["toolsearch_ms"]),
        _milliseconds(row["baseline_ms"]),
        _check_value(row["value"], row["unit"]),
        "" if row["target"] is None else _check_value(row["target"], row["unit"]),
        row["verdict"],
    ]


def retrieval_tables(report: Mapping[str, Any]) -> list[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Return title and rows of each table of a retrieval report: the average of several sets, then each set."""
    tables = [(set_title(one), one["indexes"]) for one in report["sets"]]
    return [(f"Average of {len(tables)} sets", report["mean"]), *tables] if len(tables) > 1 else tables


def set_title(one: Mapping[str, Any]) -> str:
    """Return the name of a set with its numbers of tools and queries."""
    return f"{one['name']}: {count_noun(one['tools'], 'tool')}, {count_noun(one['queries'], 'query', 'queries')}"


def number_text(value: float | None) -> str:
    """Return a number with about three significant digits, or a dash for None.

    Example:
        >>> number_text(1234.5), number_text(12.34), number_text(0.1234), number_text(None)
        ('1,234', '12.3', '0.12', '-')
    """
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def percent(share: float) -> str:
    """Return a share between 0 and 1 in percent."""
    return f"{share:.0%}"


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.3f}" if value < 10 else f"{value:,.0f}"


def _check_value(value: float, unit: str) -> str:
    if unit in ("bytes", "built"):
        return f"{value:,.0f} {unit}"
    return f"{value:.2f} {unit}" if unit else f"{value:.3f}"
