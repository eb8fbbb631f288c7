"""An index by name: the built-in ones, then those other distributions offer."""

from __future__ import annotations

import importlib
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from ..errors import ConfigurationError
from .protocols import ToolIndex

__all__ = ["GROUP", "resolve_index"]

GROUP: Final = "toolsearch.indexes"
"""The entry-point group in which a distribution names its indexes."""

_BUILT_IN: Final = {
    "bm25": ("bm25", "Bm25ToolIndex"),
    "hybrid": ("hybrid", "HybridToolIndex"),
    "regex": ("regex", "RegexToolIndex"),
    "vector": ("vector", "VectorToolIndex"),
}


def resolve_index(index: ToolIndex | str) -> ToolIndex:
    """Return the index itself, or the one of that name made with its defaults.

    Built-in names come first, so that no installed distribution can take one over; then entry points of the
    group ``toolsearch.indexes``, each naming a class or function that, called without arguments, gives an index.

    Raises:
        ConfigurationError: there is no such name, what it names is no index, or it cannot be loaded.
        MissingExtraError: the index needs an extra that is not installed.

    Example:
        >>> resolve_index("bm25")
        Bm25ToolIndex(min_score=None)
    """
    if isinstance(index, str):
        return _by_name(index)
    return _checked(index, f"{index!r}")


def _by_name(name: str) -> ToolIndex:
    key = name.strip().lower()
    if key in _BUILT_IN:
        module, attribute = _BUILT_IN[key]
        made: object = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)()
        return _checked(made, f"the index {key!r}")
    offered = {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.value)}
    point = offered.get(name) or offered.get(key)
    if point is None:
        known = ", ".join(sorted(_BUILT_IN.keys() | offered.keys()))
        raise ConfigurationError(f"there is no index {name!r}; there are: {known}; or pass an index object")
    return _checked(_load(point), f"the entry point {point.name!r} ({point.value})")


def _load(point: EntryPoint) -> object:
    try:
        found = point.load()
    except Exception as error:
        raise ConfigurationError(
            f"the index {point.name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    # A ready-made index is as good as something that makes one.
    return found() if isinstance(found, type) or not callable(getattr(found, "build", None)) else found


def _checked(index: object, what: str) -> ToolIndex:
    if isinstance(index, type):
        raise ConfigurationError(f"{what} is a class; pass an instance of it")
    if not callable(getattr(index, "build", None)):
        raise ConfigurationError(f"{what} is no index: it has no method build(tools)")
    assert isinstance(index, ToolIndex)
    return index
