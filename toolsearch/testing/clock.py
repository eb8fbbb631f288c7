"""`FakeClock`: a clock that tests advance."""

from __future__ import annotations

from ..errors import ConfigurationError
from ..shared.fork import new_lock

__all__ = ["FakeClock"]


class FakeClock:
    """A `Clock` that advances only by `advance`, `sleep` and `sleep_async`, without waiting.

    The object is also callable, for parameters that take a function such as ``time.monotonic``.

    Args:
        start: The first time that it shows, in seconds.

    Attributes:
        sleeps: The seconds of every `sleep` and `sleep_async`, in order.

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
        self._lock = new_lock()

    def __call__(self) -> float:
        """Return the current time in seconds."""
        return self._now

    def monotonic(self) -> float:
        """Return the current time in seconds."""
        return self._now

    def advance(self, seconds: float) -> float:
        """Advance the clock and return the new time.

        Args:
            seconds: The seconds to add.

        Raises:
            ConfigurationError: If `seconds` is negative.
        """
        if seconds < 0:
            raise ConfigurationError(f"seconds must be 0 or more, got {seconds!r}")
        with self._lock:
            self._now += seconds
            return self._now

    def sleep(self, seconds: float) -> None:
        """Record the wait and advance the clock at once."""
        self.advance(max(0.0, seconds))
        self.sleeps.append(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Record the wait and advance the clock at once."""
        self.sleep(seconds)
