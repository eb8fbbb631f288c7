"""Attacks on stored files: others that read them, and what someone puts in their place."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolsearch import ChatClient, ChatMemory, MemoryAdvisor, SqliteRepository, Tool, UserMessage
from toolsearch.indexes import VectorToolIndex
from toolsearch.indexes.vector.cache import EmbeddingCache
from toolsearch.memory import SessionKey
from toolsearch.testing import ScriptedChatModel

np = pytest.importorskip("numpy")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and pipes")


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    return {p.name: oct(stat.S_IMODE(p.lstat().st_mode)) for p in folder.rglob("*") if p.is_file()}


def test_conversations_are_for_their_owner_only(tmp_path: Path, umask: int) -> None:
    memory = ChatMemory(SqliteRepository(tmp_path / "chats.db"))
    client = ChatClient(ScriptedChatModel(["Hello!"]), advisors=[MemoryAdvisor(memory)])
    client.call("my password is hunter2", session_id="ann")
    assert modes(tmp_path) == dict.fromkeys(("chats.db", "chats.db-wal", "chats.db-shm"), "0o600")


def test_conversations_behind_a_link_are_for_their_owner_only(tmp_path: Path, umask: int) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "chats.db")
    SqliteRepository(tmp_path / "link.db").append(SessionKey("ann"), [UserMessage("Hi")])
    assert set(modes(tmp_path / "real").values()) == {"0o600"}


def test_file_is_private_from_its_creation_on(tmp_path: Path) -> None:
    """Look into the folder before every file access of the process: the file never has another mode."""
    code = (
        "import os, sys\n"
        "os.umask(0)\n"
        "seen = set()\n"
        "def look(event, arguments):\n"  # before each file access of the process itself
        "    if event in ('open', 'sqlite3.connect', 'os.link', 'os.chmod', 'os.remove'):\n"
        "        for entry in os.scandir(sys.argv[1]):\n"
        "            seen.add(oct(entry.stat(follow_symlinks=False).st_mode & 0o777))\n"
        "from toolsearch import SqliteRepository, UserMessage\n"
        "from toolsearch.memory import SessionKey\n"
        "sys.addaudithook(look)\n"
        "SqliteRepository(os.path.join(sys.argv[1], 'chats.db')).append(SessionKey('ann'), [UserMessage('Hi')])\n"
        "print(*seen, *os.listdir(sys.argv[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert set(done.stdout.split()) == {"0o600", "chats.db"}


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "chats.db"
    file.touch()
    file.chmod(0o640)
    SqliteRepository(file).append(SessionKey("ann"), [UserMessage("Hi")])
    assert modes(tmp_path)["chats.db"] == "0o640"


# ---------------------------------------------------------------------- embeddings

TOOLS = [Tool(name, "Do it.", {"type": "object"}).reference for name in ("get_weather", "send_mail", "play_music")]


def embed(texts: Any) -> Any:
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts]
    return np.array([[byte + 1.0 for byte in digest] for digest in digests])


def index_over(folder: Path) -> VectorToolIndex:
    from toolsearch.indexes.vector.embedders import CallableEmbedder

    return VectorToolIndex(CallableEmbedder(embed, id="words"), cache_dir=folder)


def test_embeddings_are_for_their_owner_only(tmp_path: Path, umask: int) -> None:
    folder = tmp_path / "new" / "cache"
    EmbeddingCache(folder).put("words", {"a": np.array([1.0], dtype=np.float32)})
    assert set(modes(folder).values()) == {"0o600"}
    assert {oct(stat.S_IMODE(p.stat().st_mode)) for p in (folder.parent, *folder.parent.rglob("*")) if p.is_dir()} == {
        "0o700"
    }


@pytest.mark.parametrize("numbers", [float("nan"), float("inf"), -float("inf"), 0.0, 1e30, -1e30, 3e38, 7.0, 1e-30])
def test_forged_embeddings_with_a_right_checksum_are_not_believed(tmp_path: Path, numbers: float) -> None:
    pytest.importorskip("faiss")
    honest = index_over(tmp_path).build(TOOLS).search("weather")
    files = list(tmp_path.rglob("*.vec"))
    assert files
    for file in files:
        body = np.full((file.stat().st_size - 12) // 4, numbers, dtype="<f4").tobytes()
        file.write_bytes(b"TSV1" + hashlib.blake2b(body, digest_size=8).digest() + body)
    attacked = index_over(tmp_path).build(TOOLS).search("weather")
    assert [(hit.name, round(hit.score, 4)) for hit in attacked.hits] == [
        (hit.name, round(hit.score, 4)) for hit in honest.hits
    ]


def _put(path: Path, kind: str) -> None:
    path.unlink()
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
        case "link to a pipe":
            os.mkfifo(path.with_suffix(".pipe"))
            path.symlink_to(path.with_suffix(".pipe"))
        case "circle":
            path.symlink_to(path)
        case "large":
            with path.open("wb") as file:
                file.truncate(10_000_000_000)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "link to a pipe", "circle", "large"])
def test_what_is_not_a_file_does_not_hold_a_build(tmp_path: Path, kind: str) -> None:
    cache = EmbeddingCache(tmp_path)
    cache.put("words", {"a": np.array([1.0], dtype=np.float32), "b": np.array([1.0], dtype=np.float32)})
    _put(min(tmp_path.rglob("*.vec")), kind)
    read: list[int] = []
    reader = threading.Thread(
        target=lambda: read.append(len(EmbeddingCache(tmp_path).get("words", ["a", "b"]))), daemon=True
    )
    reader.start()
    reader.join(30)
    assert read == [1]
