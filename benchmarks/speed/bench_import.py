"""What `import toolsearch` costs a program: less than 300 ms.

::

    python -m pytest benchmarks/speed/bench_import.py

CPU time of a fresh interpreter that imports it, less that of one that imports nothing; the least of several runs.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from typing import Any

import pytest

ALLOWED = 0.300
RUNS = 7


def cpu_of(code: str) -> float:
    """CPU seconds of an interpreter that runs `code`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("module", ["toolsearch", "toolsearch.testing", "toolsearch.indexes"])
def test_importing_is_quick(module: str, capsys: Any) -> None:
    taken = min(cpu_of(f"import {module}") for _ in range(RUNS)) - min(cpu_of("pass") for _ in range(RUNS))
    with capsys.disabled():
        print(f"\n  import {module}: {taken * 1000:.0f} ms", end=" ")
    assert taken < ALLOWED
