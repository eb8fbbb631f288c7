"""Speed of imports, compared with importing pydantic in the same run.

::

    python -m pytest toolsearch/benchmarks/speed/bench_import.py

A new interpreter imports a package. The shortest of several runs counts, since a busy machine only adds time.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest

ROUNDS = 7
BASELINE = "from pydantic import BaseModel"
MAX_RATIO = 4.0
"""Maximum time of an import, as a multiple of the baseline: 1.5 times the measured ratio of 2.7."""


def run_python(code: str) -> None:
    """Run code in a new interpreter."""
    subprocess.run([sys.executable, "-c", code], check=True)


def baseline_seconds() -> float:
    """Return the shortest time of the baseline, in seconds."""
    durations = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        run_python(BASELINE)
        durations.append(time.perf_counter() - started)
    return min(durations)


@pytest.mark.parametrize("package", ["toolsearch", "toolsearch.indexes", "toolsearch.testing"])
def test_import_time_is_within_its_ratio_to_pydantic(benchmark: Any, package: str) -> None:
    benchmark.pedantic(run_python, args=(f"import {package}",), rounds=ROUNDS, warmup_rounds=1)
    ratio = benchmark.stats.stats.min / baseline_seconds()
    benchmark.extra_info["ratio to pydantic"] = round(ratio, 2)
    assert ratio < MAX_RATIO
