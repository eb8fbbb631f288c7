"""Observer that creates spans and metrics by OpenTelemetry's GenAI conventions (extra ``otel``)."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any

from ...errors import ConfigurationError, MissingExtraError

try:
    from opentelemetry import metrics, trace
except ImportError as _error:
    raise MissingExtraError("otel", "OpenTelemetryObserver") from _error

from ..observer import Observed, ObservedRound
from .attributes import Attributes, error_type, request_attributes, result_attributes, span_name
from .content import error_content, request_content, result_content
from .metrics import Metrics

__all__ = ["OpenTelemetryObserver"]


class OpenTelemetryObserver:
    """Observer that creates OpenTelemetry spans and metrics of turns, rounds, tool calls and searches.

    A turn is a span ``invoke_agent``. Its children are a span ``chat MODEL`` for each round and a span
    ``execute_tool NAME`` for each tool call that runs. A search is a span ``retrieval`` below the tool call, or below
    the turn if tools are revealed before the first round. Spans that tools and models create themselves, in any thread
    or task, become children of the span they run in. Between the chunks of a stream, the consumer's span is current.

    Args:
        tracer_provider: Creates the spans; by default the global provider.
        meter_provider: Creates the metrics; by default the global provider.
        content: Record messages, tool definitions, arguments, results, queries, names of found tools and error messages
            as well. Off by default, since they may contain secrets and personal data.
        agent_name: Name of the application, such as ``"support"``. The span of a turn is then
            ``invoke_agent support``.

    Raises:
        ConfigurationError: If `tracer_provider` is a string.
        MissingExtraError: On import, if the extra ``otel`` is not installed.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import ScriptedChatModel
        >>> client = ChatClient(ScriptedChatModel(["Hello!"]), observer=OpenTelemetryObserver(agent_name="support"))
        >>> client.call("Hi").text
        'Hello!'
    """

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
        *,
        content: bool = False,
        agent_name: str | None = None,
    ) -> None:
        if isinstance(tracer_provider, str):
            raise ConfigurationError(
                f"tracer_provider must be a TracerProvider or None, got {tracer_provider!r}; "
                f"write OpenTelemetryObserver(agent_name={tracer_provider!r})"
            )
        self.content = content
        self.agent_name = agent_name
        self._tracer = trace.get_tracer("toolsearch", tracer_provider=tracer_provider)
        self._metrics = Metrics(metrics.get_meter("toolsearch", meter_provider=meter_provider))

    def begin(self, operation: Observed) -> _TracedOperation:
        """Start the span of an operation, as a child of the current span."""
        attributes = request_attributes(operation, self.agent_name)
        kind = trace.SpanKind.CLIENT if isinstance(operation, ObservedRound) else trace.SpanKind.INTERNAL
        started = time.time_ns()
        span = self._tracer.start_span(span_name(attributes), kind=kind, attributes=attributes, start_time=started)
        content = self.content and span.is_recording()
        if content:
            span.set_attributes(request_content(operation))
        return _TracedOperation(operation, span, started, attributes, self._metrics, content=content)


class _TracedOperation:
    """Operation with its span."""

    def __init__(
        self,
        operation: Observed,
        span: trace.Span,
        started: int,
        attributes: Attributes,
        metrics: Metrics,
        *,
        content: bool,
    ) -> None:
        self._operation = operation
        self._span = span
        self._started = started
        self._start_clock = time.perf_counter_ns()
        self._attributes = attributes
        self._metrics = metrics
        self._content = content

    def current(self) -> AbstractContextManager[object]:
        # `end` records errors: once, and without their message unless content is recorded.
        return trace.use_span(self._span, record_exception=False, set_status_on_exception=False)

    def end(self, result: Any, error: BaseException | None) -> None:
        duration = time.perf_counter_ns() - self._start_clock
        attributes = result_attributes(self._operation, result)
        error_name = error_type(self._operation, result, error)
        if error_name is not None:
            attributes["error.type"] = error_name
            self._span.set_status(trace.StatusCode.ERROR)
        elif isinstance(error, GeneratorExit):
            attributes["toolsearch.left_early"] = True
        self._span.set_attributes(attributes)
        if self._content:
            self._span.set_attributes(result_content(self._operation, result))
            if error_name is not None and error is not None:
                self._span.add_event("exception", error_content(error))
        self._span.end(self._started + duration)
        self._metrics.record(self._operation, result, duration / 1e9, {**self._attributes, **attributes})
