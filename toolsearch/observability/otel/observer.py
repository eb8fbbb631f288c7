"""`OpenTelemetryObserver` (extra ``otel``): spans and metrics of a client, by OpenTelemetry's GenAI conventions."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any

from ...errors import MissingExtraError

try:
    from opentelemetry import metrics, trace
except ImportError as _error:
    raise MissingExtraError("otel", "OpenTelemetryObserver") from _error

from ..observer import Observed, ObservedRound
from .attributes import Attributes, asked, error_type, given, span_name
from .content import asked_content, error_content, given_content
from .metrics import Metrics

__all__ = ["OpenTelemetryObserver"]


class OpenTelemetryObserver:
    """Makes spans and metrics of turns, rounds, tool calls and searches.

    A turn is a span ``invoke_agent``; its children are a ``chat MODEL`` for each round and an ``execute_tool NAME``
    for each call that is executed; a search is a ``retrieval`` below the call, or below the turn where tools are
    preselected. What tools and models trace themselves, in whichever thread or task, becomes a child of the span they
    run in. Between the chunks of a stream the consumer's own span is current.

    Args:
        tracer_provider: makes the spans; by default the global one.
        meter_provider: makes the metrics; by default the global one.
        content: record what was said as well: messages, arguments, results, queries, found names and the texts of
            errors. Off by default, as they may hold secrets and personal data.
        agent_name: what to call the application, e.g. ``"support"``; the turn's span is then ``invoke_agent support``.

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
        self.content = content
        self.agent_name = agent_name
        self._tracer = trace.get_tracer("toolsearch", tracer_provider=tracer_provider)
        self._metrics = Metrics(metrics.get_meter("toolsearch", meter_provider=meter_provider))

    def begin(self, operation: Observed) -> _Spanned:
        """Start the operation's span, as a child of the one that is current."""
        attributes = asked(operation, self.agent_name)
        kind = trace.SpanKind.CLIENT if isinstance(operation, ObservedRound) else trace.SpanKind.INTERNAL
        started = time.time_ns()
        span = self._tracer.start_span(span_name(attributes), kind=kind, attributes=attributes, start_time=started)
        content = self.content and span.is_recording()
        if content:
            span.set_attributes(asked_content(operation))
        return _Spanned(operation, span, started, attributes, self._metrics, content=content)


class _Spanned:
    """An operation with its span."""

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
        self._clock = time.perf_counter_ns()
        self._attributes = attributes
        self._metrics = metrics
        self._content = content

    def current(self) -> AbstractContextManager[object]:
        # Errors are recorded once, at the end, and without their text unless that was asked for.
        return trace.use_span(self._span, record_exception=False, set_status_on_exception=False)

    def end(self, result: Any, error: BaseException | None) -> None:
        took = time.perf_counter_ns() - self._clock
        after = given(self._operation, result)
        failed = error_type(self._operation, result, error)
        if failed is not None:
            after["error.type"] = failed
            self._span.set_status(trace.StatusCode.ERROR)
        elif isinstance(error, GeneratorExit):
            after["toolsearch.left_early"] = True
        self._span.set_attributes(after)
        if self._content:
            self._span.set_attributes(given_content(self._operation, result))
            if failed is not None and error is not None:
                self._span.add_event("exception", error_content(error))
        self._span.end(self._started + took)
        self._metrics.record(self._operation, result, took / 1e9, {**self._attributes, **after})
