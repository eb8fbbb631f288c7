"""An embedder that costs nothing: to measure what an index adds to the work of a real one."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["MadeUpEmbedder"]


class MadeUpEmbedder:
    """Gives every text a random row of length one, always the same; a text met before is only looked up.

    Args:
        width: how many numbers a row has.

    Example:
        >>> embedder = MadeUpEmbedder(width=4)
        >>> bool((embedder.embed(["a"]) == embedder.embed(["a"])).all()), embedder.embed(["a", "b"]).shape
        (True, (2, 4))
    """

    def __init__(self, width: int = 384) -> None:
        self.id = f"made-up-{width}"
        self._width = width
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row a text."""
        if len(texts) == 1:
            return self._row(texts[0])
        return np.concatenate([self._row(text) for text in texts])

    def _row(self, text: str) -> NDArray[np.float32]:
        row = self._known.get(text)
        if row is None:
            dice = np.random.default_rng(zlib.crc32(text.encode("utf-8", "surrogatepass")))
            numbers = dice.standard_normal((1, self._width))
            row = self._known[text] = (numbers / np.linalg.norm(numbers)).astype(np.float32)
        return row
