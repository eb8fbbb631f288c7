"""Queries to the Hugging Face hub about a model's name."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any

__all__ = ["find_refusal", "is_hub_reachable", "is_offline", "is_valid_name"]

_HUB_TIMEOUT_SECONDS = 5.0
_NAME = re.compile(r"[\w.\-]{1,96}(?:/[\w.\-]{1,96})?", re.ASCII)
_REFUSALS = ("RepositoryNotFoundError", "RevisionNotFoundError", "DisabledRepoError")


def is_offline() -> bool:
    """Return whether the environment forbids downloads (``HF_HUB_OFFLINE`` or ``TRANSFORMERS_OFFLINE``)."""
    switches = (os.environ.get(name, "") for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))
    return any(value.upper() in {"1", "ON", "YES", "TRUE"} for value in switches)


def is_hub_reachable() -> bool:
    """Return whether the hub responds within five seconds, without a server error.

    Without this check, the hub's own client retries for more than a minute if the hub is unreachable.
    """
    # Imported by their full names: the package loads its modules lazily, and a missing module must raise here rather
    # than count as an unreachable hub.
    constants: Any = importlib.import_module("huggingface_hub.constants")
    utils: Any = importlib.import_module("huggingface_hub.utils")
    try:
        response = utils.get_session().head(constants.ENDPOINT, timeout=_HUB_TIMEOUT_SECONDS)
    except Exception:
        return False
    return bool(response.status_code < 500)


def is_valid_name(text: str) -> bool:
    """Return whether a string has the form of a model's name: ``model`` or ``owner/model``.

    Example:
        >>> is_valid_name("intfloat/e5-small"), is_valid_name("my models/e5"), is_valid_name("models/e5/small")
        (True, False, False)
    """
    return _NAME.fullmatch(text) is not None


def find_refusal(error: BaseException | None) -> BaseException | None:
    """Return the hub's error for an unknown or inaccessible model among an error and its causes, or None."""
    errors: Any = importlib.import_module("huggingface_hub.errors")
    refusals: tuple[type[BaseException], ...] = tuple(
        found for name in _REFUSALS if (found := getattr(errors, name, None)) is not None
    )
    while error is not None:
        if isinstance(error, refusals):
            return error
        error = error.__cause__ or error.__context__
    return None
