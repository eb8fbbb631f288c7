"""`Advisor`: a step between a client and its model, written once for call and stream, sync and async."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from ..chat.events import ChatChunk
from ..chat.requests import ChatRequest
from ..errors import ConfigurationError
from .effects import AdvisorFlow

__all__ = ["Advisor", "ChunkTransformer", "in_order"]


@runtime_checkable
class Advisor(Protocol):
    """A plain generator that yields what it needs done and receives the result.

    Attributes:
        order: advisors with a lower order are further out: they see a request earlier and its response later.
            Equal orders keep the order of registration.

    An advisor may also offer `ChunkTransformer`'s two methods, if they keep no state, or a method
    ``chunk_transformer() -> ChunkTransformer`` that makes a fresh one for each streamed answer of the model.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> class Shout:
        ...     order = 100
        ...     def advise(self, request):
        ...         response = yield request
        ...         return response.with_text(response.text.upper())
        >>> ChatClient(ScriptedChatModel(["hello"]), advisors=[Shout()]).call("Hi").text
        'HELLO'
    """

    order: int

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Yield effects (`toolsearch.loop.effects`), return the response.

        Yielding a `ChatRequest` runs the rest of the chain and gives its `ChatResponse`; yielding another runs it
        once more. An effect's exception is raised at the yield. When a stream is left early the generator is closed,
        so that `finally` blocks run.
        """
        ...


class ChunkTransformer(Protocol):
    """Changes streamed text on its way to the caller, e.g. to redact it."""

    def on_chunk(self, chunk: ChatChunk) -> ChatChunk | None:
        """Return the chunk to pass on, or None to keep it for later or for ever."""
        ...

    def flush(self) -> ChatChunk | None:
        """Return what was kept back, at the end of each answer of the model."""
        ...


def in_order(advisors: Iterable[Advisor]) -> tuple[Advisor, ...]:
    """Return the advisors from the outermost to the innermost.

    Raises:
        ConfigurationError: if something is not an advisor.
    """
    if hasattr(advisors, "advise") or not isinstance(advisors, Iterable):
        raise ConfigurationError(f"advisors takes a list: advisors=[{type(advisors).__name__}(...)]")
    chain = tuple(advisors)
    for advisor in chain:
        if not callable(getattr(advisor, "advise", None)) or not isinstance(getattr(advisor, "order", None), int):
            hint = " (pass an instance, not the class)" if isinstance(advisor, type) else ""
            raise ConfigurationError(
                f"{advisor!r} is not an advisor: it needs `order: int` and `advise(request)`{hint}"
            )
    return tuple(sorted(chain, key=lambda advisor: advisor.order))
