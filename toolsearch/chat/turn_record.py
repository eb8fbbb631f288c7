"""Record of one turn: what happened so far, however the turn ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..errors import ToolSearchError
from ..messages import AssistantMessage, Message, ToolCall, ToolMessage, Usage
from .responses import ChatResponse

__all__ = ["BatchRecord", "TurnRecord", "attach_response", "partial_response"]

INTERRUPTED = "Interrupted: the call was started and may have taken effect, but its result is unknown."
FAILED = "Failed: the tool raised an error that ended the turn. It may have taken effect."
NOT_RUN = "Not run: the turn ended first."

_ATTRIBUTE = "__toolsearch_response__"


@dataclass(slots=True)
class _Round:
    """An assistant message whose tool calls were executed.

    Attributes:
        message: The message, or None if the caller of the turn has it already, as in `ChatClient.run_tools`.
        calls: Its tool calls.
        started: The positions of calls that were started.
        results: The results by position.
    """

    message: AssistantMessage | None
    calls: tuple[ToolCall, ...]
    started: set[int] = field(default_factory=set)
    results: dict[int, ToolMessage] = field(default_factory=dict)

    def messages(self) -> list[Message]:
        """Return the message and a result for each call. A call without a result is answered with a sentence."""
        results = [self.results.get(at) or self._explain(at) for at in range(len(self.calls))]
        return [*([] if self.message is None else [self.message]), *results]

    def unfinished(self) -> list[ToolCall]:
        """Return the calls that were started and did not finish."""
        return [self.calls[at] for at in sorted(self.started - self.results.keys())]

    def _explain(self, at: int) -> ToolMessage:
        call = self.calls[at]
        return ToolMessage(call.id, call.name, INTERRUPTED if at in self.started else NOT_RUN, is_error=True)


class BatchRecord:
    """Record of one batch of tool calls. Threads and tasks that run the calls fill it.

    Example:
        >>> record = TurnRecord()
        >>> batch = record.begin_batch([ToolCall("1", "send_mail")])
        >>> batch.start(0)
        >>> [call.name for call in record.partial().unfinished_calls]
        ['send_mail']
    """

    def __init__(self, executed: _Round, positions: Sequence[int]) -> None:
        self._round = executed
        self._positions = positions

    def start(self, position: int) -> None:
        """Record that a call is about to run."""
        self._round.started.add(self._positions[position])

    def finish(self, position: int, message: ToolMessage) -> None:
        """Record the result of a call."""
        self._round.results[self._positions[position]] = message

    def fail(self, position: int) -> None:
        """Record that a call that was started ended with an error that ends the turn."""
        at = self._positions[position]
        if at in self._round.started:
            call = self._round.calls[at]
            self._round.results[at] = ToolMessage(call.id, call.name, FAILED, is_error=True)


class TurnRecord:
    """Record of one turn: its messages so far, the tool calls that were started, and its usage.

    The chain and the drivers fill it, for every tool-calling loop. An advisor reads it as ``request.record``. Errors
    that end a turn carry what `partial` returns, see `partial_response`.

    Attributes:
        notes: Values that advisors keep during the turn, under keys of their own.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> class Watch:
        ...     order = 100
        ...     def advise(self, request):
        ...         response = yield request
        ...         print([call.name for call in request.record.partial().started_calls])
        ...         return response
        >>> def now() -> str:
        ...     "Tell the time."
        ...     return "12:00"
        >>> model = ScriptedChatModel([[("now", {})], "It is noon."])
        >>> _ = ChatClient(model, tools=[now], advisors=[Watch()]).call("What time is it?")
        ['now']
    """

    def __init__(self) -> None:
        self.notes: dict[Any, Any] = {}
        self._rounds: list[_Round] = []
        self._answer: ChatResponse | None = None
        self._shown: list[str] = []
        self._usage = Usage()
        self._raw: Any = None
        self._batch: BatchRecord | None = None
        self._unstored: dict[int, Callable[[], Any]] = {}

    @property
    def batch(self) -> BatchRecord | None:
        """The batch of tool calls that was begun last."""
        return self._batch

    @property
    def rounds_run(self) -> int:
        """The number of rounds so far whose tool calls were executed."""
        return len(self._rounds)

    @property
    def usage(self) -> Usage:
        """The usage of all responses of the model so far, also of those that were rejected."""
        return self._usage

    @property
    def text_shown(self) -> str:
        """The text that the caller of a stream has received since the latest request to the model."""
        return "".join(self._shown)

    def begin_answer(self, messages: Sequence[Message]) -> None:
        """Record that the model is about to receive `messages`."""
        self._adopt_results(messages)
        self._answer = None
        self._shown = []

    def end_answer(self, response: ChatResponse) -> None:
        """Record the response of the model, whatever the advisors do with it."""
        self._usage += response.usage
        self._raw = response.raw

    def accept(self, response: ChatResponse) -> None:
        """Record the response of an advisor. It replaces the one that an inner advisor returned."""
        self._answer = response

    def show(self, text: str, *, replaces: bool = False) -> None:
        """Record text that the caller of a stream is about to receive, in addition to or in place of earlier text."""
        if replaces:
            self._shown = []
        self._shown.append(text)

    def begin_batch(
        self,
        calls: Sequence[ToolCall],
        *,
        answers: Mapping[int, ToolMessage] | None = None,
        message: AssistantMessage | None = None,
        sent: Sequence[Message] = (),
    ) -> BatchRecord:
        """Record that tool calls are about to be executed.

        Args:
            calls: The calls.
            answers: Results of calls that do not run, by position.
            message: The assistant message with the calls. By default it is the latest response that has these calls.
            sent: The messages of the request of the round. If they hold the calls, the caller has the message.
        """
        one, positions = self._find_round(tuple(calls), message, sent)
        self._batch = BatchRecord(one, positions)
        for position, answer in (answers or {}).items():
            self._batch.finish(position, answer)
        return self._batch

    def end_batch(self, results: Sequence[ToolMessage]) -> None:
        """Record the results of the latest batch, in the order of its calls."""
        if self._batch is not None:
            for position, message in enumerate(results):
                self._batch.finish(position, message)

    def partial(self, error: BaseException | None = None, *, with_text: bool = False) -> ChatResponse:
        """Return the turn so far as a response that can be sent back: every tool call in it has a result.

        Calls that were started and did not finish are `ChatResponse.unfinished_calls`, and their results say that
        they may have taken effect.

        Args:
            error: The error that ended the turn. The answer that it rejects is the last message.
            with_text: Whether the text of an incomplete answer that was streamed so far is the last message.
        """
        rounds = self._rounds
        rejected: ChatResponse | None = getattr(error, "rejected", None)
        last = rejected or self._answer
        messages: list[Message] = []
        known = set() if last is None else {m.tool_call_id for m in last.messages if isinstance(m, ToolMessage)}
        for one in rounds:
            if not known or not {call.id for call in one.calls} <= known:
                messages += one.messages()
        if last is not None:
            messages += last.messages
            messages += _answer_open_calls(last.messages)
        elif with_text and self._shown:
            messages.append(AssistantMessage(self.text_shown))
        changes: dict[str, Any] = {
            "messages": messages,
            "usage": self._usage,
            "started_calls": tuple(one.calls[at] for one in rounds for at in sorted(one.started)),
            "unfinished_calls": tuple(call for one in rounds for call in one.unfinished()),
        }
        if rejected is not None:
            return rejected.replace(**changes)
        reason = "error" if isinstance(error, Exception) else "interrupted"
        return ChatResponse(**changes, finish_reason=reason, raw=self._raw)

    def completed_rounds(self, *, since: int = 0) -> tuple[Message, ...]:
        """Return the messages of the rounds whose tool calls were executed, with a result for each call."""
        return tuple(message for one in self._rounds[since:] for message in one.messages())

    def has_run_tools(self, *, since: int = 0) -> bool:
        """Return whether a tool call was started after the first `since` rounds, see `rounds_run`."""
        return any(one.started for one in self._rounds[since:])

    def is_continued_by(self, messages: Sequence[Message]) -> bool:
        """Return whether a request with `messages` goes on after the tool calls of the latest round."""
        results = set(map(id, self._rounds[-1].results.values())) if self._rounds else set()
        return any(id(message) in results for message in messages)

    def store_later(self, owner: object, store: Callable[[], Any]) -> None:
        """Register a function that stores the turn, in place of the one that `owner` registered before.

        The driver calls it when the turn ends, with or without an error, abandoned or cancelled, unless
        `take_unstored` took it before. The function may block, or be async in `acall` and `astream`.
        """
        self._unstored[id(owner)] = store

    def take_unstored(self, owner: object) -> Callable[[], Any] | None:
        """Return the function that `owner` registered and drop it, because the turn is stored or runs again."""
        return self._unstored.pop(id(owner), None)

    def take_all_unstored(self) -> tuple[Callable[[], Any], ...]:
        """Return all registered functions and drop them."""
        functions, self._unstored = tuple(self._unstored.values()), {}
        return functions

    def _find_round(
        self, calls: tuple[ToolCall, ...], message: AssistantMessage | None, sent: Sequence[Message]
    ) -> tuple[_Round, list[int]]:
        """Return the round of a batch and the positions of its calls there. A loop may split a round into batches."""
        if message is None and self._answer is not None and _has_calls(self._answer.message, calls):
            message = self._answer.message
        if message is None and self._rounds and _has_calls(self._rounds[-1], calls):
            return self._rounds[-1], _positions(self._rounds[-1].calls, calls)
        if message is None and not any(isinstance(m, AssistantMessage) and _has_calls(m, calls) for m in sent):
            message = AssistantMessage("", calls)
        self._answer = None
        one = _Round(message, calls if message is None else message.tool_calls)
        if message is not None and not _has_calls(message, calls):
            one.calls = calls
        self._rounds.append(one)
        return one, _positions(one.calls, calls)

    def _adopt_results(self, messages: Sequence[Message]) -> None:
        """Take over results that the loop of the application made itself, from the request of the next round."""
        answer = self._answer.message if self._answer is not None else None
        if answer is not None and answer.tool_calls and answer in messages:
            self._rounds.append(_Round(answer, answer.tool_calls, set(range(len(answer.tool_calls)))))
        if not self._rounds or len(self._rounds[-1].results) == len(self._rounds[-1].calls):
            return
        one = self._rounds[-1]
        results = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
        for at, call in enumerate(one.calls):
            if at not in one.results and call.id in results:
                one.results[at] = results[call.id]


def attach_response(error: BaseException, record: TurnRecord) -> None:
    """Attach the turn so far to the error that ends it, for `partial_response`."""
    response = record.partial(error)
    if isinstance(error, ToolSearchError):
        error.response = response
    else:
        with suppress(AttributeError, TypeError):  # an exception class with slots
            setattr(error, _ATTRIBUTE, response)


def partial_response(error: BaseException) -> ChatResponse | None:
    """Return the turn so far from an exception that ended a turn, or None if it did not end one.

    For errors of this library it is the attribute `response`. Other exceptions carry it too: an exception of a tool,
    of an advisor, a `KeyboardInterrupt`, or the cancellation of a task. Causes and the members of exception groups
    are searched as well.

    Args:
        error: The exception that `call`, `acall`, a stream or `run_tools` raised.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> def send_mail(to: str) -> str:
        ...     "Send a mail."
        ...     return f"sent to {to}"
        >>> model = ScriptedChatModel([[("send_mail", {"to": "bob"})], ConnectionError("gone")])
        >>> try:
        ...     ChatClient(model, tools=[send_mail]).call("Mail Bob")
        ... except ConnectionError as error:
        ...     [message.text for message in partial_response(error).messages]
        ['', 'sent to bob']
    """
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop(0)
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        found = current.response if isinstance(current, ToolSearchError) else getattr(current, _ATTRIBUTE, None)
        if isinstance(found, ChatResponse):
            return found
        waiting += [current.__cause__, *(current.exceptions if isinstance(current, BaseExceptionGroup) else ())]
    return None


def _has_calls(holder: AssistantMessage | _Round, calls: Sequence[ToolCall]) -> bool:
    known = holder.calls if isinstance(holder, _Round) else holder.tool_calls
    return len(_positions(known, calls)) == len(calls)


def _positions(known: Sequence[ToolCall], calls: Sequence[ToolCall]) -> list[int]:
    """Return the position in `known` of each call that it has. Equal calls have different positions."""
    free: dict[ToolCall, list[int]] = {}
    for at in range(len(known) - 1, -1, -1):
        free.setdefault(known[at], []).append(at)
    return [free[call].pop() for call in calls if free.get(call)]


def _answer_open_calls(messages: Sequence[Message]) -> list[Message]:
    """Return results for the tool calls at the end of the messages, which nobody ran."""
    last = messages[-1] if messages else None
    calls = last.tool_calls if isinstance(last, AssistantMessage) else ()
    return [ToolMessage(call.id, call.name, NOT_RUN, is_error=True) for call in calls]
