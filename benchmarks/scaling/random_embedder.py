"""Embedder with random vectors, to measure an index without the cost of a model."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["RandomEmbedder"]


class RandomEmbedder:
    """Embedder that gives each text a random vector of length one, the same in every run.

    The vector of a known text is only looked up.

    Args:
        dimensions: Length of a vector.

    Example:
        >>> embedder = RandomEmbedder(dimensions=4)
        >>> bool((embedder.embed(["a"]) == embedder.embed(["a"])).all()), embedder.embed(["a", "b"]).shape
        (True, (2, 4))
    """

    def __init__(self, dimensions: int = 384) -> None:
        self.id = f"random-{dimensions}"
        self._dimensions = dimensions
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text."""
        if len(texts) == 1:
            return self._row(texts[0])
        return np.concatenate([self._row(text) for text in texts])

    def _row(self, text: str) -> NDArray[np.float32]:
        row = self._known.get(text)
        if row is None:
            generator = np.random.default_rng(zlib.crc32(text.encode("utf-8", "surrogatepass")))
            numbers = generator.standard_normal((1, self._dimensions))
            row = self._known[text] = (numbers / np.linalg.norm(numbers)).astype(np.float32)
        return row
