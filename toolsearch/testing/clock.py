"""`FakeClock`: time that passes when a test says so."""

from __future__ import annotations

from threading import Lock

from ..errors import ConfigurationError

__all__ = ["FakeClock"]


class FakeClock:
    """A `Clock` that starts at `start` and moves only by `advance`, `sleep` and `sleep_async`; nothing really waits.

    It can also be called, for what takes a plain function as its clock.

    Args:
        start: what it shows at first, in seconds.

    Attributes:
        sleeps: the seconds of every `sleep` and `sleep_async`, in order.

    Example:
        >>> clock = FakeClock()
        >>> clock.sleep(0.5)
        >>> clock.advance(60)
        60.5
        >>> clock(), clock.monotonic(), clock.sleeps
        (60.5, 60.5, [0.5])
    """

    def __init__(self, start: float = 0.0) -> None:
        self.sleeps: list[float] = []
        self._now = start
        self._lock = Lock()

    def __call__(self) -> float:
        """Return the time it shows."""
        return self._now

    def monotonic(self) -> float:
        """Return the time it shows."""
        return self._now

    def advance(self, seconds: float) -> float:
        """Let `seconds` pass and return the new time.

        Raises:
            ConfigurationError: if `seconds` is negative; a monotonic clock does not go back.
        """
        if seconds < 0:
            raise ConfigurationError(f"a clock cannot go back by {-seconds!r} seconds")
        with self._lock:
            self._now += seconds
            return self._now

    def sleep(self, seconds: float) -> None:
        """Note the wait and let the time pass at once."""
        self.advance(max(0.0, seconds))
        self.sleeps.append(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Note the wait and let the time pass at once."""
        self.sleep(seconds)
