"""`ToolReference`: the searchable data of one tool."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ConfigurationError
from ..text import short_repr
from .canonical_json import canonical_json

__all__ = ["ToolReference", "tool_identity"]


def tool_identity(source: str | None, own_name: str) -> str:
    """Return the identity of a tool: its source and the name that the source gave it, or the name without a source.

    Two pairs of source and name never have the same identity.

    Example:
        >>> tool_identity("bank", "pay"), tool_identity(None, "pay"), tool_identity("a::b", "c")
        ('bank::pay', 'pay', 'a%3A%3Ab::c')
    """
    return f"{_escape(source)}::{own_name}" if source else _escape(own_name)


def _escape(text: str) -> str:
    """Return `text` without colons, so that the first ``::`` of an identity follows the source."""
    return text.replace("%", "%25").replace(":", "%3A")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ToolReference:
    """The searchable data of one tool. References with equal content are equal and have the same hash.

    Do not change `parameters` after passing it: the content hash is computed once.

    Args:
        name: The name that a search returns and the model calls.
        description: The description that the model reads.
        parameters: The JSON Schema of the tool's arguments (an object schema), or None.
        source: The origin of the tool, e.g. the name of an MCP server. Searches can be limited to it.
        tags: Further categories that searches can be limited to.
        search_text: More words to find the tool by (aliases, synonyms). They are indexed and never sent to a model.
        own_name: The name that the source gave the tool, if `name` is another one. It is not searched.

    Raises:
        ConfigurationError: If the name is empty, a field has the wrong type, or `parameters` cannot be written as
            JSON (it contains itself, a set, bytes, NaN, ...) or is nested more than 500 levels deep.

    Example:
        >>> ToolReference(name="weather", tags=("outdoors",)) == ToolReference(name="weather", tags=("outdoors",))
        True
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    source: str | None = None
    tags: tuple[str, ...] = ()
    search_text: str = ""
    own_name: str = ""
    _digest: bytes = field(default=b"", init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ConfigurationError(f"ToolReference: name must be a non-empty string, got {short_repr(self.name)}")
        for field_name in ("description", "search_text", "own_name"):
            if not isinstance(value := getattr(self, field_name), str):
                raise self._type_error(field_name, "a string", value)
        if not isinstance(self.source, str | None):
            raise self._type_error("source", "a string or None", self.source)
        if not isinstance(self.parameters, Mapping | None):
            raise self._type_error("parameters", "a JSON Schema as a mapping, or None", self.parameters)
        given: object = self.tags
        tags = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
        if not all(isinstance(tag, str) for tag in tags):
            raise self._type_error("tags", "a list of strings", given)
        object.__setattr__(self, "tags", tags)
        object.__setattr__(self, "_digest", self._compute_digest())

    def _type_error(self, field_name: str, expected: str, got: object) -> ConfigurationError:
        return ConfigurationError(
            f"ToolReference {self.name!r}: {field_name} must be {expected}, got {short_repr(got)}"
        )

    def _compute_digest(self) -> bytes:
        schema = None if self.parameters is None else dict(self.parameters)
        try:
            schema_json = canonical_json(schema)
        except ValueError as error:
            raise ConfigurationError(
                f"ToolReference {self.name!r}: parameters must be a JSON Schema that can be written as JSON: {error}"
            ) from error
        fields = [self.name, self.description, self.source, self.tags, self.search_text]
        text = schema_json + canonical_json([*fields, self.own_name] if self.own_name else fields)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    @property
    def digest(self) -> bytes:
        """The content hash: 16 bytes of blake2b over the canonical JSON of all fields. Suitable as a cache key."""
        return self._digest

    @property
    def identity(self) -> str:
        """The source and the name that it gave the tool. It stays the same whatever other sources list."""
        return tool_identity(self.source, self.own_name or self.name)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that a search can be limited to: the source, if any, then the tags."""
        return (self.source, *self.tags) if self.source else self.tags

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, ToolReference) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)
