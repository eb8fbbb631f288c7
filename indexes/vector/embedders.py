"""`CallableEmbedder`, and conversion of the values that a vector index accepts as embedder."""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ...errors import AsyncCallableError, ConfigurationError
from ..protocols import Embedder
from .cache import coerce_cache_folder
from .sentence_transformer import SentenceTransformerEmbedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CallableEmbedder", "EmbedFunction", "coerce_embedder"]

EmbedFunction: TypeAlias = "Callable[[list[str]], ArrayLike]"
"""A function from a list of n strings to an array of shape (n, d)."""

_serial_numbers = itertools.count(1)


class CallableEmbedder:
    """Embedder made from a function, for example a call of a provider's embedding endpoint.

    Args:
        function: A function from a list of strings to an array of shape (n, d), or nested lists.
        id: The model and its version. Without an id, the embeddings are cached for this object only and never on disk.
        query_prefix: The string to put before each query.
        passage_prefix: The string to put before the text of each tool.
        multilingual: Whether the model knows languages other than English.
        cache_dir: The folder in which an index keeps the embeddings of tools between runs. It requires an `id`.

    Attributes:
        has_id: Whether an id was given.

    Raises:
        ConfigurationError: If `cache_dir` is given without `id`.
        AsyncCallableError: If the function is async.

    Example:
        >>> embedder = CallableEmbedder(lambda texts: [[1.0, float(len(text))] for text in texts], id="length-1")
        >>> embedder.embed(["a", "bcd"])[1]
        [1.0, 3.0]
    """

    def __init__(
        self,
        function: EmbedFunction,
        *,
        id: str | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        multilingual: bool = False,
        cache_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        _validate_sync(function, function)
        if id is None and cache_dir is not None:
            raise ConfigurationError(
                "embeddings of a function can be cached on disk only under an id; pass id='model-version'"
            )
        name = getattr(function, "__qualname__", type(function).__qualname__)
        # Numbered, because two closures can share a name, and a new object can have the address of a deleted one.
        self.id = f"function {name} {next(_serial_numbers)}" if id is None else id
        self.has_id = id is not None
        self.cache_dir = coerce_cache_folder(cache_dir)
        self.query_prefix = query_prefix
        self.passage_prefix = passage_prefix
        self.multilingual = multilingual
        self._function = function

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the result of the function. The index validates it."""
        return self._function(list(texts))  # type: ignore[return-value]  # any array-like; see `unit_rows`


def coerce_embedder(embedder: str | os.PathLike[str] | Embedder | EmbedFunction) -> Embedder:
    """Return the embedder for a model's name, the path of its folder, an embedder, or a function.

    Raises:
        ConfigurationError: If the argument is none of these, its `id` is not a non-empty string, or it defines only one
            of the two prefixes.
        AsyncCallableError: If `embed` or the function is async.
    """
    if isinstance(embedder, (str, os.PathLike)):
        return SentenceTransformerEmbedder(embedder)
    if not inspect.isclass(embedder):
        if callable(embed := getattr(embedder, "embed", None)):
            name: object = getattr(embedder, "id", None)
            if not isinstance(name, str) or not name.strip():
                raise ConfigurationError(
                    f"the `id` of the embedder {embedder!r} must be a string naming model and version, got {name!r}"
                )
            if hasattr(embedder, "query_prefix") != hasattr(embedder, "passage_prefix"):
                raise ConfigurationError(
                    f'the embedder {embedder!r} must define both query_prefix and passage_prefix; use "" for no prefix'
                )
            _validate_sync(embed, embedder)
            return embedder  # type: ignore[return-value]  # it has all members of the protocol
        if callable(embedder):
            return CallableEmbedder(embedder)
    raise ConfigurationError(
        "embedder must be a model's name or path, an object (not a class) with `id` and `embed(texts)`, or a function, "
        f"got {embedder!r}"
    )


def _validate_sync(function: Callable[..., object], embedder: object) -> None:
    if any(map(inspect.iscoroutinefunction, (function, type(function).__call__))):
        name = getattr(embedder, "__qualname__", embedder)
        raise AsyncCallableError(f"the embedder {name!r} must be synchronous, got an async function")
