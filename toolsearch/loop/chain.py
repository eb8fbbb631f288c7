"""The chain of advisors as one generator of operations, without I/O or threads. All drivers use it."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import iscoroutine, isgenerator
from typing import Any, TypeAlias, cast

from ..chat.events import ChatChunk
from ..chat.model import ChatModel
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..chat.turn_record import TurnRecord, attach_response
from ..errors import ConfigurationError
from .advisor import Advisor, ChunkTransformer, ChunkTransformerFactory
from .effects import AdvisorFlow, AskModel, Effect, Emit, Perform, RunTools, Sleep, ToolBatchResult

__all__ = ["CallModel", "Chain", "ChunkPath", "Operation", "Show", "run_chain"]


@dataclass(frozen=True, slots=True)
class CallModel:
    """Operation: call a model, by default that of the client. The result is its `ChatResponse`."""

    request: ChatRequest
    model: ChatModel | None = None


@dataclass(frozen=True, slots=True)
class Show:
    """Operation: yield these chunks to the caller of the stream. The result is None."""

    chunks: tuple[ChatChunk, ...]


Operation: TypeAlias = CallModel | Show | RunTools | Perform | Sleep | Emit
Chain: TypeAlias = Generator[Operation, Any, ChatResponse]


class ChunkPath:
    """Path of streamed text from the model to the caller, through every advisor from the innermost outwards.

    Each advisor can change a chunk (`ChunkTransformer`). If an advisor yielded a buffered request, its chunks are held
    back until it returns a response.

    The methods take the depth of an advisor, i.e. the number of advisors outside it. The model has the largest depth.

    Args:
        advisors: The advisors of the chain, outermost first.

    Attributes:
        turn_id: Random id of the turn, set on responses whose text was shown in this stream. A response from another
            turn or process, e.g. from a cache, has another id or none.
    """

    def __init__(self, advisors: Sequence[Advisor]) -> None:
        self.turn_id = os.urandom(8)
        self._advisors = advisors
        self._transformers: list[ChunkTransformer | None] = [None] * len(advisors)
        self._held: list[list[ChatChunk] | None] = [None] * len(advisors)

    def open(self, depth: int) -> None:
        """Start an answer at `depth`. Outer advisors get new transformers."""
        for at in range(depth):
            advisor: Any = self._advisors[at]
            if isinstance(advisor, ChunkTransformerFactory):
                self._transformers[at] = advisor.chunk_transformer()
            elif hasattr(advisor, "on_chunk"):
                self._transformers[at] = advisor

    def push(self, chunk: ChatChunk | None, depth: int) -> Iterator[ChatChunk]:
        """Pass a chunk outwards from `depth`. Yield it if it reaches the caller now."""
        for at in range(depth - 1, -1, -1):
            transformer = self._transformers[at]
            if chunk is not None and transformer is not None:
                chunk = self._validated(transformer.on_chunk(chunk), at)
            if chunk is None:
                return
            held = self._held[at]
            if held is not None:
                held.append(chunk)
                return
        if chunk is not None and chunk.text:
            yield chunk

    def close(self, depth: int) -> Iterator[ChatChunk]:
        """End an answer that started at `depth`. Yield the text that transformers kept back."""
        for at in range(depth - 1, -1, -1):
            flush = getattr(self._transformers[at], "flush", None)
            tail = self._validated(flush(), at) if flush else None
            held = self._held[at]
            if held is not None:
                held.extend([tail] if tail is not None else ())
                return  # no chunk went past this advisor
            if tail is not None:
                yield from self.push(tail, at)

    def hold(self, depth: int, *, buffered: bool) -> None:
        """Note that the advisor at `depth` runs the rest of the chain, and whether its chunks are held back."""
        self._held[depth] = [] if buffered else None

    def accept(self, depth: int, response: ChatResponse) -> tuple[ChatChunk, ...]:
        """Note the response of the advisor at `depth`. Return the chunks that reach the caller now."""
        held, self._held[depth] = self._held[depth], None
        streamed = response.streamed_in == self.turn_id
        if held is None and streamed:
            return ()
        return self.show(depth, _split(held if held and streamed else (), response.text))

    def show(self, depth: int, chunks: Sequence[ChatChunk]) -> tuple[ChatChunk, ...]:
        """Pass the chunks of a complete answer outwards from `depth`. Return those that reach the caller."""
        if not chunks:
            return ()
        self.open(depth)
        return (*(out for chunk in chunks for out in self.push(chunk, depth)), *self.close(depth))

    def _validated(self, chunk: object, at: int) -> ChatChunk | None:
        if chunk is None or isinstance(chunk, ChatChunk):
            return chunk
        name = _name(self._advisors[at])
        raise ConfigurationError(
            f"{name}: on_chunk and flush must return a ChatChunk or None, got {type(chunk).__name__}"
        )


def _split(held: Sequence[ChatChunk], text: str) -> tuple[ChatChunk, ...]:
    """Return `text` in the chunks in which it arrived, or as one chunk if they do not end with it.

    Chunks before it, such as rejected answers and the text of earlier rounds, are left out.
    """
    surplus = sum(len(chunk.text) for chunk in held) - len(text)
    if surplus < 0 or not "".join(chunk.text for chunk in held).endswith(text):
        return (ChatChunk(text),)
    chunks = []
    for chunk in held:
        cut = min(surplus, len(chunk.text))
        surplus -= cut
        if cut < len(chunk.text):
            chunks.append(replace(chunk, text=chunk.text[cut:]) if cut else chunk)
    return tuple(chunks)


def run_chain(
    advisors: Sequence[Advisor],
    request: ChatRequest,
    path: ChunkPath | None,
    depth: int = 0,
    model: ChatModel | None = None,
) -> Chain:
    """Run the advisors from `depth` inwards, then the model. Yield the operations that the driver must perform.

    Args:
        advisors: The advisors of the chain, outermost first.
        request: The request that the advisor at `depth` receives.
        path: Path of streamed text, or None if the turn is not streamed.
        depth: Number of advisors outside.
        model: The model to ask instead of the client's.
    """
    if depth == len(advisors):
        if request.record is not None:
            request.record.begin_answer(request.messages)
        response: ChatResponse = yield CallModel(request, model)
        if request.record is not None:
            request.record.end_answer(response)
        if path is not None and response.streamed_in != path.turn_id:  # an answer that did not arrive in chunks
            response = yield from _show(path, request.record, response, path.show(depth, _split((), response.text)))
        return response
    response = yield from _run_advisor(advisors, request, path, depth, model)
    if path is not None:
        response = yield from _show(path, request.record, response, path.accept(depth, response))
    return response


def _show(
    path: ChunkPath, record: TurnRecord | None, response: ChatResponse, chunks: tuple[ChatChunk, ...]
) -> Generator[Operation, Any, ChatResponse]:
    if chunks:
        if record is not None:
            record.show("".join(chunk.text for chunk in chunks))
        yield Show(chunks)
    return response if response.streamed_in == path.turn_id else response.replace(streamed_in=path.turn_id)


def _run_advisor(
    advisors: Sequence[Advisor], request: ChatRequest, path: ChunkPath | None, depth: int, model: ChatModel | None
) -> Chain:
    advisor = advisors[depth]
    made: object = advisor.advise(request)
    if not isgenerator(made):
        if iscoroutine(made):
            made.close()
        raise ConfigurationError(
            f"{_name(advisor)}.advise must be a generator; write `response = yield request; return response`"
        )
    flow = cast("AdvisorFlow", made)
    response: object = None
    try:
        effect = next(flow)
        while True:
            try:
                result = yield from _perform(advisors, request, effect, path, depth, model)
            except Exception as error:
                if request.record is not None:
                    attach_response(error, request.record)
                effect = flow.throw(error)
            else:
                effect = flow.send(result)
    except StopIteration as stop:
        response = stop.value
    finally:
        flow.close()
    if not isinstance(response, ChatResponse):
        raise ConfigurationError(f"{_name(advisor)}.advise must return a ChatResponse, got {type(response).__name__}")
    return response


def _perform(
    advisors: Sequence[Advisor],
    request: ChatRequest,
    effect: Effect,
    path: ChunkPath | None,
    depth: int,
    model: ChatModel | None,
) -> Generator[Operation, Any, Any]:
    if isinstance(effect, AskModel):
        model = effect.model
        effect = effect.request
    if isinstance(effect, ChatRequest):
        if path is not None:
            path.hold(depth, buffered=effect.buffered and not request.buffered)
        if effect.record is None and request.record is not None:  # an advisor made a new request
            effect = effect.replace(record=request.record)
        response = yield from run_chain(advisors, effect, path, depth + 1, model)
        if request.record is not None:
            request.record.accept(response)
        return response
    if isinstance(effect, RunTools):
        return (yield from _run_tools(effect, request.record))
    if isinstance(effect, Perform | Sleep | Emit):
        return (yield effect)
    raise ConfigurationError(
        f"{_name(advisors[depth])}.advise must yield a ChatRequest, RunTools, Perform, Sleep or Emit, "
        f"got {type(effect).__name__}"
    )


def _run_tools(effect: RunTools, record: TurnRecord | None) -> Generator[Operation, Any, Any]:
    if record is None:
        return (yield effect)
    sent = effect.request.messages
    record.begin_batch(effect.calls, answers=effect.answers, message=effect.message, sent=sent)
    batch: ToolBatchResult = yield effect
    record.end_batch(batch.messages)
    return batch


def _name(advisor: Advisor) -> str:
    return type(advisor).__name__
