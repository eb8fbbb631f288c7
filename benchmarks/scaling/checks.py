"""Checks of the scaling benchmark: measured values with targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

__all__ = [
    "BUILD_TARGETS",
    "FIRST_SEARCH_TARGETS",
    "SEARCH_TARGETS",
    "SLACK",
    "VECTOR_TARGETS",
    "Check",
    "check_ratio",
    "without_time_target",
]

SLACK = 1.5
"""Factor by which a value may exceed its target before the target is missed."""

# Target ratios by the size of the catalog.
SEARCH_TARGETS = {30: 4.0, 300: 1.7, 3_000: 0.3, 30_000: 0.1}
BUILD_TARGETS = {30: 8.0, 300: 3.0, 3_000: 3.0, 30_000: 3.0}
FIRST_SEARCH_TARGETS = {30: 0.04, 300: 0.02, 3_000: 0.01, 30_000: 0.01}
VECTOR_TARGETS = {30: 1.0, 300: 1.0, 3_000: 1.0, 30_000: 1.1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Measured value with its target.

    Args:
        what: Name of the value; for a ratio, with the baseline.
        tools: Size of the catalog.
        value: The ratio, or the value in `unit`.
        target: Maximum of the value, or None without a target.
        unit: Unit of the value; empty for a ratio.
        toolsearch_ms: CPU time of toolsearch in milliseconds, for a ratio.
        baseline_ms: CPU time of the baseline in milliseconds, for a ratio.
        slack: Factor by which the value may exceed the target before the target is missed.
    """

    what: str
    tools: int
    value: float
    target: float | None
    unit: str = ""
    toolsearch_ms: float | None = None
    baseline_ms: float | None = None
    slack: float = SLACK

    @property
    def verdict(self) -> str:
        """Return ``ok`` within the target, ``slack`` within the slack, else ``missed``; empty without a target."""
        if self.target is None:
            return ""
        if self.value <= self.target:
            return "ok"
        return "slack" if self.value <= self.target * self.slack else "missed"


def without_time_target(check: Check) -> Check:
    """Return the check without a target for time, since those targets were measured on the bundled tools.

    Memory of a session and number of indexes do not depend on the tools, so they keep their targets.
    """
    return check if check.unit in ("bytes", "built") else replace(check, target=None)


def check_ratio(what: str, tools: int, medians: Sequence[float], targets: Mapping[int, float] | None) -> Check:
    """Return the check of a ratio.

    Args:
        what: Name of the ratio.
        tools: Size of the catalog.
        medians: CPU seconds of toolsearch and of the baseline.
        targets: Target by size of the catalog, or None without a target.
    """
    toolsearch, baseline = medians
    # A size without a target has that of the next smaller size.
    target = targets[max((size for size in targets if size <= tools), default=min(targets))] if targets else None
    return Check(
        what=what,
        tools=tools,
        value=toolsearch / baseline,
        target=target,
        toolsearch_ms=toolsearch * 1000,
        baseline_ms=baseline * 1000,
    )
