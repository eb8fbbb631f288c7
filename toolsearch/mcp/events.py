"""Log records of MCP servers."""

from __future__ import annotations

import logging
import sys

from ..text.logs import Fact
from ..text.logs import log_event as log_facts

__all__ = ["log_event", "log_hook_failure"]

logger = logging.getLogger("toolsearch.mcp")


def log_event(
    level: int,
    event: str,
    *,
    error: BaseException | str | None = None,
    show_text: bool = True,
    max_length: int = 500,
    **facts: Fact,
) -> None:
    """Log an event of a server, as `toolsearch.text.logs.log_event` does; `error` may also be a text."""
    if isinstance(error, str):
        facts["error"], error = error, None
    log_facts(logger, level, event, facts, error=error, show_text=show_text, max_length=max_length, stacklevel=2)


def log_hook_failure(server: str, hook: str) -> None:
    """Log the exception being handled, which the application's hook raised; the server keeps running."""
    log_event(logging.ERROR, "mcp_hook_failed", error=sys.exception(), server=server, hook=hook)
