"""Structured output: an advisor that asks for an answer of a type and asks again if the answer does not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ..chat.errors import StructuredOutputError
from ..chat.model import ChatModel, OutputSchemaModel
from ..chat.requests import ChatRequest, OutputSchema
from ..chat.responses import ChatResponse
from ..chat.turn_memory import TurnMemoryProvider
from ..errors import ConfigurationError
from ..loop.advisor import Advisor, sort_advisors
from ..loop.effects import AdvisorFlow, Perform
from ..loop.tool_calling import ToolCallingAdvisor, has_tool_calls
from ..messages import AssistantMessage, Message, Usage, UserMessage
from ..text import short_repr
from ..tools.names import wire_name
from .converter import NamedOutputConverter, OutputConverter, converter_for

__all__ = ["StructuredOutputAdvisor", "with_structured_output"]

_DEFAULT_ORDER = 800
_CUT_OFF_REASONS = ("length", "max_tokens", "max_output_tokens")
_REFUSAL_REASONS = ("content_filter", "refusal", "safety")
MAX_EXCERPT_CHARACTERS = 200
MAX_QUICK_CHARACTERS = 20_000
"""Maximum length of an answer that is parsed on the event loop."""


class StructuredOutputAdvisor:
    """Asks for an answer of a type, validates it, and asks again if it does not fit.

    The value is `ChatResponse.output`. ``client.call(..., output_type=T)`` adds an advisor for the call. Pass one
    yourself to set its options, for a call or for a client. The `output_type` of a call then replaces the type and
    keeps the options.

    The advisor is inside the tool-calling loop. A response with tool calls passes unchanged. A text that does not fit
    is sent back with its problems, at most `retries` times in a turn. Only the accepted answer enters the conversation
    and a stream; the usage counts all attempts. Direct results of tools, and turns that end at a limit, are not
    validated; their `output` is None.

    Args:
        output: The type, or an `OutputConverter`. None only sets the options for calls with an `output_type`.
        retries: Number of answers in a turn that are sent back. With 0, the first answer must fit.
        validate: Whether answers are validated. If False, streams are live, and `output` is None for an answer that
            cannot be parsed.
        native: Whether to let the provider enforce the schema, if the model supports it (`OutputSchemaModel`).
            Otherwise the schema is described in instructions. These are appended to the last user message, so the
            cached start of the prompt stays the same.
        instructions: Whether to describe the schema in instructions. By default, only if the provider does not enforce
            it.
        raise_on_failure: Whether to raise an error if no answer is accepted. If False, the last response is returned,
            and its `output` is None.
        order: Position in the chain. The advisor must be inside the tool-calling loop and inside a memory.

    Raises:
        ConfigurationError: If an argument cannot work.

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
        order: int = _DEFAULT_ORDER,
    ) -> None:
        if isinstance(retries, bool) or not isinstance(retries, int):
            raise ConfigurationError(f"retries must be an integer, got {short_repr(retries)}")
        if retries < 0:
            raise ConfigurationError(f"retries must be 0 or more, got {retries!r}")
        self.converter = None if output is None else converter_for(output)
        self.retries = retries
        self.validate = validate
        self.native = native
        self.instructions = instructions
        self.raise_on_failure = raise_on_failure
        self.order = order

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Ask for an answer that fits. A `ChatClient` runs two advisors instead, outside and inside its loop."""
        if self.converter is None:
            response: ChatResponse = yield request
            return response
        return (
            yield from _Attempts(self, self.converter, native=False, should_continue=has_tool_calls).advise(request)
        )

    def _with_type(self, output: object) -> StructuredOutputAdvisor:
        """Return an advisor with the same options for another type."""
        return StructuredOutputAdvisor(
            output,
            retries=self.retries,
            validate=self.validate,
            native=self.native,
            instructions=self.instructions,
            raise_on_failure=self.raise_on_failure,
            order=self.order,
        )


def with_structured_output(advisors: Sequence[Advisor], output_type: object, model: ChatModel) -> tuple[Advisor, ...]:
    """Return the chain of one call with its structured output.

    Args:
        advisors: The chain, from the outermost advisor to the innermost, with its tool-calling loop.
        output_type: The `output_type` of the call. None keeps the type of an advisor in the chain.
        model: The model of the client.

    Raises:
        ConfigurationError: If the type is not supported, if there are two such advisors, or if the advisor is outside
            the tool-calling loop or outside a memory.
    """
    given = [advisor for advisor in advisors if isinstance(advisor, StructuredOutputAdvisor)]
    if output_type is None and not given:
        return tuple(advisors)
    if len(given) > 1:
        raise ConfigurationError(
            f"a chain must have one StructuredOutputAdvisor, got {len(given)}; pass output_type= for another type in "
            "one call"
        )
    loop = next((advisor for advisor in advisors if isinstance(advisor, ToolCallingAdvisor)), None)
    outer = [advisor for advisor in advisors if isinstance(advisor, ToolCallingAdvisor | TurnMemoryProvider)]
    chosen = (
        given[0]
        if given
        else StructuredOutputAdvisor(order=max([_DEFAULT_ORDER, *(advisor.order for advisor in outer)]))
    )
    if output_type is not None:
        chosen = chosen._with_type(output_type)
    others = [advisor for advisor in advisors if not isinstance(advisor, StructuredOutputAdvisor)]
    if chosen.converter is None:
        return tuple(others)
    for advisor in outer:
        if chosen.order < advisor.order:
            raise ConfigurationError(
                f"StructuredOutputAdvisor must be inside {type(advisor).__name__}(order={advisor.order}), which would "
                f"run or store every retry; give it a higher order, got {chosen.order}"
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
    """Advisor around the tool-calling loop: buffers a stream until the answer is accepted."""

    def __init__(self, attempts: _Attempts) -> None:
        self.order = attempts.order
        self._attempts = attempts

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        self._attempts.reset()
        if self._attempts.options.validate:
            request = request.replace(buffered=True)
        response: ChatResponse = yield request
        return response


class _Attempts:
    """Advisor inside the tool-calling loop, for one turn: validates each answer and counts the attempts."""

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
        self._should_continue = should_continue
        schema = converter.schema if native else None
        self._schema = None if schema is None else OutputSchema(_schema_name(converter), schema)
        instructs = schema is None if options.instructions is None else options.instructions
        self._instructions = converter.instructions if instructs else ""
        self.reset()

    def reset(self) -> None:
        """Reset the counts, because a turn starts, or because an outer advisor runs it again."""
        self._retries_left = self.options.retries
        self._attempts_made = 0

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        request = request.replace(
            messages=_add_instructions(request.messages, self._instructions),
            output_schema=self._schema,
            buffered=request.buffered or self.options.validate,
        )
        sent, usage = request, Usage()
        while True:
            response: ChatResponse = yield sent
            usage += response.usage
            response = response.replace(usage=usage)
            if response.tool_calls or self._should_continue(response):
                return response
            self._attempts_made += 1
            try:
                if len(response.text) <= MAX_QUICK_CHARACTERS:
                    output = self._converter.parse(response.text)
                else:
                    output = yield Perform(partial(self._converter.parse, response.text))
                return response.replace(output=output)
            except ConfigurationError:  # of the converter, not of the answer
                raise
            except ValueError as error:
                failure = error
            final_problem = _find_final_problem(response)
            if final_problem or self._retries_left <= 0 or not self.options.validate:
                return self._give_up(response, failure, final_problem)
            self._retries_left -= 1
            sent = request.replace(messages=self._with_feedback(request.messages, response.text, failure))

    def _give_up(self, response: ChatResponse, failure: ValueError, final_problem: str) -> ChatResponse:
        if not (self.options.validate and self.options.raise_on_failure):
            return response
        problem = final_problem or str(failure)
        attempts = f"{self._attempts_made} attempt{'s' * (self._attempts_made != 1)}"
        message = f"no answer fits the requested type after {attempts}: {problem}"
        raise StructuredOutputError(message, response=response, problem=problem) from failure

    def _with_feedback(self, messages: Sequence[Message], answer: str, failure: ValueError) -> tuple[Message, ...]:
        """Return the messages of the round with the latest answer and its problems, without earlier attempts."""
        # Some servers accept a schema, but neither enforce it nor show it to the model.
        reminder = self._converter.instructions if self._schema is not None and not self._instructions else ""
        text = f"{failure}\n\nGive the whole answer again, corrected. {reminder}".rstrip()
        if answer.strip():
            return (*messages, AssistantMessage(answer), UserMessage(text))
        return _append_user_text(messages, text)  # providers reject an empty message


def _append_user_text(messages: Sequence[Message], text: str) -> tuple[Message, ...]:
    """Append user text to the messages. Some models reject two user messages in a row, so it joins the last one."""
    if messages and isinstance(last := messages[-1], UserMessage):
        return (*messages[:-1], replace(last, text=f"{last.text}\n\n{text}" if last.text else text))
    return (*messages, UserMessage(text))


def _add_instructions(messages: Sequence[Message], instructions: str) -> tuple[Message, ...]:
    """Append instructions to the last user message, unless it contains them already."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, UserMessage):
            if not instructions or instructions in message.text:
                return tuple(messages)
            return (*_append_user_text(messages[: position + 1], instructions), *messages[position + 1 :])
    return (*messages, UserMessage(instructions)) if instructions else tuple(messages)


def _find_final_problem(response: ChatResponse) -> str:
    """Return the reason why asking again cannot help, or an empty string."""
    reason = response.finish_reason.casefold()
    if reason in _CUT_OFF_REASONS:
        return f"the answer was cut off (finish reason {response.finish_reason!r}); allow more output tokens"
    if reason in _REFUSAL_REASONS:
        excerpt = short_repr(response.text, MAX_EXCERPT_CHARACTERS)
        return f"the model refused to answer (finish reason {response.finish_reason!r}): {excerpt}"
    return ""


def _schema_name(converter: OutputConverter) -> str:
    name = converter.name if isinstance(converter, NamedOutputConverter) else ""
    return wire_name(name or "answer")
