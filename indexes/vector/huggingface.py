"""What the Hugging Face hub says of a model's name, as far as it can be reached."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any

__all__ = ["hub_answers", "is_forbidden", "may_be_a_name", "refusal"]

_TIMEOUT = 5.0
_NAME = re.compile(r"[\w.\-]{1,96}(?:/[\w.\-]{1,96})?", re.ASCII)
_REFUSALS = ("RepositoryNotFoundError", "RevisionNotFoundError", "DisabledRepoError")


def is_forbidden() -> bool:
    """Whether the environment says that nothing may be looked up (``HF_HUB_OFFLINE``)."""
    switches = (os.environ.get(name, "") for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))
    return any(value.upper() in {"1", "ON", "YES", "TRUE"} for value in switches)


def hub_answers() -> bool:
    """Whether the hub can be reached and is well; the hub's own client would try for more than a minute."""
    # By their own names: the package loads its modules at use, and what is missing is no sign of a hub that is away.
    constants: Any = importlib.import_module("huggingface_hub.constants")
    utils: Any = importlib.import_module("huggingface_hub.utils")
    try:
        answer = utils.get_session().head(constants.ENDPOINT, timeout=_TIMEOUT)
    except Exception:
        return False
    return bool(answer.status_code < 500)


def may_be_a_name(text: str) -> bool:
    """Whether a model could have this name: one word, or an owner, a slash and one.

    Example:
        >>> may_be_a_name("intfloat/e5-small"), may_be_a_name("my models/e5"), may_be_a_name("models/e5/small")
        (True, False, False)
    """
    return _NAME.fullmatch(text) is not None


def refusal(error: BaseException | None) -> BaseException | None:
    """Return the hub's answer, in an error or in one that it came from, that it has no such model for us, if any."""
    kinds: Any = importlib.import_module("huggingface_hub.errors")
    refusals: tuple[type[BaseException], ...] = tuple(
        found for name in _REFUSALS if (found := getattr(kinds, name, None)) is not None
    )
    while error is not None:
        if isinstance(error, refusals):
            return error
        error = error.__cause__ or error.__context__
    return None
