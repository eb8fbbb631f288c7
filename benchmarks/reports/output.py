"""Writing reports where the command line was told to."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import ConfigurationError

__all__ = ["check_targets", "write_json", "write_text"]


def check_targets(*targets: Path | str | None) -> None:
    """Find out before a long run that a report could not be written at its end; None and ``-`` are no files.

    Raises:
        ConfigurationError: the folder of a file is not there, is not writable, the file is a folder or protected, or
            another report would be written over it.
    """
    paths = [Path(target) for target in targets if target is not None and str(target) != "-"]
    for number, path in enumerate(paths):
        folder = path.parent
        if path.is_dir():
            raise ConfigurationError(f"{path}: cannot be written: it is a folder")
        if not folder.is_dir():
            raise ConfigurationError(f"{path}: cannot be written: there is no folder {folder}")
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise ConfigurationError(f"{path}: cannot be written: no permission")
        if any(_are_one(path, other) for other in paths[:number]):
            raise ConfigurationError(f"{path}: cannot be written: another report goes to this file")


def _are_one(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve() or (path.exists() and other.exists() and path.samefile(other))


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
