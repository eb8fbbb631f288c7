"""Creation of an SQLite file that only its owner can read."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

__all__ = ["create_private_file"]

_MODE = 0o600


def create_private_file(path: Path) -> None:
    """Create an empty file with mode 0600 at `path`, whatever the umask, unless there is something already.

    SQLite gives its ``-wal`` and ``-shm`` files the mode of the database. The file appears at `path` complete and
    closed: closing a file that another thread uses would drop the locks of SQLite. Errors are left to SQLite.
    """
    if os.name == "nt" or path.exists():
        return
    target = Path(os.path.realpath(path))  # a link whose target does not exist yet
    with suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            try:
                os.fchmod(handle, _MODE)
            finally:
                os.close(handle)
            os.link(temporary, target)  # fails if another process was faster
        except FileExistsError:
            return
        except OSError:  # a file system without hard links
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, _MODE))
        finally:
            Path(temporary).unlink()
