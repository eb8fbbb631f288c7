"""What can go wrong, by who must act.

::

    ToolSearchError
    ├── ConfigurationError (ValueError)      the programmer: a wrong argument, a wrong combination
    │   ├── DuplicateToolError               two tools of one name, or a reserved name
    │   └── AsyncCallableError               something async was met by a sync driver
    ├── MissingExtraError (ImportError)      the installer: ``pip install 'toolsearch[...]'``
    ├── OutputError (ValueError)             the model: its answer cannot be read; raised by converters only
    ├── StructuredOutputError                no answer of the model could be read as the type asked for
    ├── IndexingError                         an index could not be built or searched
    ├── MemoryStoreError                        a conversation could not be read or stored
    ├── StreamStateError (RuntimeError)      the caller: a stream was asked for what it does not have yet
    └── ProviderError                        the model's provider: transport, status, refusal
        └── ProviderProtocolError            it answered something that is not its own format

What a *model* can mend (a wrong name, wrong arguments, a wrong pattern) is never raised: it
becomes a tool result that says what to change, or with structured output a request for a better answer.
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
    "ToolSearchError",
]


_Error = TypeVar("_Error", bound="ToolSearchError")


def _revived(kind: type[_Error], args: tuple[Any, ...]) -> _Error:
    return kind.__new__(kind, *args)


class ToolSearchError(Exception):
    """The root of every error this library raises on its own account. All of them can be copied and pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default `__init__` would be called with the message alone, whatever it takes.
        return _revived, (type(self), self.args), self.__dict__


class ConfigurationError(ToolSearchError, ValueError):
    """An argument, or a combination of them, cannot work; the message says what to write instead."""


class DuplicateToolError(ConfigurationError):
    """Two tools would have one name for the model, or a tool takes a reserved name."""


class AsyncCallableError(ConfigurationError):
    """A sync driver (``call``, ``stream``) met a coroutine; use ``acall`` or ``astream``."""


class MissingExtraError(ToolSearchError, ImportError):
    """An optional dependency is not installed.

    Attributes:
        extra: the extra of this distribution that brings it, e.g. ``"vector"``.
    """

    def __init__(self, extra: str, feature: str) -> None:
        self.extra = extra
        self._feature = feature
        super().__init__(f"{feature} needs the extra {extra!r}; install it with: pip install 'toolsearch[{extra}]'")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.extra, self._feature), self.__dict__  # so that `msg` of ImportError is set, too


class IndexingError(ToolSearchError):
    """An index could not be built or searched; the engine's own error is the ``__cause__``."""


class OutputError(ToolSearchError, ValueError):
    """A model's answer is not what was asked for; the text tells the model what to change. For converters to raise."""


class MemoryStoreError(ToolSearchError):
    """A conversation could not be read or stored; the store's own error is the ``__cause__``."""


class StreamStateError(ToolSearchError, RuntimeError):
    """A stream was asked for its response before its end, or iterated twice."""


class ProviderError(ToolSearchError):
    """A model's provider failed; the SDK's own error is the ``__cause__``.

    Attributes:
        status: the HTTP status, where there was one.
        retryable: whether trying the same request again can help (429, 5xx, a broken connection).
    """

    def __init__(self, message: str, *, status: int | None = None, retryable: bool = False) -> None:
        self.status = status
        self.retryable = retryable
        super().__init__(message)


class ProviderProtocolError(ProviderError):
    """A provider answered something that is not its own format, e.g. a stream without an end."""


class ToolArgumentError(ValueError):
    """The model's arguments cannot be used; the message is for the model and says what to change."""


class TookTooLongError(Exception):
    """Work did not end within its time. Not a `TimeoutError`, which the work may raise itself."""
