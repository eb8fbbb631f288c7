"""Speed of imports, compared with importing pydantic in the same run.

::

    python -m pytest toolsearch/benchmarks/speed/bench_import.py

A new interpreter imports a package. Times are CPU times, and the shortest of several runs counts, since a busy machine
only adds time.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import Any

import pytest

ROUNDS = 7
BASELINE = "from pydantic import BaseModel"
MAX_RATIO = 2.7
"""Maximum time of an import, as a multiple of the baseline: 1.5 times the measured ratio of 1.8."""


def children_seconds() -> float:
    """Return the CPU time of all ended child processes, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_python(code: str) -> None:
    """Run code in a new interpreter."""
    subprocess.run([sys.executable, "-c", code], check=True)


def baseline_seconds() -> float:
    """Return the shortest time of the baseline, in seconds."""
    durations = []
    for _ in range(ROUNDS):
        started = children_seconds()
        run_python(BASELINE)
        durations.append(children_seconds() - started)
    return min(durations)


@pytest.mark.benchmark(timer=children_seconds)
@pytest.mark.parametrize("package", ["toolsearch", "toolsearch.indexes", "toolsearch.testing"])
def test_import_time_is_within_its_ratio_to_pydantic(benchmark: Any, package: str) -> None:
    benchmark.pedantic(run_python, args=(f"import {package}",), rounds=ROUNDS, warmup_rounds=1)
    ratio = benchmark.stats.stats.min / baseline_seconds()
    benchmark.extra_info["ratio to pydantic"] = round(ratio, 2)
    assert ratio < MAX_RATIO
