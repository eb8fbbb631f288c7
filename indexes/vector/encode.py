"""From tools and queries to rows of length one: what text is embedded, and what an embedder may answer."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import AsyncCallableError, IndexingError, MissingExtraError, ToolSearchError
from ...text import replace_surrogates, short_repr
from ..protocols import Embedder
from ..reference import ToolReference
from ..text.clauses import split_clauses
from ..text.quotes import remove_quoted
from ..text.scripts import count_words
from .cache import EmbeddingCache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LONG_ALONE", "LONG_FUSED", "embed_query", "embed_tools", "require_vector_extra", "tool_text", "unit_rows"]

BATCH = 256
"""How many texts an embedder gets at once; after each batch the rows are kept, so a failure loses one batch at most."""

LONG_ALONE, LONG_FUSED = 30, 50
"""Words from which on a request is embedded clause by clause too: one row for several intents lies between them all.
Beside words, which are searched for by clauses at any length, clauses of shorter requests were found to mislead."""

_LONGEST = 8_000
"""Characters embedded of one text: far more than the tokens a model reads, and no pasted file."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[\s_\-./:]+")
_SHOWN = 60
_ENOUGH_UNQUOTED = 4


def tool_text(tool: ToolReference) -> str:
    """Return what is embedded of a tool: source, name in words, search text, description and tags; not the parameters.

    Example:
        >>> tool_text(ToolReference(name="createIssue", description="Open a ticket.", source="github"))
        'github. create Issue: Open a ticket.'
    """
    name = _SEPARATORS.sub(" ", _CAMEL.sub(" ", tool.name)).strip() or tool.name
    aliases = f" ({tool.search_text.strip()})" if tool.search_text.strip() else ""
    tags = f" ({', '.join(tool.tags)})" if tool.tags else ""
    source = f"{tool.source}. " if tool.source else ""
    return replace_surrogates(f"{source}{name}{aliases}: {tool.description}{tags}"[:_LONGEST])


def embed_tools(embedder: Embedder, tools: Sequence[ToolReference], cache: EmbeddingCache) -> NDArray[np.float32]:
    """Return one row a tool, in their order, embedding only what `cache` does not know.

    Raises:
        IndexingError: the embedder failed, or its rows cannot be used.
    """
    import numpy as np

    prefix = getattr(embedder, "passage_prefix", "")
    texts = [prefix + tool_text(tool) for tool in tools]
    wanted = dict.fromkeys(texts)
    rows = cache.get(embedder.id, wanted)
    # In order of length: rows padded to one length cost least, and an equal set makes equal batches in whatever order.
    missing = sorted((text for text in wanted if text not in rows), key=lambda text: (len(text), text))
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        fresh = dict(zip(batch, unit_rows(embedder, batch), strict=True))
        cache.put(embedder.id, fresh)
        rows.update(fresh)
    widths = sorted({len(row) for row in rows.values()})
    if len(widths) > 1:
        raise IndexingError(
            f"the embedder {embedder.id!r} gave rows of {' and of '.join(map(str, widths))} numbers; "
            "if its model has changed, give it a new id"
        )
    return np.stack([rows[text] for text in texts])


def embed_query(embedder: Embedder, query: str, width: int, *, long: int = LONG_FUSED) -> NDArray[np.float32] | None:
    """Return the row of a query, and below it those of its clauses if it has `long` words or more.

    What the query quotes is left out if enough is left: it is mostly data, and draws a row far from what is to be done.
    None if the embedder finds nothing in the query (a row of zeros); a clause in which it finds nothing has no row.

    Raises:
        IndexingError: the embedder failed, or its row cannot be used.
    """
    text = replace_surrogates(query.strip()[:_LONGEST])
    unquoted = remove_quoted(text)
    if count_words(unquoted) >= _ENOUGH_UNQUOTED:
        text = unquoted.strip()
    parts = split_clauses(text) if count_words(text) >= long else []
    prefix = getattr(embedder, "query_prefix", "")
    rows = unit_rows(embedder, [prefix + part for part in (text, *(parts if len(parts) > 1 else ()))], zeros=True)
    if rows.shape[1] != width:
        raise IndexingError(
            f"the embedder {embedder.id!r} gave {rows.shape[1]} numbers for a query and {width} for the tools"
        )
    if len(rows) == 1:
        return rows if rows.any() else None
    told: list[bool] = [bool(row.any()) for row in rows]
    return rows[told] if told[0] else None


def unit_rows(embedder: Embedder, texts: Sequence[str], *, zeros: bool = False) -> NDArray[np.float32]:
    """Return one row of length one for each text; a row of zeros stays if `zeros` allows it.

    Raises:
        IndexingError: the embedder failed, or answered another shape, a number that is not finite, or a row of zeros.
        AsyncCallableError: it answered a coroutine.
    """
    import numpy as np

    try:
        answer: object = embedder.embed(texts)
    except ToolSearchError:
        raise
    except Exception as error:
        raise IndexingError(f"the embedder {embedder.id!r} failed: {error or type(error).__name__}") from error
    try:
        rows = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if inspect.iscoroutine(answer):  # of a plain function around an async one, which does not show before
            answer.close()
            raise AsyncCallableError(
                f"the embedder {embedder.id!r} returned a coroutine; indexes are built by plain functions"
            ) from error
        raise IndexingError(
            f"the embedder {embedder.id!r} returned a {type(answer).__name__} that is no array of numbers: {error}"
        ) from error
    if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1]:
        raise IndexingError(
            f"the embedder {embedder.id!r} returned an array of shape {rows.shape} for {len(texts)} texts; "
            f"expected ({len(texts)}, d)"
        )
    if len(rows) == 1:  # a query: one product costs half of what the checks of many rows do
        square = float(rows[0].dot(rows[0]))
        if 1e-200 < square < math.inf:
            return (rows / math.sqrt(square)).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    if lengths.min() > 1e-100 and lengths.max() < np.inf:  # NaN is neither
        return np.ascontiguousarray(rows / lengths[:, None], dtype=np.float32)
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(rows).all(axis=1))
    if not finite.all():
        raise IndexingError(f"the embedder {embedder.id!r} returned NaN or infinity for {_first(texts, ~finite)}")
    # By the largest number first, so that squares neither overflow nor vanish.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    if not zeros and not largest.all():
        raise IndexingError(f"the embedder {embedder.id!r} returned only zeros for {_first(texts, largest[:, 0] == 0)}")
    rows = rows / np.where(largest > 0, largest, 1.0)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(norms > 0, norms, 1.0), dtype=np.float32)


def require_vector_extra() -> None:
    """Raise MissingExtraError unless numpy and faiss can be imported."""
    try:
        import faiss  # noqa: F401
        import numpy as np  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("vector", "Searching by meaning") from error


def _first(texts: Sequence[str], where: NDArray[np.bool_]) -> str:
    text = texts[int(where.argmax())]
    return short_repr(text, _SHOWN)
