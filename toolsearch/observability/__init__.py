"""Observers of what a client does: the interface, logging, and OpenTelemetry (extra ``otel``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .log import LoggingObserver
from .observer import (
    Observation,
    Observed,
    ObservedRound,
    ObservedSearch,
    ObservedToolCall,
    ObservedTurn,
    Observer,
)

if TYPE_CHECKING:
    from .otel.observer import OpenTelemetryObserver

__all__ = [
    "LoggingObserver",
    "Observation",
    "Observed",
    "ObservedRound",
    "ObservedSearch",
    "ObservedToolCall",
    "ObservedTurn",
    "Observer",
    "OpenTelemetryObserver",
]


def __getattr__(name: str) -> Any:
    """Import `OpenTelemetryObserver` on first use, so that importing the package does not import opentelemetry."""
    if name == "OpenTelemetryObserver":
        from .otel.observer import OpenTelemetryObserver

        return OpenTelemetryObserver
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
