"""Recorder of one run of the tool-calling loop, for a memory advisor inside the loop."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from ..chat.turn_record import TurnRecord
from ..loop.effects import Effect, Perform
from ..messages import AssistantMessage, Message, ToolMessage
from .chat_memory import ChatMemory
from .conversation import StoredConversation, compose_messages, load_conversation, split_system
from .repository import SessionKey
from .turn_store import TurnStore
from .turns import JoinedConversation, join_conversation

__all__ = ["LoopRecorder"]

_EMPTY = JoinedConversation((), ())


class LoopRecorder:
    """Recorder of one turn of the tool-calling loop; implements `toolsearch.chat.TurnMemory`.

    It collects the messages of the turn as they are sent, including those that advisors between the loop and memory
    add, and stores them at the end.
    """

    def __init__(self, memory: ChatMemory, *, keep_partial: bool = True) -> None:
        self._memory = memory
        self._keep_partial = keep_partial
        self._record = TurnRecord()
        self._rounds_sent = 0  # the rounds whose messages are part of what the loop sent
        self._store: TurnStore | None = None
        self._stored = StoredConversation()
        self._sent: tuple[Message, ...] = ()  # by the loop itself, in this round
        self._before = self._now = _EMPTY  # the joined conversation up to the previous round, and up to this one
        self._sends_whole_turn = self._received = True

    @property
    def is_open(self) -> bool:
        """True while the turn runs in a session."""
        return self._store is not None

    @property
    def history(self) -> Sequence[Message]:
        """The earlier messages as stored, no matter which part of them is sent."""
        return self._stored.past

    def open(
        self, session_id: str | None, tenant_id: str | None, record: TurnRecord | None = None
    ) -> Generator[Effect, Any, bool]:
        """Load the session's conversation. Return False if there is no session."""
        self._record = record or TurnRecord()
        if unstored := self._record.take_unstored(self):  # an outer advisor runs the loop again
            yield Perform(unstored)
        self._store, self._sent, self._now = None, (), _EMPTY
        if session_id is None:
            return False
        key = SessionKey(session_id, tenant_id)
        self._stored = yield from load_conversation(self._memory, key)
        self._received, self._rounds_sent = True, self._record.rounds_run
        first = self._rounds_sent
        self._store = TurnStore(self._memory, key, self._record, keep_partial=self._keep_partial, first_round=first)
        self._store.store_if_interrupted(self, self._messages_so_far)
        return True

    def next_round(self, messages: Sequence[Message]) -> None:
        """Record the messages that the loop itself is about to send."""
        self._finish_round()
        body = split_system(messages)[1]
        # The loop sends the whole turn, or only what is new. Compare by identity: equal messages may come twice.
        self._sends_whole_turn = len(body) >= len(self._sent) and all(
            old is new for old, new in zip(self._sent, body, strict=False)
        )
        self._before, self._sent, self._received = self._now, body, False
        self._rounds_sent = self._record.rounds_run

    def conversation(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return what the model is sent if `messages` arrive in this round."""
        head, body = split_system(messages)
        return compose_messages(self._memory, head, self._stored, self._join(body))

    def receive(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Record the messages of this round and return what to send. A second call replaces the first of the round."""
        head, body = split_system(messages)
        self._now = self._join(body)
        self._received = True
        return compose_messages(self._memory, head, self._stored, self._now)

    def close(self, messages: Sequence[Message]) -> Generator[Effect, Any, None]:
        """Store the turn with `messages` at its end."""
        self._finish_round()
        store, self._store = self._store, None
        if store is not None:
            yield from store.store(self, (*self._now.current[self._now.known :], *messages))

    def _messages_so_far(self) -> tuple[Message, ...]:
        """Return the messages of the turn for a turn that ends in this round."""
        self._finish_round()
        return (*self._now.current[self._now.known :], *self._record.completed_rounds(since=self._rounds_sent))

    def _finish_round(self) -> None:
        if not self._received:  # another advisor answered in this round, before memory received it
            self._now = self._join(self._sent)

    def _join(self, body: Sequence[Message]) -> JoinedConversation:
        if self._sends_whole_turn:
            return join_conversation(self._stored.past, body)
        before = self._before.current
        new = (message for message in body if self._is_new(message, before))
        return JoinedConversation(self._before.past, (*before, *new), self._before.known)

    def _is_new(self, message: Message, before: Sequence[Message]) -> bool:
        """Return False for a message that an advisor adds to every round and an earlier round recorded."""
        if isinstance(message, AssistantMessage | ToolMessage) or any(message is sent for sent in self._sent):
            return True
        return message not in before
