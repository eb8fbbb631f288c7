"""Results of a savings run as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..reports.provenance import provenance
from .break_even import BreakEven
from .cache_pricing import CachePrices
from .definition_sizes import DefinitionSizes
from .measure import Savings, Strategy, Totals
from .servers import ServerListing

__all__ = ["report_json", "strategy_json", "suite_json"]

FORMAT = 1


def report_json(
    suites: Sequence[dict[str, Any]], counter: str, prices: CachePrices, servers: Sequence[ServerListing] = ()
) -> dict[str, Any]:
    """Return the report of a whole run.

    Args:
        suites: The results of each catalog, from `suite_json`.
        counter: Name of the token counter.
        prices: Prices of tokens with a prompt cache.
        servers: The MCP servers that listed tools.
    """
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
    """Return the results of one catalog, with a note to print below them."""
    return {
        "name": savings.name,
        "note": note,
        "tools": savings.tools,
        "definition_tokens": savings.definition_tokens,
        "definitions": None if definitions is None else asdict(definitions),
        "break_even": None if break_even is None else asdict(break_even),
        "tasks": len(savings.baseline.runs),
        "skipped": list(savings.skipped),
        "baseline": strategy_json(savings.baseline, savings.baseline),
        "strategies": [strategy_json(strategy, savings.baseline) for strategy in savings.strategies],
        "losses": [asdict(loss) for loss in savings.losses()],
    }


def strategy_json(strategy: Strategy, baseline: Strategy) -> dict[str, Any]:
    """Return one strategy: its totals and savings against `baseline`, by style too, and every task."""
    both = list(zip(strategy.runs, baseline.runs, strict=True))
    styles = baseline.by_style()
    return {
        "name": strategy.name,
        **_totals_json(strategy.totals, baseline.totals),
        "saving_where_it_succeeded": _saving(
            sum(run.total for run, _ in both if run.succeeded), sum(plain.total for run, plain in both if run.succeeded)
        ),
        "tasks_costlier_warm": sum(run.warm > plain.warm for run, plain in both),
        "styles": {style: _totals_json(totals, styles[style]) for style, totals in strategy.by_style().items()},
        "runs": [{**asdict(run), "cold": round(run.cold, 1), "warm": round(run.warm, 1)} for run in strategy.runs],
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
    """Return the share saved. It is negative if the cost is higher than the baseline."""
    return round(1 - cost / plain, 4) if plain else 0.0
