"""Clauses of a request. Each clause can ask for a different tool."""

from __future__ import annotations

import re
from itertools import pairwise

from .scripts import count_words

__all__ = ["CLAUSE_WEIGHT", "split_clauses"]

CLAUSE_WEIGHT = 1.5
"""Weight of a tool's best clause, relative to the weight 1 of the whole request."""

_MAX_CLAUSES = 12
_MIN_CLAUSE_WORDS = 3
_SEPARATORS = re.compile(
    r"(?<=[.!?;])\s+|[\n。！？；]+"
    r"|[,]?\s+(?:and\s+then|after\s+that|as\s+well\s+as|and|then|next|finally|lastly|also|additionally|plus)\b[,]?\s+"
    r"|[，、](?=[然再并同最还])",
    re.IGNORECASE,
)


def split_clauses(text: str) -> list[str]:
    """Split a request at sentence ends and connectors into at most twelve clauses.

    A clause of fewer than three words is joined to the one before or after it.

    Example:
        >>> split_clauses("Check the weather in Paris, then mail the report to Ann")
        ['Check the weather in Paris', 'mail the report to Ann']
    """
    text = "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))
    parts: list[str] = []
    for part in _SEPARATORS.split(text):
        if parts and (count_words(part) < _MIN_CLAUSE_WORDS or count_words(parts[-1]) < _MIN_CLAUSE_WORDS):
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    if len(parts) <= _MAX_CLAUSES:
        return parts
    bounds = [len(parts) * i // _MAX_CLAUSES for i in range(_MAX_CLAUSES + 1)]
    return [" ".join(parts[start:end]) for start, end in pairwise(bounds)]
