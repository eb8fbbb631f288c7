"""Failures that a provider reports in an answer with status 200: their reason, and whether a retry can help."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import ProviderProtocolError
from ...text import short_repr
from ...text.secret import redact_urls

__all__ = ["is_transient", "reported_failure", "status_in"]

MAX_REASON_CHARACTERS = 2_000

_REASONS = ("message", "error_message", "error_msg", "errorMessage", "status_msg", "msg", "detail", "reason")
_KINDS = ("type", "error_type", "code", "error_code", "status", "status_code", "http_status", "errorType")
_NESTED = ("error", "errors", "base_resp", "detail", "response")
_TRANSIENT = re.compile(
    r"ratelimit|toomanyrequests|throttl|overload|unavailable|timeout|timedout|servererror|internalerror|"
    r"resourceexhausted|aborted|capacity"
)
_FINAL = re.compile(r"quota|billing|insufficient|payment|creditbalance|hardlimit|arrears")
_RETRY_SOON = re.compile(r"retry(?:delay|in\d|after\d)")


def reported_failure(answer: Any, *, certain: bool = True) -> ProviderProtocolError | None:
    """Return the failure that an answer, or a chunk of a stream, reports in place of choices; None if there is none.

    Servers and gateways name its fields differently: ``error``, ``error_message``, ``message`` with a ``code``, ...

    Args:
        answer: An object of the SDK, or a mapping.
        certain: False for a message that can also be a ping.
    """
    extra = answer if isinstance(answer, Mapping) else getattr(answer, "model_extra", None) or {}
    if not isinstance(extra, Mapping):
        return None
    extra = {"object": getattr(answer, "object", None), **extra}
    parts = list(_parts(extra, 3))
    reasons = [text for part in parts for name in _REASONS if isinstance(text := part.get(name), str) and text.strip()]
    error = extra.get("error")
    if isinstance(error, str) and error.strip():
        reasons.insert(0, error)
    kinds = [str(part[name]) for part in parts for name in _KINDS if isinstance(part.get(name), str | int)]
    status = next((found for kind in kinds if (found := status_in(kind))), None)
    if not error and status is None and not (_reports(extra) or (not certain and _tells(parts, reasons))):
        return None
    reason = redact_urls("; ".join(dict.fromkeys(reasons)) or short_repr(dict(extra), 300))[:MAX_REASON_CHARACTERS]
    return ProviderProtocolError(
        f"the provider reports an error: {reason}", status=status, retryable=is_transient(status, kinds, reason)
    )


def _reports(extra: Mapping[str, Any]) -> bool:
    """Return whether fields without an error or a status report a failure."""
    named = any(extra.get(name) for name in ("error_message", "error_msg", "error_type", "error_code", "errors"))
    return named or "error" in (extra.get("object"), extra.get("type"))


def _tells(parts: list[Mapping[str, Any]], reasons: list[str]) -> bool:
    """Return whether there is a message that is not about a success."""
    codes = [part[name] for part in parts for name in ("code", "status_code") if part.get(name) is not None]
    succeeded = any(str(code).casefold() in ("0", "200", "ok", "success") for code in codes)
    return bool(reasons) and not succeeded


def _parts(extra: Mapping[str, Any], depth: int) -> Iterator[Mapping[str, Any]]:
    yield extra
    if depth > 0:
        for name in _NESTED:
            nested = extra.get(name)
            for item in nested[:5] if isinstance(nested, list) else [nested]:
                if isinstance(item, Mapping):
                    yield from _parts(item, depth - 1)


def is_transient(status: int | None, kinds: list[str], reason: str) -> bool:
    """Return whether the same request can succeed later. An exhausted quota cannot be waited for.

    Example:
        >>> is_transient(429, [], "slow down"), is_transient(429, ["insufficient_quota"], ""), is_transient(400, [], "")
        (True, False, False)
    """
    words = [re.sub(r"[^a-z0-9]", "", kind.casefold()) for kind in kinds]
    told = re.sub(r"[^a-z0-9]", "", reason.casefold())
    if any(_FINAL.search(word) for word in words):
        return False
    if ("exceededyourcurrentquota" in told or "insufficientbalance" in told) and not _RETRY_SOON.search(told):
        return False
    if status is not None:
        return status in (408, 409, 425, 429) or status >= 500
    if not words:
        return bool(_TRANSIENT.search(told) and not _FINAL.search(told))
    return any(_TRANSIENT.search(word) for word in words)


def status_in(code: object) -> int | None:
    """Return the HTTP status in an error of an answer whose own status was 200."""
    number = int(str(code)) if str(code).isdecimal() and len(str(code)) == 3 else 0
    return number if 400 <= number < 600 else None
