"""Into which clauses a request falls: each may want a tool of its own."""

from __future__ import annotations

import re
from itertools import pairwise

from .scripts import count_words

__all__ = ["CLAUSE_WEIGHT", "clauses"]

CLAUSE_WEIGHT = 1.5
"""How much the clause that fits a tool best counts beside the whole request."""

_MOST = 12
_SHORTEST = 3
_CUTS = re.compile(
    r"(?<=[.!?;])\s+|[\n。！？；]+"
    r"|[,]?\s+(?:and\s+then|after\s+that|as\s+well\s+as|and|then|next|finally|lastly|also|additionally|plus)\b[,]?\s+"
    r"|[，、](?=[然再并同最还])",
    re.IGNORECASE,
)


def clauses(text: str) -> list[str]:
    """Split a request at the ends of sentences and at connectors; parts under three words stay with a neighbour.

    Example:
        >>> clauses("Check the weather in Paris, then mail the report to Ann")
        ['Check the weather in Paris', 'mail the report to Ann']
    """
    text = "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))
    parts: list[str] = []
    for part in _CUTS.split(text):
        if parts and (count_words(part) < _SHORTEST or count_words(parts[-1]) < _SHORTEST):
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    if len(parts) <= _MOST:
        return parts
    bounds = [len(parts) * i // _MOST for i in range(_MOST + 1)]
    return [" ".join(parts[start:end]) for start, end in pairwise(bounds)]
