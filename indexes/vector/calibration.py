"""Calibration of embedders: tells weak matches from good ones on the scale of each model.

A cosine alone is ambiguous: unrelated texts have a cosine of 0.1 with one model and 0.8 with another. So each embedder
embeds short descriptions of tools of all kinds once. Their mean row gives the mean cosine of a query with tools in
general, and their mean cosine with each other gives the start of the model's scale. Then
``(cosine - mean) / (1 - level)`` is about 0 for unrelated texts and 1 for equal texts, for every model and every
catalog, even a catalog of one tool.
"""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import ToolSearchError
from ...text.logs import log_event
from ..protocols import Embedder, PrefixingEmbedder
from .backoff import Backoff
from .cache import EmbeddingCache
from .encode import unit_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CALIBRATION_TEXTS", "Calibration", "calibrate", "min_distinction"]

logger = logging.getLogger(__name__)

CALIBRATION_TEXTS = (
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
"""Tools of many kinds, in the form in which tools are embedded. Twice as many texts were not more accurate."""

_MIN_DISTINCTION_OF_ONE_TOOL, _DISTINCTION_PER_TENFOLD = 0.14, 0.05
_MIN_SCALE = 1e-3
_MAX_SQUARE = 1.01  # of the length of a mean of rows of length 1


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Scale of an embedder.

    Args:
        mean: The mean row of the calibration texts, of shape (d,). Its product with the row of a query is the query's
            mean cosine with them.
        level: The mean cosine of the calibration texts with each other.
    """

    mean: NDArray[np.float32]
    level: float

    def distinction(self, cosine: float, row: NDArray[np.float32]) -> float:
        """Return how far a tool with this cosine to the query `row` stands out: about 0 if unrelated, 1 if equal."""
        return (cosine - float(row.dot(self.mean))) / (1.0 - self.level)


def min_distinction(tools: int) -> float:
    """Return the minimum distinction of the best of `tools` tools that is not a weak match.

    The more tools there are, the further the best of them stands out by chance. The constants were chosen on six public
    sets of requests (94 to 4,076 tools) and on parts of them (1 to 60 tools, random or all of one kind) with
    all-MiniLM-L6-v2. Below the minimum are 1.8% of the requests with their tool among the first five hits (3.3% with
    5 tools), 95% of random letters, and 93% of requests that fit no tool. With multilingual-e5-small, for which all
    texts are similar, the shares are 0.2%, 48% and 31%: fewer weak matches are reported.
    """
    return _MIN_DISTINCTION_OF_ONE_TOOL + _DISTINCTION_PER_TENFOLD * math.log10(max(1, tools))


def calibrate(
    embedder: Embedder, cache: EmbeddingCache, width: int, backoff: Backoff | None = None
) -> Calibration | None:
    """Return the calibration of an embedder, from the cache or by one call of the embedder.

    A failure is logged and does not fail the build: no match is then reported as weak.

    Args:
        embedder: The embedder of the tools.
        cache: The cache for the mean row, under a key that is not the text of a tool.
        width: The number of dimensions of the tools' rows.
        backoff: The record of failures, so that not every build waits for an embedder that is down.

    Returns:
        The calibration, or None if the embedder fails or gives all texts the same row.
    """
    prefix = embedder.passage_prefix if isinstance(embedder, PrefixingEmbedder) else ""
    texts = [prefix + text for text in CALIBRATION_TEXTS]
    key = "\n".join(texts)
    mean = cache.get(embedder.id, [key]).get(key)
    if mean is None or len(mean) != width or not 0 < float(mean @ mean) < _MAX_SQUARE:
        if backoff is not None and backoff.is_waiting(embedder.id):
            return None
        started = time.monotonic()
        try:
            rows = unit_rows(embedder, texts, allow_zeros=True)
        except ToolSearchError as error:
            if backoff is not None:
                backoff.record_failure(embedder.id, time.monotonic() - started)
            facts, note = {"embedder": embedder.id}, "; weak matches are not detected"
            log_event(logger, logging.WARNING, "embedder_not_calibrated", facts, error=error, note=note)
            return None
        mean = rows.mean(axis=0)
        cache.put(embedder.id, {key: mean})
    if len(mean) != width:
        return None
    count = len(texts)
    level = (count * float(mean @ mean) - 1) / (count - 1)  # rows have length 1; pairs of a row with itself excluded
    return Calibration(mean, level) if level < 1 - _MIN_SCALE else None
