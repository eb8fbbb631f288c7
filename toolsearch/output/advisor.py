"""`StructuredOutputAdvisor`: asks for an answer of a type, checks it, and asks again where it does not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..chat.errors import StructuredOutputError
from ..chat.model import ChatModel, OutputSchemaModel
from ..chat.requests import ChatRequest, OutputSchema
from ..chat.responses import ChatResponse
from ..chat.turn_memory import TurnMemoryProvider
from ..errors import ConfigurationError
from ..loop.advisor import Advisor, sort_advisors
from ..loop.effects import AdvisorFlow
from ..loop.tool_calling import ToolCallingAdvisor, has_tool_calls
from ..messages import AssistantMessage, Message, Usage, UserMessage
from ..text import short_repr
from ..tools.names import wire_name
from .converter import OutputConverter, converter_for

__all__ = ["StructuredOutputAdvisor", "with_structured_output"]

_ORDER = 800
_CUT_OFF = ("length", "max_tokens", "max_output_tokens")
_REFUSED = ("content_filter", "refusal", "safety")
_EXCERPT = 200


class StructuredOutputAdvisor:
    """Has the model answer with a value of a type; the response's `value` holds it.

    ``client.call(..., output_type=T)`` adds one for the call. Add one yourself to set its options, for a call or
    for a client; then `output_type` of a call replaces the type and keeps the options.

    It sits inside the tool loop. A response that asks for tools passes untouched, so a round is never repeated
    because it is no answer; a text is checked, and one that does not fit is sent back with what is wrong with it,
    at most `retries` times in a turn. Only the accepted answer enters the conversation and a stream; the usage
    counts all attempts. Results returned direct and the end at a limit are not checked: `value` is None there.

    Args:
        output: the type or an `OutputConverter`; None only sets the options for calls with a `output_type`.
        retries: how often a turn's answers are sent back; 0 takes the first one or none.
        validate: False checks nothing: streams are live, and `value` is None if the answer cannot be read.
        native: hold the provider to the schema where the model can (`ChatModel`), else tell the model in words;
            False always uses words. Words go to the end of the last user message: of what a provider has cached,
            only that turn changes.
        instructions: whether the model is told in words; by default if the provider is not held to the schema.
        raise_on_failure: False returns the last response, with `value` None, where no answer could be accepted.
        order: its place in the chain, which must be inside the tool loop, and further in than a memory.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> model = ScriptedChatModel(["They are one and two.", "[1, 2]"])
        >>> client = ChatClient(model, advisors=[StructuredOutputAdvisor(list[int], retries=1)])
        >>> client.call("Which numbers?").output
        [1, 2]
    """

    def __init__(
        self,
        output: object = None,
        *,
        retries: int = 3,
        validate: bool = True,
        native: bool = True,
        instructions: bool | None = None,
        raise_on_failure: bool = True,
        order: int = _ORDER,
    ) -> None:
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise ConfigurationError(f"retries must be 0 or more, not {retries!r}")
        self.converter = None if output is None else converter_for(output)
        self.retries = retries
        self.validate = validate
        self.native = native
        self.instructions = instructions
        self.raise_on_failure = raise_on_failure
        self.order = order

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Ask for an answer that fits. A `ChatClient` runs it in two parts instead, around and inside its tool loop."""
        if self.converter is None:
            response: ChatResponse = yield request
            return response
        return (
            yield from _Attempts(self, self.converter, native=False, should_continue=has_tool_calls).advise(request)
        )

    def _for(self, output: object, order: int) -> StructuredOutputAdvisor:
        """The same options for another type."""
        return StructuredOutputAdvisor(
            output,
            retries=self.retries,
            validate=self.validate,
            native=self.native,
            instructions=self.instructions,
            raise_on_failure=self.raise_on_failure,
            order=order,
        )


def with_structured_output(advisors: Sequence[Advisor], output_type: object, model: ChatModel) -> tuple[Advisor, ...]:
    """Return the chain of one call with its structured output in place.

    Args:
        advisors: the chain, in order, with its tool loop.
        output_type: the call's; None leaves what is in the chain.
        model: the client's.

    Raises:
        ConfigurationError: for a wrong type, two such advisors, or one further out than the tool loop or a memory.
    """
    given = [advisor for advisor in advisors if isinstance(advisor, StructuredOutputAdvisor)]
    if output_type is None and not given:
        return tuple(advisors)
    if len(given) > 1:
        raise ConfigurationError(
            f"a chain has one StructuredOutputAdvisor, this one has {len(given)}; for another type in one call use "
            "output_type="
        )
    loop = next((advisor for advisor in advisors if isinstance(advisor, ToolCallingAdvisor)), None)
    outer = [advisor for advisor in advisors if isinstance(advisor, ToolCallingAdvisor | TurnMemoryProvider)]
    chosen = given[0] if given else StructuredOutputAdvisor(order=max([_ORDER, *(advisor.order for advisor in outer)]))
    if output_type is not None:
        chosen = chosen._for(output_type, chosen.order)
    others = [advisor for advisor in advisors if not isinstance(advisor, StructuredOutputAdvisor)]
    if chosen.converter is None:
        return tuple(others)
    for advisor in outer:
        if chosen.order < advisor.order:
            raise ConfigurationError(
                f"StructuredOutputAdvisor(order={chosen.order}) is further out than {type(advisor).__name__}"
                f"(order={advisor.order}), which would run again, or store, with every retry; give it a higher order"
            )
    attempts = _Attempts(
        chosen,
        chosen.converter,
        native=chosen.native and isinstance(model, OutputSchemaModel) and model.supports_output_schema,
        should_continue=has_tool_calls if loop is None else loop.should_continue,
    )
    chain = sort_advisors((*others, attempts))
    at = next(i for i, advisor in enumerate(chain) if advisor is (attempts if loop is None else loop))
    return (*chain[:at], _Acceptance(attempts), *chain[at:])


class _Acceptance:
    """The part around the tool loop: nothing of the turn is shown before its answer is accepted."""

    def __init__(self, attempts: _Attempts) -> None:
        self.order = attempts.order
        self._attempts = attempts

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        self._attempts.begin()
        if self._attempts.options.validate:
            request = request.replace(buffered=True)
        response: ChatResponse = yield request
        return response


class _Attempts:
    """The part inside the tool loop, for one turn: each answer is checked, and the attempts are counted."""

    def __init__(
        self,
        options: StructuredOutputAdvisor,
        converter: OutputConverter,
        *,
        native: bool,
        should_continue: Callable[[ChatResponse], bool],
    ) -> None:
        self.order = options.order
        self.options = options
        self._converter = converter
        self._more_rounds = should_continue
        schema = converter.schema if native else None
        self._schema = None if schema is None else OutputSchema(_name(converter), schema)
        in_words = schema is None if options.instructions is None else options.instructions
        self._instructions = converter.instructions if in_words else ""
        self.begin()

    def begin(self) -> None:
        """Count from the start: a turn begins, or is begun again by an advisor around it."""
        self._left = self.options.retries
        self._made = 0

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        request = request.replace(
            messages=_instructed(request.messages, self._instructions),
            output_schema=self._schema,
            buffered=request.buffered or self.options.validate,
        )
        sent, usage = request, Usage()
        while True:
            response: ChatResponse = yield sent
            usage += response.usage
            response = response.replace(usage=usage)
            if response.tool_calls or self._more_rounds(response):
                return response
            self._made += 1
            try:
                return response.replace(output=self._converter.parse(response.text))
            except ValueError as error:
                failure = error
            hopeless = _hopeless(response)
            if hopeless or not self._left or not self.options.validate:
                return self._given_up(response, failure, hopeless)
            self._left -= 1
            sent = request.replace(messages=self._sent_back(request.messages, response.text, failure))

    def _given_up(self, response: ChatResponse, failure: ValueError, hopeless: str) -> ChatResponse:
        if not (self.options.validate and self.options.raise_on_failure):
            return response
        problem = hopeless or str(failure)
        attempts = f"{self._made} attempt{'s' * (self._made != 1)}"
        message = f"the answer cannot be used, after {attempts}: {problem}"
        raise StructuredOutputError(message, response=response, problem=problem) from failure

    def _sent_back(self, messages: Sequence[Message], answer: str, failure: ValueError) -> tuple[Message, ...]:
        """The round's messages with the latest answer and what is wrong with it; earlier attempts are left out."""
        # There are servers that take a schema and neither follow it nor show it to the model.
        how = self._converter.instructions if self._schema is not None and not self._instructions else ""
        text = f"{failure}\n\nGive the whole answer again, corrected. {how}".rstrip()
        if answer.strip():
            return (*messages, AssistantMessage(answer), UserMessage(text))
        return _said(messages, text)  # providers refuse an empty message


def _said(messages: Sequence[Message], text: str) -> tuple[Message, ...]:
    """The messages with `text` from the user at the end; never two user messages in a row, as some models refuse."""
    if messages and isinstance(last := messages[-1], UserMessage):
        return (*messages[:-1], replace(last, text=f"{last.text}\n\n{text}" if last.text else text))
    return (*messages, UserMessage(text))


def _instructed(messages: Sequence[Message], instructions: str) -> tuple[Message, ...]:
    """The messages with `instructions` at the end of the last user message, once however often it is done."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, UserMessage):
            if not instructions or instructions in message.text:
                return tuple(messages)
            return (*_said(messages[: position + 1], instructions), *messages[position + 1 :])
    return (*messages, UserMessage(instructions)) if instructions else tuple(messages)


def _hopeless(response: ChatResponse) -> str:
    """Why asking again would not help, if it would not."""
    reason = response.finish_reason.casefold()
    if reason in _CUT_OFF:
        return f"the answer was cut off (finish reason {response.finish_reason!r}); allow more output tokens"
    if reason in _REFUSED:
        excerpt = short_repr(response.text, _EXCERPT)
        return f"the model refused to answer (finish reason {response.finish_reason!r}): {excerpt}"
    return ""


def _name(converter: OutputConverter) -> str:
    name = getattr(converter, "name", "")
    return wire_name(name if isinstance(name, str) and name else "answer")
