"""Assembly of tool calls whose pieces arrive with any index, id and order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...messages import ToolCall
from .answers import arguments_text
from .fields import get_arguments, get_function, get_index, get_text, wrong_type
from .streamed_arguments import StreamedArguments

__all__ = ["StreamedCall", "StreamedCalls"]

MAX_NAME_CHARACTERS = 1_000
"""The length of a tool's name from which further pieces of it are dropped."""


@dataclass(slots=True, eq=False)
class StreamedCall:
    """A tool call of which pieces have arrived."""

    id: str = ""
    name: str = ""
    arguments: StreamedArguments = field(default_factory=StreamedArguments)

    @property
    def is_whole(self) -> bool:
        """True if the arguments are a complete object, and not a placeholder."""
        return self.arguments.is_complete and not self.arguments.is_placeholder


@dataclass(frozen=True, slots=True)
class _Piece:
    index: int | None
    id: str
    name: str
    arguments: str

    @property
    def is_empty(self) -> bool:
        return not (self.id or self.name or self.arguments)

    @property
    def begins_object(self) -> bool:
        return self.arguments.lstrip().startswith("{")


class StreamedCalls:
    """The tool calls of one streamed answer.

    A piece belongs to a call by what it says, because servers differ: some send one index for all parallel calls, some
    another index for the pieces after the first, some no index, no id, or another id with each piece.

    Args:
        names: The names of the tools that the model was sent.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = names
        self._calls: list[StreamedCall] = []
        self._by_id: dict[str, StreamedCall] = {}
        self._by_index: dict[int, StreamedCall] = {}

    def __iter__(self) -> Iterator[StreamedCall]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, fragment: Any) -> ToolCall | None:
        """Add a piece and return it as a `ToolCall`, or None if it is empty.

        Raises:
            ProviderProtocolError: If a field has a wrong type.
        """
        function = get_function(fragment)
        given = get_arguments(function)
        given_id, name = get_text(fragment, "id", or_number=True), get_text(function, "name").strip()
        piece = _Piece(get_index(fragment), given_id, name, arguments_text(given))
        call = self._find(piece)
        is_split = call is not None and call.arguments.length > 0 and not call.arguments.is_complete
        if is_split and isinstance(given, Mapping):
            raise wrong_type("arguments", "a string", given)
        if call is None:
            if piece.is_empty:
                return None
            call = StreamedCall()
            self._calls.append(call)
        if piece.index is not None:
            self._by_index[piece.index] = call
        call.id = call.id or piece.id
        if call.id:
            self._by_id.setdefault(call.id, call)
        self._add_name(call, piece.name)
        call.arguments.add(piece.arguments)
        return ToolCall(call.id, call.name, piece.arguments)

    def _find(self, piece: _Piece) -> StreamedCall | None:
        """Return the call that a piece belongs to, or None if it begins a new call."""
        known = self._by_index.get(piece.index) if piece.index is not None else None
        if piece.id and (known is None or (not piece.name and known.id != piece.id)):
            known = self._by_id.get(piece.id, known)
        if known is None and piece.index is None and piece.name and not piece.id:
            known = self._calls[-1] if self._calls else None
        if known is not None:
            if piece.name:
                return None if self._begins_another(known, piece) else known
            return self._continued(known, piece)
        if piece.name:
            return None
        return self._continued(self._calls[-1] if self._calls else None, piece)

    def _continued(self, call: StreamedCall | None, piece: _Piece) -> StreamedCall | None:
        """Return the call that a piece without a name continues: the expected one, else the last that is not whole."""
        if call is None:
            return None
        if call.is_whole and piece.arguments and not call.arguments.means(piece.arguments):
            return next((other for other in reversed(self._calls) if not other.is_whole), call)
        return call

    def _begins_another(self, call: StreamedCall, piece: _Piece) -> bool:
        """Return whether a piece with a name begins a call of its own, although its place is that of `call`."""
        if not call.name:
            return False
        if call.arguments.is_placeholder and piece.name != call.name:
            return True
        has_another_id = bool(piece.id and call.id and piece.id != call.id)
        if call.is_whole:
            repeats = piece.name == call.name and not has_another_id
            if repeats and (not piece.arguments or call.arguments.means(piece.arguments)):
                return False
            return has_another_id or piece.name != call.name or piece.begins_object
        if has_another_id:
            if piece.name != call.name:
                return True
            return call.arguments.is_placeholder or (not call.arguments.length and not piece.arguments)
        if piece.name == call.name or piece.id:
            return False
        if piece.index is None:
            return not self._continues_name(call, piece.name)
        return piece.name in self._names and call.name in self._names and not self._continues_name(call, piece.name)

    def _continues_name(self, call: StreamedCall, name: str) -> bool:
        """Return whether `name` is the next piece of the name of a call."""
        if call.arguments.length:
            return False
        return any(known.startswith(call.name + name) for known in self._names)

    def _add_name(self, call: StreamedCall, name: str) -> None:
        """Add a name or a piece of one. OpenAI sends the name once; other servers repeat it with every piece."""
        if not name or name == call.name:
            return
        if not call.name or (name in self._names and call.name not in self._names and name.startswith(call.name)):
            call.name = name
        elif not call.arguments.length and len(call.name) <= MAX_NAME_CHARACTERS:
            call.name += name
