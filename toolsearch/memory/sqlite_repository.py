"""Conversations in an SQLite file."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..errors import ConfigurationError, MemoryStoreError
from ..messages import Message
from .repository import ConversationInfo, SessionKey, sorted_keys, utc_now
from .sqlite_file import create_private_file
from .sqlite_pool import ConnectionPool
from .sqlite_rows import decode_info, decode_key, decode_row, encode_key, encode_rows

if TYPE_CHECKING:
    from sqlite3 import Connection

__all__ = ["SqliteRepository"]

_BUSY_RETRY_SECONDS = 0.01
_MAX_TIMEOUT_SECONDS = 1_000_000  # more milliseconds than this overflow in SQLite


def _create(connection: Connection) -> None:
    # Ids increase, so they order the messages of a session: `append` takes its ids under SQLite's write lock.
    connection.execute(
        "CREATE TABLE toolsearch_messages "
        "(id INTEGER PRIMARY KEY, tenant BLOB NOT NULL, session BLOB NOT NULL, body BLOB NOT NULL)"
    )
    connection.execute("CREATE INDEX toolsearch_by_session ON toolsearch_messages (tenant, session, id)")


def _add_times(connection: Connection) -> None:
    # The times of earlier conversations are not known: they count as changed now, so that none is deleted too early.
    connection.execute(
        "CREATE TABLE toolsearch_conversations (tenant BLOB NOT NULL, session BLOB NOT NULL, "
        "created REAL NOT NULL, updated REAL NOT NULL, PRIMARY KEY (tenant, session)) WITHOUT ROWID"
    )
    connection.execute("CREATE INDEX toolsearch_by_update ON toolsearch_conversations (tenant, updated)")
    now = time.time()
    connection.execute(
        "INSERT INTO toolsearch_conversations SELECT DISTINCT tenant, session, ?, ? FROM toolsearch_messages",
        (now, now),
    )


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_create, _add_times)
"""Migrations of the schema: the step at position n leads from version n to n + 1. Opening a file runs missing steps."""


class SqliteRepository:
    """Repository in an SQLite file. Safe from several threads and several processes at once.

    The file is in WAL mode: readers and a writer do not wait for each other, and writers wait for their turn. A stored
    turn survives a crash of the process. If the machine itself fails, the last turns may be lost, each as a whole.

    Use it in a ``with`` block or call `close` to close its connections at a certain moment. It can be used again
    afterwards.

    Args:
        path: The file, which is created at first use with mode 0600. Its folder must exist. WAL needs a local disk.
        timeout: Seconds to wait for another writer before a `MemoryStoreError` is raised.
        now: Returns the current time, for tests.

    Raises:
        ConfigurationError: If `path` does not name a file, or `timeout` is negative.
        MemoryStoreError: From every method, if the file cannot be used or a newer version has written it.

    Example:
        >>> import tempfile
        >>> from toolsearch import UserMessage
        >>> with tempfile.TemporaryDirectory() as folder, SqliteRepository(f"{folder}/chats.db") as repository:
        ...     repository.append(SessionKey("ann"), [UserMessage("Hi")])
        ...     repository.load(SessionKey("ann")), repository.sessions()
        ((UserMessage(text='Hi', media=()),), (SessionKey(session_id='ann', tenant_id=None),))
    """

    def __init__(
        self, path: str | os.PathLike[str], *, timeout: float = 30.0, now: Callable[[], datetime] = utc_now
    ) -> None:
        if os.fspath(path) in ("", ":memory:"):
            raise ConfigurationError(
                f"path must be the path of a file, got {os.fspath(path)!r}; for memory, write InMemoryRepository()"
            )
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout >= 0:
            raise ConfigurationError(f"timeout must be a number of seconds, 0 or more, got {timeout!r}")
        self.path = Path(path)
        self._now = now
        self._timeout = min(timeout, _MAX_TIMEOUT_SECONDS)
        self._connections = ConnectionPool(self._open)
        # Closes the connections of a dropped repository; otherwise Python warns about unclosed resources.
        self._finalizer = weakref.finalize(self, self._connections.close)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    def load(self, key: SessionKey) -> Sequence[Message]:
        """Return the conversation, oldest message first; empty if there is none.

        Raises:
            MemoryStoreError: If the file cannot be used, or a row of it is damaged. The error names the row.
        """
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT id, body FROM toolsearch_messages WHERE tenant = ? AND session = ? ORDER BY id", encode_key(key)
            ).fetchall()
        return tuple(decode_row(number, body) for number, body in rows)

    def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
        """Add `messages` at the end, together."""
        rows = encode_rows(key, messages)
        if rows:
            with self._transaction() as connection:
                _insert(connection, rows)
                self._touch(connection, key)

    def replace(self, key: SessionKey, messages: Sequence[Message], *, upto: int | None = None) -> None:
        """Replace the first `upto` messages, or all of them if `upto` is None."""
        rows = encode_rows(key, messages)
        with self._transaction() as connection:
            later = [] if upto is None else _bodies_after(connection, key, max(0, upto))
            _delete_messages(connection, key)
            kept = [*rows, *((*encode_key(key), body) for body in later)]
            _insert(connection, kept)
            if kept:
                self._touch(connection, key)
            else:
                _delete_times(connection, key)

    def delete(self, key: SessionKey) -> None:
        """Delete the conversation. An unknown one is ignored."""
        with self._transaction() as connection:
            _delete_messages(connection, key)
            _delete_times(connection, key)

    def sessions(self) -> Sequence[SessionKey]:
        """Return the keys of all conversations that have messages, sorted by tenant (None first) and session."""
        with self._connection() as connection:
            rows = connection.execute("SELECT DISTINCT tenant, session FROM toolsearch_messages").fetchall()
        return sorted_keys([decode_key(*row) for row in rows])

    def conversations(self, tenant_id: str | None, *, limit: int | None = None) -> Sequence[ConversationInfo]:
        """Return the conversations of a tenant, or those without a tenant, latest change first."""
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT tenant, session, created, updated FROM toolsearch_conversations WHERE tenant = ? "
                "ORDER BY updated DESC, session LIMIT ?",
                (encode_key(SessionKey("", tenant_id))[0], -1 if limit is None else limit),
            ).fetchall()
        return tuple(decode_info(*row) for row in rows)

    def delete_unchanged(self, age: timedelta) -> Sequence[SessionKey]:
        """Delete the conversations of all tenants that were not changed for `age`, and return their keys."""
        moment = self._now() - age
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT tenant, session FROM toolsearch_conversations WHERE updated < ?", (moment.timestamp(),)
            ).fetchall()
            connection.executemany("DELETE FROM toolsearch_messages WHERE tenant = ? AND session = ?", rows)
            connection.executemany("DELETE FROM toolsearch_conversations WHERE tenant = ? AND session = ?", rows)
        return sorted_keys([decode_key(*row) for row in rows])

    def close(self) -> None:
        """Close idle connections now and connections in use when their call ends. Idempotent."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _touch(self, connection: Connection, key: SessionKey) -> None:
        now = self._now().timestamp()
        connection.execute(
            "INSERT INTO toolsearch_conversations VALUES (?, ?, ?, ?) "
            "ON CONFLICT (tenant, session) DO UPDATE SET updated = excluded.updated",
            (*encode_key(key), now, now),
        )

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        import sqlite3

        try:
            with self._connections.connection() as connection:
                yield connection
        except (sqlite3.Error, UnicodeDecodeError) as error:  # of a damaged file, even the error cannot be decoded
            raise MemoryStoreError(f"cannot use the conversations in {str(self.path)!r}: {error}") from error

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._connection() as connection, _write_transaction(connection):
            yield connection

    def _open(self) -> Connection:
        import sqlite3

        create_private_file(self.path)
        # The pool lends a connection to one thread at a time, but not always to the same one.
        connection = sqlite3.connect(self.path, timeout=self._timeout, isolation_level=None, check_same_thread=False)
        try:
            self._use_wal(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_wal(self, connection: Connection) -> None:
        import sqlite3

        # SQLite's busy timeout does not cover the change of mode when several processes open a new file at once.
        deadline = time.monotonic() + self._timeout
        while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return  # in WAL mode, or on a disk that does not support it
            except sqlite3.OperationalError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_BUSY_RETRY_SECONDS)

    def _migrate(self, connection: Connection) -> None:
        if self._version(connection) == len(MIGRATIONS):
            return
        with _write_transaction(connection):
            version = self._version(connection)  # another process may have migrated the file meanwhile
            for step in MIGRATIONS[version:]:
                step(connection)
            connection.execute("CREATE TABLE IF NOT EXISTS toolsearch_schema (version INTEGER NOT NULL)")
            connection.execute("DELETE FROM toolsearch_schema")
            connection.execute("INSERT INTO toolsearch_schema VALUES (?)", (len(MIGRATIONS),))

    def _version(self, connection: Connection) -> int:
        """Return the version of the schema in the file; 0 for a new file."""
        table = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'toolsearch_schema'")
        if table.fetchone() is None:
            return 0
        found = connection.execute("SELECT max(version) FROM toolsearch_schema").fetchone()[0]
        version = max(0, found) if isinstance(found, int) else 0
        if version > len(MIGRATIONS):
            raise MemoryStoreError(
                f"{str(self.path)!r} has schema version {version}, but this version of toolsearch supports up to "
                f"{len(MIGRATIONS)}: a newer version wrote it. Upgrade toolsearch, or use another file"
            )
        return version


@contextmanager
def _write_transaction(connection: Connection) -> Iterator[None]:
    """Run a transaction that takes the write lock at its beginning, so that it cannot fail to get the lock later."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _insert(connection: Connection, rows: Sequence[tuple[bytes, bytes, bytes]]) -> None:
    connection.executemany("INSERT INTO toolsearch_messages (tenant, session, body) VALUES (?, ?, ?)", rows)


def _bodies_after(connection: Connection, key: SessionKey, count: int) -> list[bytes]:
    rows = connection.execute(
        "SELECT body FROM toolsearch_messages WHERE tenant = ? AND session = ? ORDER BY id LIMIT -1 OFFSET ?",
        (*encode_key(key), count),
    )
    return [body for (body,) in rows]


def _delete_messages(connection: Connection, key: SessionKey) -> None:
    connection.execute("DELETE FROM toolsearch_messages WHERE tenant = ? AND session = ?", encode_key(key))


def _delete_times(connection: Connection, key: SessionKey) -> None:
    connection.execute("DELETE FROM toolsearch_conversations WHERE tenant = ? AND session = ?", encode_key(key))
