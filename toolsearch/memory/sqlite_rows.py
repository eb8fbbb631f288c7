"""Rows of an SQLite file: keys and messages as columns and back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ..errors import MemoryStoreError
from ..messages import Message
from ..text import short_repr
from .encoding import decode_message, encode_message
from .repository import ConversationInfo, SessionKey

__all__ = ["decode_info", "decode_key", "decode_row", "encode_key", "encode_rows"]


def encode_rows(key: SessionKey, messages: Sequence[Message]) -> list[tuple[bytes, bytes, bytes]]:
    """Return the columns of the messages: tenant, session and body."""
    columns = encode_key(key)
    return [(*columns, encode_message(message)) for message in messages]


def encode_key(key: SessionKey) -> tuple[bytes, bytes]:
    """Encode tenant and session as bytes, lone surrogates included. No tenant differs from the empty tenant."""
    tenant_id = b"" if key.tenant_id is None else b"=" + key.tenant_id.encode("utf-8", "surrogatepass")
    return tenant_id, key.session_id.encode("utf-8", "surrogatepass")


def decode_key(tenant_id: object, session: object) -> SessionKey:
    """Return the key of a row.

    Raises:
        MemoryStoreError: If the columns are damaged.
    """
    try:
        if not isinstance(tenant_id, bytes) or not isinstance(session, bytes):
            raise TypeError("tenant and session must be bytes")
        tenant = tenant_id[1:].decode("utf-8", "surrogatepass") if tenant_id else None
        return SessionKey(session.decode("utf-8", "surrogatepass"), tenant)
    except (TypeError, ValueError) as error:
        raise MemoryStoreError(
            f"cannot read the row of tenant {short_repr(tenant_id)} and session {short_repr(session)}: {error}"
        ) from error


def decode_row(number: object, body: object) -> Message:
    """Return the message of a row.

    Raises:
        MemoryStoreError: If the row is damaged, or a newer version wrote it. The error names the row.
    """
    try:
        return decode_message(body)
    except MemoryStoreError as error:
        raise MemoryStoreError(f"row {number} of toolsearch_messages: {error}") from error.__cause__


def decode_info(tenant_id: object, session: object, created: object, updated: object) -> ConversationInfo:
    """Return what is known about a conversation.

    Raises:
        MemoryStoreError: If the row is damaged.
    """
    key = decode_key(tenant_id, session)
    try:
        return ConversationInfo(key, _decode_time(created), _decode_time(updated))
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise MemoryStoreError(f"cannot read the times of {key}: {error}") from error


def _decode_time(seconds: object) -> datetime:
    if not isinstance(seconds, int | float):
        raise TypeError(f"a time must be a number of seconds, got {short_repr(seconds)}")
    return datetime.fromtimestamp(seconds, UTC)
