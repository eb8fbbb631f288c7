"""Waits before a server that ended is started again."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import ConfigurationError
from ...loop.clock import Clock

__all__ = ["Attempts", "Reconnect"]


@dataclass(frozen=True, slots=True)
class Reconnect:
    """Exponential backoff for restarts of MCP servers; a restart happens only when a turn needs the server.

    A server that was ready before it ended is started again without a wait. If it ends again before it answered a
    call, or does not start, the next attempt waits, and each further one waits longer.

    Args:
        first: The seconds of the first wait.
        factor: The factor by which each wait grows.
        longest: The upper limit of a wait, in seconds.

    Raises:
        ConfigurationError: If `first` is negative or above `longest`, or `factor` is below 1.

    Example:
        >>> [Reconnect(first=1, longest=5).wait(ends, started=True) for ends in range(1, 6)]
        [0.0, 1.0, 2.0, 4.0, 5.0]
    """

    first: float = 1.0
    factor: float = 2.0
    longest: float = 60.0

    def __post_init__(self) -> None:
        if not (0 <= self.first <= self.longest and self.factor >= 1):
            raise ConfigurationError(f"first must be from 0 to longest, and factor 1 or more, got {self}")

    def wait(self, ends: int, *, started: bool) -> float:
        """Return the seconds to wait before the next start.

        Args:
            ends: The number of times in a row that the server ended without an answered call in between.
            started: Whether the server was ready before it ended the last time.
        """
        if ends <= 1 and started:
            return 0.0
        # A larger exponent could overflow, and every wait is `longest` by then.
        return float(min(self.longest, self.first * self.factor ** min(max(ends - 2, 0), 64)))


class Attempts:
    """The count of times that a server ended in a row, and the time of its next start."""

    def __init__(self, reconnect: Reconnect | None, clock: Clock) -> None:
        self._reconnect = reconnect
        self._clock = clock
        self._ends = 0
        self._next = 0.0

    def started(self) -> None:
        """Record that the server is ready: cancel the wait, but keep the count until `answered`."""
        self._next = 0.0

    def answered(self) -> None:
        """Record that the server answered a call."""
        self._ends = 0

    def ended(self, *, started: bool) -> None:
        """Record that the server ended, before or after it was ready."""
        self._ends += 1
        if self._reconnect is not None:
            self._next = self._clock.monotonic() + self._reconnect.wait(self._ends, started=started)

    @property
    def wait(self) -> float | None:
        """The seconds until the server may be started again; None if it never may."""
        return None if self._reconnect is None else max(0.0, self._next - self._clock.monotonic())

    def describe_next(self, *, remote: bool) -> str:
        """Return sentences for the model about the next attempt; a remote server is reached rather than started."""
        wait = self.wait
        if wait is None:
            return "Its tools cannot be used now."
        if wait == 0:
            return f"Calling one of its tools {'connects to' if remote else 'starts'} it again."
        return f"Its tools cannot be used now. It can be {'reached' if remote else 'started'} again in {wait:.1f} s."
