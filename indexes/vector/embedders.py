"""What turns texts into vectors: a sentence-transformers model, a function, or anything with `id` and `embed`."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from ...errors import AsyncCallableError, ConfigurationError, IndexingError, MissingExtraError
from ..protocols import Embedder
from .backoff import Backoff
from .cache import cache_folder
from .huggingface import hub_answers, is_forbidden, may_be_a_name, refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["DEFAULT_MODEL", "CallableEmbedder", "EmbedFunction", "SentenceTransformerEmbedder", "as_embedder"]

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
"""Small, quick on a CPU, English."""

EmbedFunction: TypeAlias = "Callable[[list[str]], ArrayLike]"
"""Texts in, one row of numbers a text out."""

_E5 = re.compile(r"(?:^|[/\\_-])e5-(?!.*instruct)[^/\\]*$")
_serial = itertools.count(1)


class _Encoder(Protocol):
    """The part of a SentenceTransformer that is used here."""

    max_seq_length: int | None

    def encode(self, sentences: list[str], *, batch_size: int, show_progress_bar: bool) -> NDArray[np.float32]: ...


class SentenceTransformerEmbedder:
    """Embeds with a sentence-transformers model, which is loaded at the first use and once.

    A path is never looked up on the network. A name is taken from the local Hugging Face cache if it is
    there, and downloaded otherwise, unless ``HF_HUB_OFFLINE`` forbids it. While the hub cannot be reached, a try that
    took long is not repeated for ten times as long (five minutes at most), and fails with what the last one said. The
    number of threads is torch's own setting: on a machine shared with other work, set ``OMP_NUM_THREADS=1``.

    Args:
        name_or_path: a folder with the model, or its name on the Hugging Face hub.
        cache_dir: a folder in which an index keeps the embeddings of tools between runs; None: in memory only.
            (The model itself is kept where ``HF_HOME`` says.)
        max_tokens: longer texts are cut here; a tool's first sentences say what it does. None leaves it to the model.
        batch_size: how many texts the model gets at once.
        device: ``"cpu"``, ``"cuda"``, ...
        revision: the model's version on the hub; becomes part of `id`.
        query_prefix: put before a query; by default ``"query: "`` for a model whose name says that it is an E5, which
            was trained so, and nothing for others.
        passage_prefix: put before a tool's text; by default ``"passage: "`` for an E5.
        multilingual: whether the model knows other languages than English; by default, whether its name says so.
        clock: returns seconds; measures failures.

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
            raise ConfigurationError("the embedder needs the name of a model or the path of its folder, not ''")
        if max_tokens is not None and max_tokens < 1:
            raise ConfigurationError(f"max_tokens must be at least 1, or None for the model's limit; got {max_tokens}")
        if batch_size < 1:
            raise ConfigurationError(f"batch_size must be at least 1; got {batch_size}")
        self.cache_dir = cache_folder(cache_dir)
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
        self._failure = ""
        self._loading = threading.Lock()
        self._turnstile = threading.Lock()
        self._running = threading.Lock()

    @property
    def id(self) -> str:
        """The model's name and revision, or for a folder a hash of its files, and the number of tokens."""
        if self._id is None:
            folder = Path(self.name_or_path)
            name = f"{folder.name}@{_folder_hash(folder)}" if folder.is_dir() else self.name_or_path
            revision = f"@{self._revision}" if self._revision else ""
            self._id = f"{name}{revision}/{self._max_tokens or 'all'}"
        return self._id

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row a text.

        Raises:
            MissingExtraError: sentence-transformers is not installed.
            ConfigurationError: there is no model at the path, or the hub has none of this name for us.
            IndexingError: the model is not here, and the hub cannot be reached or asked at present.
        """
        model = self._loaded()
        # The tokenizer cannot be borrowed by two threads at once. Whoever waits in the turnstile goes next, so the many
        # batches of a build cannot starve a query.
        with self._turnstile:
            self._running.acquire()
        try:
            return model.encode(list(texts), batch_size=self._batch_size, show_progress_bar=False)
        finally:
            self._running.release()

    def _loaded(self) -> _Encoder:
        if self._model is None:
            with self._loading:
                if self._model is None:
                    self._model = self._load()
        return self._model

    def _load(self) -> _Encoder:
        folder = Path(self.name_or_path)
        found = folder.is_dir()
        if not found and (self._is_path or not may_be_a_name(self.name_or_path)):
            what = "no such folder" if self._is_path else "no such folder, and no name that the hub could have"
            raise ConfigurationError(f"there is no model in {self.name_or_path!r}: {what}")
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtraError("vector", f"The embedder {self.name_or_path!r}") from error
        if found and not any(folder.glob("*.json")):
            raise ConfigurationError(f"there is no model in {self.name_or_path!r}: the folder has no configuration")

        def load(*, local: bool) -> _Encoder:
            model: Any = SentenceTransformer(
                self.name_or_path, device=self._device, revision=self._revision, local_files_only=local
            )
            return cast("_Encoder", model)

        model = load(local=True) if found else self._by_name(load)
        if self._max_tokens is not None:
            model.max_seq_length = min(self._max_tokens, model.max_seq_length or self._max_tokens)
        return model

    def _by_name(self, load: Callable[..., _Encoder]) -> _Encoder:
        """Load from the cache, else from the hub; a failure that took long is remembered for a while."""
        started = self._clock()
        if self._backoff.waiting(self.name_or_path):
            raise IndexingError(self._failure)
        try:
            try:
                return load(local=True)
            except Exception:
                if is_forbidden() or not hub_answers():
                    raise
                return load(local=False)
        except Exception as error:
            if (answer := refusal(error)) is not None:
                said = str(answer).strip().splitlines() or [type(answer).__name__]
                raise ConfigurationError(
                    f"the Hugging Face hub has no model {self.name_or_path!r} for us ({said[0]}); "
                    "check the name, or log in if it is private"
                ) from error
            self._failure = f"the model {self.name_or_path!r} could not be loaded: {error or type(error).__name__}"
            self._backoff.failed(self.name_or_path, self._clock() - started)
            raise IndexingError(self._failure) from error


class CallableEmbedder:
    """Makes an embedder of a function from texts to rows, e.g. of a provider's embedding endpoint.

    Args:
        function: gets a list of texts, returns one row of numbers a text.
        id: names model and version. Without one the embeddings are kept for this object only, never on disk.
        query_prefix: put before a query.
        passage_prefix: put before a tool's text.
        multilingual: whether it knows other languages than English.
        cache_dir: a folder in which an index keeps the embeddings of tools between runs; needs an `id`.

    Example:
        >>> embedder = CallableEmbedder(lambda texts: [[1.0, float(len(text))] for text in texts], id="length-1")
        >>> embedder.embed(["a", "bcd"])[1]
        [1.0, 3.0]
    """

    def __init__(
        self,
        function: EmbedFunction,
        *,
        id: str | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        multilingual: bool = False,
        cache_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        _refuse_async(function, function)
        if id is None and cache_dir is not None:
            raise ConfigurationError("a function's embeddings go to disk only under an id; pass id='model-version'")
        name = getattr(function, "__qualname__", type(function).__qualname__)
        # A number, because two closures share a name and the address of a dead one may come back.
        self.id = f"function {name} {next(_serial)}" if id is None else id
        self.lasting = id is not None
        self.cache_dir = cache_folder(cache_dir)
        self.query_prefix = query_prefix
        self.passage_prefix = passage_prefix
        self.multilingual = multilingual
        self._function = function

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return what the function returns, which the index checks."""
        return self._function(list(texts))  # type: ignore[return-value]  # any array-like; see vector.unit_rows


def as_embedder(embedder: str | os.PathLike[str] | Embedder | EmbedFunction) -> Embedder:
    """Return the embedder meant by a name, a path, an embedder or a function.

    Raises:
        ConfigurationError: it is none of these, or an embedder without an `id` that is a text.
        AsyncCallableError: it is async.
    """
    if isinstance(embedder, (str, os.PathLike)):
        return SentenceTransformerEmbedder(embedder)
    if not inspect.isclass(embedder):
        if callable(embed := getattr(embedder, "embed", None)):
            name: object = getattr(embedder, "id", None)
            if not isinstance(name, str) or not name.strip():
                raise ConfigurationError(
                    f"the embedder {embedder!r} needs an `id`, a text that names its model and version; got {name!r}"
                )
            _refuse_async(embed, embedder)
            return embedder  # type: ignore[return-value]  # it has both members of the protocol
        if callable(embedder):
            return CallableEmbedder(embedder)
    raise ConfigurationError(
        "an embedder is a model's name or path, an object with `id` and `embed(texts)`, or a function; "
        f"got {embedder!r}"
    )


def _refuse_async(function: Callable[..., object], embedder: object) -> None:
    if any(map(inspect.iscoroutinefunction, (function, type(function).__call__))):
        raise AsyncCallableError(f"the embedder {embedder!r} is async; indexes are built by plain functions")


def _folder_hash(folder: Path) -> str:
    """Hash names and contents, so that new weights under an old path have a new id and a copy elsewhere the same."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and ".cache" not in p.parts and p.suffix != ".md"):
        digest.update(path.relative_to(folder).as_posix().encode("utf-8", "surrogateescape"))
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()
