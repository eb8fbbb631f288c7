"""Storage of one turn: whole when it was answered, or what is left of it when it ended early."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Generator, Sequence
from functools import partial
from typing import Any

from ..chat.turn_record import TurnRecord
from ..errors import MemoryStoreError
from ..loop.effects import Effect, Perform
from ..messages import AssistantMessage, Message, ToolMessage
from ..shared.fork import new_lock
from ..text.logs import log_event
from .chat_memory import ChatMemory
from .repository import SessionKey
from .turns import drop_unpaired, without_system

__all__ = ["TurnStore"]

logger = logging.getLogger(__name__)

STORE_TIMEOUT_SECONDS = 30.0


class TurnStore:
    """Stores one turn at most once, also if the turn is cancelled while it is being stored.

    Args:
        memory: The memory.
        key: The session.
        record: What happened in the turn so far.
        keep_partial: Whether to store what is left of a turn that ended early and ran tools.
        first_round: The number of rounds in the record that are not part of this turn, because it is run again.
    """

    def __init__(
        self, memory: ChatMemory, key: SessionKey, record: TurnRecord, *, keep_partial: bool, first_round: int
    ) -> None:
        self._memory = memory
        self._key = key
        self._record = record
        self._keep_partial = keep_partial
        self._first_round = first_round
        self._lock = new_lock()
        self._begun = False

    def store_if_interrupted(self, owner: object, messages: Callable[[], Sequence[Message]]) -> None:
        """Register what to store if the turn ends early.

        Args:
            owner: The object that stores the turn with `store`.
            messages: Function that returns the messages to store.
        """
        if self._keep_partial:
            self._record.store_later(owner, partial(self._store_partial, messages))

    def store(self, owner: object, turn: Sequence[Message]) -> Generator[Effect, Any, None]:
        """Store a turn that ends with an answer. If it ends with tool calls, its caller runs them and goes on."""
        last = turn[-1]
        if isinstance(last, AssistantMessage):
            if last.tool_calls:
                return  # what is registered stays, for a loop outside of memory that is interrupted
            # From here on the turn is stored as a whole, also if it is cancelled before the store is done.
            messages = drop_unpaired(without_system(turn))
            store = partial(self._store_once, messages)
            self._record.store_later(owner, store)
            yield Perform(store)
            yield from self._report_lost(messages)
        self._record.take_unstored(owner)

    def _report_lost(self, turn: Sequence[Message]) -> Generator[Effect, Any, None]:
        """Log an error if the repository has lost messages of the first turn that ran tools. Trust later turns."""
        if self._memory.is_checked or not any(isinstance(message, ToolMessage) for message in turn):
            return
        self._memory.is_checked = True
        stored: Sequence[Message] = yield Perform(partial(self._memory.repository.load, self._key))
        lost = [message for message in turn if message not in stored]
        if lost and len(lost) < len(turn):  # all are gone if the conversation was deleted meanwhile
            facts = {
                "repository": type(self._memory.repository).__name__,
                "lost": len(lost),
                "kinds": ", ".join(sorted({message.role for message in lost})),
            }
            note = "; the model no longer sees them. append must store every message"
            log_event(logger, logging.ERROR, "memory_lost_messages", facts, note=note)

    def _store_partial(self, messages: Callable[[], Sequence[Message]]) -> Awaitable[None] | None:
        if not self._record.has_run_tools(since=self._first_round):
            return None
        return self._store_once(drop_unpaired(without_system(messages())))

    def _store_once(self, turn: Sequence[Message]) -> Awaitable[None] | None:
        with self._lock:  # a second caller waits until the first one is done
            if self._begun:
                return None
            self._begun = True
            appended = self._memory.repository.append(self._key, turn)
        return _finish(appended) if inspect.isawaitable(appended) else None


async def _finish(appended: Awaitable[None]) -> None:
    """Await the store of an async repository, also if the turn is cancelled meanwhile."""
    import anyio

    with anyio.move_on_after(STORE_TIMEOUT_SECONDS, shield=True):
        await appended
        return
    raise MemoryStoreError(f"the turn was not stored within {STORE_TIMEOUT_SECONDS:g} seconds")
