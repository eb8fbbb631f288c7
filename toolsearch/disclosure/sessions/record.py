"""The record of one session: the tools revealed to it."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

__all__ = ["SessionRecord"]


class SessionRecord:
    """The tools revealed to a session, in order, and the value frozen in its first turn. Safe from several threads.

    A record knows tools by identity only (`Tool.identity`), so that a tool that another source lists under the same
    name does not take the place of a revealed one. Its reader decides whether an identity still means a tool. It
    remembers which tools left again, so that `merge` does not bring them back.

    Example:
        >>> record = SessionRecord()
        >>> record.reveal(["b", "a"]), record.reveal(["a", "c"])
        (('b', 'a'), ('c',))
        >>> record.touch_tool("b")
        >>> record.revealed, record.least_recently_used
        (('b', 'a', 'c'), ('a', 'c', 'b'))
    """

    __slots__ = ("_frozen", "_last_use", "_left", "_lock", "_shown", "_to_restore", "_uses")

    def __init__(self) -> None:
        self._lock = Lock()
        self._last_use: dict[str, int] | None = None  # in order of reveal; None saves memory for idle sessions
        self._left: set[str] | None = None  # revealed once, and hidden now
        self._shown: tuple[str, ...] = ()  # what the conversation shows after the last turn that was merged or kept
        self._uses = 0
        self._frozen: object | None = None
        self._to_restore: tuple[str, ...] = ()

    def unlock(self) -> None:
        """Forget who holds the lock, in a forked child: a thread of the parent. Not registered, to save memory."""
        self._lock = Lock()

    @property
    def revealed(self) -> tuple[str, ...]:
        """The identities of the revealed tools, in order."""
        with self._lock:
            return tuple(self._last_use or ())

    @property
    def least_recently_used(self) -> tuple[str, ...]:
        """The identities of the revealed tools, least recently found or used first."""
        with self._lock:
            return self._by_use()

    @property
    def known(self) -> frozenset[str]:
        """The identities of the tools that are revealed, or were once."""
        with self._lock:
            return frozenset((*(self._last_use or ()), *(self._left or ())))

    @property
    def shown(self) -> tuple[str, ...]:
        """The tools that the conversation shows, in order, as `merge` or `keep` saw it last."""
        return self._shown

    def is_revealed(self, identity: str) -> bool:
        """Return whether a tool is revealed."""
        with self._lock:
            return self._last_use is not None and identity in self._last_use

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
            if self._left:
                self._left.difference_update(added)
        return added

    def touch_tool(self, identity: str) -> None:
        """Count a use of a tool now. Ignore a tool that is not revealed."""
        with self._lock:
            if self._last_use is not None and identity in self._last_use:
                self._uses += 1
                self._last_use[identity] = self._uses

    def hide(self, identities: Iterable[str]) -> None:
        """Remove tools. A tool that is revealed again later counts as new and comes last."""
        given = frozenset(identities)
        with self._lock:
            if given.intersection(self._last_use or ()):
                self._set([one for one in self._last_use or () if one not in given], self._by_use())

    def set_revealed(self, identities: Iterable[str]) -> None:
        """Make these tools the revealed ones, in this order. New ones count as used now."""
        given = tuple(dict.fromkeys(identities))
        with self._lock:
            known = self._by_use()
            self._set(given, (*known, *(one for one in given if one not in known)))

    def merge(self, conversation: SessionRecord) -> None:
        """Take over the changes that the conversation shows since `merge` or `keep` was called last.

        Other processes made these changes. A tool that the conversation newly shows is added at the end. A tool that
        it showed and that left in it is removed. What only this session knows stays: tools that the conversation lost
        when it was compacted, and tools that left here.

        Args:
            conversation: The record that a replay of the conversation gives.
        """
        shown, shown_known, shown_by_use = conversation.revealed, conversation.known, conversation.least_recently_used
        with self._lock:
            ours, before = tuple(self._last_use or ()), self._shown
            if ours == before and shown_known.issuperset(before):
                merged = list(shown)  # nothing but the conversation has changed
            else:
                gone = {one for one in before if one in shown_known and one not in shown}
                merged = [one for one in ours if one not in gone]
                merged += [one for one in shown if one not in before and one not in ours]
            older = [one for one in self._by_use() if one not in shown]
            self._left = {*(self._left or ()), *shown_known}
            self._set(merged, (*older, *shown_by_use))
            self._shown = shown

    def keep(self, shown: Iterable[str]) -> None:
        """Note that the conversation shows these tools from now on, because the turn that revealed them is kept."""
        with self._lock:
            self._shown = tuple(shown)

    def roll_back(self) -> None:
        """Go back to what the conversation shows, because a turn failed and nothing of it is kept."""
        with self._lock:
            self._set(self._shown, (*(one for one in self._shown if one not in self._by_use()), *self._by_use()))

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
        """The value of the first `freeze`, or of the last `revise`, or None."""
        return self._frozen

    def freeze(self, value: object) -> object:
        """Keep `value` unless a value is kept already, and return the kept one. Parallel callers get the same."""
        with self._lock:
            if self._frozen is None:
                self._frozen = value
            return self._frozen

    def revise(self, before: object | None, value: object) -> object:
        """Keep `value` if the kept value is still `before`, and return the kept one."""
        with self._lock:
            if self._frozen is before:
                self._frozen = value
            return self._frozen

    def _by_use(self) -> tuple[str, ...]:
        last_use = self._last_use or {}
        return tuple(sorted(last_use, key=last_use.__getitem__))

    def _set(self, identities: Iterable[str], by_use: Iterable[str]) -> None:
        """Make these tools the revealed ones. `by_use` has all of them, the least recently used first."""
        given = tuple(identities)
        left = {*(self._last_use or ()), *(self._left or ())}.difference(given)
        order = {one: number for number, one in enumerate(by_use, 1)}
        self._last_use = {one: order[one] for one in given} or None
        self._left = left or None
        self._uses = len(order)
