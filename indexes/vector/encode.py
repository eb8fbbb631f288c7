"""Embedding of tools and queries: the texts that are embedded, and validation of the embedder's result."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import AsyncCallableError, IndexingError, MissingExtraError, ToolSearchError
from ...text import replace_surrogates, short_repr
from ..protocols import Embedder, PrefixingEmbedder
from ..reference import ToolReference
from ..text.clauses import split_clauses
from ..text.quotes import remove_quoted
from ..text.scripts import count_words
from .cache import EmbeddingCache, has_unit_length

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "MIN_WORDS_FOR_CLAUSES",
    "MIN_WORDS_FOR_CLAUSES_FUSED",
    "embed_query",
    "embed_tools",
    "require_vector_extra",
    "tool_text",
    "unit_rows",
]

BATCH_SIZE = 256
"""The maximum number of texts in one call of an embedder. Each batch is cached; a failure loses one batch at most."""

MIN_WORDS_FOR_CLAUSES = 30
"""The number of words from which a request is also embedded clause by clause. The single row of a request with several
intents is near to none of them."""

MIN_WORDS_FOR_CLAUSES_FUSED = 50
"""The same for scores that are fused with a search by words, which handles clauses itself. There, the clauses of
shorter requests made the ranking worse."""

_MAX_TEXT_CHARACTERS = 8_000
"""Far more than the tokens that a model reads, and less than a pasted file."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[\s_\-./:]+")
_MAX_CHARACTERS_IN_ERRORS = 60
_MIN_UNQUOTED_WORDS = 4


def tool_text(tool: ToolReference) -> str:
    """Return the text of a tool to embed: source, name as words, search text, description and tags; no parameters.

    Example:
        >>> tool_text(ToolReference(name="createIssue", description="Open a ticket.", source="github"))
        'github. create Issue: Open a ticket.'
    """
    name = _SEPARATORS.sub(" ", _CAMEL.sub(" ", tool.name)).strip() or tool.name
    aliases = f" ({tool.search_text.strip()})" if tool.search_text.strip() else ""
    tags = f" ({', '.join(tool.tags)})" if tool.tags else ""
    source = f"{tool.source}. " if tool.source else ""
    return replace_surrogates(f"{source}{name}{aliases}: {tool.description}{tags}"[:_MAX_TEXT_CHARACTERS])


def embed_tools(embedder: Embedder, tools: Sequence[ToolReference], cache: EmbeddingCache) -> NDArray[np.float32]:
    """Return an array of shape (tools, d) with one row of length 1 per tool. Texts in the cache are not embedded.

    Raises:
        IndexingError: If the embedder fails or returns an unusable result.
    """
    import numpy as np

    prefix = embedder.passage_prefix if isinstance(embedder, PrefixingEmbedder) else ""
    texts = [prefix + tool_text(tool) for tool in tools]
    wanted = dict.fromkeys(texts)
    rows = {text: row for text, row in cache.get(embedder.id, wanted).items() if has_unit_length(row)}
    # Sorted by length: padding costs least, and a set of tools makes the same batches in any order.
    missing = sorted((text for text in wanted if text not in rows), key=lambda text: (len(text), text))
    for start in range(0, len(missing), BATCH_SIZE):
        batch = missing[start : start + BATCH_SIZE]
        fresh = dict(zip(batch, unit_rows(embedder, batch), strict=True))
        cache.put(embedder.id, fresh)
        rows.update(fresh)
    widths = sorted({len(row) for row in rows.values()})
    if len(widths) > 1:
        raise IndexingError(
            f"the embedder {embedder.id!r} returned rows of {' and of '.join(map(str, widths))} numbers; "
            "if its model has changed, give it a new id"
        )
    return np.stack([rows[text] for text in texts])


def embed_query(
    embedder: Embedder, query: str, width: int, *, min_words_for_clauses: int = MIN_WORDS_FOR_CLAUSES_FUSED
) -> NDArray[np.float32] | None:
    """Return the row of a query, followed by the rows of its clauses if it is long enough.

    Quoted parts of the query are left out if at least four words remain: they are mostly data.

    Args:
        embedder: The embedder of the tools.
        query: The query.
        width: The number of dimensions of the tools' rows.
        min_words_for_clauses: The number of words from which clauses are embedded, too.

    Returns:
        An array of shape (1 + clauses, d), or None if the row of the query is all zeros. Clauses with a row of zeros
        are left out.

    Raises:
        IndexingError: If the embedder fails or returns an unusable result.
    """
    text = replace_surrogates(query.strip()[:_MAX_TEXT_CHARACTERS])
    unquoted = remove_quoted(text)
    if count_words(unquoted) >= _MIN_UNQUOTED_WORDS:
        text = unquoted.strip()
    parts = split_clauses(text) if count_words(text) >= min_words_for_clauses else []
    prefix = embedder.query_prefix if isinstance(embedder, PrefixingEmbedder) else ""
    rows = unit_rows(embedder, [prefix + part for part in (text, *(parts if len(parts) > 1 else ()))], allow_zeros=True)
    if rows.shape[1] != width:
        raise IndexingError(
            f"the embedder {embedder.id!r} returned {rows.shape[1]} numbers for a query and {width} for the tools"
        )
    if len(rows) == 1:
        return rows if rows.any() else None
    nonzero: list[bool] = [bool(row.any()) for row in rows]
    return rows[nonzero] if nonzero[0] else None


def unit_rows(embedder: Embedder, texts: Sequence[str], *, allow_zeros: bool = False) -> NDArray[np.float32]:
    """Embed texts and return the rows scaled to length 1, of shape (texts, d).

    Args:
        embedder: The embedder.
        texts: The texts, not empty.
        allow_zeros: Whether a row of zeros is kept instead of rejected.

    Raises:
        IndexingError: If the embedder fails, or its result has another shape, a number that is not finite, or a row of
            zeros.
        AsyncCallableError: If the embedder returns a coroutine.
    """
    import numpy as np

    try:
        result: object = embedder.embed(texts)
    except ToolSearchError:
        raise
    except Exception as error:
        raise IndexingError(f"the embedder {embedder.id!r} failed: {error or type(error).__name__}") from error
    try:
        rows = np.asarray(result, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if inspect.iscoroutine(result):  # from a plain function that calls an async one
            result.close()
            raise AsyncCallableError(
                f"the embedder {embedder.id!r} returned a coroutine; an embedder must be synchronous"
            ) from error
        raise IndexingError(
            f"the embedder {embedder.id!r} must return an array of numbers, got {type(result).__name__}: {error}"
        ) from error
    if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1]:
        raise IndexingError(
            f"the embedder {embedder.id!r} must return an array of shape ({len(texts)}, d) for {len(texts)} texts, "
            f"got shape {rows.shape}"
        )
    if len(rows) == 1:  # a query: one product takes half the time of the checks below
        square = float(rows[0].dot(rows[0]))
        if 1e-200 < square < math.inf:
            return (rows / math.sqrt(square)).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    if lengths.min() > 1e-100 and lengths.max() < np.inf:  # False for NaN
        return np.ascontiguousarray(rows / lengths[:, None], dtype=np.float32)
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(rows).all(axis=1))
    if not finite.all():
        raise IndexingError(f"the embedder {embedder.id!r} returned NaN or infinity for {_first(texts, ~finite)}")
    # Divide by the largest number first, so that squares neither overflow nor underflow.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not allow_zeros and not largest.all():
        raise IndexingError(f"the embedder {embedder.id!r} returned only zeros for {_first(texts, largest[:, 0] == 0)}")
    rows = rows / np.where(largest > 0, largest, 1.0)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(norms > 0, norms, 1.0), dtype=np.float32)


def require_vector_extra() -> None:
    """Import numpy and faiss.

    Raises:
        MissingExtraError: If one of them is not installed.
    """
    try:
        import faiss  # noqa: F401
        import numpy as np  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("vector", "Searching by meaning") from error


def _first(texts: Sequence[str], where: NDArray[np.bool_]) -> str:
    text = texts[int(where.argmax())]
    return short_repr(text, _MAX_CHARACTERS_IN_ERRORS)
