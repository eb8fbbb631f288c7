"""The log of what was changed in requests so that a provider accepts them."""

from __future__ import annotations

import logging

from ..shared.lru_cache import ByteLruCache
from ..text.logs import log_event

__all__ = ["log_change"]

logger = logging.getLogger("toolsearch.models")

_seen: ByteLruCache[tuple[str, ...], bool] = ByteLruCache(1_000_000)


def log_change(change: str, subject: str, profile: str, *, digest: str = "", level: int = logging.DEBUG) -> None:
    """Log a change of a request, once for each subject, profile and digest.

    Args:
        change: What was changed, a constant.
        subject: The tool, or the kind of message.
        profile: The name of the provider's profile.
        digest: The digest of the changed definition.
        level: The level of the record.
    """
    if logger.isEnabledFor(level) and _seen.put((change, subject[:100], profile, digest), True, size=200):
        log_event(logger, level, "request_changed", {"change": change, "subject": subject, "profile": profile})
