"""Public names for the tools of several servers, from the configuration alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from ...errors import ConfigurationError
from ...tools.names import MAX_NAME_LENGTH, RESERVED_NAMES, is_wire_name, name_digest, readable_name

__all__ = ["Prefix", "PublicNames"]

Prefix: TypeAlias = Literal["auto", "always", "never"] | Callable[[str], str]
"""The rule by which tools get the name of their server, or what a function returns for it, as a prefix."""

_MAX_PREFIX_LENGTH = 40
_SHORTEST_HASH = 8
_HASH_FIRST = re.compile(r"[0-9a-f]{8}(?:[0-9a-f]{4}){0,6}_")


class PublicNames:
    """The rule for public names. A name depends on the configured servers, its own server and its own name.

    It does not depend on what any server lists, on the order of servers, or on which of them run. So it is the same
    in every process and after a restart, and no server can list a tool under the name of another server's tool.

    A prefixed name is ``server_tool``. It belongs to the server with the longest prefix that it begins with. A tool of
    another server, such as ``b_c`` of ``a`` beside a server ``a_b``, is named ``a_HASH_b_c``. So are tools whose name
    would be too long, invalid or reserved, or looks like a name with a hash.

    Args:
        servers: The names of the configured servers.
        prefix: The rule for prefixes.

    Raises:
        ConfigurationError: If two servers would have the same prefix.

    Example:
        >>> names = PublicNames(["a", "a_b"], "auto")
        >>> names.of("a", "x"), names.of("a_b", "c"), names.of("a", "b_c")
        ('a_x', 'a_b_c', 'a_a2338155_b_c')
    """

    def __init__(self, servers: Iterable[str], prefix: Prefix) -> None:
        names = tuple(servers)
        self._prefixes: dict[str, str] = {}
        if callable(prefix):
            self._prefixes = {server: _validated(server, prefix(server)) for server in names}
        elif prefix == "always" or (prefix == "auto" and len(names) > 1):
            self._prefixes = {server: _prefix_of(server) for server in names}
        owners: dict[str, str] = {}
        for server, own in self._prefixes.items():
            if (other := owners.setdefault(own, server)) != server:
                raise ConfigurationError(
                    f"the MCP servers {other!r} and {server!r} have the same prefix {own!r}; rename one of them"
                )

    def of(self, server: str, tool: str) -> str:
        """Return the public name of a server's tool: its own name, or a prefixed name that providers accept."""
        prefix = self._prefixes.get(server)
        if prefix is None:
            return tool
        plain = f"{prefix}_{tool}"
        if self._is_free(plain, prefix) and not _HASH_FIRST.match(tool):
            return plain
        digest = name_digest(server, tool)
        for length in range(_SHORTEST_HASH, min(len(digest), MAX_NAME_LENGTH - len(prefix) - 3) + 1, 4):
            name = f"{prefix}_{digest[:length]}_{readable_name(tool)}"[:MAX_NAME_LENGTH]
            if self._is_free(name, prefix):
                return name
        raise ConfigurationError(f"every name of the tool {tool!r} of {server!r} belongs to another server")

    def _is_free(self, name: str, prefix: str) -> bool:
        """Return whether providers accept `name`, and it belongs to the server with `prefix`."""
        owner = max((own for own in self._prefixes.values() if name.startswith(f"{own}_")), key=len, default=None)
        return owner == prefix and name not in RESERVED_NAMES and is_wire_name(name)


def _validated(server: str, prefix: object) -> str:
    if not isinstance(prefix, str) or not is_wire_name(prefix) or len(prefix) > _MAX_PREFIX_LENGTH:
        raise ConfigurationError(
            f"prefix must return 1 to {_MAX_PREFIX_LENGTH} letters, digits, '_' or '-', got {prefix!r} for {server!r}"
        )
    return prefix


def _prefix_of(server: str) -> str:
    if is_wire_name(server) and len(server) <= _MAX_PREFIX_LENGTH:
        return server
    tail = f"_{name_digest(server)[:_SHORTEST_HASH]}"
    return readable_name(server)[: _MAX_PREFIX_LENGTH - len(tail)] + tail
