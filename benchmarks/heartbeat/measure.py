"""Measurement of the longest time between two wake-ups of a task while a turn runs."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import anyio

from .blocking import blocking_cases
from .case import Case
from .hostile import hostile_cases

__all__ = ["BACKENDS", "MAX_PAUSE_SECONDS", "Pause", "longest_pause", "run_heartbeat"]

BACKENDS = ("asyncio", "trio")
BEAT_SECONDS = 0.005
MAX_PAUSE_SECONDS = 0.050
RUNS = 3


@dataclass(frozen=True, slots=True)
class Pause:
    """The longest pause of one case.

    Args:
        group: The kind of work: ``idle``, ``blocking`` or ``hostile``.
        case: The case.
        backend: The event loop.
        pause_seconds: The longest time between two wake-ups: the shortest of all runs.
        turn_seconds: The time of that turn.
    """

    group: str
    case: str
    backend: str
    pause_seconds: float
    turn_seconds: float

    @property
    def is_blocked(self) -> bool:
        """True if the event loop stood still for too long."""
        return self.pause_seconds > MAX_PAUSE_SECONDS


def longest_pause(turn: Callable[[], Awaitable[object]], backend: str) -> tuple[float, float]:
    """Return the longest time between two wake-ups while `turn` runs, and the time of the turn, in seconds."""

    async def main() -> tuple[float, float]:
        beats: list[float] = []
        started = ended = 0.0

        async def beat() -> None:
            while True:
                beats.append(time.perf_counter())
                await anyio.sleep(BEAT_SECONDS)

        async with anyio.create_task_group() as group:
            group.start_soon(beat)
            await anyio.sleep(2 * BEAT_SECONDS)
            del beats[:-1]
            started = time.perf_counter()
            await turn()
            ended = time.perf_counter()
            beats.append(ended)
            group.cancel_scope.cancel()
        return max(after - before for before, after in pairwise(beats)), ended - started

    return anyio.run(main, backend=backend)


def run_heartbeat(progress: Callable[[str], object] = lambda _text: None) -> Iterator[Pause]:
    """Measure every case on every event loop.

    A busy machine only adds pauses, so the shortest of several runs counts. The first case, in which nothing runs,
    shows how much it adds.
    """
    for case in [*blocking_cases(), *hostile_cases()]:
        for backend in BACKENDS:
            progress(f"{case.name}, {backend}")
            yield _measure(case, backend)


def _measure(case: Case, backend: str) -> Pause:
    runs = [longest_pause(case.prepare(), backend) for _ in range(RUNS)]
    pause, turn = min(runs)
    return Pause(case.group, case.name, backend, pause, turn)
