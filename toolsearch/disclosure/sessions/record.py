"""The record of one session: the tools revealed to it."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

__all__ = ["SessionRecord"]


class SessionRecord:
    """The tools revealed to a session, in order, and the value frozen in its first turn. Safe from several threads.

    A record knows tools by identity only (`Tool.identity`), so that a tool that another source lists under the same
    name does not take the place of a revealed one. Its reader decides whether an identity still means a tool.

    Example:
        >>> record = SessionRecord()
        >>> record.reveal(["b", "a"]), record.reveal(["a", "c"])
        (('b', 'a'), ('c',))
        >>> record.touch_tool("b")
        >>> record.revealed, record.least_recently_used
        (('b', 'a', 'c'), ('a', 'c', 'b'))
    """

    __slots__ = ("_frozen", "_last_use", "_lock", "_to_restore", "_uses")

    def __init__(self) -> None:
        self._lock = Lock()
        self._last_use: dict[str, int] | None = None  # in order of reveal; None saves memory for idle sessions
        self._uses = 0
        self._frozen: object | None = None
        self._to_restore: tuple[str, ...] = ()

    @property
    def revealed(self) -> tuple[str, ...]:
        """The identities of the revealed tools, in order."""
        with self._lock:
            return tuple(self._last_use or ())

    @property
    def least_recently_used(self) -> tuple[str, ...]:
        """The identities of the revealed tools, least recently found or used first."""
        with self._lock:
            last_use = self._last_use or {}
            return tuple(sorted(last_use, key=last_use.__getitem__))

    def reveal(self, identities: Iterable[str]) -> tuple[str, ...]:
        """Add `identities` and return the new ones, in order. Finding a known tool again counts as a use of it."""
        given = tuple(identities)
        with self._lock:
            if self._last_use is None:
                self._last_use = {}
            added = tuple(dict.fromkeys(one for one in given if one not in self._last_use))
            for one in given:
                self._uses += 1
                self._last_use[one] = self._uses
        return added

    def touch_tool(self, identity: str) -> None:
        """Count a use of a tool now. Ignore a tool that is not revealed."""
        with self._lock:
            if self._last_use is not None and identity in self._last_use:
                self._uses += 1
                self._last_use[identity] = self._uses

    def hide(self, identities: Iterable[str]) -> None:
        """Remove tools. A tool that is revealed again later counts as new and comes last."""
        given = tuple(identities)
        with self._lock:
            if self._last_use is not None:
                for identity in given:
                    self._last_use.pop(identity, None)

    def restore_later(self, names: Iterable[str]) -> None:
        """Keep names that the next turn reveals again, when it is known which tools they mean."""
        given = tuple(names)
        with self._lock:
            self._to_restore = (*self._to_restore, *given)

    def take_restored(self) -> tuple[str, ...]:
        """Return and forget the names of `restore_later`."""
        with self._lock:
            names, self._to_restore = self._to_restore, ()
        return names

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
