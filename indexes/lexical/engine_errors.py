"""Conversion of search engine errors into `IndexingError`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import IndexingError

__all__ = ["convert_engine_errors"]


@contextmanager
def convert_engine_errors(message: str) -> Iterator[None]:
    """Raise `IndexingError` with a message for every error that tantivy raises in the block.

    Args:
        message: A description of the operation that failed. The engine's error is appended.
    """
    try:
        yield
    except (ValueError, TypeError, RuntimeError, OSError, OverflowError) as error:
        raise IndexingError(f"{message}: {type(error).__name__}: {error}") from error
