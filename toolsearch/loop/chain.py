"""The chain of advisors as one generator of operations: no I/O, no threads, the same for all drivers."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import iscoroutine, isgenerator
from typing import Any, TypeAlias, cast

from ..chat.events import ChatChunk
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..errors import ConfigurationError
from .advisor import Advisor, ChunkTransformer
from .effects import AdvisorFlow, Effect, Perform, RunTools, Sleep

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

    Attributes:
        turn: marks responses whose text was shown in this stream. A response kept from another turn, by a cache for
            instance, has another mark or none, also if it comes from another process.
    """

    def __init__(self, advisors: Sequence[Advisor]) -> None:
        self.turn = os.urandom(8)
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
                chunk = self._checked(transformer.on_chunk(chunk), at)
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
            tail = self._checked(flush(), at) if flush else None
            held = self._held[at]
            if held is not None:
                held.extend([tail] if tail is not None else ())
                return  # nothing went further out
            if tail is not None:
                yield from self.push(tail, at)

    def hold(self, depth: int, *, buffered: bool) -> None:
        """The advisor at `depth` asks the rest of the chain, for the first time or again."""
        self._held[depth] = [] if buffered else None

    def accept(self, depth: int, response: ChatResponse) -> tuple[ChatChunk, ...]:
        """The advisor at `depth` returned `response`; return the chunks that reach the caller because of it."""
        held, self._held[depth] = self._held[depth], None
        streamed = response.streamed_in == self.turn
        if held is None and streamed:
            return ()
        return self.show(depth, _pieces(held if held and streamed else (), response.text))

    def show(self, depth: int, chunks: Sequence[ChatChunk]) -> tuple[ChatChunk, ...]:
        """Pass a finished answer outwards from `depth`."""
        if not chunks:
            return ()
        self.open(depth)
        return (*(out for chunk in chunks for out in self.push(chunk, depth)), *self.close(depth))

    def _checked(self, chunk: object, at: int) -> ChatChunk | None:
        if chunk is None or isinstance(chunk, ChatChunk):
            return chunk
        raise ConfigurationError(
            f"{_name(self._advisors[at])}: on_chunk and flush return a ChatChunk or None, not {type(chunk).__name__}"
        )


def _pieces(held: Sequence[ChatChunk], text: str) -> tuple[ChatChunk, ...]:
    """The pieces in which `text` came, or one piece if it came otherwise.

    What was held before it, such as rejected answers and the text of earlier rounds, is left out.
    """
    surplus = sum(len(chunk.text) for chunk in held) - len(text)
    if surplus < 0 or not "".join(chunk.text for chunk in held).endswith(text):
        return (ChatChunk(text),)
    pieces = []
    for chunk in held:
        cut = min(surplus, len(chunk.text))
        surplus -= cut
        if cut < len(chunk.text):
            pieces.append(replace(chunk, text=chunk.text[cut:]) if cut else chunk)
    return tuple(pieces)


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
        if path is not None and response.streamed_in != path.turn:  # an answer that did not come in chunks
            response = yield from _shown(path, response, path.show(depth, _pieces((), response.text)))
        return response
    response = yield from _run_advisor(advisors, request, path, depth)
    if path is not None:
        response = yield from _shown(path, response, path.accept(depth, response))
    return response


def _shown(
    path: ChunkPath, response: ChatResponse, chunks: tuple[ChatChunk, ...]
) -> Generator[Operation, Any, ChatResponse]:
    if chunks:
        yield Show(chunks)
    return response if response.streamed_in == path.turn else response.replace(streamed_in=path.turn)


def _run_advisor(advisors: Sequence[Advisor], request: ChatRequest, path: ChunkPath | None, depth: int) -> Chain:
    advisor = advisors[depth]
    made: object = advisor.advise(request)
    if not isgenerator(made):
        if iscoroutine(made):
            made.close()
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
