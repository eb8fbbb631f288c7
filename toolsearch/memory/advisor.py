"""`MemoryAdvisor`: sends what a session said before, and keeps what it says now."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..errors import ConfigurationError
from ..loop.effects import AdvisorFlow, Effect, Perform
from ..messages import AssistantMessage, Message, SystemMessage, ToolMessage
from .chat_memory import ChatMemory
from .repository import SessionKey
from .turns import Joined, join, whole_pairs, without_system
from .window import windowed

__all__ = ["MemoryAdvisor"]


class MemoryAdvisor:
    """Remembers the conversations of sessions. Its `order` decides how much of them.

    Outside the tool loop, with an order below the tool advisor's 300, it keeps what the user said and the answer.
    Inside, with an order above, it keeps the tool calls and results as well, and the loop sends only what it lacks.

    A turn is stored as one, when it has succeeded: one that fails, is cancelled, whose stream is left early, or whose
    answer still asks for tools leaves nothing. Turns of one session that run at the same time each see what was stored
    when they began, and are stored in the order in which they end.

    Messages that a request brings and memory has already are neither sent nor stored twice. System messages are the
    application's and are not stored. A request without a session id is passed on as it is.

    Args:
        memory: where conversations are kept, and how much of them is sent.
        order: its place in the chain.

    Example:
        >>> from toolsearch import ChatClient, InMemoryRepository, MemoryAdvisor
        >>> from toolsearch.testing import ScriptedChatModel
        >>> model = ScriptedChatModel(["Hello!", "Ann."])
        >>> client = ChatClient(model, advisors=[MemoryAdvisor(ChatMemory(InMemoryRepository()))])
        >>> _ = client.call("I am Ann.", session_id="s1")
        >>> _ = client.call("Who am I?", session_id="s1")
        >>> [message.text for message in model.requests[1].messages]
        ['I am Ann.', 'Hello!', 'Who am I?']
    """

    def __init__(self, memory: ChatMemory, order: int = 200) -> None:
        if not isinstance(memory, ChatMemory):
            raise ConfigurationError(f"MemoryAdvisor takes a ChatMemory(repository), not {memory!r}")
        self.memory = memory
        self.order = order

    def turn_memory(self) -> LoopTurn:
        """Return what keeps one turn of the tool loop, for a loop further out."""
        return LoopTurn(self.memory)

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Send what was said before with the request, and store the turn when it has succeeded."""
        loop_turn = request.memory
        if isinstance(loop_turn, LoopTurn) and loop_turn.is_open:
            response: ChatResponse = yield request.replace(messages=loop_turn.receive(request.messages))
            return response
        key = _key(request)
        if key is None:
            response = yield request
            return response
        stored = yield from _load(self.memory, key)
        head, body = _head(request.messages)
        joined = join(stored.past, body)
        response = yield request.replace(messages=_outgoing(self.memory, head, stored, joined))
        yield from _store(self.memory, key, (*joined.current[joined.known :], response.message))
        return response


class LoopTurn:
    """One turn of the loop as the memory further in sees it (`toolsearch.chat.turn_memory.TurnMemory`).

    It collects the turn as it was sent, with what advisors between the loop and memory added, and stores it at the end.
    """

    def __init__(self, memory: ChatMemory) -> None:
        self._memory = memory
        self._key: SessionKey | None = None
        self._stored = _Stored((), ())
        self._sent: tuple[Message, ...] = ()
        self._before = self._now = _NOTHING  # as of the last round, and with this one
        self._whole = self._received = True

    @property
    def is_open(self) -> bool:
        """Whether the turn is going on in a session."""
        return self._key is not None

    @property
    def history(self) -> Sequence[Message]:
        """The earlier messages as stored, whatever part of them is sent."""
        return self._stored.past

    def open(self, session_id: str | None, tenant_id: str | None) -> Generator[Effect, Any, bool]:
        """Load the session's conversation. Return False without a session."""
        self._key, self._sent, self._now = None, (), _NOTHING  # an advisor further out may run the loop again
        if session_id is None:
            return False
        key = SessionKey(session_id, tenant_id)
        self._stored = yield from _load(self._memory, key)
        self._key, self._received = key, True
        return True

    def next_round(self, messages: Sequence[Message]) -> None:
        """Note what the loop itself is about to send."""
        self._settle()
        body = _head(messages)[1]
        # The loop sends the turn from its beginning, or what is new; the messages themselves tell, as equal ones may
        # well come twice.
        self._whole = len(body) >= len(self._sent) and all(map(_same, self._sent, body))
        self._before, self._sent, self._received = self._now, body, False

    def conversation(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """What the model will be sent if `messages` arrive in this round."""
        head, body = _head(messages)
        return _outgoing(self._memory, head, self._stored, self._with(body))

    def receive(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Keep the messages of this round; return what to send. Again in the same round: instead of before."""
        head, body = _head(messages)
        self._now = self._with(body)
        self._received = True
        return _outgoing(self._memory, head, self._stored, self._now)

    def close(self, messages: Sequence[Message]) -> Generator[Effect, Any, None]:
        """Store the turn with `messages` at its end."""
        self._settle()
        key, self._key = self._key, None
        if key is not None:
            yield from _store(self._memory, key, (*self._now.current[self._now.known :], *messages))

    def _settle(self) -> None:
        if not self._received:  # another advisor answered in this round, before memory was asked
            self._now = self._with(self._sent)

    def _with(self, body: Sequence[Message]) -> Joined:
        if self._whole:
            return join(self._stored.past, body)
        before = self._before.current
        new = (m for m in body if self._is_new(m, before))
        return Joined(self._before.past, (*before, *new), self._before.known)

    def _is_new(self, message: Message, before: Sequence[Message]) -> bool:
        """False for what an advisor adds to every round and memory has from an earlier round."""
        if isinstance(message, AssistantMessage | ToolMessage) or any(_same(message, own) for own in self._sent):
            return True
        return message not in before


_NOTHING = Joined((), ())


class _Stored(NamedTuple):
    """A stored conversation: its system messages, such as a summary, and the rest, which has whole pairs only."""

    system: tuple[Message, ...]
    past: tuple[Message, ...]


def _load(memory: ChatMemory, key: SessionKey) -> Generator[Effect, Any, _Stored]:
    stored: Sequence[Message] = yield Perform(partial(memory.repository.load, key))
    system = tuple(message for message in stored if isinstance(message, SystemMessage))
    return _Stored(system, whole_pairs(without_system(stored)))


def _store(memory: ChatMemory, key: SessionKey, turn: Sequence[Message]) -> Generator[Effect, Any, None]:
    last = turn[-1]
    if isinstance(last, AssistantMessage) and not last.tool_calls:  # else the turn goes on, in the caller's hands
        yield Perform(partial(memory.repository.append, key, whole_pairs(without_system(turn))))


def _outgoing(memory: ChatMemory, head: Sequence[Message], stored: _Stored, joined: Joined) -> tuple[Message, ...]:
    # The loop gathers a turn's system messages in front of what is new; those from further on stay in their place.
    system = (message for message in dict.fromkeys((*head, *stored.system)) if message not in joined.current)
    return (*system, *windowed(joined.past, joined.current, memory.window), *joined.current)


def _head(messages: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """The system messages at the beginning, and the rest."""
    count = next((at for at, m in enumerate(messages) if not isinstance(m, SystemMessage)), len(messages))
    return tuple(messages[:count]), tuple(messages[count:])


def _key(request: ChatRequest) -> SessionKey | None:
    return None if request.session_id is None else SessionKey(request.session_id, request.tenant_id)


def _same(one: object, other: object) -> bool:
    return one is other
