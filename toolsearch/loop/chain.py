"""The chain of advisors as one generator of operations, without I/O or threads. All drivers use it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from inspect import iscoroutine, isgenerator
from typing import Any, TypeAlias, cast

from ..chat.events import TextReplaced
from ..chat.model import ChatModel
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..chat.turn_record import TurnRecord, attach_response
from ..errors import ConfigurationError
from .advisor import Advisor
from .effects import AdvisorFlow, AskModel, Effect, Emit, Perform, RunTools, Sleep, ToolBatchResult
from .guarding import gate_of
from .streaming.chunk_path import ChunkPath, ShownText

__all__ = ["CallModel", "Chain", "Operation", "Show", "run_chain"]


@dataclass(frozen=True, slots=True)
class CallModel:
    """Operation: call a model, by default that of the client. The result is its `ChatResponse`."""

    request: ChatRequest
    model: ChatModel | None = None


@dataclass(frozen=True, slots=True)
class Show:
    """Operation: yield these events to the caller of the stream. The result is None."""

    events: tuple[ShownText, ...]


Operation: TypeAlias = CallModel | Show | RunTools | Perform | Sleep | Emit
Chain: TypeAlias = Generator[Operation, Any, ChatResponse]


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
        if (gate := gate_of(request)) is not None:
            request = yield from gate.check_request(request)
        if request.record is not None:
            request.record.begin_answer(request.messages)
        response: ChatResponse = yield CallModel(request, model)
        if request.record is not None:
            request.record.end_answer(response)
    else:
        response = yield from _run_advisor(advisors, request, path, depth, model)
    if request.record is not None:
        request.record.accept(response)
    if path is not None:
        yield from _show(request.record, path.end_answer(depth, response.text))
    return response


def _show(record: TurnRecord | None, events: tuple[ShownText, ...]) -> Generator[Operation, Any, None]:
    if events:
        for event in events:
            if record is not None:
                record.show(event.text, replaces=isinstance(event, TextReplaced))
        yield Show(events)


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
            path.begin_request(depth, buffered=effect.buffered and not request.buffered)
        if effect.record is None and request.record is not None:  # an advisor made a new request
            effect = effect.replace(record=request.record)
        response = yield from run_chain(advisors, effect, path, depth + 1, model)
        if path is not None:
            yield from _show(request.record, path.end_request(depth))
        return response
    if isinstance(effect, RunTools):
        if path is not None:
            if effect.message is not None:
                yield from _show(request.record, path.end_answer(depth, effect.message.text))
            yield from _show(request.record, path.begin_tools())
        if (gate := gate_of(request)) is not None:
            effect = yield from gate.check_batch(effect)
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
