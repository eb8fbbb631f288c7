"""Report files: checked before a run, written at its end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import ConfigurationError

__all__ = ["validate_targets", "write_json", "write_text"]


def validate_targets(*targets: Path | str | None) -> None:
    """Validate the report files before a long run. None and ``-`` are not files.

    Raises:
        ConfigurationError: A folder does not exist or is not writable, a file is a folder or protected, or two reports
            have the same file.
    """
    paths = [Path(target) for target in targets if target is not None and str(target) != "-"]
    for number, path in enumerate(paths):
        folder = path.parent
        if path.is_dir():
            raise ConfigurationError(f"{path}: cannot be written: it is a folder")
        if not folder.is_dir():
            raise ConfigurationError(f"{path}: cannot be written: the folder {folder} does not exist")
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise ConfigurationError(f"{path}: cannot be written: permission denied")
        if any(_is_same_file(path, other) for other in paths[:number]):
            raise ConfigurationError(f"{path}: cannot be written: another report has the same file")


def _is_same_file(path: Path, other: Path) -> bool:
    return path.resolve() == other.resolve() or (path.exists() and other.exists() and path.samefile(other))


def write_json(report: Mapping[str, Any], target: str) -> None:
    """Write a report as JSON to a file, or to standard output for ``-``.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
    else:
        write_text(text, Path(target))


def write_text(text: str, path: Path) -> None:
    """Write a file as UTF-8. Characters that cannot be encoded become question marks.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    try:
        path.write_bytes(text.encode("utf-8", "replace"))
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written: {error.strerror or error}") from error
