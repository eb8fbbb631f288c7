"""Time as an argument: what waits or measures takes a `Clock`, so that tests never sleep."""

from __future__ import annotations

import time
from typing import Protocol, runtime_checkable

__all__ = ["Clock", "SystemClock"]


@runtime_checkable
class Clock(Protocol):
    """Tells the time and waits. `toolsearch.testing.FakeClock` is one that only pretends to."""

    def monotonic(self) -> float:
        """Return seconds that never go backwards; only differences mean anything."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return after `seconds`; the thread is held."""
        ...

    async def sleep_async(self, seconds: float) -> None:
        """Return after `seconds`; the event loop is free meanwhile."""
        ...


class SystemClock:
    """The machine's own clock.

    Example:
        >>> clock = SystemClock()
        >>> clock.monotonic() <= clock.monotonic()
        True
    """

    def monotonic(self) -> float:
        """Return `time.monotonic()`."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Hold this thread for `seconds`; a negative time is none."""
        time.sleep(max(0.0, seconds))

    async def sleep_async(self, seconds: float) -> None:
        """Let other tasks run for `seconds`, under asyncio or trio; a negative time is none."""
        import anyio

        await anyio.sleep(max(0.0, seconds))
