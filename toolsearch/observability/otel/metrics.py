"""The metrics of `OpenTelemetryObserver`: durations, tokens sent and received, and tokens that tool search saves."""

from __future__ import annotations

from opentelemetry.metrics import Histogram, Meter

from ...chat.responses import ChatResponse
from ..observer import Observed, ObservedRound, ObservedSearch, ObservedToolCall, ObservedTurn
from .attributes import OTHER, Attributes

__all__ = ["Metrics"]

_TOKENS = [4**power for power in range(14)]
_SECONDS = [0.01 * 2**power for power in range(14)]
_LONGER = [0.1 * 2**power for power in range(13)]

_KEPT = {
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
    """Records what operations took and cost. No attribute has more values than there are models, agents and tools."""

    def __init__(self, meter: Meter) -> None:
        self._durations = {name: _duration(meter, name) for name in _KEPT}
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._avoided = meter.create_counter(
            "toolsearch.tokens.avoided",
            unit="{token}",
            description="Tokens of tool definitions that were not sent, because tool search disclosed only some.",
        )
        self._spent = meter.create_counter(
            "toolsearch.tokens.spent",
            unit="{token}",
            description="Tokens sent and received for searching only: tool_search, its results, extra rounds.",
        )

    def record(self, operation: Observed, result: object, seconds: float, attributes: Attributes) -> None:
        """Record an operation that has ended; `attributes` are those of its span."""
        name = _INSTRUMENTS[type(operation)]
        kept = {key: attributes[key] for key in (*_KEPT[name], "error.type") if key in attributes}
        if isinstance(operation, ObservedToolCall) and operation.tool is None:
            kept["gen_ai.tool.name"] = OTHER  # models invent any number of names
        self._durations[name].record(seconds, kept)
        if not isinstance(result, ChatResponse):
            return
        kept.pop("error.type", None)
        if isinstance(operation, ObservedRound):
            if not result.usage.total:  # not reported
                return
            self._tokens.record(result.usage.input_tokens, {**kept, "gen_ai.token.type": "input"})
            self._tokens.record(result.usage.output_tokens, {**kept, "gen_ai.token.type": "output"})
        elif result.tool_search is not None:
            self._avoided.add(max(0, result.tool_search.tokens_avoided), kept)
            self._spent.add(max(0, result.tool_search.tokens_spent), kept)


def _duration(meter: Meter, name: str) -> Histogram:
    boundaries = _LONGER if name == "gen_ai.invoke_agent.duration" else _SECONDS
    return meter.create_histogram(
        name, unit="s", description="How long it took.", explicit_bucket_boundaries_advisory=boundaries
    )
