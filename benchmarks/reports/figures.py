"""How figures of ranking and scaling are written, wherever they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .wording import count_of

__all__ = [
    "HEADINGS",
    "QUALITY",
    "SPEED",
    "check_cells",
    "figure_text",
    "quality_cells",
    "sections",
    "set_title",
    "speed_cells",
]

QUALITY = (("recall_1", "recall@1"), ("recall_5", "recall@5"), ("ndcg_5", "nDCG@5"), ("hit_1", "hit@1"), ("mrr", "MRR"))
SPEED = (("p50_ms", "p50 ms"), ("p99_ms", "p99 ms"), ("build_ms", "build ms"), ("memory_mb", "MB"))
HEADINGS = tuple(heading for _, heading in QUALITY + SPEED)


def quality_cells(row: Mapping[str, Any] | None) -> list[str]:
    """The qualities of a row in percent; of None their headings."""
    return [heading if row is None else f"{row[key] * 100:.1f}" for key, heading in QUALITY]


def speed_cells(row: Mapping[str, Any] | None) -> list[str]:
    """The times and the memory of a row; of None their headings."""
    return [heading if row is None else figure_text(row.get(key)) for key, heading in SPEED]


def check_cells(row: Mapping[str, Any]) -> list[str]:
    """What was measured, tools, ours, the other's, value, target and verdict of a check."""
    return [
        row["what"],
        f"{row['tools']:,}",
        _milliseconds(row["ours_ms"]),
        _milliseconds(row["other_ms"]),
        _value(row["value"], row["unit"]),
        "" if row["target"] is None else _value(row["target"], row["unit"]),
        row["verdict"],
    ]


def sections(report: Mapping[str, Any]) -> list[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Return a title and the rows for the averages, if there are several sets, and for each set."""
    each = [(set_title(one), one["indexes"]) for one in report["sets"]]
    return [(f"Average of {len(each)} sets", report["mean"]), *each] if len(each) > 1 else each


def set_title(one: Mapping[str, Any]) -> str:
    """Say how large a set is."""
    return f"{one['name']}: {count_of(one['tools'], 'tool')}, {count_of(one['queries'], 'query', 'queries')}"


def figure_text(value: float | None) -> str:
    """Three significant digits, or a dash."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.3f}" if value < 10 else f"{value:,.0f}"


def _value(value: float, unit: str) -> str:
    if unit in ("bytes", "built"):
        return f"{value:,.0f} {unit}"
    return f"{value:.2f} {unit}" if unit else f"{value:.3f}"
