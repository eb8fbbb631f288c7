"""Cache of embeddings: the most recently used in memory, and optionally all of them in a folder."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
import tempfile
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigurationError
from ...shared.fork import new_lock
from ...text.logs import log_event

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EmbeddingCache", "coerce_cache_folder", "has_unit_length"]

logger = logging.getLogger(__name__)
_MAGIC = b"TSV1"
_CHECKSUM_BYTES = 8
_MAX_FILE_BYTES = 4_000_000
_MAX_NUMBER = 1e6
_ROW_OVERHEAD_BYTES = 250  # estimate of the key, the array object and the dictionary entry
_logged_folders: set[str] = set()
"""Folders with a logged error. Several caches of a process can share a folder; its error is logged once."""
_logged_folders_lock = new_lock()


class EmbeddingCache:
    """Cache of one row per embedder id and text. Thread-safe, and process-safe on disk.

    Memory is bounded: the least recently used rows are dropped first. A folder has one small file per text, written
    atomically and with a checksum. Only its owner can read it. A damaged file, something else than a file, and a row
    with NaN or a huge number count as missing. Errors of the folder never fail a build: they are logged once per
    folder and process, and the affected rows stay in memory. Texts are not stored.

    Args:
        folder: The folder for rows between runs, created at the first write; ``~`` is the home directory. None keeps
            rows in memory only.
        max_bytes: The maximum memory for rows, in bytes.

    Raises:
        ConfigurationError: If `folder` is blank, or `max_bytes` is negative.

    Example:
        >>> cache = EmbeddingCache(max_bytes=1_000_000)
        >>> cache.get("model-1", ["weather"])
        {}
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, max_bytes: int = 64_000_000) -> None:
        if max_bytes < 0:
            raise ConfigurationError(f"max_bytes must be 0 or more, got {max_bytes}")
        self.folder = coerce_cache_folder(folder)
        self._max_bytes = max_bytes
        self._rows: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._bytes = 0
        self._lock = new_lock()

    def get(self, embedder_id: str, texts: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Return the cached rows of `texts`, by text."""
        found: dict[str, NDArray[np.float32]] = {}
        missing: list[tuple[str, bytes]] = []
        keys = [(text, _key(embedder_id, text)) for text in texts]
        with self._lock:
            for text, key in keys:
                row = self._rows.get(key)
                if row is None:
                    missing.append((text, key))
                else:
                    self._rows.move_to_end(key)
                    found[text] = row
        if self.folder is not None and missing:
            read = {text: row for text, key in missing if (row := self._read(embedder_id, key)) is not None}
            self._store(embedder_id, read)
            found.update(read)
        return found

    def put(self, embedder_id: str, rows: Mapping[str, NDArray[np.float32]]) -> None:
        """Store rows, given by text."""
        kept = {text: row.copy() for text, row in rows.items()}  # a view would keep its whole batch in memory
        self._store(embedder_id, kept)
        if self.folder is not None:
            for text, row in kept.items():
                self._write(self._path(embedder_id, _key(embedder_id, text)), row)

    def __len__(self) -> int:
        """Return the number of rows in memory."""
        return len(self._rows)

    def _store(self, embedder_id: str, rows: Mapping[str, NDArray[np.float32]]) -> None:
        keys = [(_key(embedder_id, text), row) for text, row in rows.items()]
        with self._lock:
            for key, row in keys:
                row.flags.writeable = False
                before = self._rows.pop(key, None)
                self._bytes += _bytes_of(row) - (0 if before is None else _bytes_of(before))
                self._rows[key] = row
            while self._bytes > self._max_bytes:
                _, oldest = self._rows.popitem(last=False)
                self._bytes -= _bytes_of(oldest)

    def _path(self, embedder_id: str, key: bytes) -> Path:
        assert self.folder is not None
        embedder = hashlib.blake2b(_encode(embedder_id), digest_size=8).hexdigest()
        name = key.hex()
        return self.folder / embedder / name[:2] / f"{name[2:]}.vec"

    def _read(self, embedder_id: str, key: bytes) -> NDArray[np.float32] | None:
        import numpy as np

        try:
            content = _read_regular_file(self._path(embedder_id, key))
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(error)
            return None
        head = len(_MAGIC) + _CHECKSUM_BYTES
        body = content[head:]
        if not body or len(body) % 4 or content[:head] != _MAGIC + _checksum(body):
            return None
        row = np.frombuffer(body, dtype="<f4").astype(np.float32)
        return row if bool((np.abs(row) < _MAX_NUMBER).all()) else None  # False for NaN

    def _write(self, path: Path, row: NDArray[np.float32]) -> None:
        body = row.astype("<f4").tobytes()
        try:
            _make_private_folder(path.parent)
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")  # mode 0600
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_MAGIC + _checksum(body) + body)
                Path(temporary).replace(path)
            except BaseException:
                with contextlib.suppress(OSError):
                    Path(temporary).unlink()
                raise
        except OSError as error:
            self._warn(error)

    def _warn(self, error: OSError) -> None:
        with _logged_folders_lock:
            if str(self.folder) in _logged_folders:
                return
            _logged_folders.add(str(self.folder))
        facts, note = {"folder": str(self.folder)}, "; some or all embeddings are kept in memory only"
        log_event(logger, logging.WARNING, "embeddings_not_kept", facts, error=error, note=note)


def has_unit_length(row: NDArray[np.float32]) -> bool:
    """Return whether a row has length 1, as every embedding that this library writes."""
    return abs(float(row @ row) - 1) < 0.01


def coerce_cache_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    """Return a folder as a path with ``~`` expanded, or None for None.

    Raises:
        ConfigurationError: If the folder is blank, which would mean the working directory, or there is no such home.
    """
    if folder is None:
        return None
    if not os.fspath(folder).strip():
        raise ConfigurationError(
            f"the folder for embeddings must have a name, got {folder!r}; use None for memory only"
        )
    try:
        return Path(folder).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(
            f"the folder for embeddings must exist or be creatable, got {os.fspath(folder)!r}: {error}"
        ) from error


def _read_regular_file(path: Path) -> bytes:
    """Return the content of a file of bounded size. Reading a pipe would wait forever, and a device may be endless.

    Raises:
        OSError: If there is no such file.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(f"{path.name} is not a regular file")
    # A pipe that takes the place of the file now is opened without waiting, and seen below.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{path.name} is not a regular file")
        content = file.read(_MAX_FILE_BYTES + 1)
    if len(content) > _MAX_FILE_BYTES:
        raise OSError(f"{path.name} is larger than {_MAX_FILE_BYTES:,} bytes")
    return content


def _make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents with mode 0700, whatever the umask."""
    try:
        folder.mkdir(mode=0o700)
    except FileNotFoundError:
        _make_private_folder(folder.parent)
        _make_private_folder(folder)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        folder.chmod(0o700)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _key(embedder_id: str, text: str) -> bytes:
    name = _encode(embedder_id)
    return hashlib.blake2b(b"%d:%b%b" % (len(name), name, _encode(text)), digest_size=20).digest()


def _bytes_of(row: NDArray[np.float32]) -> int:
    return row.nbytes + _ROW_OVERHEAD_BYTES


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_CHECKSUM_BYTES).digest()
