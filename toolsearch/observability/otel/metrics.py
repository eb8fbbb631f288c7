"""Metrics of `OpenTelemetryObserver`: durations, tokens sent and received, and tokens that tool search saves."""

from __future__ import annotations

from opentelemetry.metrics import Histogram, Meter

from ...chat.responses import ChatResponse
from ..observer import Observed, ObservedRound, ObservedSearch, ObservedToolCall, ObservedTurn
from .attributes import OTHER, Attributes

__all__ = ["Metrics"]

# Boundaries that the GenAI conventions recommend; turns take longer than single operations.
_TOKEN_BUCKETS = [4**power for power in range(14)]
_OPERATION_BUCKETS_SECONDS = [0.01 * 2**power for power in range(14)]
_TURN_BUCKETS_SECONDS = [0.1 * 2**power for power in range(13)]

_METRIC_ATTRIBUTES = {
    "gen_ai.invoke_agent.duration": ("gen_ai.agent.name", "gen_ai.request.model"),
    "gen_ai.client.operation.duration": (
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.response.model",
    ),
    "gen_ai.execute_tool.duration": ("gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.agent.name"),
    "gen_ai.retrieval.duration": ("gen_ai.data_source.id",),
}
_INSTRUMENTS: dict[type, str] = {
    ObservedTurn: "gen_ai.invoke_agent.duration",
    ObservedRound: "gen_ai.client.operation.duration",
    ObservedToolCall: "gen_ai.execute_tool.duration",
    ObservedSearch: "gen_ai.retrieval.duration",
}


class Metrics:
    """Recorder of durations and token counts.

    The number of values of an attribute is limited by the number of models, agents and tools.

    Args:
        meter: Creates the instruments.
    """

    def __init__(self, meter: Meter) -> None:
        self._durations = {name: _duration(meter, name) for name in _METRIC_ATTRIBUTES}
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKEN_BUCKETS,
        )
        self._avoided = meter.create_counter(
            "toolsearch.tokens.avoided",
            unit="{token}",
            description="Tokens of tool definitions that were not sent, because tool search revealed only some tools.",
        )
        self._spent = meter.create_counter(
            "toolsearch.tokens.spent",
            unit="{token}",
            description="Tokens sent and received only for searching: the search tool, its results, extra rounds.",
        )

    def record(self, operation: Observed, result: object, seconds: float, attributes: Attributes) -> None:
        """Record an operation that has ended.

        Args:
            operation: The operation.
            result: Its result, or None.
            seconds: Its duration in seconds.
            attributes: The attributes of its span.
        """
        name = _INSTRUMENTS[type(operation)]
        recorded = {key: attributes[key] for key in (*_METRIC_ATTRIBUTES[name], "error.type") if key in attributes}
        if isinstance(operation, ObservedToolCall) and operation.tool is None:
            recorded["gen_ai.tool.name"] = OTHER  # models invent any number of tool names
        self._durations[name].record(seconds, recorded)
        if not isinstance(result, ChatResponse):
            return
        recorded.pop("error.type", None)
        if isinstance(operation, ObservedRound):
            if not result.usage.total:  # the provider reported no usage
                return
            self._tokens.record(result.usage.input_tokens, {**recorded, "gen_ai.token.type": "input"})
            self._tokens.record(result.usage.output_tokens, {**recorded, "gen_ai.token.type": "output"})
        elif result.tool_search is not None:
            self._avoided.add(max(0, result.tool_search.tokens_avoided), recorded)
            self._spent.add(max(0, result.tool_search.tokens_spent), recorded)


def _duration(meter: Meter, name: str) -> Histogram:
    boundaries = _TURN_BUCKETS_SECONDS if name == "gen_ai.invoke_agent.duration" else _OPERATION_BUCKETS_SECONDS
    return meter.create_histogram(
        name, unit="s", description="Duration of the operation.", explicit_bucket_boundaries_advisory=boundaries
    )
