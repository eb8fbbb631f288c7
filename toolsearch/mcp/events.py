"""Log records of MCP servers: an event name, with its facts in the text and as attributes of the record."""

from __future__ import annotations

import logging

__all__ = ["log_event", "log_hook_failure"]

logger = logging.getLogger("toolsearch.mcp")


def log_event(level: int, event: str, *, exc_info: bool = False, **facts: str) -> None:
    """Log an event; `exc_info` adds the exception being handled."""
    text = " ".join(f"{key}=%({key})s" for key in facts)
    logger.log(level, f"toolsearch.{event} {text}", facts, extra=facts, exc_info=exc_info)


def log_hook_failure(server: str, hook: str) -> None:
    """Log the exception being handled, which the application's hook raised; the server keeps running."""
    log_event(logging.ERROR, "mcp_hook_failed", exc_info=True, server=server, hook=hook)
