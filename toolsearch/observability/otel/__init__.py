"""OpenTelemetry: spans and metrics by the GenAI conventions. Import from `toolsearch.observability`."""
