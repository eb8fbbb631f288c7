"""Strings for messages, logs and requests: made safe to encode, cut to a length, with secrets left out."""

from __future__ import annotations

from .escapes import EscapeRepair
from .strings import clip, one_line, replace_surrogates, replace_surrogates_in, short_json, short_repr

__all__ = [
    "EscapeRepair",
    "clip",
    "one_line",
    "replace_surrogates",
    "replace_surrogates_in",
    "short_json",
    "short_repr",
]
