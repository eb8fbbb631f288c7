"""When a server that ended is started again."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import ConfigurationError
from ...loop.clock import Clock

__all__ = ["Attempts", "Reconnect"]


@dataclass(frozen=True, slots=True)
class Reconnect:
    """How long to wait before a server that ended is started again; nothing happens until it is needed.

    One that had worked is started again at once. If it ends again without having answered a call, or does not start,
    the next attempt waits, and each further one longer.

    Args:
        first: seconds of the first wait.
        factor: by which each wait is longer than the one before.
        longest: the most it will be.

    Raises:
        ConfigurationError: for numbers that cannot work.

    Example:
        >>> [Reconnect(first=1, longest=5).wait(ends, started=True) for ends in range(1, 6)]
        [0.0, 1.0, 2.0, 4.0, 5.0]
    """

    first: float = 1.0
    factor: float = 2.0
    longest: float = 60.0

    def __post_init__(self) -> None:
        if not (0 <= self.first <= self.longest and self.factor >= 1):
            raise ConfigurationError(
                f"{self}: first must be from 0 to longest, and factor 1 or more: waits never become shorter"
            )

    def wait(self, ends: int, *, started: bool) -> float:
        """Seconds to wait when a server ended `ends` times in a row, the last time after it had `started` or before."""
        if ends <= 1 and started:
            return 0.0
        # Past this exponent every wait is the longest, while the power itself could overflow.
        return float(min(self.longest, self.first * self.factor ** min(max(ends - 2, 0), 64)))


class Attempts:
    """How often a server ended in a row, and when it may be started again."""

    def __init__(self, reconnect: Reconnect | None, clock: Clock) -> None:
        self._reconnect = reconnect
        self._clock = clock
        self._ends = 0
        self._next = 0.0

    def started(self) -> None:
        """Note that it runs, so that no wait is left from before; the ends stay counted until it has `answered`."""
        self._next = 0.0

    def answered(self) -> None:
        """Note that it works."""
        self._ends = 0

    def ended(self, *, started: bool) -> None:
        """Note that it ended, before or after it had started."""
        self._ends += 1
        if self._reconnect is not None:
            self._next = self._clock.monotonic() + self._reconnect.wait(self._ends, started=started)

    @property
    def wait(self) -> float | None:
        """Seconds until it may be started again; None if it is not to be."""
        return None if self._reconnect is None else max(0.0, self._next - self._clock.monotonic())

    def outlook(self, *, remote: bool) -> str:
        """What the model is told of the server's tools; a remote server is not started, but reached."""
        wait = self.wait
        if wait is None:
            return "its tools cannot be used now"
        if wait == 0:
            return f"the next call of one of its tools {'reaches' if remote else 'starts'} it again"
        return f"its tools cannot be used now; it can be {'reached' if remote else 'started'} again in {wait:.1f} s"
