"""Writing reports where the command line was told to."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError

__all__ = ["write_json", "write_text"]


def write_json(report: Mapping[str, Any], target: str) -> None:
    """Write a report as JSON to a file, or for ``-`` to standard output.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
    else:
        write_text(text, Path(target))


def write_text(text: str, path: Path) -> None:
    """Write a file as UTF-8; what cannot be encoded becomes a question mark.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    try:
        path.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written: {error.strerror or error}") from error
