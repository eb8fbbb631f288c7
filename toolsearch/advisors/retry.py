"""`Retry`: repeats requests to the model that failed for a passing reason."""

from __future__ import annotations

import logging
import random

from ..chat.requests import ChatRequest
from ..chat.responses import ChatResponse
from ..chat.turn_record import TurnRecord
from ..errors import ConfigurationError, ProviderError
from ..loop.effects import AdvisorFlow, Sleep
from ..text import short_repr
from ..text.logs import log_event

__all__ = ["Retry"]

logger = logging.getLogger(__name__)


class Retry:
    """Repeats a request to the model after a `ProviderError` that is `retryable`, with growing delays.

    It repeats one round and not the turn, so no tool runs again. It never repeats what the provider's SDK has repeated
    already (`ProviderError.retried`): set ``OpenAIChatModel(max_retries=0)`` to leave all retries to this advisor.

    In a stream, it does not repeat an answer of which text was already shown, because the user would see the text
    twice. There are two ways to change this: `buffered` holds the text of each round back until it is complete.
    `after_text` repeats anyway, and `TextReplaced` says which text counts.

    Args:
        attempts: The largest number of requests for one answer.
        base_delay: The seconds before the first retry. The delay doubles with each retry.
        max_delay: The largest delay in seconds. If the provider asks for a longer one, the error is raised.
        jitter: The share of a delay that is random, from 0 to 1, so that clients do not retry at the same moment. A
            delay that the provider asked for (`ProviderError.retry_after`) is kept exactly.
        buffered: Whether streamed text is held back until its round is complete.
        after_text: Whether to repeat an answer of which text was already shown.
        order: The position in the chain, by default next to the model.

    Raises:
        ConfigurationError: If an argument cannot work.

    Example:
        >>> from toolsearch import ChatClient
        >>> from toolsearch.testing import FakeClock, ScriptedChatModel
        >>> model = ScriptedChatModel([ProviderError("busy", retryable=True, retry_after=7), "Hello!"])
        >>> clock = FakeClock()
        >>> ChatClient(model, advisors=[Retry()], clock=clock).call("Hi").text
        'Hello!'
        >>> clock.sleeps
        [7.0]
    """

    def __init__(
        self,
        attempts: int = 3,
        *,
        base_delay: float = 1.0,
        max_delay: float = 60.0,
        jitter: float = 0.5,
        buffered: bool = False,
        after_text: bool = False,
        order: int = 900,
    ) -> None:
        if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
            raise ConfigurationError(f"attempts must be an integer of at least 1, got {short_repr(attempts)}")
        if not max_delay >= 0:
            raise ConfigurationError(f"max_delay must be at least 0, got {max_delay!r}; write max_delay=60.0")
        if not 0 <= base_delay <= max_delay:
            raise ConfigurationError(f"base_delay must be between 0 and max_delay={max_delay!r}, got {base_delay!r}")
        if not 0 <= jitter <= 1:
            raise ConfigurationError(f"jitter must be between 0 and 1, got {jitter!r}")
        self.attempts = attempts
        self.base_delay = base_delay
        self.max_delay = max_delay
        self.jitter = jitter
        self.buffered = buffered
        self.after_text = after_text
        self.order = order

    def advise(self, request: ChatRequest) -> AdvisorFlow:
        """Pass the request on, again after each error that a retry can help with."""
        record = request.record or TurnRecord()
        rounds_run = record.rounds_run
        sent = request.replace(buffered=True) if self.buffered else request
        attempt = 1
        while True:
            try:
                response: ChatResponse = yield sent
                return response
            except ProviderError as error:
                delay = self._delay(error, attempt)
                blocked = record.has_run_tools(since=rounds_run) or (record.text_shown and not self.after_text)
                if delay is None or blocked:
                    raise
                facts = {
                    "attempt": attempt,
                    "seconds": delay,
                    "error_type": type(error).__name__,
                    "status": error.status,
                }
            log_event(logger, logging.WARNING, "retry", facts)
            yield Sleep(delay)
            attempt += 1

    def _delay(self, error: ProviderError, attempt: int) -> float | None:
        """Return the seconds to wait before the next attempt, or None to raise the error."""
        if not error.retryable or error.retried or attempt >= self.attempts:
            return None
        if error.retry_after is not None:
            return max(0.0, error.retry_after) if error.retry_after <= self.max_delay else None
        delay = min(self.max_delay, self.base_delay * 2.0 ** min(attempt - 1, 64))
        return delay * (1 - self.jitter * random.random())  # noqa: S311
