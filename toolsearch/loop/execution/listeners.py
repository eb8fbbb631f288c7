"""Listeners: advisors that receive every event of a turn, also in `call` and `acall`."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing, closing
from typing import Any

from ...chat.events import StreamEvent
from ...errors import AsyncCallableError
from ...text.logs import log_event
from ...tools.definition.signature import origin

__all__ = ["anotify", "find_listeners", "notify"]

logger = logging.getLogger(__name__)

Listener = Callable[[StreamEvent], Any]


def find_listeners(advisors: Sequence[Any]) -> tuple[Listener, ...]:
    """Return the `on_event` functions of the advisors."""
    return tuple(advisor.on_event for advisor in advisors if hasattr(advisor, "on_event"))


def notify(
    listeners: Sequence[Listener], events: Generator[StreamEvent, None, None]
) -> Generator[StreamEvent, None, None]:
    """Yield the events, each after the listeners received it.

    Raises:
        AsyncCallableError: If a listener is async.
    """
    with closing(events):
        for event in events:
            for listener in listeners:
                if (result := _call(listener, event)) is not None:
                    if inspect.iscoroutine(result):
                        result.close()
                    raise AsyncCallableError(
                        f"{origin(listener)} must not be async in call() and stream(); use acall() or astream()"
                    )
            yield event


async def anotify(listeners: Sequence[Listener], events: AsyncGenerator[StreamEvent]) -> AsyncGenerator[StreamEvent]:
    """Yield the events, each after the listeners received it."""
    async with aclosing(events):
        async for event in events:
            for listener in listeners:
                if (result := _call(listener, event)) is not None:
                    try:
                        await result
                    except Exception as error:
                        _log(error)
            yield event


def _call(listener: Listener, event: StreamEvent) -> Any:
    """Call a listener and return its awaitable, or None."""
    try:
        result = listener(event)
    except Exception as error:
        _log(error)
        return None
    return result if inspect.isawaitable(result) else None


def _log(error: Exception) -> None:
    log_event(logger, logging.ERROR, "progress_failed", error=error)
