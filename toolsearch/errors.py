"""Errors of the library, grouped by who has to act.

::

    ToolSearchError
    ├── ConfigurationError (ValueError)      the programmer: a wrong argument or combination of arguments
    │   ├── DuplicateToolError               two tools of one name, or a reserved name
    │   └── AsyncCallableError               something async where a sync method was called
    ├── MissingExtraError (ImportError)      the installer: ``pip install 'toolsearch[...]'``
    ├── ToolArgumentError (ValueError)       the model: its arguments do not fit the tool
    ├── TookTooLongError                     a tool did not return within its timeout
    ├── NoFreeThreadError                    earlier calls that were given up hold all threads of a tool or tenant
    ├── OutputError (ValueError)             the model: its answer cannot be parsed; raised by converters only
    ├── StructuredOutputError                no answer of the model could be parsed as the requested type
    ├── IndexingError                        an index could not be built or searched
    ├── MemoryStoreError                     a conversation could not be read or stored
    ├── StreamStateError (RuntimeError)      the caller: a stream has no response yet, or was iterated twice
    └── ProviderError                        the model's provider: transport, status, refusal
        └── ProviderProtocolError            the provider's answer does not follow its own format

`StructuredOutputError` is defined in `toolsearch.chat.errors`, because it carries a response.

An error has two texts. ``str(error)`` is for the application: it can quote commands, addresses and the text of other
errors. `ToolSearchError.public_text` is all that a model or an MCP client reads.

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
    "NoFreeThreadError",
    "OutputError",
    "ProviderError",
    "ProviderProtocolError",
    "StreamStateError",
    "TookTooLongError",
    "ToolArgumentError",
    "ToolSearchError",
]

_INTERNAL = "It failed because of an internal error."

_Error = TypeVar("_Error", bound="ToolSearchError")


def _restore(kind: type[_Error], args: tuple[Any, ...]) -> _Error:
    return kind.__new__(kind, *args)


class ToolSearchError(Exception):
    """Base class of every error that this library raises. Every subclass can be copied and pickled.

    Attributes:
        response: The turn so far, as a `ChatResponse`, if the error ended a turn: its messages, the tool calls that
            were started, and the usage of all its rounds. Otherwise None. `partial_response` returns it for other
            exceptions too.
        rejected: The `ChatResponse` of the model that the error is about, or None. It is part of `response`.
    """

    response: Any = None
    rejected: Any = None
    _public: str | None = _INTERNAL
    """The public text of the class; None if the message itself is written for a model."""

    @property
    def public_text(self) -> str:
        """The text that a model or an MCP client may read: a general sentence, or a message written for a model."""
        return str(self) if self._public is None else self._public

    def __reduce__(self) -> tuple[Any, ...]:
        # The default calls `__init__` with the message alone, whatever arguments it takes.
        return _restore, (type(self), self.args), self.__dict__


class ConfigurationError(ToolSearchError, ValueError):
    """An argument, or a combination of arguments, that cannot work; the message says what to write instead."""

    _public = "It failed because of the configuration of this service."


class DuplicateToolError(ConfigurationError):
    """Two tools with the same name, or a tool with a reserved name."""


class AsyncCallableError(ConfigurationError):
    """An async advisor, store or embedder in a sync call (``call``, ``stream``); use ``acall`` or ``astream``.

    Async tools work in sync calls too: they run on a background event loop.
    """


class MissingExtraError(ToolSearchError, ImportError):
    """An optional dependency that is not installed.

    Attributes:
        extra: The extra of this distribution that installs it, e.g. ``"vector"``.
    """

    _public = "It failed because a component of this service is not installed."

    def __init__(self, extra: str, feature: str) -> None:
        self.extra = extra
        self._feature = feature
        super().__init__(f"{feature} needs the extra {extra!r}; install it with: pip install 'toolsearch[{extra}]'")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.extra, self._feature), self.__dict__  # sets `msg` of ImportError


class IndexingError(ToolSearchError):
    """An index that cannot be built or searched; the engine's own error is the ``__cause__``."""

    _public = "The tools cannot be searched now."


class OutputError(ToolSearchError, ValueError):
    """An answer of the model that cannot be parsed. Converters raise it; the message tells the model what to change."""

    _public = None


class MemoryStoreError(ToolSearchError):
    """A conversation that cannot be read or stored; the store's own error is the ``__cause__``."""

    _public = "The conversation cannot be read or stored now."


class StreamStateError(ToolSearchError, RuntimeError):
    """A stream whose response is requested before its end, or that is iterated twice."""


class ProviderError(ToolSearchError):
    """A failure of the model's provider; the SDK's own error is the ``__cause__``.

    Attributes:
        status: The HTTP status, or None if there was no HTTP response.
        retryable: Whether the same request can succeed later (429, 5xx, a broken connection).
        retry_after: The seconds to wait before the next request, if the provider asks for it, or None.
        retried: Whether the provider's SDK has already repeated the request, with its own delays.
    """

    _public = "The provider of the model failed."

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        retried: bool = False,
    ) -> None:
        self.status = status
        self.retryable = retryable
        self.retry_after = None if retry_after is None else float(retry_after)
        self.retried = retried
        super().__init__(message)


class ProviderProtocolError(ProviderError):
    """An answer that does not follow the provider's own format, e.g. a stream without an end."""


class ToolArgumentError(ToolSearchError, ValueError):
    """Arguments of a tool call that do not fit the tool; the message tells the model what to change."""

    _public = None


class TookTooLongError(ToolSearchError):
    """Work that did not end within its timeout. Not a `TimeoutError`, which the work itself may raise."""

    _public = "It did not end in time."


class NoFreeThreadError(ToolSearchError):
    """Work that cannot start, because threads that were given up, e.g. after a timeout, never end."""

    _public = "Too many earlier calls are still running. Try again later."


def public_text(error: BaseException) -> str:
    """Return the text of any exception that a model or an MCP client may read.

    An exception of another library, or of the application, gives a general sentence.

    Example:
        >>> public_text(OutputError("write one JSON object")), public_text(RuntimeError("password hunter2"))
        ('write one JSON object', 'It failed because of an internal error.')
    """
    return error.public_text if isinstance(error, ToolSearchError) else _INTERNAL


def leaf_errors(error: BaseException) -> list[BaseException]:
    """Return the errors in an exception group, at any depth; for any other error, the error itself.

    Example:
        >>> leaf_errors(ExceptionGroup("group", [ValueError("no"), ExceptionGroup("inner", [KeyError("key")])]))
        [ValueError('no'), KeyError('key')]
    """
    leaves, waiting = [], [error]
    while waiting:
        one = waiting.pop()
        if isinstance(one, BaseExceptionGroup):
            waiting.extend(reversed(one.exceptions))
        else:
            leaves.append(one)
    return leaves
