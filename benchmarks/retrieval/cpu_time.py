"""CPU time of rivals that take turns: on a shared machine, wall time measures the neighbours."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median

__all__ = ["cpu_medians", "cpu_seconds", "quiet"]


@contextmanager
def quiet() -> Iterator[None]:
    """Collect garbage now, and none until the end: whose turn a collection falls into is chance."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def cpu_seconds(work: Callable[[], object]) -> float:
    """Do the work once and return the CPU time it took, that of all threads of this process together."""
    started = time.process_time()
    work()
    return time.process_time() - started


def cpu_medians(rivals: Sequence[Callable[[int], object]], rounds: int, *, warm: int = 0) -> list[float]:
    """Return the median CPU seconds of each rival.

    Args:
        rivals: called with the number of the round, one after the other in each round; so whatever changes on the
            machine meanwhile changes for all.
        rounds: how often each is measured.
        warm: rounds before these that do not count.

    Example:
        >>> calls = []
        >>> medians = cpu_medians([calls.append, calls.append], rounds=2, warm=1)
        >>> calls, len(medians)
        ([0, 0, 1, 1, 2, 2], 2)
    """
    taken: list[list[float]] = [[] for _ in rivals]
    for number in range(warm):
        for rival in rivals:
            rival(number)
    with quiet():
        for number in range(warm, warm + rounds):
            for rival, samples in zip(rivals, taken, strict=True):
                started = time.process_time()
                rival(number)
                samples.append(time.process_time() - started)
    return [median(samples) for samples in taken]
