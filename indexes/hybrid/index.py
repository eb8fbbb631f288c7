"""`HybridToolIndex`: search by several indexes with one ranking."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from weakref import WeakValueDictionary

from ...errors import ConfigurationError, IndexingError, MissingExtraError
from ...text import short_repr
from ...text.logs import log_event
from ..bm25.index import Bm25ToolIndex
from ..protocols import DegradableSearcher, ToolIndex, ToolSearcher
from ..ranking.catalog import Catalog
from ..reference import ToolReference
from ..vector.backoff import Backoff
from ..vector.index import VectorToolIndex
from .searcher import HybridToolSearcher, Part, ScoredPart, make_part

__all__ = ["HybridToolIndex"]

logger = logging.getLogger(__name__)


class HybridToolIndex:
    """Index that fuses the rankings of several indexes, usually by words (BM25) and by meaning (vectors).

    Scores are fused as z-scores: a tool counts by how far it stands out. An index without scores (any custom
    `ToolIndex`) is fused by reciprocal ranks. Meaning weighs more for short queries, words for long ones.

    A part that fails is left out, with a warning in the log and a sentence in the response, as long as another part
    works. A part that fails during a search is used again in the next search. If a part fails to build, the searcher
    lists it in `degraded`. `build` with the same tools then builds only the missing parts, if the degraded searcher
    still exists; `SessionToolIndex` calls it at each use. After a slow failure, `build` returns the same searcher for
    ten times as long as the failure took, at most five minutes, so that a service that is down does not cost a timeout
    in every turn. A missing extra and an invalid argument are raised, since they do not go away.

    Args:
        parts: The indexes. The default is `Bm25ToolIndex`, and `VectorToolIndex` if the extra ``vector`` is installed.
        clock: A function that returns seconds, to time failures.

    Raises:
        ConfigurationError: If `parts` is empty, or an item is not an index.

    Example:
        >>> tools = [ToolReference(name="get_weather"), ToolReference(name="send_mail")]
        >>> HybridToolIndex([Bm25ToolIndex()]).build(tools).search("weather").names
        ('get_weather',)
    """

    def __init__(
        self, parts: Sequence[ToolIndex] | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if isinstance(parts, str) or not isinstance(parts, Iterable | None):
            raise ConfigurationError(
                f"parts must be a list of indexes, got {short_repr(parts)}; "
                "write HybridToolIndex([Bm25ToolIndex(), ...])"
            )
        self.parts: tuple[ToolIndex, ...] = _default_parts() if parts is None else tuple(parts)
        if not self.parts:
            raise ConfigurationError("parts must contain at least one index, e.g. Bm25ToolIndex()")
        for part in self.parts:
            if isinstance(part, type) or not callable(getattr(part, "build", None)):
                raise ConfigurationError(f"each part must be an index (not a class) with build(tools), got {part!r}")
        self._clock = clock
        self._degraded: WeakValueDictionary[bytes, HybridToolSearcher] = WeakValueDictionary()
        self._backoff = Backoff(clock)

    def build(self, tools: Sequence[ToolReference]) -> ToolSearcher:
        """Return a searcher over exactly `tools`.

        Raises:
            IndexingError: If no part can be built.
            ConfigurationError: If a part has invalid arguments.
            DuplicateToolError: If two tools have the same name.
            MissingExtraError: If a part needs an extra that is not installed.
        """
        catalog = Catalog(tools)
        digest = hashlib.blake2b(b"".join(tool.digest for tool in catalog.tools)).digest()
        degraded = self._degraded.get(digest)
        if degraded is not None and self._backoff.is_waiting(digest):
            return degraded
        parts: list[Part | ScoredPart | None] = []
        missing: list[str] = []
        failure: Exception | None = None
        slowest_seconds = 0.0
        built_parts = degraded.parts if degraded else [None] * len(self.parts)
        for index, built in zip(self.parts, built_parts, strict=True):
            started = self._clock()
            name = type(index).__name__
            part = None if built is None or _missing_parts(built) else built
            try:
                part = part or make_part(name, index.build(catalog.tools), catalog)
            except (ConfigurationError, MissingExtraError):
                raise
            except Exception as error:
                facts = {"index": name, "tools": len(catalog.tools)}
                note = "; the index continues without it"
                log_event(logger, logging.WARNING, "hybrid_part_not_built", facts, error=error, note=note)
                missing.append(name)
                failure = error
                slowest_seconds = max(slowest_seconds, self._clock() - started)
            else:
                missing += _missing_parts(part)
            parts.append(part)
        if not any(parts):
            raise IndexingError(f"no part of the hybrid index could be built; the last error: {failure}") from failure
        del failure  # its traceback references this frame and the searcher
        searcher = HybridToolSearcher(catalog, parts, missing)
        if missing:
            self._backoff.record_failure(digest, slowest_seconds)
            self._degraded[digest] = searcher
        else:
            self._backoff.record_success(digest)
        return searcher

    def __repr__(self) -> str:
        return f"HybridToolIndex({list(self.parts)!r})"


def _missing_parts(part: Part | ScoredPart) -> tuple[str, ...]:
    """Return the missing parts of a part, e.g. of a hybrid index in a hybrid index."""
    return tuple(part.searcher.degraded) if isinstance(part.searcher, DegradableSearcher) else ()


def _default_parts() -> tuple[ToolIndex, ...]:
    packages = ("numpy", "faiss", "sentence_transformers")
    if all(importlib.util.find_spec(package) is not None for package in packages):
        return Bm25ToolIndex(), VectorToolIndex()
    return (Bm25ToolIndex(),)
