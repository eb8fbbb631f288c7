"""The record of one session: the tools revealed to it."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

__all__ = ["SessionRecord"]


class SessionRecord:
    """The tools revealed to a session, in order, and the value frozen in its first turn. Safe from several threads.

    A record knows tools by name only. Its reader decides whether a name still means a tool.

    Example:
        >>> record = SessionRecord()
        >>> record.reveal(["b", "a"]), record.reveal(["a", "c"])
        (('b', 'a'), ('c',))
        >>> record.touch_tool("b")
        >>> record.revealed, record.least_recently_used
        (('b', 'a', 'c'), ('a', 'c', 'b'))
    """

    __slots__ = ("_frozen", "_last_use", "_lock", "_uses")

    def __init__(self) -> None:
        self._lock = Lock()
        self._last_use: dict[str, int] | None = None  # in order of reveal; None saves memory for idle sessions
        self._uses = 0
        self._frozen: object | None = None

    @property
    def revealed(self) -> tuple[str, ...]:
        """The revealed names, in order."""
        with self._lock:
            return tuple(self._last_use or ())

    @property
    def least_recently_used(self) -> tuple[str, ...]:
        """The revealed names, least recently found or used first."""
        with self._lock:
            last_use = self._last_use or {}
            return tuple(sorted(last_use, key=last_use.__getitem__))

    def reveal(self, names: Iterable[str]) -> tuple[str, ...]:
        """Add `names` and return the new ones, in order. Finding a known name again counts as a use of it."""
        given = tuple(names)
        with self._lock:
            if self._last_use is None:
                self._last_use = {}
            added = tuple(dict.fromkeys(name for name in given if name not in self._last_use))
            for name in given:
                self._uses += 1
                self._last_use[name] = self._uses
        return added

    def touch_tool(self, name: str) -> None:
        """Count a use of `name` now. Ignore a name that is not revealed."""
        with self._lock:
            if self._last_use is not None and name in self._last_use:
                self._uses += 1
                self._last_use[name] = self._uses

    def hide(self, names: Iterable[str]) -> None:
        """Remove `names`. A name that is revealed again later counts as new and comes last."""
        given = tuple(names)
        with self._lock:
            if self._last_use is not None:
                for name in given:
                    self._last_use.pop(name, None)

    @property
    def frozen(self) -> object | None:
        """The value of the first `freeze`, or None."""
        return self._frozen

    def freeze(self, value: object) -> object:
        """Keep `value` unless a value is kept already, and return the kept one. Parallel callers get the same."""
        with self._lock:
            if self._frozen is None:
                self._frozen = value
            return self._frozen
