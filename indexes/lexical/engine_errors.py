"""Errors of the engines become the library's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import IndexingError

__all__ = ["convert_engine_errors"]


@contextmanager
def convert_engine_errors(what: str) -> Iterator[None]:
    """Raise `IndexingError`, saying `what` failed, for whatever tantivy raises within."""
    try:
        yield
    except (ValueError, TypeError, RuntimeError, OSError, OverflowError) as error:
        raise IndexingError(f"{what}: {type(error).__name__}: {error}") from error
