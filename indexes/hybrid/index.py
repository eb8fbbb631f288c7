"""`HybridToolIndex`: several indexes, one ranking."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import time
from collections.abc import Callable, Sequence
from weakref import WeakValueDictionary

from ...errors import ConfigurationError, IndexingError, MissingExtraError
from ..bm25.index import Bm25ToolIndex
from ..protocols import ToolIndex
from ..ranking.catalog import Catalog
from ..reference import ToolReference
from ..vector.backoff import Backoff
from ..vector.index import VectorToolIndex
from .searcher import HybridToolSearcher, Part, ScoredPart, as_part

__all__ = ["HybridToolIndex"]

_log = logging.getLogger(__name__)


class HybridToolIndex:
    """Ranks by what several indexes say together, usually words (BM25) and meaning (vectors).

    Scores are fused as z-scores, so that it counts how far a tool stands out; an index that only ranks (any `ToolIndex`
    of your own) is fused by reciprocal ranks. Short queries lean on meaning, long ones on words.

    A part that fails is left out, with a warning in the log and a sentence in the response, as long as another works.
    When it fails at a search, it is asked again at the next. When it fails to build, the searcher stays without it and
    names it in `degraded`; to have it back, build the set again, which builds only what is missing while the degraded
    searcher is still held by someone. `SessionToolIndex` does so at each use. So that a service that is down costs no
    timeout a turn, a failure that took long is not repeated for ten times as long (five minutes at most): until then
    `build` returns the same searcher. A missing extra or a wrong argument is no passing trouble and is raised.

    Args:
        parts: the indexes; by default `Bm25ToolIndex`, and `VectorToolIndex` if the extra ``vector`` is installed.
        clock: returns seconds; measures failures.

    Example:
        >>> tools = [ToolReference(name="get_weather"), ToolReference(name="send_mail")]
        >>> HybridToolIndex([Bm25ToolIndex()]).build(tools).search("weather").names
        ('get_weather',)
    """

    def __init__(
        self, parts: Sequence[ToolIndex] | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.parts: tuple[ToolIndex, ...] = _default_parts() if parts is None else tuple(parts)
        if not self.parts:
            raise ConfigurationError("a hybrid index needs at least one part")
        for part in self.parts:
            if isinstance(part, type) or not callable(getattr(part, "build", None)):
                raise ConfigurationError(f"a part of a hybrid index is an index with build(tools); got {part!r}")
        self._clock = clock
        self._degraded: WeakValueDictionary[bytes, HybridToolSearcher] = WeakValueDictionary()
        self._backoff = Backoff(clock)

    def build(self, tools: Sequence[ToolReference]) -> HybridToolSearcher:
        """Return a searcher over `tools`.

        Raises:
            IndexingError: no part could be built.
            ConfigurationError: a part cannot work with its arguments, or two tools have one name.
            MissingExtraError: a part needs an extra that is not installed.
        """
        catalog = Catalog(tools)
        digest = hashlib.blake2b(b"".join(tool.digest for tool in catalog.tools)).digest()
        before = self._degraded.get(digest)
        if before is not None and self._backoff.waiting(digest):
            return before
        parts: list[Part | ScoredPart | None] = []
        lost: list[str] = []
        failure: Exception | None = None
        wait = 0.0
        for index, done in zip(self.parts, before.parts if before else [None] * len(self.parts), strict=True):
            started = self._clock()
            name = type(index).__name__
            part = None if done is None or _missing_in(done) else done
            try:
                part = part or as_part(name, index.build(catalog.tools), catalog)
            except (ConfigurationError, MissingExtraError):
                raise
            except Exception as error:
                _log.warning(
                    "toolsearch.hybrid_part_not_built %s could not be built, the index goes on without it: %s",
                    name,
                    str(error),
                    extra={"index": name, "error_type": type(error).__name__, "tools": len(catalog.tools)},
                )
                lost.append(name)
                failure = error
                wait = max(wait, self._clock() - started)
            else:
                lost += _missing_in(part)
            parts.append(part)
        if not any(parts):
            raise IndexingError(f"no part of the hybrid index could be built; the last said: {failure}") from failure
        del failure  # its traceback holds this frame, and so the searcher
        searcher = HybridToolSearcher(catalog, parts, lost)
        if lost:
            self._backoff.failed(digest, wait)
            self._degraded[digest] = searcher
        else:
            self._backoff.succeeded(digest)
        return searcher

    def __repr__(self) -> str:
        return f"HybridToolIndex({list(self.parts)!r})"


def _missing_in(part: Part | ScoredPart) -> tuple[str, ...]:
    """Return what a part itself says it misses, as a hybrid within a hybrid does."""
    missing: object = getattr(part.searcher, "degraded", ())
    if isinstance(missing, tuple):
        return tuple(map(str, missing))
    return (part.name,) if missing else ()


def _default_parts() -> tuple[ToolIndex, ...]:
    packages = ("numpy", "faiss", "sentence_transformers")
    if all(importlib.util.find_spec(package) is not None for package in packages):
        return Bm25ToolIndex(), VectorToolIndex()
    return (Bm25ToolIndex(),)
