"""`Progress`: reports what happens in a turn while it runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ..chat.events import StreamEvent
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..errors import ConfigurationError
from ..loop.effects import AdvisorFlow
from ..text import short_repr

__all__ = ["Progress"]


class Progress:
    """Passes the events of each turn to a function while the turn runs, in `call`, `acall` and `run_tools` too.

    The events are those of `ChatStream.events`: rounds, tool calls with their results, and the end of the turn. Chunks
    of text come only while streaming. An exception of the function is logged and does not end the turn.

    Args:
        callback: ``event -> None``. It may be async, for `acall` and `astream`. A sync function runs on the thread or
            event loop of the turn, so it must not block.
        order: The position in the chain. It makes no difference.

    Raises:
        ConfigurationError: If `callback` cannot be called.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> def now() -> str:
        ...     "Tell the time."
        ...     return "12:00"
        >>> model = ScriptedChatModel([[("now", {})], "It is noon."])
        >>> progress = Progress(lambda event: print(type(event).__name__))
        >>> ChatClient(model, tools=[now], advisors=[progress]).call("What time is it?").text
        RoundStarted
        ToolStarted
        ToolFinished
        RoundStarted
        TurnFinished
        'It is noon.'
    """

    def __init__(self, callback: Callable[[StreamEvent], Awaitable[None] | None], order: int = 400) -> None:
        if not callable(callback):
            raise ConfigurationError(f"callback must be a function of an event, got {short_repr(callback)}")
        self.on_event = callback
        self.order = order

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Pass the request on unchanged."""
        response: ChatResponse = yield request
        return response
