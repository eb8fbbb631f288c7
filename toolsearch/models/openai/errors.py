"""Conversion of the SDK's errors to errors of this library. Import it lazily: it needs the SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import openai

from ...errors import ConfigurationError, ProviderError, ProviderProtocolError, ToolSearchError
from ...text.secret import redact_urls
from ..retry_after import parse_retry_after
from .failures import is_transient, reported_failure, status_in

__all__ = ["provider_errors"]

_TRANSPORTS = {"httpx", "httpx2", "httpcore", "httpcore2"}


@contextmanager
def provider_errors(model: str, *, reading: bool = False, max_retries: int = 0) -> Iterator[None]:
    """Convert errors of the SDK and its transport to `ProviderError`, with the original as the cause.

    A missing key, and an argument that the SDK does not accept or cannot send, is a `ConfigurationError`.

    Args:
        model: The model's name, for the messages.
        reading: Whether a stream is being read. Then an error cannot be caused by the arguments.
        max_retries: How often the SDK repeats a request. It does not repeat a stream that has begun.
    """
    try:
        yield
    except openai.APIResponseValidationError as error:
        raise ProviderProtocolError(f"{model}: {_text(error)}", status=error.status_code) from error
    except openai.APIConnectionError as error:
        cause = f" ({_text(error.__cause__)})" if error.__cause__ is not None else ""
        raise ProviderError(f"{model}: {_text(error)}{cause}", retryable=True, retried=max_retries > 0) from error
    except openai.APIError as error:
        raise _from_api_error(model, error, max_retries) from error
    except openai.OpenAIError as error:
        raise ConfigurationError(f"{model}: {_text(error)}") from error
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:
        raise _from_wrong_value(model, error, reading) from error
    except Exception as error:
        # Some versions of the SDK do not convert errors of the transport in a running stream.
        if type(error).__module__.partition(".")[0] in _TRANSPORTS:
            raise ProviderError(f"{model}: {type(error).__name__}: {_text(error)}", retryable=True) from error
        raise


def _text(error: BaseException) -> str:
    return redact_urls(str(error))


def _from_wrong_value(model: str, error: Exception, reading: bool) -> ToolSearchError:
    """Convert an error over a value that was sent, or that the provider returned."""
    if reading or isinstance(error, json.JSONDecodeError | UnicodeDecodeError | RecursionError):
        return ProviderProtocolError(f"{model}: the provider's answer cannot be parsed: {_text(error)}", retryable=True)
    hint = "; pass options that the SDK does not know in extra_body={...}" if isinstance(error, TypeError) else ""
    return ConfigurationError(f"{model}: {_text(error)}{hint}")


def _from_api_error(model: str, error: openai.APIError, max_retries: int) -> ProviderError:
    reported = None if isinstance(error, openai.APIStatusError) else reported_failure({"error": error.body})
    kinds = [str(kind) for kind in (error.type, error.code) if kind is not None]
    text = _text(error)
    status = getattr(error, "status_code", None) or status_in(error.code)
    retryable = is_transient(status, kinds, text)
    if reported is not None:  # an error event of a stream, whose own status was 200
        status, retryable = status or reported.status, reported.retryable
        text = str(reported) if error.message == "An error occurred during streaming" else text
    hint = ""
    if status in (400, 422) and "stream_options" in str(error):
        hint = "; for a server that does not support stream_options, make the model with stream_usage=False"
    headers = error.response.headers if isinstance(error, openai.APIStatusError) else {}
    return ProviderError(
        f"{model}: {text}{hint}",
        status=status,
        retryable=retryable,
        retry_after=parse_retry_after(headers),
        retried=max_retries > 0 and isinstance(error, openai.APIStatusError) and _sdk_retries(error),
    )


def _sdk_retries(error: openai.APIStatusError) -> bool:
    """Return whether the SDK repeats a request after this error."""
    asked = error.response.headers.get("x-should-retry")
    return asked == "true" or (asked != "false" and (error.status_code in (408, 409, 429) or error.status_code >= 500))
