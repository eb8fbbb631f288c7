"""Budgets of tokens and cost for turns and sessions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TypeAlias

from ..errors import ConfigurationError
from ..messages import AssistantMessage, Usage
from ..shared import new_lock
from ..text.tokens import estimate_tokens
from .limits import LimitKind, ReachedLimit
from .requests import ChatRequest
from .responses import ChatResponse
from .turn_record import TurnRecord

__all__ = ["TokenPrice", "TurnBudget", "UsageLimits"]

SessionKey: TypeAlias = tuple[str | None, Hashable]

MAX_SESSIONS = 10_000


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """Prices of a model for a million tokens, in any currency.

    Args:
        input: Price of a million input tokens.
        output: Price of a million output tokens.
        cache_read: Price of a million input tokens that were read from the cache. None means the price of input.
        cache_write: Price of a million input tokens that were written to the cache. None means the price of input.

    Example:
        >>> TokenPrice(input=2.0, output=8.0, cache_read=0.5)(Usage(10_000, 1_000, cache_read_tokens=8_000))
        0.016
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def __call__(self, usage: Usage) -> float:
        """Return the cost of some usage."""
        read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        cost = (usage.input_tokens - read - written) * self.input + usage.output_tokens * self.output
        cost += read * (self.input if self.cache_read is None else self.cache_read)
        cost += written * (self.input if self.cache_write is None else self.cache_write)
        return cost / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLimits:
    """Budgets of tokens and cost. They are checked before each request to the model.

    A request that begins within a budget is completed, so a turn can exceed a budget by one request. A turn that a
    budget ends has the finish reason ``usage_limit`` and `ChatResponse.limit`.

    The usage comes from the responses of the model, also from those that were rejected. If a provider reports no
    usage, it is estimated from the length of the messages, the tools and the answer.

    One object holds the usage of its sessions: use it for every client that shares the budget. It keeps 10,000
    sessions in the memory of the process. Above that, the tenant with the most sessions loses the one that was used
    least recently.

    Args:
        turn_tokens: Input and output tokens of a turn. None sets no limit.
        session_tokens: Input and output tokens of all turns of a session. None sets no limit.
        turn_cost: Cost of a turn, by `price`. None sets no limit.
        session_cost: Cost of all turns of a session, by `price`. None sets no limit.
        price: Function that returns the cost of some usage, such as a `TokenPrice`.

    Raises:
        ConfigurationError: If a limit is not a positive number, or if a limit on the cost has no price.

    Example:
        >>> limits = UsageLimits(turn_tokens=200_000, session_cost=1.5, price=TokenPrice(input=2.0, output=8.0))
        >>> limits.session_usage("ann")
        Usage(input_tokens=0, output_tokens=0, cache_read_tokens=None, cache_write_tokens=None)
    """

    turn_tokens: int | None = None
    session_tokens: int | None = None
    turn_cost: float | None = None
    session_cost: float | None = None
    price: Callable[[Usage], float] | None = None
    _accounts: _Accounts = field(default_factory=lambda: _Accounts(), init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("turn_tokens", "session_tokens", "turn_cost", "session_cost"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ConfigurationError(f"{name} must be a positive number, or None, got {value!r}")
            if name.endswith("_cost") and self.price is None:
                raise ConfigurationError(f"{name} needs a price; write price=TokenPrice(input=2.0, output=8.0)")
        if self.price is not None and not callable(self.price):
            raise ConfigurationError(
                f"price must be a function of the usage, got {self.price!r}; write TokenPrice(input=2.0, output=8.0)"
            )

    def session_usage(self, session_id: str, *, tenant_id: str | None = None) -> Usage:
        """Return the usage of a session so far."""
        return self._accounts.get((tenant_id, session_id))

    def open(self, request: ChatRequest, session: Hashable | None) -> TurnBudget:
        """Begin a turn, or the part of it that sends `request`.

        Args:
            request: The request. Its record knows the usage of the turn.
            session: The session within the tenant, or None if there is none.
        """
        return TurnBudget(self, request.record, None if session is None else (request.tenant_id, session))


class TurnBudget:
    """The budgets of one turn.

    Args:
        limits: The limits.
        record: The record of the turn, or None if the driver keeps none.
        session: The tenant and the session, or None.

    Example:
        >>> record = TurnRecord()
        >>> budget = TurnBudget(UsageLimits(turn_tokens=1_000), record, session=None)
        >>> record.end_answer(ChatResponse.from_text("Hello", usage=Usage(900, 200)))
        >>> str(budget.reached())
        'the budget of 1,000 tokens of the turn is used up'
    """

    def __init__(self, limits: UsageLimits, record: TurnRecord | None, session: SessionKey | None) -> None:
        self._limits = limits
        self._keeps_record = record is not None
        self._record = record or TurnRecord()
        self._session = session
        self._estimated = Usage()
        self._settled = self._record.usage  # another part of the turn has counted this already

    def reached(self) -> ReachedLimit | None:
        """Return the budget that is used up, or None."""
        limits, turn = self._limits, self._usage
        session = self.settle()
        checks: tuple[tuple[LimitKind, float | None, Usage], ...] = (
            ("turn_tokens", limits.turn_tokens, turn),
            ("turn_cost", limits.turn_cost, turn),
            ("session_tokens", limits.session_tokens, session),
            ("session_cost", limits.session_cost, session),
        )
        for kind, limit, usage in checks:
            if limit is not None and self._amount(kind, usage) >= limit:
                return ReachedLimit(kind, limit)
        return None

    def count(self, request: ChatRequest, response: ChatResponse) -> None:
        """Count what the record does not: the estimate for a response without usage, and all usage without a record."""
        if not response.usage.total:
            self._estimated += estimate_usage(request, response)
        elif not self._keeps_record:
            self._estimated += response.usage

    def settle(self) -> Usage:
        """Add what is new to the usage of the session, and return that. Idempotent."""
        usage = self._usage
        new = Usage(*(now - before for now, before in zip(_numbers(usage), _numbers(self._settled), strict=True)))
        self._settled = usage
        return Usage() if self._session is None else self._limits._accounts.add(self._session, new)

    @property
    def _usage(self) -> Usage:
        return self._record.usage + self._estimated

    def _amount(self, kind: LimitKind, usage: Usage) -> float:
        price = self._limits.price
        return price(usage) if kind.endswith("_cost") and price is not None else usage.total


def estimate_usage(request: ChatRequest, response: ChatResponse) -> Usage:
    """Estimate the usage of one request from its length, with definitions and calls of tools."""
    texts = [message.text for message in request.messages]
    texts += [
        f"{call.name}{call.arguments}"
        for message in request.messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    ]
    texts += [f"{tool.name}{tool.description}{tool.parameters}" for tool in request.tools]
    answer = [response.text, *(f"{call.name}{call.arguments}" for call in response.tool_calls)]
    return Usage(sum(map(estimate_tokens, texts)), sum(map(estimate_tokens, answer)))


class _Accounts:
    """The usage of sessions, by tenant. Safe for use from several threads."""

    def __init__(self) -> None:
        self._tenants: dict[str | None, OrderedDict[Hashable, Usage]] = {}
        self._count = 0
        self._lock = new_lock()

    def get(self, key: SessionKey) -> Usage:
        """Return the usage of a session."""
        with self._lock:
            sessions = self._tenants.get(key[0])
            return Usage() if sessions is None else sessions.get(key[1], Usage())

    def add(self, key: SessionKey, usage: Usage) -> Usage:
        """Add to the usage of a session and return the sum."""
        with self._lock:
            sessions = self._tenants.setdefault(key[0], OrderedDict())
            self._count += key[1] not in sessions
            total = sessions[key[1]] = sessions.get(key[1], Usage()) + usage
            sessions.move_to_end(key[1])
            if self._count > MAX_SESSIONS:
                tenant, largest = max(self._tenants.items(), key=lambda item: len(item[1]))
                largest.popitem(last=False)
                self._count -= 1
                if not largest:
                    del self._tenants[tenant]
            return total


def _numbers(usage: Usage) -> tuple[int, int, int, int]:
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens or 0,
        usage.cache_write_tokens or 0,
    )
