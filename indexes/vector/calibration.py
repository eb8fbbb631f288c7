"""How near an embedder puts what has nothing in common: by this it is judged whether anything found stands out.

A cosine alone says nothing, for what is unrelated has 0.1 with one model and 0.8 with another. So an embedder is shown,
once, short descriptions of tools of all kinds. The mean of their rows tells how near a query is to tools in general,
and how near they are to each other tells where the model's scale begins: ``(cosine - mean) / (1 - level)`` is about 0
for what is unrelated and 1 for the same text, whatever the model and whatever the catalogue, even one of one tool.
"""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import ToolSearchError
from ..protocols import Embedder
from .backoff import Backoff
from .cache import EmbeddingCache
from .encode import unit_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["BACKGROUND_TEXTS", "Background", "embed_background", "least_distinction"]

_log = logging.getLogger(__name__)

BACKGROUND_TEXTS = (
    "weather: Returns the forecast for a city",
    "play music: Plays a song or an album",
    "query database: Runs a query and returns the rows",
    "list issues: Lists the open bugs of a software project",
    "stock price: Returns the price of a share",
    "set alarm: Rings at a time of day",
    "calculate area: Computes the surface of a shape",
    "turn on light: Switches a lamp in a room",
    "resize image: Changes the width and height of a picture",
    "property price: Estimates what a house is worth",
    "train schedule: Says when a train leaves",
    "court case: Finds rulings of a court of law",
    "restart server: Stops a machine and starts it again",
    "draw chart: Makes a diagram of numbers",
    "exam grades: Returns the marks of a student",
    "farm harvest: Reports the yield of a field",
)
"""Tools of many kinds, in the form in which tools are embedded. Twice as many, or the other half, judged no better."""

_LEAST, _PER_TENFOLD = 0.14, 0.05
_NARROWEST = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """What an embedder gives to tools in general.

    Args:
        mean: the mean of their rows; its product with a query's row is the query's mean cosine with them.
        level: their mean cosine with each other.
    """

    mean: NDArray[np.float32]
    level: float

    def distinction(self, cosine: float, row: NDArray[np.float32]) -> float:
        """Return how far a tool with this cosine stands out: about 0 if unrelated to `row`, 1 if the same."""
        return (cosine - float(row.dot(self.mean))) / (1.0 - self.level)


def least_distinction(tools: int) -> float:
    """Return how far the best of so many tools stands out at least if it has to do with the query.

    The more tools there are, the further the best of them stands out by chance. Chosen on six public sets of requests
    (94 to 4,076 tools) and on parts of them (1 to 60 tools, drawn at random or all of one kind) with all-MiniLM-L6-v2.
    Of the requests that have their tool among the first five 1.8 % fall below (3.3 % among 5 tools); of random letters
    95 %, of requests that fit no tool 93 %. With multilingual-e5-small, which finds everything alike, it errs on the
    side of silence: 0.2 %, 48 % and 31 %.
    """
    return _LEAST + _PER_TENFOLD * math.log10(max(1, tools))


def embed_background(
    embedder: Embedder, cache: EmbeddingCache, width: int, backoff: Backoff | None = None
) -> Background | None:
    """Return the background of `embedder`, asking it only if `cache` does not know; None if there is no judging by it.

    It costs one call for each embedder, or one for each build that began before the first ended. No index is lost
    over it: a failure is logged, and nothing is called weak.

    Args:
        embedder: the one that embedded the tools.
        cache: where the mean is remembered, under a text that no tool has.
        width: how many numbers a row of a tool has.
        backoff: remembers failures, so that an embedder that is down is not waited for at every build.
    """
    prefix = getattr(embedder, "passage_prefix", "")
    texts = [prefix + text for text in BACKGROUND_TEXTS]
    key = "\n".join(texts)
    mean = cache.get(embedder.id, [key]).get(key)
    if mean is None or len(mean) != width:
        if backoff is not None and backoff.waiting(embedder.id):
            return None
        started = time.monotonic()
        try:
            rows = unit_rows(embedder, texts, zeros=True)
        except ToolSearchError as error:
            if backoff is not None:
                backoff.failed(embedder.id, time.monotonic() - started)
            _log.warning(
                "toolsearch.background_not_embedded weak matches will not be told from good ones: %s",
                str(error),
                extra={"embedder": embedder.id, "error_type": type(error.__cause__ or error).__name__},
            )
            return None
        mean = rows.mean(axis=0)
        cache.put(embedder.id, {key: mean})
    if len(mean) != width:
        return None
    count = len(texts)
    level = (count * float(mean @ mean) - 1) / (count - 1)  # of the rows, which have length one, without themselves
    return Background(mean, level) if level < 1 - _NARROWEST else None
