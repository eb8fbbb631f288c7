"""Keeps embeddings: the most recently used in memory and, if asked, all of them in a folder."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigurationError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EmbeddingCache", "cache_folder"]

_log = logging.getLogger(__name__)
_MAGIC = b"TSV1"
_CHECK = 8
_ROW_OVERHEAD = 250  # the key, the array object and the slot in the dictionary, roughly
_told: set[str] = set()
"""Folders whose trouble was logged by this process, in which many indexes may keep their rows in one."""
_telling = threading.Lock()


class EmbeddingCache:
    """Remembers the row of each (embedder id, text); safe from many threads, and on disk from many processes.

    Memory is bounded: the least recently used rows go first. A folder keeps one small file a text, written
    aside and moved into place, with a checksum; a damaged file counts as missing and is written again. Nothing that
    goes wrong with the folder stops a build: it is logged once a folder and process, what can be kept there is, and
    memory serves for the rest. Texts are not stored.

    Args:
        folder: where to keep rows between runs; made when first written to, ``~`` is your home. None: memory only.
        max_bytes: how much memory the rows may take.

    Example:
        >>> cache = EmbeddingCache(max_bytes=1_000_000)
        >>> cache.get("model-1", ["weather"])
        {}
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None, *, max_bytes: int = 64_000_000) -> None:
        if max_bytes < 0:
            raise ConfigurationError(f"max_bytes must not be negative; got {max_bytes}")
        self.folder = cache_folder(folder)
        self._max_bytes = max_bytes
        self._rows: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, embedder_id: str, texts: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Return the rows that are known, by text."""
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
            self._remember(embedder_id, read)
            found.update(read)
        return found

    def put(self, embedder_id: str, rows: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep these rows."""
        kept = {text: row.copy() for text, row in rows.items()}  # a view would keep its whole batch alive
        self._remember(embedder_id, kept)
        if self.folder is not None:
            for text, row in kept.items():
                self._write(self._path(embedder_id, _key(embedder_id, text)), row)

    def __len__(self) -> int:
        """Return how many rows are in memory."""
        return len(self._rows)

    def _remember(self, embedder_id: str, rows: Mapping[str, NDArray[np.float32]]) -> None:
        keys = [(_key(embedder_id, text), row) for text, row in rows.items()]
        with self._lock:
            for key, row in keys:
                row.flags.writeable = False
                before = self._rows.pop(key, None)
                self._bytes += _cost(row) - (0 if before is None else _cost(before))
                self._rows[key] = row
            while self._bytes > self._max_bytes:
                _, oldest = self._rows.popitem(last=False)
                self._bytes -= _cost(oldest)

    def _path(self, embedder_id: str, key: bytes) -> Path:
        assert self.folder is not None
        embedder = hashlib.blake2b(_encoded(embedder_id), digest_size=8).hexdigest()
        name = key.hex()
        return self.folder / embedder / name[:2] / f"{name[2:]}.vec"

    def _read(self, embedder_id: str, key: bytes) -> NDArray[np.float32] | None:
        import numpy as np

        try:
            content = self._path(embedder_id, key).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(error)
            return None
        head = len(_MAGIC) + _CHECK
        body = content[head:]
        if not body or len(body) % 4 or content[:head] != _MAGIC + _checksum(body):
            return None
        return np.frombuffer(body, dtype="<f4").astype(np.float32)

    def _write(self, path: Path, row: NDArray[np.float32]) -> None:
        body = row.astype("<f4").tobytes()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
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
        with _telling:
            if str(self.folder) in _told:
                return
            _told.add(str(self.folder))
        _log.warning(
            "toolsearch.embeddings_not_kept some or all embeddings cannot be kept in %s, only in memory: %s",
            self.folder,
            error,
            extra={"folder": str(self.folder), "error_type": type(error).__name__},
        )


def cache_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder meant, with the home directory for ``~``; None stays None.

    Raises:
        ConfigurationError: it is an empty text, which would mean the working directory, or there is no such home.
    """
    if folder is None:
        return None
    if not os.fspath(folder).strip():
        raise ConfigurationError(f"a folder for embeddings needs a name, not {folder!r}; None keeps them in memory")
    try:
        return Path(folder).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(f"the folder for embeddings, {os.fspath(folder)!r}, is nowhere: {error}") from error


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _key(embedder_id: str, text: str) -> bytes:
    name = _encoded(embedder_id)
    return hashlib.blake2b(b"%d:%b%b" % (len(name), name, _encoded(text)), digest_size=20).digest()


def _cost(row: NDArray[np.float32]) -> int:
    return row.nbytes + _ROW_OVERHEAD


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_CHECK).digest()
