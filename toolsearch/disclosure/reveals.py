"""The rules by which tools are revealed and hidden, for running turns and for conversations that are replayed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from .sessions.record import SessionRecord
from .settings import DisclosureSettings

__all__ = ["Reveals"]


class Reveals:
    """The reveals of one turn over the record of its session. It knows tools by identity.

    Attributes:
        added: The tools that this turn revealed, in order.
    """

    def __init__(
        self,
        record: SessionRecord,
        settings: DisclosureSettings,
        pinned: Collection[str],
        may_have: Callable[[str], bool],
    ) -> None:
        self.added: list[str] = []
        self._record = record
        self._settings = settings
        self._pinned = frozenset(pinned)  # never in the record, so that they do not count for `max_revealed`
        self._may_have = may_have
        self._new_round = False

    def begin_round(self) -> None:
        """Begin a round: without `keep_revealed`, its first reveal hides all earlier tools."""
        self._new_round = True

    def add(self, identities: Iterable[str]) -> None:
        """Reveal tools that were found or called."""
        if self._new_round and not self._settings.keep_revealed:
            self._record.hide(self._record.revealed)
        self._new_round = False
        self.added.extend(self._record.reveal(one for one in identities if one not in self._pinned))
        self.hide_surplus()

    def restore(self, identities: Iterable[str]) -> None:
        """Reveal tools that were revealed earlier, in another process or before a compaction."""
        self._record.reveal(one for one in identities if one not in self._pinned)
        self.hide_surplus()

    def hide_surplus(self) -> None:
        """Hide the least recently used tools above `max_revealed`, except those that this turn revealed."""
        limit = self._settings.max_revealed
        if limit is None:
            return
        revealed = self._record.least_recently_used
        if len(revealed) <= limit:
            return
        known = [one for one in revealed if self._may_have(one)]
        added = frozenset(self.added)
        spare = [one for one in known if one not in added]
        self._record.hide(spare[: max(0, len(known) - limit)])
