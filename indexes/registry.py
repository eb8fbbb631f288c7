"""Index lookup by name: built-in indexes, then entry points of installed distributions."""

from __future__ import annotations

import importlib
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from ..errors import ConfigurationError
from .protocols import ToolIndex

__all__ = ["ENTRY_POINT_GROUP", "plug_in_names", "resolve_index"]

ENTRY_POINT_GROUP: Final = "toolsearch.indexes"
"""The entry-point group under which a distribution registers its indexes."""

_BUILT_IN: Final = {
    "bm25": ("bm25", "Bm25ToolIndex"),
    "hybrid": ("hybrid", "HybridToolIndex"),
    "regex": ("regex", "RegexToolIndex"),
    "vector": ("vector", "VectorToolIndex"),
}


def resolve_index(index: ToolIndex | str) -> ToolIndex:
    """Return an index object unchanged, or make the index that a name refers to.

    Built-in names take precedence, so no installed distribution can replace one. Other names are entry points of the
    group ``toolsearch.indexes``. Each entry point names an index, or a class or function that returns an index when
    called without arguments.

    Args:
        index: An index, or its name, e.g. ``"bm25"``.

    Raises:
        ConfigurationError: If the name is unknown, the entry point cannot be loaded, or the result is not an index.
        MissingExtraError: If the index needs an extra that is not installed.

    Example:
        >>> resolve_index("bm25")
        Bm25ToolIndex(min_score=None)
    """
    if isinstance(index, str):
        return _by_name(index)
    return _coerce_index(index, f"index {index!r}")


def plug_in_names() -> tuple[str, ...]:
    """Return the names of the indexes that installed distributions register, sorted, without the built-in ones."""
    return tuple(sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)} - _BUILT_IN.keys()))


def _by_name(name: str) -> ToolIndex:
    key = name.strip().lower()
    if key in _BUILT_IN:
        module, attribute = _BUILT_IN[key]
        made: object = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)()
        return _coerce_index(made, f"index {key!r}")
    registered = {point.name: point for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=_value_of)}
    point = registered.get(name) or registered.get(key)
    if point is None:
        known = ", ".join(sorted(_BUILT_IN.keys() | registered.keys()))
        raise ConfigurationError(
            f"unknown index {name!r}; expected one of: {known}, or the name of an installed plug-in"
        )
    return _coerce_index(_load(point), f"entry point {point.name!r} ({point.value})")


def _value_of(point: EntryPoint) -> str:
    return point.value


def _load(point: EntryPoint) -> object:
    try:
        loaded = point.load()
    except Exception as error:
        raise ConfigurationError(
            f"cannot load index {point.name!r} ({point.value}): {type(error).__name__}: {error}"
        ) from error
    is_factory = isinstance(loaded, type) or not callable(getattr(loaded, "build", None))
    return loaded() if is_factory else loaded


def _coerce_index(index: object, label: str) -> ToolIndex:
    if isinstance(index, type):
        raise ConfigurationError(f"{label} is a class; pass an instance of it")
    if not callable(getattr(index, "build", None)):
        raise ConfigurationError(f"{label} is not an index: it does not define build(tools)")
    assert isinstance(index, ToolIndex)
    return index
