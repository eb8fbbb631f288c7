"""CPU time of functions that run in turns. On a shared machine, wall time also measures other programs."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median

__all__ = ["cpu_medians", "cpu_seconds", "garbage_collection_paused"]


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Collect garbage now and not again until the end, since a collection would count for whoever runs at that time."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def cpu_seconds(work: Callable[[], object]) -> float:
    """Call `work` once and return its CPU time in seconds, of all threads of this process."""
    started = time.process_time()
    work()
    return time.process_time() - started


def cpu_medians(functions: Sequence[Callable[[int], object]], rounds: int, *, warm: int = 0) -> list[float]:
    """Return the median CPU seconds of each function.

    Args:
        functions: Functions to measure, called with the number of the round. In each round they run in turns, so a
            change of the machine's speed affects all of them.
        rounds: Number of measured rounds.
        warm: Number of rounds before those, which are not measured.

    Example:
        >>> calls = []
        >>> medians = cpu_medians([calls.append, calls.append], rounds=2, warm=1)
        >>> calls, len(medians)
        ([0, 0, 1, 1, 2, 2], 2)
    """
    taken: list[list[float]] = [[] for _ in functions]
    for number in range(warm):
        for function in functions:
            function(number)
    with garbage_collection_paused():
        for number in range(warm, warm + rounds):
            for function, samples in zip(functions, taken, strict=True):
                started = time.process_time()
                function(number)
                samples.append(time.process_time() - started)
    return [median(samples) for samples in taken]
