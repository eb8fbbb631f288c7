"""The delay that a provider asks for, from the headers of an HTTP response."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

__all__ = ["parse_retry_after"]

MAX_SECONDS = 86_400.0


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of ``retry-after-ms`` or ``Retry-After``, between 0 and one day, or None.

    ``Retry-After`` is a number of seconds, or a date. A date is compared with the ``Date`` of the same response, so
    that a wrong clock on this machine does not matter.

    Args:
        headers: The headers of the response, with names in any case or in lower case.

    Example:
        >>> parse_retry_after({"retry-after": "7"})
        7.0
        >>> parse_retry_after({"retry-after": "soon"}) is None
        True
    """
    for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is not None and (seconds := _number(text)) is not None:
            return min(max(0.0, seconds * factor), MAX_SECONDS)
    moment = _timestamp(headers.get("retry-after"))
    if moment is None:
        return None
    now = _timestamp(headers.get("date"))
    return min(max(0.0, moment - (time.time() if now is None else now)), MAX_SECONDS)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _timestamp(text: str | None) -> float | None:
    try:
        return None if text is None else parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
