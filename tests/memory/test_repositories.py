"""Repositories: the contract for both of them, and the features of SQLite."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch import (
    AssistantMessage,
    ChatMemory,
    ConfigurationError,
    InMemoryRepository,
    Media,
    MemoryStoreError,
    SqliteRepository,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolsearch.memory import ConversationInfo, SessionKey
from toolsearch.memory import sqlite_repository as sqlite_module
from toolsearch.memory.encoding import FORMAT, decode_message, encode_message
from toolsearch.testing import ChatMemoryRepositorySuite
from toolsearch.tools import ToolVersion

KEY = SessionKey("ann")


class TestInMemoryContract(ChatMemoryRepositorySuite):
    """The repository contract in memory."""

    def make_repository(self) -> InMemoryRepository:
        return InMemoryRepository()


class TestSqliteContract(ChatMemoryRepositorySuite):
    """The repository contract in an SQLite file."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.path = tmp_path / "chats.db"
        self.opened = []
        yield
        for repository in self.opened:
            repository.close()

    def make_repository(self) -> SqliteRepository:
        self.opened.append(SqliteRepository(self.path))
        return self.opened[-1]


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "chats.db"


def test_file_is_opened_at_first_use(path):
    """A repository can be made at import time and before a fork."""
    SqliteRepository(path)
    assert not path.exists()


def test_conversation_outlives_the_repository(path):
    with SqliteRepository(path) as first:
        first.append(KEY, [UserMessage("Hi"), AssistantMessage("Hello")])
    with SqliteRepository(str(path)) as second:
        assert second.load(KEY) == (UserMessage("Hi"), AssistantMessage("Hello"))


def test_readers_do_not_wait_for_a_writer(path):
    """The file is in WAL mode."""
    with SqliteRepository(path) as repository:
        repository.append(KEY, [UserMessage("Hi")])
        other = sqlite3.connect(path, isolation_level=None)
        try:
            assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            other.execute("BEGIN IMMEDIATE")
            other.execute("DELETE FROM toolsearch_messages")
            assert repository.load(KEY) == (UserMessage("Hi"),)
            other.execute("ROLLBACK")
        finally:
            other.close()


def test_locked_file_raises_after_the_timeout(path):
    """The error names the file, and nothing is half written."""
    with SqliteRepository(path, timeout=0) as repository:
        repository.append(KEY, [UserMessage("1")])
        other = sqlite3.connect(path, isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(MemoryStoreError, match="locked") as caught:
                repository.append(KEY, [UserMessage("2")])
            other.execute("ROLLBACK")
        finally:
            other.close()
        assert "chats.db" in str(caught.value)
        assert isinstance(caught.value.__cause__, sqlite3.OperationalError)
        repository.append(KEY, [UserMessage("3")])
        assert repository.load(KEY) == (UserMessage("1"), UserMessage("3"))


def test_file_of_another_format_raises_and_stays_unchanged(path):
    path.write_text("These are my notes, and no database at all. " * 50)
    before = path.read_bytes()
    repository = SqliteRepository(path)
    with pytest.raises(MemoryStoreError, match=r"chats\.db.*not a database"):
        repository.load(KEY)
    assert path.read_bytes() == before


def test_missing_folder_raises(tmp_path):
    """The folder is not created, as the path may be a typo."""
    with pytest.raises(MemoryStoreError, match="unable to open"):
        SqliteRepository(tmp_path / "no" / "chats.db").load(KEY)


@pytest.mark.parametrize("wrong", ["", ":memory:"])
def test_in_memory_database_is_refused(wrong):
    """Each connection would have a database of its own."""
    with pytest.raises(ConfigurationError, match="InMemoryRepository"):
        SqliteRepository(wrong)


@pytest.mark.parametrize("timeout", [-1, "5", True, None])
def test_invalid_timeout_is_rejected(path, timeout):
    with pytest.raises(ConfigurationError, match=f"timeout must be a number of seconds, 0 or more, got {timeout!r}"):
        SqliteRepository(path, timeout=timeout)


def test_newer_schema_is_refused(path):
    """An old version of the library does not write into a newer file."""
    with SqliteRepository(path) as repository:
        repository.append(KEY, [UserMessage("Hi")])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE toolsearch_schema SET version = 99")
    connection.close()
    for act in (
        lambda r: r.load(KEY),
        lambda r: r.append(KEY, [UserMessage("2")]),
        lambda r: r.replace(KEY, []),
        lambda r: r.delete(KEY),
        lambda r: r.sessions(),
    ):
        with pytest.raises(
            MemoryStoreError, match=r"schema version 99, .* up to 2: a newer version wrote it\. Upgrade"
        ):
            act(SqliteRepository(path))
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM toolsearch_messages").fetchone() == (1,)
    connection.close()


def test_older_schema_is_migrated_step_by_step(path, monkeypatch):
    """A file of version 1 becomes version 3 in one transaction and keeps its messages."""
    with SqliteRepository(path) as old:
        old.append(KEY, [UserMessage("Hi")])
    done = []

    def add_column(connection):
        done.append("column")
        connection.execute("ALTER TABLE toolsearch_messages ADD COLUMN note TEXT")

    def fill(connection):
        done.append("fill")
        connection.execute("UPDATE toolsearch_messages SET note = 'kept'")

    monkeypatch.setattr(sqlite_module, "MIGRATIONS", (*sqlite_module.MIGRATIONS, add_column, fill))
    with SqliteRepository(path) as new:
        assert new.load(KEY) == (UserMessage("Hi"),)
        new.append(KEY, [UserMessage("2")])
    assert done == ["column", "fill"]
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT note FROM toolsearch_messages").fetchall() == [("kept",), (None,)]
    assert connection.execute("SELECT version FROM toolsearch_schema").fetchall() == [(len(sqlite_module.MIGRATIONS),)]
    connection.close()


def test_failed_migration_is_rolled_back(path, monkeypatch):
    """The next start tries the same migration again."""
    with SqliteRepository(path) as old:
        old.append(KEY, [UserMessage("Hi")])

    def broken(connection):
        connection.execute("DELETE FROM toolsearch_messages")
        connection.execute("NO SQL")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_module, "MIGRATIONS", (*sqlite_module.MIGRATIONS, broken))
        with pytest.raises(MemoryStoreError, match="syntax error"):
            SqliteRepository(path).load(KEY)
    with SqliteRepository(path) as again:
        assert again.load(KEY) == (UserMessage("Hi"),)


def test_other_tables_of_the_file_stay_unchanged(path):
    """The file may belong to the application."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE messages (id INTEGER)")
    connection.execute("INSERT INTO messages VALUES (7)")
    connection.commit()
    connection.close()
    with SqliteRepository(path) as repository:
        repository.append(KEY, [UserMessage("Hi")])
        repository.delete(KEY)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT id FROM messages").fetchall() == [(7,)]
    connection.close()


def test_repository_can_be_used_after_close(path):
    repository = SqliteRepository(path)
    repository.append(KEY, [UserMessage("1")])
    repository.close()
    repository.close()
    repository.append(KEY, [UserMessage("2")])
    assert len(repository.load(KEY)) == 2
    repository.close()


def open_files(path: Path) -> list[str]:
    """Return the names of the database files that this process has open."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = entry.readlink()
        except OSError:  # the listing's own
            continue
        if target.name.startswith(path.name):
            found.append(target.name)
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
@pytest.mark.parametrize("end", ["close", "drop"])
def test_no_connection_is_left_open(path, end):
    """Neither `close` nor a dropped repository leaks a connection of any thread."""
    repository = SqliteRepository(path)
    threads = [threading.Thread(target=repository.append, args=(KEY, [UserMessage("Hi")])) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert open_files(path)
    if end == "close":
        repository.close()
    else:
        del repository, threads, thread
        gc.collect()
    assert open_files(path) == []


def test_connection_in_use_is_closed_after_its_call(path):
    """`close` during a call of another thread neither breaks the call nor leaks its connection."""
    repository = SqliteRepository(path)
    repository.append(KEY, [UserMessage("1")])
    with repository._connection() as connection:
        repository.close()
        assert connection.execute("SELECT count(*) FROM toolsearch_messages").fetchone() == (1,)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


WRITER = """
    import sys
    from toolsearch import AssistantMessage, SqliteRepository, UserMessage
    from toolsearch.memory import SessionKey

    path, name = sys.argv[1:]
    print("ready", flush=True)
    sys.stdin.readline()
    with SqliteRepository(path) as repository:
        for turn in range(25):
            text = f"{name}.{turn}"
            repository.append(SessionKey("shared"), [UserMessage(text), AssistantMessage(text)])
            repository.append(SessionKey(name), [UserMessage(text)])
            assert len(repository.load(SessionKey("shared"))) % 2 == 0
"""


def test_several_processes_write_one_file(path):
    """Processes that open a new file at the same moment lose no turn, and keep the order of each process."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(WRITER), str(path)]
    writers = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for name in "abcd"
    ]
    for writer in writers:
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    errors = [writer.communicate()[1].decode() for writer in writers]
    assert errors == [""] * 4
    with SqliteRepository(path) as repository:
        texts = [message.text for message in repository.load(SessionKey("shared"))]
        assert texts[::2] == texts[1::2]
        assert len(texts) == 4 * 25 * 2
        for name in "abcd":
            expected = [f"{name}.{turn}" for turn in range(25)]
            assert [text for text in texts[::2] if text.startswith(f"{name}.")] == expected
            assert [message.text for message in repository.load(SessionKey(name))] == expected


def forked(repository: SqliteRepository) -> None:
    inherited = list(repository._connections._idle)
    repository.append(KEY, [UserMessage("child")])
    assert inherited
    assert not set(inherited) & set(repository._connections._idle)
    repository.close()
    for connection in inherited:
        connection.execute("PRAGMA user_version")  # not closed either


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_forked_process_leaves_connections_of_its_parent(path):
    """A web server may fork its workers after it used the repository."""
    repository = SqliteRepository(path)
    repository.append(KEY, [UserMessage("parent")])
    child = multiprocessing.get_context("fork").Process(target=forked, args=(repository,))
    child.start()
    child.join()
    assert child.exitcode == 0
    repository.append(KEY, [UserMessage("parent again")])
    assert [message.text for message in repository.load(KEY)] == ["parent", "child", "parent again"]
    repository.close()


def test_sqlite_is_imported_at_first_use():
    code = "import sys, toolsearch; toolsearch.SqliteRepository; sys.exit('sqlite3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


texts = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=20)
media = st.lists(st.builds(Media, texts, st.binary(max_size=20), st.none() | texts), max_size=2).map(tuple)
calls = st.lists(st.builds(ToolCall, texts, texts, texts), max_size=3).map(tuple)
messages = st.one_of(
    st.builds(SystemMessage, texts),
    st.builds(UserMessage, texts, media),
    st.builds(AssistantMessage, texts, calls),
    st.builds(
        ToolMessage, texts, texts, texts, st.booleans(), media, st.none() | st.lists(texts, max_size=2).map(tuple)
    ),
)


@given(messages)
def test_encoded_message_is_decoded_equal(message):
    assert decode_message(encode_message(message)) == message


def test_the_tools_that_names_mean_are_stored():
    """They do not count in a comparison, so they have a test of their own."""
    tools = (ToolVersion("bank_pay", "bank::pay", "ab12"), ToolVersion("add", "add"))
    assert decode_message(encode_message(ToolMessage("1", "bank_pay", "paid", tools=tools))).tools == tools


def test_message_of_format_1_is_read():
    """Messages that were stored before tool results had `revealed` stay readable."""
    body = b'{"format":1,"role":"tool","call_id":"1","name":"add","content":"3"}'
    assert decode_message(body) == ToolMessage("1", "add", "3", revealed=None)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b'{"format":2,"role":"assistant","text":"","calls":[["1","add","{}"]]}',
            AssistantMessage("", (ToolCall("1", "add"),)),
        ),
        (
            b'{"format":2,"role":"tool","tool_call_id":"1","name":"s","content":"x","is_error":true,"revealed":[]}',
            ToolMessage("1", "s", "x", is_error=True, revealed=()),
        ),
        (
            b'{"format":2,"role":"user","text":"","media":[{"type":"a/b","data":"eA==","url":null}]}',
            UserMessage("", (Media("a/b", b"x"),)),
        ),
    ],
)
def test_message_of_format_2_is_read(body, message):
    assert decode_message(body) == message


def test_message_of_a_newer_version_is_refused():
    value = {**json.loads(encode_message(UserMessage("Hi"))), "format": FORMAT + 1}
    with pytest.raises(MemoryStoreError, match="newer version"):
        decode_message(json.dumps(value).encode())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[]",
        b"null",
        b"{}",
        b'"text"',
        b'{"format":1,"role":"user"}',
        b'{"format":"1","role":"user","text":""}',
        b'{"format":1,"role":["user"],"text":""}',
        b'{"format":1,"role":"assistant","text":"","calls":[["1"]]}',
        b'{"format":1,"role":"user","text":"","media":[{"type":"a","data":"!","url":null}]}',
        b"[" * 100_000,
    ],
)
def test_invalid_body_raises(body):
    with pytest.raises(MemoryStoreError, match="cannot read"):
        decode_message(body)


@dataclass(frozen=True)
class Fancy(UserMessage):
    colour: str = "red"


@pytest.mark.parametrize("wrong", [Fancy("Hi"), "Hi", None])
def test_message_subclasses_are_refused(path, wrong):
    """Fields of a subclass could not be read back."""
    with SqliteRepository(path) as repository:
        with pytest.raises(ConfigurationError, match=type(wrong).__name__):
            repository.append(KEY, [UserMessage("first"), wrong])
        assert repository.load(KEY) == ()


def test_long_conversation_with_media_is_stored(path):
    """A conversation can have a thousand turns and an image of three megabytes."""
    image = Media("image/png", os.urandom(3_000_000))
    turns = [m for n in range(1000) for m in (UserMessage(f"{n}"), AssistantMessage(f"answer {n}"))]
    with SqliteRepository(path) as repository:
        repository.append(KEY, [*turns, UserMessage("see", (image,))])
        assert repository.load(KEY)[-1].media == (image,)
        assert len(repository.load(KEY)) == 2001


@pytest.mark.parametrize("wrong", [InMemoryRepository, object(), None, "chats.db"])
def test_chat_memory_rejects_other_objects_as_repository(wrong):
    """A class instead of an instance is the most common mistake."""
    with pytest.raises(ConfigurationError, match=r"repository must be .*InMemoryRepository\(\)"):
        ChatMemory(wrong)


def test_chat_memory_refuses_unpaired_calls_and_other_objects():
    """A compaction that separates a tool call from its result fails before it is stored."""
    memory = ChatMemory(InMemoryRepository())
    pair = [AssistantMessage("", (ToolCall("c1", "add"),)), ToolMessage("c1", "add", "3")]
    memory.append("s", pair)
    for wrong in (pair[:1], pair[1:], [pair[1], pair[0]], [pair[0], UserMessage("and?"), pair[1]]):
        with pytest.raises(ConfigurationError, match="c1"):
            memory.replace("s", wrong)
        with pytest.raises(ConfigurationError, match="c1"):
            memory.append("s", wrong)
    with pytest.raises(ConfigurationError, match=r"message objects, got 'Hi'; write UserMessage"):
        memory.append("s", ["Hi"])
    assert memory.messages("s") == tuple(pair)


def test_chat_memory_reads_compacts_and_deletes_conversations():
    """The methods of the application act on the sessions of one tenant."""
    memory = ChatMemory(InMemoryRepository())
    memory.append("s", [UserMessage("1"), UserMessage("2")])
    memory.append("t", [UserMessage("3")], tenant_id="acme")
    assert memory.sessions() == ("s",)
    assert memory.sessions(tenant_id="acme") == ("t",)
    memory.replace("s", [SystemMessage("one")], upto=1)
    assert memory.messages("s") == (SystemMessage("one"), UserMessage("2"))
    assert memory.messages("t") == ()
    memory.delete("t", tenant_id="acme")
    assert memory.sessions(tenant_id="acme") == ()
    for wrong in ("", " ", None):
        with pytest.raises(ConfigurationError, match="session_id"):
            memory.messages(wrong)


class Calendar:
    """A clock that tests move."""

    def __init__(self):
        self.day = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        return self.day

    def pass_days(self, days):
        self.day += timedelta(days=days)


@pytest.fixture(params=["memory", "sqlite"])
def dated(request, path):
    """A repository with a clock."""
    calendar = Calendar()
    if request.param == "memory":
        yield InMemoryRepository(now=calendar), calendar
    else:
        with SqliteRepository(path, now=calendar) as repository:
            yield repository, calendar


def test_conversations_of_a_tenant_are_listed_latest_first(dated):
    repository, calendar = dated
    memory = ChatMemory(repository)
    start = calendar.day
    for session, tenant in (("a", "acme"), ("b", "acme"), ("c", None), ("d", "")):
        memory.append(session, [UserMessage("Hi")], tenant_id=tenant)
        calendar.pass_days(1)
    memory.append("a", [UserMessage("again")], tenant_id="acme")
    first, second = memory.conversations(tenant_id="acme")
    assert first == ConversationInfo(SessionKey("a", "acme"), start, start + timedelta(days=4))
    assert second == ConversationInfo(SessionKey("b", "acme"), *[start + timedelta(days=1)] * 2)
    assert memory.conversations(tenant_id="acme", limit=1) == (first,)
    assert [info.key for info in memory.conversations()] == [SessionKey("c")]
    assert [info.key for info in memory.conversations(tenant_id="")] == [SessionKey("d", "")]
    memory.delete("a", tenant_id="acme")
    memory.replace("b", [], tenant_id="acme")
    assert memory.conversations(tenant_id="acme") == ()


def test_conversations_without_changes_are_deleted(dated):
    repository, calendar = dated
    memory = ChatMemory(repository)
    for session in "abc":
        memory.append(session, [UserMessage("Hi")], tenant_id=session)
        calendar.pass_days(30)
    memory.replace("a", [SystemMessage("In short")], tenant_id="a")  # a change
    assert memory.delete_unchanged(timedelta(days=45)) == (SessionKey("b", "b"),)
    assert repository.sessions() == (SessionKey("a", "a"), SessionKey("c", "c"))
    assert memory.conversations(tenant_id="b") == ()
    assert memory.messages("b", tenant_id="b") == ()
    assert memory.delete_unchanged(timedelta(days=45)) == ()
    with pytest.raises(ConfigurationError, match="timedelta"):
        memory.delete_unchanged(45)


def test_file_without_times_is_migrated(path):
    """Conversations of an older version count as changed at the migration."""
    with SqliteRepository(path) as repository:
        repository.append(SessionKey("old", "acme"), [UserMessage("Hi"), AssistantMessage("Hello")])
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE toolsearch_conversations")
        connection.execute("UPDATE toolsearch_schema SET version = 1")
    connection.close()
    before = datetime.now(UTC) - timedelta(seconds=5)
    with SqliteRepository(path) as repository:
        (info,) = repository.conversations("acme")
        assert info.key == SessionKey("old", "acme")
        assert info.created == info.updated > before
        assert repository.load(info.key) == (UserMessage("Hi"), AssistantMessage("Hello"))
        assert repository.delete_unchanged(timedelta(days=1)) == ()


def test_repository_without_times_says_so():
    class Plain:
        load = append = replace = delete = sessions = lambda *_: ()

    memory = ChatMemory(Plain())
    for act in (memory.conversations, lambda: memory.delete_unchanged(timedelta(days=1))):
        with pytest.raises(ConfigurationError, match=r"Plain does not know the times .* DatedRepository"):
            act()
