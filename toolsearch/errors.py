"""Errors of the library, grouped by who has to act.

::

    ToolSearchError
    ├── ConfigurationError (ValueError)      the programmer: a wrong argument or combination of arguments
    │   ├── DuplicateToolError               two tools of one name, or a reserved name
    │   └── AsyncCallableError               something async where a sync method was called
    ├── MissingExtraError (ImportError)      the installer: ``pip install 'toolsearch[...]'``
    ├── ToolArgumentError (ValueError)       the model: its arguments do not fit the tool
    ├── TookTooLongError                     a tool did not return within its timeout
    ├── OutputError (ValueError)             the model: its answer cannot be parsed; raised by converters only
    ├── StructuredOutputError                no answer of the model could be parsed as the requested type
    ├── IndexingError                        an index could not be built or searched
    ├── MemoryStoreError                     a conversation could not be read or stored
    ├── StreamStateError (RuntimeError)      the caller: a stream has no response yet, or was iterated twice
    └── ProviderError                        the model's provider: transport, status, refusal
        └── ProviderProtocolError            the provider's answer does not follow its own format

`StructuredOutputError` is defined in `toolsearch.chat.errors`, because it carries a response.

A mistake of the *model* (a wrong name, wrong arguments, a wrong pattern) does not end a turn. `ToolArgumentError`,
`TookTooLongError` and `OutputError` become a tool result, or a request for a better answer, that says what to change.
"""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = [
    "AsyncCallableError",
    "ConfigurationError",
    "DuplicateToolError",
    "IndexingError",
    "MemoryStoreError",
    "MissingExtraError",
    "OutputError",
    "ProviderError",
    "ProviderProtocolError",
    "StreamStateError",
    "TookTooLongError",
    "ToolArgumentError",
    "ToolSearchError",
]

_Error = TypeVar("_Error", bound="ToolSearchError")


def _restore(kind: type[_Error], args: tuple[Any, ...]) -> _Error:
    return kind.__new__(kind, *args)


class ToolSearchError(Exception):
    """Base class of every error that this library raises. Every subclass can be copied and pickled.

    Attributes:
        response: The turn so far, as a `ChatResponse`, if a request to the model failed in the tool-calling loop: its
            messages and the usage of all its rounds. Otherwise None.
        rejected: The `ChatResponse` of the model that the error is about, or None. It is part of `response`.
    """

    response: Any = None
    rejected: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        # The default calls `__init__` with the message alone, whatever arguments it takes.
        return _restore, (type(self), self.args), self.__dict__


class ConfigurationError(ToolSearchError, ValueError):
    """An argument, or a combination of arguments, that cannot work; the message says what to write instead."""


class DuplicateToolError(ConfigurationError):
    """Two tools with the same name, or a tool with a reserved name."""


class AsyncCallableError(ConfigurationError):
    """An async tool, advisor or model in a sync call (``call``, ``stream``); use ``acall`` or ``astream``."""


class MissingExtraError(ToolSearchError, ImportError):
    """An optional dependency that is not installed.

    Attributes:
        extra: The extra of this distribution that installs it, e.g. ``"vector"``.
    """

    def __init__(self, extra: str, feature: str) -> None:
        self.extra = extra
        self._feature = feature
        super().__init__(f"{feature} needs the extra {extra!r}; install it with: pip install 'toolsearch[{extra}]'")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.extra, self._feature), self.__dict__  # sets `msg` of ImportError


class IndexingError(ToolSearchError):
    """An index that cannot be built or searched; the engine's own error is the ``__cause__``."""


class OutputError(ToolSearchError, ValueError):
    """An answer of the model that cannot be parsed. Converters raise it; the message tells the model what to change."""


class MemoryStoreError(ToolSearchError):
    """A conversation that cannot be read or stored; the store's own error is the ``__cause__``."""


class StreamStateError(ToolSearchError, RuntimeError):
    """A stream whose response is requested before its end, or that is iterated twice."""


class ProviderError(ToolSearchError):
    """A failure of the model's provider; the SDK's own error is the ``__cause__``.

    Attributes:
        status: The HTTP status, or None if there was no HTTP response.
        retryable: Whether the same request can succeed later (429, 5xx, a broken connection).
    """

    def __init__(self, message: str, *, status: int | None = None, retryable: bool = False) -> None:
        self.status = status
        self.retryable = retryable
        super().__init__(message)


class ProviderProtocolError(ProviderError):
    """An answer that does not follow the provider's own format, e.g. a stream without an end."""


class ToolArgumentError(ToolSearchError, ValueError):
    """Arguments of a tool call that do not fit the tool; the message tells the model what to change."""


class TookTooLongError(ToolSearchError):
    """Work that did not end within its timeout. Not a `TimeoutError`, which the work itself may raise."""
