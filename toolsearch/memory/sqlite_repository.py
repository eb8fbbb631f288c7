"""`SqliteRepository`: conversations in an SQLite file."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..errors import ConfigurationError, MemoryStoreError
from ..messages import Message
from .encoding import decode_message, encode_message
from .repository import SessionKey, sorted_keys
from .sqlite_pool import ConnectionPool

if TYPE_CHECKING:
    from sqlite3 import Connection

__all__ = ["SqliteRepository"]

_BUSY_PAUSE = 0.01


def _create(connection: Connection) -> None:
    # Ids grow, so they order the messages of a session; `append` takes its ids under SQLite's write lock.
    connection.execute(
        "CREATE TABLE toolsearch_messages "
        "(id INTEGER PRIMARY KEY, tenant BLOB NOT NULL, session BLOB NOT NULL, body BLOB NOT NULL)"
    )
    connection.execute("CREATE INDEX toolsearch_by_session ON toolsearch_messages (tenant, session, id)")


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (_create,)
"""The step at position n takes the schema from version n to n + 1; a file is brought to the last one when opened."""


class SqliteRepository:
    """Keeps conversations in a file. Safe from several threads and several processes at once.

    The file is in WAL mode: readers and a writer do not wait for each other, and writers wait their turn. A stored turn
    survives a crash of the process; the last ones may be lost, whole, when the machine itself fails.

    Args:
        path: of the file, created at first use; its folder must exist. WAL needs a local disk.
        timeout: seconds to wait for another writer before `MemoryStoreError` is raised.

    Use it in a ``with`` block, or `close` it, to have its connections closed at a certain moment; it may be used again
    afterwards.

    Raises:
        MemoryStoreError: from every method, when the file cannot be used, or was written by a newer version.

    Example:
        >>> import tempfile
        >>> from toolsearch import UserMessage
        >>> with tempfile.TemporaryDirectory() as folder, SqliteRepository(f"{folder}/chats.db") as repository:
        ...     repository.append(SessionKey("ann"), [UserMessage("Hi")])
        ...     repository.load(SessionKey("ann")), repository.sessions()
        ((UserMessage(text='Hi', media=()),), (SessionKey(session_id='ann', tenant_id=None),))
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 30.0) -> None:
        if os.fspath(path) in ("", ":memory:"):
            raise ConfigurationError(
                "SqliteRepository needs the path of a file; for memory only use InMemoryRepository"
            )
        if timeout < 0:
            raise ConfigurationError(f"timeout is in seconds, 0 or more, not {timeout}")
        self.path = Path(path)
        self._timeout = timeout
        self._connections = ConnectionPool(self._open)
        # Connections that are only dropped would be told of as resources that were not closed.
        self._finalizer = weakref.finalize(self, self._connections.close)

    def load(self, key: SessionKey) -> Sequence[Message]:
        """Return the conversation, oldest message first; empty if there is none."""
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT body FROM toolsearch_messages WHERE tenant = ? AND session = ? ORDER BY id", _columns(key)
            ).fetchall()
        return tuple(decode_message(body) for (body,) in rows)

    def append(self, key: SessionKey, messages: Sequence[Message]) -> None:
        """Add `messages` at the end, together."""
        rows = _rows(key, messages)
        if rows:
            with self._transaction() as connection:
                _insert(connection, rows)

    def replace(self, key: SessionKey, messages: Sequence[Message], *, upto: int | None = None) -> None:
        """Put `messages` in the place of the first `upto` messages, or of all."""
        rows = _rows(key, messages)
        with self._transaction() as connection:
            later = [] if upto is None else self._bodies_after(connection, key, max(0, upto))
            self._delete(connection, key)
            _insert(connection, [*rows, *((*_columns(key), body) for body in later)])

    def delete(self, key: SessionKey) -> None:
        """Forget the conversation."""
        with self._transaction() as connection:
            self._delete(connection, key)

    def sessions(self) -> Sequence[SessionKey]:
        """Return the keys of all conversations that have messages."""
        with self._connection() as connection:
            rows = connection.execute("SELECT DISTINCT tenant, session FROM toolsearch_messages").fetchall()
        return sorted_keys([_key(tenant_id, session) for tenant_id, session in rows])

    def close(self) -> None:
        """Close the connections that are not in use; those in use are closed when they are done."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @staticmethod
    def _bodies_after(connection: Connection, key: SessionKey, count: int) -> list[bytes]:
        rows = connection.execute(
            "SELECT body FROM toolsearch_messages WHERE tenant = ? AND session = ? ORDER BY id LIMIT -1 OFFSET ?",
            (*_columns(key), count),
        )
        return [body for (body,) in rows]

    @staticmethod
    def _delete(connection: Connection, key: SessionKey) -> None:
        connection.execute("DELETE FROM toolsearch_messages WHERE tenant = ? AND session = ?", _columns(key))

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        import sqlite3

        try:
            with self._connections.one() as connection:
                yield connection
        except sqlite3.Error as error:
            raise MemoryStoreError(f"the conversations in {str(self.path)!r} cannot be used: {error}") from error

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._connection() as connection, _immediate(connection):
            yield connection

    def _open(self) -> Connection:
        import sqlite3

        # A connection is used by one thread at a time, though not always by the same one.
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

        # SQLite's own wait for a busy file does not cover the change of mode, when several open a new file at once.
        give_up = time.monotonic() + self._timeout
        while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return  # in WAL mode, or on a disk that cannot have it
            except sqlite3.OperationalError:
                if time.monotonic() >= give_up:
                    raise
                time.sleep(_BUSY_PAUSE)

    def _migrate(self, connection: Connection) -> None:
        if self._version(connection) == len(MIGRATIONS):
            return
        with _immediate(connection):
            version = self._version(connection)  # another process may have been faster
            for step in MIGRATIONS[version:]:
                step(connection)
            connection.execute("CREATE TABLE IF NOT EXISTS toolsearch_schema (version INTEGER NOT NULL)")
            connection.execute("DELETE FROM toolsearch_schema")
            connection.execute("INSERT INTO toolsearch_schema VALUES (?)", (len(MIGRATIONS),))

    def _version(self, connection: Connection) -> int:
        """The version of the schema in the file; 0 where there is none yet."""
        named = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'toolsearch_schema'")
        if named.fetchone() is None:
            return 0
        found = connection.execute("SELECT max(version) FROM toolsearch_schema").fetchone()[0]
        version = found if isinstance(found, int) else 0
        if version > len(MIGRATIONS):
            raise MemoryStoreError(
                f"{str(self.path)!r} has schema version {version}, this version of toolsearch knows up to "
                f"{len(MIGRATIONS)}: a newer version wrote it. Upgrade toolsearch here, or use another file"
            )
        return version


@contextmanager
def _immediate(connection: Connection) -> Iterator[None]:
    """A transaction that has the write lock from its beginning, so that it cannot fail for want of it later."""
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


def _rows(key: SessionKey, messages: Sequence[Message]) -> list[tuple[bytes, bytes, bytes]]:
    columns = _columns(key)
    return [(*columns, encode_message(message)) for message in messages]


def _columns(key: SessionKey) -> tuple[bytes, bytes]:
    """Tenant and session as bytes: any text has some, lone surrogates too, and no tenant is not the empty one."""
    tenant_id = b"" if key.tenant_id is None else b"=" + key.tenant_id.encode("utf-8", "surrogatepass")
    return tenant_id, key.session_id.encode("utf-8", "surrogatepass")


def _key(tenant_id: bytes, session: bytes) -> SessionKey:
    return SessionKey(
        session.decode("utf-8", "surrogatepass"), tenant_id[1:].decode("utf-8", "surrogatepass") if tenant_id else None
    )
