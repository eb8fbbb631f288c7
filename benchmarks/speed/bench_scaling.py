"""The targets of speed and memory as tests: ``make bench``.

Not part of ``make test``, which no busy machine should fail.
"""

from __future__ import annotations

import pytest

from toolsearch.benchmarks.scaling.catalogs import bundled_material
from toolsearch.benchmarks.scaling.checks import Check
from toolsearch.benchmarks.scaling.measure import run_scaling

pytest.importorskip("rank_bm25")


@pytest.fixture(scope="module")
def checks() -> list[Check]:
    return list(run_scaling(bundled_material()))


@pytest.mark.parametrize(
    "what",
    ["cold build", "search p50 /", "first search", "vector p50", "search p50, request", "memory", "indexes built"],
)
def test_no_target_is_exceeded_by_half(checks: list[Check], what: str) -> None:
    found = [check for check in checks if check.what.startswith(what)]
    missed = [f"{c.what}, {c.tools:,} tools: {c.value:.3f}, target {c.target}" for c in found if c.verdict == "missed"]
    assert missed == []
    assert found or what == "vector p50", "nothing of the kind was measured"
