"""Clocks: code that waits or measures time takes a `Clock`, so that tests never sleep."""

from __future__ import annotations

import time
from typing import Protocol, runtime_checkable

__all__ = ["Clock", "SystemClock"]

MAX_SLEEP_SECONDS = 1_000_000_000
"""About 30 years. `time.sleep` raises an error for more."""


@runtime_checkable
class Clock(Protocol):
    """Source of time and waiting. `toolsearch.testing.FakeClock` is one for tests."""

    def monotonic(self) -> float:
        """Return a time in seconds that never goes backwards. Only differences between two times have a meaning."""
        ...

    def sleep(self, seconds: float) -> None:
        """Block the thread for `seconds`."""
        ...

    async def sleep_async(self, seconds: float) -> None:
        """Wait for `seconds` without blocking the event loop."""
        ...


class SystemClock:
    """The clock of the operating system.

    Example:
        >>> clock = SystemClock()
        >>> clock.monotonic() <= clock.monotonic()
        True
    """

    def monotonic(self) -> float:
        """Return `time.monotonic()`."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block the thread for `seconds`; return at once if `seconds` is negative."""
        time.sleep(min(max(0.0, seconds), MAX_SLEEP_SECONDS))

    async def sleep_async(self, seconds: float) -> None:
        """Wait for `seconds` under asyncio or trio; a negative number counts as 0."""
        import anyio

        await anyio.sleep(min(max(0.0, seconds), MAX_SLEEP_SECONDS))
