"""`Fallback`: asks another model if a model fails."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import replace

from ..chat.model import ChatModel, OutputSchemaModel
from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..chat.turn_record import TurnRecord
from ..errors import ConfigurationError, ProviderError
from ..loop.effects import AdvisorFlow, AskModel
from ..messages import UserMessage
from ..text import short_repr
from ..text.logs import log_event
from ..tools.predicates import evaluate_predicate, validate_predicate

__all__ = ["Fallback"]

logger = logging.getLogger(__name__)


def _is_retryable(error: ProviderError) -> bool:
    return error.retryable


class Fallback:
    """Asks other models, one after another, if the model of the client fails with a `ProviderError`.

    The rest of the turn stays with the model that answered. Usage, finish reason and `raw` of a response are those of
    the model that gave it.

    By default it switches only at the start of a turn: not after a tool ran, because the other model would go on with
    the calls of the first one, and not after text of the answer was shown in a stream. Advisors further inside, such
    as `Retry`, see the requests to each model.

    The models receive the same request. A model that cannot enforce the schema of a structured output receives it as
    an instruction. All models must accept the options of the call and the number of tools.

    Args:
        models: The other models, in the order in which they are asked.
        when: ``error -> bool``, the errors after which the next model is asked. By default `ProviderError.retryable`:
            overload, rate limits, lost connections. ``lambda error: True`` includes wrong keys and unknown models.
        buffered: Whether streamed text is held back until its round is complete, so that no text is shown before it.
        after_text: Whether to switch after text of the answer was shown. `TextReplaced` then says which text counts.
        after_tools: Whether to switch after a tool ran in the turn.
        order: The position in the chain. By default further outside than `Retry`, inside structured output.

    Raises:
        ConfigurationError: If an argument cannot work.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> busy = ScriptedChatModel([ProviderError("busy", retryable=True)])
        >>> client = ChatClient(busy, advisors=[Fallback(ScriptedChatModel(["Hello from the other model."]))])
        >>> client.call("Hi").text
        'Hello from the other model.'
    """

    def __init__(
        self,
        *models: ChatModel,
        when: Callable[[ProviderError], bool] = _is_retryable,
        buffered: bool = False,
        after_text: bool = False,
        after_tools: bool = False,
        order: int = 850,
    ) -> None:
        if not models:
            raise ConfigurationError("Fallback needs another model; write Fallback(OpenAIChatModel('gpt-5-mini'))")
        for model in models:
            if isinstance(model, type) or not isinstance(model, ChatModel):
                raise ConfigurationError(
                    f"models must be ChatModel instances with call, acall, stream and astream, got {short_repr(model)}"
                )
        validate_predicate(when, "when", "error")
        self.models = models
        self.when = when
        self.buffered = buffered
        self.after_text = after_text
        self.after_tools = after_tools
        self.order = order

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Pass the request on to the model of this turn, or to the next one if it fails."""
        record = request.record or TurnRecord()
        sent = request.replace(buffered=True) if self.buffered else request
        position: int = record.notes.get(self, 0)  # 0 is the model of the client
        while True:
            try:
                model = self.models[position - 1]
                response: ChatResponse = yield AskModel(_adapt(sent, model), model) if position else sent
                return response
            except ProviderError as error:
                if position == len(self.models) or not self._may_switch(error, record):
                    raise
                facts = {"model": position + 1, "error_type": type(error).__name__, "status": error.status}
            position += 1
            record.notes[self] = position
            log_event(logger, logging.WARNING, "fallback", facts)

    def _may_switch(self, error: ProviderError, record: TurnRecord) -> bool:
        if record.has_run_tools() and not self.after_tools:
            return False
        if record.text_shown and not self.after_text:
            return False
        return evaluate_predicate(self.when(error), "when")


def _adapt(request: ChatRequest, model: ChatModel) -> ChatRequest:
    """Return the request with the schema as an instruction if the model cannot enforce it."""
    schema = request.output_schema
    if schema is None or (isinstance(model, OutputSchemaModel) and model.supports_output_schema):
        return request
    text = f"Answer with JSON only, which fits this JSON Schema: {json.dumps(dict(schema.schema), ensure_ascii=False)}"
    messages = list(request.messages)
    last = messages[-1] if messages else None
    if isinstance(last, UserMessage):
        messages[-1] = replace(last, text=f"{last.text}\n\n{text}")
    else:
        messages.append(UserMessage(text))
    return request.replace(messages=messages, output_schema=None)
