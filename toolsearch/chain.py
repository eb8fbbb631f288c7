"""The chain of advisors as one generator of operations: no I/O, no threads, the same for all drivers."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from inspect import isgenerator
from typing import Any, TypeAlias, cast

from .advisor import Advisor, ChunkTransformer
from .chat import ChatChunk, ChatRequest, ChatResponse
from .effects import AdvisorFlow, Effect, Perform, RunTools, Sleep
from .errors import ConfigurationError

__all__ = ["CallModel", "Chain", "ChunkPath", "Operation", "Show", "run_chain"]


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model; what comes back is its `ChatResponse`."""

    request: ChatRequest


@dataclass(frozen=True, slots=True)
class Show:
    """Give these chunks to the caller of the stream."""

    chunks: tuple[ChatChunk, ...]


Operation: TypeAlias = CallModel | Show | RunTools | Perform | Sleep
Chain: TypeAlias = Generator[Operation, Any, ChatResponse]


class ChunkPath:
    """The way of streamed text from the model to the caller: out through every advisor, innermost first.

    Each advisor may change a chunk on its way (`ChunkTransformer`), and an advisor that asked for a buffered
    request holds everything back until it returns a response.
    """

    def __init__(self, advisors: Sequence[Advisor]) -> None:
        self._advisors = advisors
        self._transformers: list[ChunkTransformer | None] = [None] * len(advisors)
        self._held: list[list[ChatChunk] | None] = [None] * len(advisors)

    def open(self, depth: int) -> None:
        """Begin an answer that starts at `depth`: transformers further out start afresh."""
        for at in range(depth):
            advisor: Any = self._advisors[at]
            if hasattr(advisor, "chunk_transformer"):
                self._transformers[at] = advisor.chunk_transformer()
            elif hasattr(advisor, "on_chunk"):
                self._transformers[at] = advisor

    def push(self, chunk: ChatChunk | None, depth: int) -> Iterator[ChatChunk]:
        """Pass a chunk outwards from `depth`; yield it if it reaches the caller now."""
        for at in range(depth - 1, -1, -1):
            transformer = self._transformers[at]
            if chunk is not None and transformer is not None:
                chunk = transformer.on_chunk(chunk)
            if chunk is None:
                return
            held = self._held[at]
            if held is not None:
                held.append(chunk)
                return
        if chunk is not None and chunk.text:
            yield chunk

    def close(self, depth: int) -> Iterator[ChatChunk]:
        """End an answer that started at `depth`: what transformers kept back follows."""
        for at in range(depth - 1, -1, -1):
            flush = getattr(self._transformers[at], "flush", None)
            tail = flush() if flush else None
            if tail is not None:
                held = self._held[at]
                if held is not None:
                    held.append(tail)
                else:
                    yield from self.push(tail, at)

    def hold(self, depth: int, *, buffered: bool) -> None:
        """The advisor at `depth` asks the rest of the chain, for the first time or again."""
        self._held[depth] = [] if buffered else None

    def accept(self, depth: int, response: ChatResponse) -> tuple[ChatChunk, ...]:
        """The advisor at `depth` returned `response`; return the chunks that reach the caller because of it."""
        held, self._held[depth] = self._held[depth], None
        if held is None and response.streamed:
            return ()
        whole = (ChatChunk(response.text),) if response.text else ()
        # What was held is this very answer: show it in the pieces it came in.
        if held and response.streamed and "".join(chunk.text for chunk in held).endswith(response.text):
            return self.show(depth, tuple(held))
        return self.show(depth, whole)

    def show(self, depth: int, chunks: Sequence[ChatChunk]) -> tuple[ChatChunk, ...]:
        """Pass a finished answer outwards from `depth`."""
        self.open(depth)
        return (*(out for chunk in chunks for out in self.push(chunk, depth)), *self.close(depth))


def run_chain(advisors: Sequence[Advisor], request: ChatRequest, path: ChunkPath | None, depth: int = 0) -> Chain:
    """Run the advisors from `depth` on, then the model; yield what the driver must do.

    Args:
        advisors: outermost first.
        request: what the advisor at `depth` is given.
        path: where streamed text goes; None when nothing is streamed.
        depth: how many advisors are further out.
    """
    if depth == len(advisors):
        response: ChatResponse = yield CallModel(request)
    else:
        response = yield from _run_advisor(advisors, request, path, depth)
    if path is not None and not response.streamed:
        chunks = path.show(depth, (ChatChunk(response.text),)) if response.text else ()
        if chunks:
            yield Show(chunks)
        response = response.replace(streamed=True)
    return response


def _run_advisor(advisors: Sequence[Advisor], request: ChatRequest, path: ChunkPath | None, depth: int) -> Chain:
    advisor = advisors[depth]
    made: object = advisor.advise(request)
    if not isgenerator(made):
        raise ConfigurationError(
            f"{_name(advisor)}.advise must be a generator: `response = yield request; return response`"
        )
    flow = cast("AdvisorFlow", made)
    response: object = None
    try:
        effect = next(flow)
        while True:
            try:
                result = yield from _perform(advisors, request, effect, path, depth)
            except Exception as error:
                effect = flow.throw(error)
            else:
                effect = flow.send(result)
    except StopIteration as stop:
        response = stop.value
    finally:
        flow.close()
    if not isinstance(response, ChatResponse):
        raise ConfigurationError(f"{_name(advisor)}.advise must return a ChatResponse, not {type(response).__name__}")
    if path is not None:
        chunks = path.accept(depth, response)
        if chunks:
            yield Show(chunks)
        return response.replace(streamed=True)
    return response


def _perform(
    advisors: Sequence[Advisor], request: ChatRequest, effect: Effect, path: ChunkPath | None, depth: int
) -> Generator[Operation, Any, Any]:
    if isinstance(effect, ChatRequest):
        if path is not None:
            path.hold(depth, buffered=effect.buffered and not request.buffered)
        return (yield from run_chain(advisors, effect, path, depth + 1))
    if isinstance(effect, RunTools | Perform | Sleep):
        return (yield effect)
    raise ConfigurationError(
        f"{_name(advisors[depth])}.advise yielded {type(effect).__name__}; it can yield a ChatRequest, RunTools, "
        "Perform or Sleep"
    )


def _name(advisor: Advisor) -> str:
    return type(advisor).__name__
