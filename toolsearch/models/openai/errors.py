"""What the SDK raises, as errors of this library. Imported at use: it needs the SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai

from ...errors import ConfigurationError, ProviderError, ProviderProtocolError, ToolSearchError

__all__ = ["provider_errors"]

_TRANSPORTS = {"httpx", "httpx2", "httpcore", "httpcore2"}
_RETRYABLE_KINDS = {"server_error", "rate_limit_error", "rate_limit_exceeded", "overloaded_error", "timeout"}
_FINAL_KINDS = {"insufficient_quota", "billing_hard_limit_reached"}


@contextmanager
def provider_errors(model: str, *, reading: bool = False) -> Iterator[None]:
    """Raise errors of SDK and transport as `ProviderError`, from the original.

    An argument that the SDK does not take, or that cannot be sent, is a `ConfigurationError`; so is a missing key.

    Args:
        model: named in the messages.
        reading: whether a stream is being read, so that nothing can be wrong with the arguments any more.
    """
    try:
        yield
    except openai.APIResponseValidationError as error:
        raise ProviderProtocolError(f"{model}: {error}", status=error.status_code) from error
    except openai.APIConnectionError as error:
        cause = f" ({error.__cause__})" if error.__cause__ is not None else ""
        raise ProviderError(f"{model}: {error}{cause}", retryable=True) from error
    except openai.APIError as error:
        raise _of_api_error(model, error) from error
    except openai.OpenAIError as error:
        raise ConfigurationError(f"{model}: {error}") from error
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise _of_wrong_value(model, error, reading) from error
    except Exception as error:
        # Some versions of the SDK let the transport's own errors out of a running stream.
        if type(error).__module__.partition(".")[0] in _TRANSPORTS:
            raise ProviderError(f"{model}: {type(error).__name__}: {error}", retryable=True) from error
        raise


def _of_wrong_value(model: str, error: Exception, reading: bool) -> ToolSearchError:
    """Something in the SDK stumbled over a value: ours on the way out, the provider's on the way in."""
    if reading or isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return ProviderProtocolError(f"{model}: the provider sent what cannot be read: {error}", retryable=True)
    hint = "; give options that the SDK does not know in extra_body={...}" if isinstance(error, TypeError) else ""
    return ConfigurationError(f"{model}: {error}{hint}")


def _of_api_error(model: str, error: openai.APIError) -> ProviderError:
    status = getattr(error, "status_code", None) or _status_in(error.code)
    kinds = {str(error.type), str(error.code)}
    worth_a_retry = status in (408, 409, 429) or status >= 500 if status else bool(kinds & _RETRYABLE_KINDS)
    retryable = worth_a_retry and not kinds & _FINAL_KINDS
    hint = ""
    if status in (400, 422) and "stream_options" in str(error):
        hint = "; for servers that do not know stream_options, make the model with stream_usage=False"
    return ProviderError(f"{model}: {error}{hint}", status=status, retryable=retryable)


def _status_in(code: Any) -> int | None:
    """A status in the error of a running stream, whose own status was 200."""
    number = int(code) if str(code).isdecimal() else 0
    return number if 400 <= number < 600 else None
