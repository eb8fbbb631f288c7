"""`ToolReference`: what an index knows of a tool."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ConfigurationError
from ..text import short_repr
from .canonical_json import canonical_json

__all__ = ["ToolReference"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ToolReference:
    """What is searchable of one tool. Two references with equal content are equal and hash alike.

    Args:
        name: the name a search returns and the model calls.
        description: what the tool does, as the model will read it.
        parameters: the JSON Schema of its arguments (an object schema), or None.
        source: where the tool comes from, e.g. the name of an MCP server; a search category.
        tags: further categories.
        search_text: more words to find it by (aliases, synonyms); indexed, never sent to a model.

    Do not change `parameters` after handing it over: the content hash is computed once.

    Raises:
        ConfigurationError: if the name is empty, a field is of another kind, or `parameters` is no JSON (it holds
            itself, a set, bytes, NaN, ...) or deeper than 500 levels.

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
    _digest: bytes = field(default=b"", init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ConfigurationError(f"the name of a ToolReference is a text that is not empty, not {self.name!r}")
        for field_name, value in (("description", self.description), ("search_text", self.search_text)):
            if not isinstance(value, str):
                raise self._wrong(field_name, "a text", value)
        if not isinstance(self.source, str | None):
            raise self._wrong("source", "a text or None", self.source)
        if not isinstance(self.parameters, Mapping | None):
            raise self._wrong("parameters", "a JSON Schema as a mapping, or None", self.parameters)
        given: object = self.tags
        tags = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
        if not all(isinstance(tag, str) for tag in tags):
            raise self._wrong("tags", "several texts", given)
        object.__setattr__(self, "tags", tags)
        object.__setattr__(self, "_digest", self._hashed())

    def _wrong(self, field_name: str, wanted: str, got: object) -> ConfigurationError:
        return ConfigurationError(
            f"the {field_name} of the ToolReference {self.name!r}: {wanted}, not {short_repr(got)}"
        )

    def _hashed(self) -> bytes:
        schema = None if self.parameters is None else dict(self.parameters)
        try:
            written = canonical_json(schema)
        except ValueError as error:
            what = f"the parameters of the ToolReference {self.name!r} must be a JSON Schema"
            raise ConfigurationError(f"{what} that can be written as JSON: {error}") from error
        text = written + canonical_json([self.name, self.description, self.source, self.tags, self.search_text])
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

    @property
    def digest(self) -> bytes:
        """16 bytes of blake2b over the canonical JSON of all fields; computed once, safe as a shared key."""
        return self._digest

    @property
    def categories(self) -> tuple[str, ...]:
        """The source, if any, then the tags: what a search can be narrowed to."""
        return (self.source, *self.tags) if self.source else self.tags

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, ToolReference) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)
