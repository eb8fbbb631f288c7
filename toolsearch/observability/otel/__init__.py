"""OpenTelemetry spans and metrics by the GenAI conventions (extra ``otel``)."""

from .observer import OpenTelemetryObserver

__all__ = ["OpenTelemetryObserver"]
