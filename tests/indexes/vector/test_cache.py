"""Tests of the cache of embeddings: bounds, sharing by threads and processes, and errors of the folder."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolsearch.errors import ConfigurationError
from toolsearch.indexes.vector.cache import EmbeddingCache
from toolsearch.indexes.vector.embedders import CallableEmbedder
from toolsearch.indexes.vector.sentence_transformer import SentenceTransformerEmbedder

np = pytest.importorskip("numpy")


def row(*numbers: float):
    return np.array(numbers, dtype=np.float32)


def test_rows_are_stored_by_embedder_and_text():
    cache = EmbeddingCache()
    cache.put("one", {"weather": row(1, 2)})
    assert cache.get("one", ["weather", "mail"])["weather"].tolist() == [1, 2]
    assert cache.get("two", ["weather"]) == {}
    assert cache.get("one", ["mail"]) == {}


def test_keys_separate_embedder_id_and_text():
    cache = EmbeddingCache()
    cache.put("a", {"bc": row(1)})
    assert cache.get("ab", ["c"]) == {}


def test_rows_are_read_only_copies():
    cache = EmbeddingCache()
    given = row(1, 2)
    cache.put("one", {"weather": given})
    given[0] = 9
    kept = cache.get("one", ["weather"])["weather"]
    assert kept.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 9


def test_least_recently_used_row_is_dropped_first():
    cache = EmbeddingCache(max_bytes=3 * (4 + 250))
    for text in ("a", "b", "c"):
        cache.put("one", {text: row(1)})
    cache.get("one", ["a"])
    cache.put("one", {"d": row(1)})
    assert len(cache) == 3
    assert sorted(cache.get("one", ["a", "b", "c", "d"])) == ["a", "c", "d"]


def test_replacing_a_row_uses_no_more_memory():
    cache = EmbeddingCache(max_bytes=2 * (4 + 250))
    for number in range(10):
        cache.put("one", {"a": row(number), "b": row(number)})
    assert cache.get("one", ["a"])["a"].tolist() == [9]
    assert len(cache) == 2


def test_max_bytes_of_zero_keeps_nothing():
    cache = EmbeddingCache(max_bytes=0)
    cache.put("one", {"a": row(1)})
    assert len(cache) == 0


def test_negative_max_bytes_is_rejected():
    with pytest.raises(ConfigurationError, match="max_bytes"):
        EmbeddingCache(max_bytes=-1)


def test_folder_keeps_rows_between_runs(tmp_path: Path):
    EmbeddingCache(tmp_path / "new").put("one", {"weather \ud800 天气": row(0.1, -2.5)})
    kept = EmbeddingCache(tmp_path / "new").get("one", ["weather \ud800 天气"])
    assert kept["weather \ud800 天气"].tolist() == row(0.1, -2.5).tolist()


def test_dropped_rows_are_read_from_the_folder(tmp_path: Path):
    cache = EmbeddingCache(tmp_path, max_bytes=0)
    cache.put("one", {"a": row(1), "b": row(2)})
    assert {text: kept.tolist() for text, kept in cache.get("one", ["a", "b"]).items()} == {"a": [1], "b": [2]}


@pytest.mark.parametrize("damage", [b"", b"TSV1", b"not a row at all"])
def test_damaged_file_is_written_again(tmp_path: Path, damage: bytes):
    EmbeddingCache(tmp_path).put("one", {"a": row(1, 2)})
    (file,) = tmp_path.rglob("*.vec")
    file.write_bytes(damage)
    cache = EmbeddingCache(tmp_path)
    assert cache.get("one", ["a"]) == {}
    cache.put("one", {"a": row(3, 4)})
    assert EmbeddingCache(tmp_path).get("one", ["a"])["a"].tolist() == [3, 4]


@pytest.mark.parametrize("position", [0, 5, -1])
def test_changed_byte_is_detected(tmp_path: Path, position: int):
    EmbeddingCache(tmp_path).put("one", {"a": row(1, 2)})
    (file,) = tmp_path.rglob("*.vec")
    content = bytearray(file.read_bytes())
    content[position] ^= 1
    file.write_bytes(content)
    assert EmbeddingCache(tmp_path).get("one", ["a"]) == {}


def test_truncated_file_is_detected(tmp_path: Path):
    EmbeddingCache(tmp_path).put("one", {"a": row(1, 2)})
    (file,) = tmp_path.rglob("*.vec")
    file.write_bytes(file.read_bytes()[:-4])
    assert EmbeddingCache(tmp_path).get("one", ["a"]) == {}


def test_no_temporary_files_remain(tmp_path: Path):
    EmbeddingCache(tmp_path).put("one", {str(number): row(number) for number in range(20)})
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 20
    assert {path.suffix for path in files} == {".vec"}


def test_unwritable_folder_is_logged_once(tmp_path: Path, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    cache = EmbeddingCache(blocked)
    cache.put("one", {"a": row(1)})
    cache.put("one", {"b": row(2)})
    assert sorted(cache.get("one", ["a", "b", "c"])) == ["a", "b"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(blocked) in caplog.text


def test_caches_of_one_folder_log_its_error_once(tmp_path: Path, caplog):
    """Each index has its own cache. An error of another folder is logged, too."""
    for name in ("one", "two"):
        (tmp_path / name).write_text("in the way")
    for folder in (tmp_path / "one", str(tmp_path / "one"), f"{tmp_path}/./one/", tmp_path / "two"):
        EmbeddingCache(folder).put("one", {"a": row(1)})
    assert [Path(record.folder).name for record in caplog.records] == ["one", "two"]


def test_tilde_is_the_home_directory(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert EmbeddingCache("~/x").folder == EmbeddingCache(Path("~/x")).folder == tmp_path / "x"
    assert SentenceTransformerEmbedder("m", "~/x").cache_dir == tmp_path / "x"
    assert CallableEmbedder(lambda _: [], id="one", cache_dir="~/x").cache_dir == tmp_path / "x"
    with pytest.raises(ConfigurationError, match="must exist or be creatable"):
        EmbeddingCache("~no-such-user-anywhere/x")


@pytest.mark.parametrize("folder", ["", "  "])
def test_blank_folder_is_rejected(folder: str):
    """A blank folder would mean the working directory."""
    for refused in (
        lambda: EmbeddingCache(folder),
        lambda: SentenceTransformerEmbedder("m", folder),
        lambda: CallableEmbedder(lambda _: [], id="one", cache_dir=folder),
    ):
        with pytest.raises(ConfigurationError, match="must have a name"):
            refused()


def test_processes_share_a_folder(tmp_path: Path):
    code = (
        "import sys, numpy as np\n"
        "from toolsearch.indexes.vector.cache import EmbeddingCache\n"
        "EmbeddingCache(sys.argv[1]).put('one', {str(n): np.full(3, n, np.float32) for n in range(50)})\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(2)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    kept = EmbeddingCache(tmp_path).get("one", map(str, range(50)))
    assert {text: found.tolist() for text, found in kept.items()} == {str(n): [n, n, n] for n in range(50)}


def test_thread_safety(tmp_path: Path):
    cache = EmbeddingCache(tmp_path, max_bytes=10 * (4 + 250))
    start = threading.Barrier(4)

    def work(offset: int) -> int:
        start.wait(10)
        for number in range(60):
            text = str((number + offset) % 30)
            cache.put("one", {text: row(float(text))})
            assert cache.get("one", [text])[text].tolist() == [float(text)]
        return offset

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [0, 1, 2, 3]
    assert len(cache) == 10


def test_killed_writer_leaves_only_complete_rows(tmp_path: Path):
    """An incomplete row counts as missing, and the next process uses the same folder."""
    code = (
        "import itertools, sys, numpy as np\n"
        "from toolsearch.indexes.vector.cache import EmbeddingCache\n"
        "cache = EmbeddingCache(sys.argv[1])\n"
        "for n in itertools.count():\n"
        "    cache.put('one', {str(n): np.full(3, n, np.float32)})\n"
        "    print(n, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        while writer.stdout.readline().strip() != "40":
            assert writer.poll() is None
        writer.kill()
    (tmp_path / "left.part").write_bytes(b"TSV1 and no more")
    kept = EmbeddingCache(tmp_path).get("one", map(str, range(10_000)))
    assert {str(n) for n in range(41)} <= kept.keys()
    assert all(found.tolist() == [float(text)] * 3 for text, found in kept.items())
    EmbeddingCache(tmp_path).put("one", {"next": row(1)})
    assert EmbeddingCache(tmp_path).get("one", ["next"])["next"].tolist() == [1]


def test_folder_in_place_of_a_row_counts_as_missing(tmp_path: Path, caplog):
    """A damaged folder never fails a build."""
    EmbeddingCache(tmp_path).put("one", {"a": row(1), "b": row(2)})
    file = min(tmp_path.rglob("*.vec"))
    file.unlink()
    file.mkdir()
    cache = EmbeddingCache(tmp_path)
    assert len(cache.get("one", ["a", "b"])) == 1
    cache.put("one", {"a": row(1), "b": row(2)})
    assert sorted(cache.get("one", ["a", "b"])) == ["a", "b"]
    assert "embeddings_not_kept" in caplog.text


@pytest.mark.parametrize("ending", ["folder", "file"])
def test_unwritable_row_does_not_affect_other_rows(tmp_path: Path, caplog, ending: str):
    """The error is logged once, whatever its cause."""
    texts = [str(number) for number in range(20)]
    EmbeddingCache(tmp_path).put("one", {texts[0]: row(0)})
    (file,) = tmp_path.rglob("*.vec")
    file.unlink()
    if ending == "folder":
        file.mkdir()
    else:
        file.parent.rmdir()
        file.parent.write_text("in the way")
    cache = EmbeddingCache(tmp_path)
    for _ in range(2):
        cache.put("one", {text: row(float(text)) for text in texts})
    assert sorted(cache.get("one", texts)) == sorted(texts)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert EmbeddingCache(tmp_path).get("one", texts).keys() == set(texts[1:])
