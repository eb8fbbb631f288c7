"""Memory advisor: sends the stored conversation of a session, and stores each turn."""

from __future__ import annotations

from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..chat.turn_memory import TurnMemory
from ..chat.turn_record import TurnRecord
from ..errors import ConfigurationError
from ..loop.effects import AdvisorFlow, Perform
from .chat_memory import ChatMemory
from .conversation import compose_messages, load_conversation, split_system
from .loop_recorder import LoopRecorder
from .repository import SessionKey
from .turn_store import TurnStore
from .turns import join_conversation

__all__ = ["MemoryAdvisor"]


class MemoryAdvisor:
    """Advisor that remembers the conversations of sessions. Its `order` decides which messages it keeps.

    By default it is inside the tool-calling loop, whose order is 300: it keeps user messages, tool calls, results and
    answers, and the next turn sends all of them. So each request begins with the messages of the one before, as the
    provider's prompt cache needs it. Outside the loop, with ``order=200``, it keeps only user messages and answers.
    Less is stored and sent then, but the model no longer sees what its tools returned.

    A turn is stored as a whole when it was answered. A turn whose answer still asks for tools stores nothing: its
    caller runs them. Of a turn that fails or is cancelled, or whose stream is left early, `keep_partial` stores what
    its tools did. Parallel turns of one session each see the messages that were stored when they began, and are stored
    in the order in which they end.

    Messages of a request that memory already has are neither sent nor stored twice. System messages belong to the
    application and are not stored. A request without a session id passes through unchanged.

    Args:
        memory: The conversations and the window that limits what is sent.
        order: The position in the chain. Below the order of the tool-calling loop, memory is outside.
        keep_partial: Whether to store a turn that ended early if a tool ran in it, so that the model does not repeat
            what it did: the user's message, and the tool calls with their results, also outside of the loop. A call
            without a result is stored with a sentence that says that it may have taken effect.

    Raises:
        ConfigurationError: If `memory` is not a `ChatMemory`, or `keep_partial` is not a bool.

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

    def __init__(self, memory: ChatMemory, order: int = 400, *, keep_partial: bool = True) -> None:
        if not isinstance(memory, ChatMemory):
            raise ConfigurationError(f"memory must be a ChatMemory, got {memory!r}; write ChatMemory(repository)")
        if not isinstance(keep_partial, bool):
            raise ConfigurationError(f"keep_partial must be True or False, got {keep_partial!r}")
        self.memory = memory
        self.order = order
        self.keep_partial = keep_partial

    def turn_memory(self) -> TurnMemory:
        """Return a recorder of one turn, for a tool-calling loop outside this advisor."""
        return LoopRecorder(self.memory, keep_partial=self.keep_partial)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.memory!r}, order={self.order})"

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Send the stored conversation with the request, and store the turn when it has succeeded."""
        recorder = request.memory
        if isinstance(recorder, LoopRecorder) and recorder.is_open:
            response: ChatResponse = yield request.replace(messages=recorder.receive(request.messages))
            return response
        if request.session_id is None:
            response = yield request
            return response
        key = SessionKey(request.session_id, request.tenant_id)
        record = request.record or TurnRecord()
        unstored, goes_on = record.take_unstored(self), record.is_continued_by(request.messages)
        if unstored is not None and not goes_on:  # an outer advisor runs the turn again
            yield Perform(unstored)
        rounds_run = record.rounds_run
        first_round = record.notes[self] = record.notes.get(self, 0) if goes_on else rounds_run
        stored = yield from load_conversation(self.memory, key)
        head, body = split_system(request.messages)
        joined = join_conversation(stored.past, body)
        new = joined.current[joined.known :]
        store = TurnStore(self.memory, key, record, keep_partial=self.keep_partial, first_round=first_round)
        store.store_if_interrupted(self, lambda: (*new, *record.completed_rounds(since=rounds_run)))
        sent = compose_messages(self.memory, head, stored, joined)
        shown = set(map(id, sent))
        earlier = tuple(message for message in joined.past if id(message) not in shown)
        response = yield request.replace(messages=sent, earlier=earlier)
        yield from store.store(self, (*new, response.message))
        return response
