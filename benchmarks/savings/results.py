"""The outcome of a run as JSON: what README tables are made from, and what other runs are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..reports.provenance import provenance
from .break_even import BreakEven
from .cache_pricing import CachePrices
from .definition_sizes import DefinitionSizes
from .measure import Contender, Savings, Totals
from .servers import ServerListing

__all__ = ["contender_json", "report_json", "suite_json"]

FORMAT = 1


def report_json(
    suites: Sequence[dict[str, Any]], counter: str, prices: CachePrices, servers: Sequence[ServerListing] = ()
) -> dict[str, Any]:
    """A whole run: `suites` are the outcomes by catalogue, as `suite_json` gives them."""
    return {
        "format": FORMAT,
        **provenance(),
        "counter": counter,
        "prices": asdict(prices),
        "servers": [asdict(server) for server in servers],
        "suites": list(suites),
    }


def suite_json(
    savings: Savings, break_even: BreakEven | None = None, note: str = "", definitions: DefinitionSizes | None = None
) -> dict[str, Any]:
    """The outcome for one catalogue, with a note to print below it."""
    return {
        "name": savings.name,
        "note": note,
        "tools": savings.tools,
        "definition_tokens": savings.definition_tokens,
        "definitions": None if definitions is None else asdict(definitions),
        "break_even": None if break_even is None else asdict(break_even),
        "tasks": len(savings.baseline.runs),
        "skipped": list(savings.skipped),
        "baseline": contender_json(savings.baseline, savings.baseline),
        "contenders": [contender_json(contender, savings.baseline) for contender in savings.contenders],
        "losses": [asdict(loss) for loss in savings.losses()],
    }


def contender_json(contender: Contender, baseline: Contender) -> dict[str, Any]:
    """One contender: its totals, what it saved against `baseline`, the same by style, and every task."""
    both = list(zip(contender.runs, baseline.runs, strict=True))
    styles = baseline.by_style()
    return {
        "name": contender.name,
        **_totals_json(contender.totals, baseline.totals),
        "saving_where_it_succeeded": _saving(
            sum(run.total for run, _ in both if run.succeeded), sum(plain.total for run, plain in both if run.succeeded)
        ),
        "tasks_dearer_warm": sum(run.warm > plain.warm for run, plain in both),
        "styles": {style: _totals_json(totals, styles[style]) for style, totals in contender.by_style().items()},
        "runs": [{**asdict(run), "cold": round(run.cold, 1), "warm": round(run.warm, 1)} for run in contender.runs],
    }


def _totals_json(totals: Totals, plain: Totals) -> dict[str, Any]:
    return {
        **asdict(totals),
        "cold": round(totals.cold, 1),
        "warm": round(totals.warm, 1),
        "total": totals.total,
        "saving": _saving(totals.total, plain.total),
        "saving_input": _saving(totals.input, plain.input),
        "saving_cold": _saving(totals.cold, plain.cold),
        "saving_warm": _saving(totals.warm, plain.warm),
    }


def _saving(cost: float, plain: float) -> float:
    """The share saved; negative where it cost more."""
    return round(1 - cost / plain, 4) if plain else 0.0
