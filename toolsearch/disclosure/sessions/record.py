"""`SessionRecord`: what one session has found so far."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

__all__ = ["SessionRecord"]


class SessionRecord:
    """The tools a session discovered, in order, and the value frozen at its first turn. Safe from several threads.

    A record knows nothing of tools but names: whether a name still means a tool is for its reader to say.

    Example:
        >>> record = SessionRecord()
        >>> record.discover(["b", "a"]), record.discover(["a", "c"])
        (('b', 'a'), ('c',))
        >>> record.touch_tool("b")
        >>> record.discovered, record.least_recently_used
        (('b', 'a', 'c'), ('a', 'c', 'b'))
    """

    __slots__ = ("_frozen", "_last_use", "_lock", "_uses")

    def __init__(self) -> None:
        self._lock = Lock()
        self._last_use: dict[str, int] | None = None  # in order of discovery; most sessions of a big table have none
        self._uses = 0
        self._frozen: object | None = None

    @property
    def discovered(self) -> tuple[str, ...]:
        """The names found so far, in order of discovery."""
        with self._lock:
            return tuple(self._last_use or ())

    @property
    def least_recently_used(self) -> tuple[str, ...]:
        """The same names, the one longest neither found nor used first."""
        with self._lock:
            last_use = self._last_use or {}
            return tuple(sorted(last_use, key=last_use.__getitem__))

    def discover(self, names: Iterable[str]) -> tuple[str, ...]:
        """Add `names` and return those that are new, in order; finding a known one again counts as its use."""
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
        """Note a use of `name`, now; a name not discovered is ignored."""
        with self._lock:
            if self._last_use is not None and name in self._last_use:
                self._uses += 1
                self._last_use[name] = self._uses

    def forget_tools(self, names: Iterable[str]) -> None:
        """Take `names` back; found again later, they count as new and come last."""
        given = tuple(names)
        with self._lock:
            if self._last_use is not None:
                for name in given:
                    self._last_use.pop(name, None)

    @property
    def frozen(self) -> object | None:
        """What `freeze` was first given, or None."""
        return self._frozen

    def freeze(self, value: object) -> object:
        """Keep `value` if nothing is kept yet, and return what is kept: of parallel callers all get the same."""
        with self._lock:
            if self._frozen is None:
                self._frozen = value
            return self._frozen
