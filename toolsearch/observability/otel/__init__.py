"""otel."""
