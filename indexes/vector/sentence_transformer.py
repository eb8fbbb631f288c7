"""`SentenceTransformerEmbedder`: embeddings of a local sentence-transformers model."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from ...errors import ConfigurationError, IndexingError, MissingExtraError
from ...shared.fork import new_lock
from .backoff import Backoff
from .cache import coerce_cache_folder
from .huggingface import find_refusal, is_hub_reachable, is_offline, is_valid_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DEFAULT_MODEL", "SentenceTransformerEmbedder"]

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
"""A small English model that is fast on a CPU."""

_E5 = re.compile(r"(?:^|[/\\_-])e5-(?!.*instruct)[^/\\]*$")


class _Encoder(Protocol):
    """The part of a `SentenceTransformer` that the embedder uses."""

    max_seq_length: int | None

    def encode(self, sentences: list[str], *, batch_size: int, show_progress_bar: bool) -> NDArray[np.float32]: ...


class SentenceTransformerEmbedder:
    """Embedder that runs a sentence-transformers model. The model is loaded once, at first use.

    A path never causes network access. A name is loaded from the local Hugging Face cache if possible, and downloaded
    otherwise, unless ``HF_HUB_OFFLINE`` forbids it. If the hub is unreachable and the attempt took long, the next
    attempt waits ten times as long, at most five minutes; until then, `embed` raises the same error.

    Torch's own settings determine the number of threads. On a machine with other work, set ``OMP_NUM_THREADS=1``.

    Args:
        name_or_path: The folder of a model, or its name on the Hugging Face hub.
        cache_dir: The folder in which an index keeps the embeddings of tools between runs, or None for memory only.
            The model itself is kept in ``HF_HOME``.
        max_tokens: The number of tokens after which texts are cut; the first sentences of a description say what a
            tool does. None uses the limit of the model.
        batch_size: The number of texts that the model embeds at once.
        device: The torch device: ``"cpu"``, ``"cuda"``, ...
        revision: The revision of the model on the hub. It becomes part of `id`.
        query_prefix: The string to put before each query. The default is ``"query: "`` for an E5 model, recognized by
            its name, and "" for others.
        passage_prefix: The string to put before the text of each tool. The default is ``"passage: "`` for an E5 model.
        multilingual: Whether the model knows languages other than English. The default is whether its name contains
            "multilingual".
        clock: A function that returns seconds, to time failures.

    Raises:
        ConfigurationError: If an argument is empty or out of range.

    Example:
        >>> embedder = SentenceTransformerEmbedder("intfloat/multilingual-e5-small")
        >>> embedder.id, embedder.multilingual, embedder.query_prefix
        ('intfloat/multilingual-e5-small/128', True, 'query: ')
    """

    def __init__(
        self,
        name_or_path: str | os.PathLike[str] = DEFAULT_MODEL,
        cache_dir: str | os.PathLike[str] | None = None,
        *,
        max_tokens: int | None = 128,
        batch_size: int = 32,
        device: str = "cpu",
        revision: str | None = None,
        query_prefix: str | None = None,
        passage_prefix: str | None = None,
        multilingual: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name_or_path = os.fspath(name_or_path)
        if not self.name_or_path.strip():
            raise ConfigurationError(
                f"name_or_path must be the name of a model or the path of its folder, got {self.name_or_path!r}"
            )
        if max_tokens is not None and max_tokens < 1:
            raise ConfigurationError(f"max_tokens must be at least 1, or None for the model's limit, got {max_tokens}")
        if batch_size < 1:
            raise ConfigurationError(f"batch_size must be at least 1, got {batch_size}")
        self.cache_dir = coerce_cache_folder(cache_dir)
        e5 = _E5.search(self.name_or_path.lower()) is not None
        self.query_prefix = ("query: " if e5 else "") if query_prefix is None else query_prefix
        self.passage_prefix = ("passage: " if e5 else "") if passage_prefix is None else passage_prefix
        self.multilingual = "multilingual" in self.name_or_path.lower() if multilingual is None else multilingual
        self._max_tokens = max_tokens
        self._batch_size = batch_size
        self._device = device
        self._revision = revision
        self._is_path = not isinstance(name_or_path, str) or self.name_or_path.startswith((".", "/", "~", "\\"))
        self._id: str | None = None
        self._model: _Encoder | None = None
        self._clock = clock
        self._backoff = Backoff(clock)
        self._last_failure = ""
        self._load_lock = new_lock()
        self._next_lock = new_lock()
        self._run_lock = new_lock()

    @property
    def id(self) -> str:
        """The name and revision of the model (for a folder, its name and a hash of its files) and `max_tokens`."""
        if self._id is None:
            folder = Path(self.name_or_path)
            name = f"{folder.name}@{_folder_hash(folder)}" if folder.is_dir() else self.name_or_path
            revision = f"@{self._revision}" if self._revision else ""
            self._id = f"{name}{revision}/{self._max_tokens or 'all'}"
        return self._id

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a float32 array of shape (n, d), one row per text.

        Raises:
            MissingExtraError: If sentence-transformers is not installed.
            ConfigurationError: If the path contains no model, or the hub has no accessible model with this name.
            IndexingError: If the model is not cached and the hub is unreachable or downloads are forbidden.
        """
        model = self._get_model()
        # The tokenizer is not thread-safe. The holder of the first lock runs next, so the many batches of a build
        # cannot starve a query.
        with self._next_lock:
            self._run_lock.acquire()
        try:
            return model.encode(list(texts), batch_size=self._batch_size, show_progress_bar=False)
        finally:
            self._run_lock.release()

    def _get_model(self) -> _Encoder:
        if self._model is None:
            with self._load_lock:
                if self._model is None:
                    self._model = self._load()
        return self._model

    def _load(self) -> _Encoder:
        folder = Path(self.name_or_path)
        found = folder.is_dir()
        if not found and (self._is_path or not is_valid_name(self.name_or_path)):
            reason = "no such folder" if self._is_path else "no such folder, and not a valid name on the hub"
            raise ConfigurationError(f"there is no model in {self.name_or_path!r}: {reason}")
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtraError("vector", f"The embedder {self.name_or_path!r}") from error
        if found and not any(folder.glob("*.json")):
            raise ConfigurationError(
                f"there is no model in {self.name_or_path!r}: the folder has no JSON configuration"
            )

        def load(*, local: bool) -> _Encoder:
            model: Any = SentenceTransformer(
                self.name_or_path, device=self._device, revision=self._revision, local_files_only=local
            )
            return cast("_Encoder", model)

        model = load(local=True) if found else self._load_by_name(load)
        if self._max_tokens is not None:
            model.max_seq_length = min(self._max_tokens, model.max_seq_length or self._max_tokens)
        return model

    def _load_by_name(self, load: Callable[..., _Encoder]) -> _Encoder:
        """Load the model from the local cache, else from the hub. Back off after a slow failure."""
        started = self._clock()
        if self._backoff.is_waiting(self.name_or_path):
            raise IndexingError(self._last_failure)
        try:
            try:
                return load(local=True)
            except Exception:
                if is_offline() or not is_hub_reachable():
                    raise
                return load(local=False)
        except Exception as error:
            if (refusal := find_refusal(error)) is not None:
                lines = str(refusal).strip().splitlines() or [type(refusal).__name__]
                raise ConfigurationError(
                    f"the Hugging Face hub has no accessible model {self.name_or_path!r} ({lines[0]}); "
                    "check the name, or log in if the model is private"
                ) from error
            self._last_failure = f"the model {self.name_or_path!r} could not be loaded: {error or type(error).__name__}"
            self._backoff.record_failure(self.name_or_path, self._clock() - started)
            raise IndexingError(self._last_failure) from error


def _folder_hash(folder: Path) -> str:
    """Hash names and contents: new weights in the same folder change the hash, and a copy elsewhere keeps it."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and ".cache" not in p.parts and p.suffix != ".md"):
        digest.update(path.relative_to(folder).as_posix().encode("utf-8", "surrogateescape"))
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()
