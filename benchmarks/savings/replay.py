"""`ReplayModel`: plays the model's part in a task, the same way whatever tools it is shown."""

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

_GAVE_UP = "I am sorry, I have no tool that can do this."
_NOTHING_FITS = "I am sorry, none of the tools I have can do this, so I cannot help you with it."
_SEARCHES_FOR_NOTHING = 2


class ReplayModel:
    """Calls the tool that a step needs if its definition was sent, else searches for it, else gives up.

    A miss costs what it costs a real model: another search in other words, and a round. One object plays one
    conversation; its `exchanges` are what was sent and answered.

    Args:
        task: what to play.
        counter: counts the tokens it reports.
        accept_errors: go on after a call that failed, for calls whose arguments are made up.

    Attributes:
        exchanges: the requests so far.
        searches: the number of searches so far.

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
        self._asked = [0] * len(task.steps)
        self._called: dict[str, int] = {}
        self._done: set[int] = set()
        self._failed = False

    @property
    def succeeded(self) -> bool:
        """Whether every step's tool was called and answered; where no tool fits, whether none was called."""
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
        """Play the next round as one chunk and the aggregate."""
        response = self.call(request)
        yield ChatChunk(response.text, response.tool_calls)
        yield response

    async def astream(self, request: ChatRequest) -> AsyncIterator[ChatChunk | ChatResponse]:
        """Play the next round as one chunk and the aggregate."""
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
                    # The calls are canned: a refused one would be refused again, and the task is not valid.
                    where = f"task {self.task.id!r}, step {step + 1} ({self.task.steps[step].tool})"
                    raise ConfigurationError(f"{where}: the call failed: {message.text}")
                self._done.add(step)

    def _next_message(self, request: ChatRequest) -> AssistantMessage:
        names = {tool.original_name: tool.name for tool in request.tools} | {t.name: t.name for t in request.tools}
        if not self.task.steps:
            return self._look_for_nothing(can_search=SEARCH_TOOL in names)
        calls: list[ToolCall] = []
        for at in self._open_steps():
            step = self.task.steps[at]
            if step.tool in names:
                call = ToolCall.from_dict(self._id(calls), names[step.tool], step.arguments)
                self._called[call.id] = at
                calls.append(call)
            elif SEARCH_TOOL in names and self._asked[at] < len(step.phrasings):
                calls.append(self._search(step.phrasings[self._asked[at]], calls))
                self._asked[at] += 1
            else:
                self._failed = True
                return AssistantMessage(_GAVE_UP)
        return AssistantMessage("", tuple(calls)) if calls else AssistantMessage(self.task.answer)

    def _open_steps(self) -> list[int]:
        """The first step that is not done, and those after it that may be called in the same round."""
        steps: tuple[Step, ...] = self.task.steps
        first = next((at for at in range(len(steps)) if at not in self._done), len(steps))
        last = first
        while last + 1 < len(steps) and steps[last + 1].with_previous:
            last += 1
        return [at for at in range(first, min(last + 1, len(steps))) if at not in self._done]

    def _look_for_nothing(self, *, can_search: bool) -> AssistantMessage:
        if can_search and self.searches < min(_SEARCHES_FOR_NOTHING, len(self.task.phrasings)):
            return AssistantMessage("", (self._search(self.task.phrasings[self.searches], []),))
        return AssistantMessage(_NOTHING_FITS)

    def _search(self, query: str, calls: list[ToolCall]) -> ToolCall:
        self.searches += 1
        return ToolCall.from_dict(self._id(calls), SEARCH_TOOL, {"query": query})

    def _id(self, calls: list[ToolCall]) -> str:
        """An id as long as providers' are, since it is sent back and counted."""
        return f"call_{len(self.exchanges):012d}{len(calls):012d}"
