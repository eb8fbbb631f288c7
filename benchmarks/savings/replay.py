"""Scripted model that replays a task and makes the same calls with and without tool search."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from ...chat.events import ChatChunk
from ...chat.requests import ChatRequest
from ...chat.responses import ChatResponse
from ...disclosure.search_tool import SEARCH_TOOL
from ...errors import ConfigurationError, IndexingError
from ...messages import AssistantMessage, ToolCall, ToolMessage, Usage
from .cache_pricing import Exchange
from .payload import Payload, PayloadCounter
from .tasks import Step, Task

__all__ = ["ReplayModel"]

_GIVE_UP_ANSWER = "I am sorry, I have no tool that can do this."
_NO_TOOL_ANSWER = "I am sorry, none of the tools I have can do this, so I cannot help you with it."
_MAX_SEARCHES_WITHOUT_TOOL = 2


class ReplayModel:
    """Model that calls the tool of a step if its definition was sent, otherwise searches for it, otherwise gives up.

    A search without the tool costs the same as with a real model: another search with other words, and a round. An
    object replays one conversation.

    Args:
        task: The task to replay.
        counter: Counts the tokens of requests and answers.
        accept_errors: Continue after a call that failed.

    Attributes:
        exchanges: The requests and answers so far.
        searches: The number of searches so far.

    Example:
        >>> from ... import ChatClient, Tool
        >>> from ...chat.tokens import EstimateTokenCounter
        >>> task = Task(id="1", prompt="Ring!", steps=(Step(tool="ring", phrasings=("ring a bell",)),), answer="Rang.")
        >>> model = ReplayModel(task, PayloadCounter(EstimateTokenCounter()))
        >>> ChatClient(model, tools=[Tool("ring", fn=lambda: "ding")]).call(task.prompt).text
        'Rang.'
        >>> model.succeeded, len(model.exchanges)
        (True, 2)
    """

    def __init__(self, task: Task, counter: PayloadCounter, *, accept_errors: bool = False) -> None:
        self.task = task
        self.exchanges: list[Exchange] = []
        self.searches = 0
        self._counter = counter
        self._accept_errors = accept_errors
        self._search_counts = [0] * len(task.steps)
        self._called: dict[str, int] = {}
        self._done: set[int] = set()
        self._failed = False

    @property
    def succeeded(self) -> bool:
        """Return whether the tool of every step was called and answered, or none was called if no tool fits."""
        return len(self._done) == len(self.task.steps) and not self._failed

    def call(self, request: ChatRequest) -> ChatResponse:
        """Play the next round."""
        self._read_results(request)
        message = self._next_message(request)
        payload = Payload.from_request(request)
        output = self._counter.reply(message)
        self.exchanges.append(Exchange(payload, output))
        return ChatResponse(
            messages=(message,),
            usage=Usage(self._counter.count(payload), output),
            finish_reason="tool_calls" if message.tool_calls else "stop",
        )

    async def acall(self, request: ChatRequest) -> ChatResponse:
        """Play the next round."""
        return self.call(request)

    def stream(self, request: ChatRequest) -> Iterator[ChatChunk | ChatResponse]:
        """Play the next round and yield one chunk and the whole response."""
        response = self.call(request)
        yield ChatChunk(response.text, response.tool_calls)
        yield response

    async def astream(self, request: ChatRequest) -> AsyncIterator[ChatChunk | ChatResponse]:
        """Play the next round and yield one chunk and the whole response."""
        for item in self.stream(request):
            yield item

    def _read_results(self, request: ChatRequest) -> None:
        for message in request.messages:
            if not isinstance(message, ToolMessage):
                continue
            if message.name == SEARCH_TOOL and message.is_error:
                raise IndexingError(f"task {self.task.id!r}: a search failed: {message.text}")
            if message.tool_call_id in self._called:
                step = self._called.pop(message.tool_call_id)
                if message.is_error and not self._accept_errors:
                    # A repeated call would fail again, so the task is invalid.
                    where = f"task {self.task.id!r}, step {step + 1} ({self.task.steps[step].tool})"
                    raise ConfigurationError(f"{where}: the call failed: {message.text}")
                self._done.add(step)

    def _next_message(self, request: ChatRequest) -> AssistantMessage:
        names = {tool.original_name: tool.name for tool in request.tools} | {t.name: t.name for t in request.tools}
        if not self.task.steps:
            return self._search_in_vain(can_search=SEARCH_TOOL in names)
        calls: list[ToolCall] = []
        for at in self._open_steps():
            step = self.task.steps[at]
            if step.tool in names:
                call = ToolCall.from_dict(self._call_id(calls), names[step.tool], step.arguments)
                self._called[call.id] = at
                calls.append(call)
            elif SEARCH_TOOL in names and self._search_counts[at] < len(step.phrasings):
                calls.append(self._search(step.phrasings[self._search_counts[at]], calls))
                self._search_counts[at] += 1
            else:
                self._failed = True
                return AssistantMessage(_GIVE_UP_ANSWER)
        return AssistantMessage("", tuple(calls)) if calls else AssistantMessage(self.task.answer)

    def _open_steps(self) -> list[int]:
        """Return the first open step, and the steps after it that may be called in the same round."""
        steps: tuple[Step, ...] = self.task.steps
        first = next((at for at in range(len(steps)) if at not in self._done), len(steps))
        last = first
        while last + 1 < len(steps) and steps[last + 1].with_previous:
            last += 1
        return [at for at in range(first, min(last + 1, len(steps))) if at not in self._done]

    def _search_in_vain(self, *, can_search: bool) -> AssistantMessage:
        if can_search and self.searches < min(_MAX_SEARCHES_WITHOUT_TOOL, len(self.task.phrasings)):
            return AssistantMessage("", (self._search(self.task.phrasings[self.searches], []),))
        return AssistantMessage(_NO_TOOL_ANSWER)

    def _search(self, query: str, calls: list[ToolCall]) -> ToolCall:
        self.searches += 1
        return ToolCall.from_dict(self._call_id(calls), SEARCH_TOOL, {"query": query})

    def _call_id(self, calls: list[ToolCall]) -> str:
        """Return an id as long as those of providers, since requests contain it and its tokens count."""
        return f"call_{len(self.exchanges):012d}{len(calls):012d}"
