"""Settings of the tool advisor from environment variables; needs the extra ``settings``.

Variables begin with ``TOOLSEARCH_``. They are read only when a `ToolSearchSettings` is created.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import fields
from datetime import timedelta
from difflib import get_close_matches
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from ..chat.requests import ChatRequest
from ..chat.usage_limits import UsageLimits
from ..disclosure.advisor import ToolSearchAdvisor
from ..disclosure.sentences import DEFAULT_INSTRUCTIONS
from ..disclosure.settings import DisclosureSettings
from ..errors import ConfigurationError, MissingExtraError
from ..eviction import CompositeEviction, EvictionStrategy, LruEviction, TtlEviction
from ..indexes import Bm25ToolIndex, HybridToolIndex, ToolIndex, VectorToolIndex, resolve_index
from ..indexes.vector.encode import require_vector_extra
from ..loop.limits import ToolCallLimits
from ..loop.tool_calling import ToolCallingAdvisor
from ..text.logs import log_event
from ..tools.definition.fields import MIN_RESULT_TOKENS
from ..tools.results.limits import RESULT_TOKENS

try:
    from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

    from .env_values import parse_duration, parse_limit, parse_limits, parse_list, tidy_value
except ImportError as error:
    raise MissingExtraError("settings", "ToolSearchSettings") from error

__all__ = ["ToolSearchSettings"]

logger = logging.getLogger(__name__)

_PREFIX = "TOOLSEARCH_"
# Kubernetes and Compose set these for every service whose name begins with "toolsearch".
_OF_SERVICE = re.compile(rf"{_PREFIX}(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT(?:_\d+_\w+)?|NAME|ENV_\w+)")
_INDEXES_OF_OPTION = {"bm25_min_score": ("bm25", "hybrid"), "embedder": ("vector", "hybrid")}
_DISCLOSURE = DisclosureSettings()
_LIMITS = ToolCallLimits()


class ToolSearchSettings(BaseSettings):
    """Settings of tool search and of the tool-calling loop. An invalid value is an error.

    The variable of a field is ``TOOLSEARCH_`` and its name in capitals, e.g. ``TOOLSEARCH_MAX_RESULTS=3`` or
    ``TOOLSEARCH_EVICTION_TTL=PT8H``. Lists are separated by commas or written as JSON, mappings are written as JSON,
    and None is written as ``none``. White space and quotes around a value, which files of variables leave there, are
    dropped. Arguments override variables. An empty variable counts as not set. A variable whose name resembles a
    setting is logged with the closest setting, and has no effect; other names, such as those that Kubernetes sets for
    a service, are ignored. Defaults of the options of tool search come from `DisclosureSettings`, those of the limits
    from `ToolCallLimits`.

    Raises:
        ConfigurationError: From `load` and `advisor`, if a value cannot work.

    Example:
        >>> settings = ToolSearchSettings.load(enabled=True, index="regex", max_results=3)
        >>> type(settings.advisor()).__name__
        'ToolSearchAdvisor'
        >>> ToolSearchSettings.load(max_results=20)
        Traceback (most recent call last):
        ...
        toolsearch.errors.ConfigurationError: invalid settings: TOOLSEARCH_MAX_RESULTS must be at most
        TOOLSEARCH_MAX_RESULTS_LIMIT=10, got 20
    """

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, env_parse_none_str="none", env_ignore_empty=True, extra="forbid", frozen=True
    )

    enabled: bool = Field(default=False, description="Use tool search. If false, all tools are sent.")
    index: str = Field(default="bm25", description="regex, bm25, vector, hybrid, or the name of a plug-in.")
    bm25_min_score: float | None = Field(default=None, ge=0, le=1, description="Share of the query that must match.")
    embedder: str | None = Field(default=None, description="Model name or folder for the vector index.")
    max_results: int = Field(
        ge=1, default=_DISCLOSURE.max_results, description="Tools per search, unless the model asks for another number."
    )
    max_results_limit: int = Field(
        ge=1, default=_DISCLOSURE.max_results_limit, description="Largest number of tools the model may ask for."
    )
    session_id_key: str | None = Field(default=None, description="Key of the context that holds the session id.")
    keep_revealed: bool = Field(
        default=_DISCLOSURE.keep_revealed, description="Keep all tools that a session found revealed."
    )
    instructions: str = Field(default=DEFAULT_INSTRUCTIONS, description="Text appended to the system message.")
    order: int = Field(default=300, description="Position of the advisor in the chain.")
    eviction_max_sessions: int = Field(
        ge=1, default=1000, description="Number of sessions above which the least recently used is evicted."
    )
    eviction_ttl: timedelta | None = Field(
        default=None, gt=timedelta(0), description="Idle time after which a session is evicted."
    )
    reveal_all_below: int | None = Field(
        ge=1, default=_DISCLOSURE.reveal_all_below, description="Send all tools if they have fewer tokens than this."
    )
    reveal_upfront: int = Field(
        default=_DISCLOSURE.reveal_upfront, ge=0, description="Tools revealed before the first round."
    )
    max_revealed: int | None = Field(
        ge=1, default=_DISCLOSURE.max_revealed, description="Largest number of revealed tools in a session."
    )
    max_searches: int | None = Field(ge=1, default=_DISCLOSURE.max_searches, description="Searches per turn.")
    run_unrevealed: bool = Field(
        default=_DISCLOSURE.run_unrevealed, description="Run a call of a tool that is not revealed yet."
    )
    pinned: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Tools that are always sent: names, globs, source:NAME."
    )
    max_calls_per_tool_default: int | None = Field(default=_LIMITS.per_tool, description="Calls per turn of each tool.")
    max_calls_per_tool: Annotated[Mapping[str, int | None], NoDecode] = Field(
        default={}, description="Other limits, by name of the tool."
    )
    max_total_tool_calls: int | None = Field(default=_LIMITS.total, description="Calls per turn of all tools.")
    exempt: Annotated[tuple[str, ...], NoDecode] = Field(default=(), description="Tools without a limit of their own.")
    on_limit: Literal["end", "answer"] = Field(
        default=_LIMITS.on_limit, description="End the turn at a limit, or answer the call with the limit."
    )
    max_result_tokens: int | None = Field(
        default=RESULT_TOKENS, ge=MIN_RESULT_TOKENS, description="Tokens after which a tool result is cut."
    )
    max_turn_tokens: int | None = Field(default=None, ge=1, description="Budget of tokens of a turn.")
    max_session_tokens: int | None = Field(default=None, ge=1, description="Budget of tokens of a session.")
    raise_on_error: bool = Field(default=False, description="Raise the error of a tool instead of answering the call.")
    resolve_fallback: bool = Field(default=False, description="Run tools that only the `resolver` knows.")
    tool_calling: bool = Field(default=True, description="For `ChatClient(tool_calling=settings.tool_calling)`.")

    _parse_lists = field_validator("pinned", "exempt", mode="before")(parse_list)
    _parse_limit = field_validator("max_calls_per_tool_default", "max_total_tool_calls", mode="before")(parse_limit)
    _parse_limits = field_validator("max_calls_per_tool", mode="before")(parse_limits)
    _parse_duration = field_validator("eviction_ttl", mode="before")(parse_duration)

    _tidy = field_validator("*", mode="before")(tidy_value)  # the last one is the first to run

    @model_validator(mode="after")
    def _warn_of_unknown_variables(self) -> Self:
        known = [_variable(name) for name in type(self).model_fields]
        for name in os.environ:
            upper = name.upper()
            if not upper.startswith(_PREFIX) or upper in known or _OF_SERVICE.fullmatch(upper):
                continue
            if close := get_close_matches(upper.removeprefix(_PREFIX), [one.removeprefix(_PREFIX) for one in known], 1):
                facts = {"variable": name, "closest": f"{_PREFIX}{close[0]}"}
                log_event(logger, logging.WARNING, "unknown_setting", facts, note="; it has no effect")
        return self

    @model_validator(mode="after")
    def _validate_combinations(self) -> Self:
        if self.max_results > self.max_results_limit:
            raise ValueError(
                f"{_variable('max_results')} must be at most "
                f"{_variable('max_results_limit')}={self.max_results_limit}, got {self.max_results}"
            )
        for name, indexes in _INDEXES_OF_OPTION.items():
            if getattr(self, name) is not None and self.index not in indexes:
                raise ValueError(f"{_variable(name)} has no effect with {_variable('index')}={self.index}")
        try:
            self._create_index()
            if self.index in ("vector", "hybrid"):
                require_vector_extra()
        except (ConfigurationError, MissingExtraError) as error:
            raise ValueError(f"{_variable('index')}={self.index}: {error}") from error
        return self

    @classmethod
    def load(cls, **values: Any) -> Self:
        """Read the environment variables.

        Args:
            values: Fields of this class. They override the variables.

        Raises:
            ConfigurationError: If a value is invalid. The message names each variable and its problem.
        """
        try:
            return cls(**values)
        except ValidationError as error:
            problems = "; ".join(map(_describe_problem, error.errors()))
            raise ConfigurationError(f"invalid settings: {problems}") from error

    def advisor(self, **options: Any) -> ToolCallingAdvisor:
        """Create the tool advisor that these settings describe.

        Args:
            options: Options that cannot be written in a variable: `tool_filter`, `token_counter`, `session_key`,
                `resolver`, `should_continue`, `send_history`, `result_store`, `usage_limits`, and exception types as
                `raise_on_error`.

        Raises:
            ConfigurationError: If an option cannot work, even while tool search is switched off.
        """
        limits = ToolCallLimits(
            per_tool=self.max_calls_per_tool_default,
            total=self.max_total_tool_calls,
            overrides=self.max_calls_per_tool,
            exempt=self.exempt,
            on_limit=self.on_limit,
        )
        search_options: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(DisclosureSettings)}
        if self.session_id_key is not None:
            search_options["session_key"] = partial(_session_in_context, self.session_id_key)
        for name in ("session_key", "token_counter"):
            if name in options:
                search_options[name] = options.pop(name)
        options = {
            "raise_on_error": self.raise_on_error,
            "resolve_fallback": self.resolve_fallback,
            "max_result_tokens": self.max_result_tokens,
            "usage_limits": self._create_usage_limits(),
            **options,
        }
        # Created even if it is not used, so that an invalid option is an error while tool search is off.
        search = ToolSearchAdvisor(
            self._create_index(),
            instructions=self.instructions,
            pinned=self.pinned,
            eviction=self._create_eviction(),
            order=self.order,
            limits=limits,
            **search_options,
            **options,
        )
        return search if self.enabled else ToolCallingAdvisor(order=self.order, limits=limits, **options)

    def _create_index(self) -> ToolIndex:
        if self.index == "bm25":
            return Bm25ToolIndex(min_score=self.bm25_min_score)
        if self.index == "vector" and self.embedder is not None:
            return VectorToolIndex(self.embedder)
        if self.index == "hybrid" and self.embedder is not None:
            return HybridToolIndex([Bm25ToolIndex(min_score=self.bm25_min_score), VectorToolIndex(self.embedder)])
        return resolve_index(self.index)

    def _create_usage_limits(self) -> UsageLimits | None:
        if self.max_turn_tokens is None and self.max_session_tokens is None:
            return None
        return UsageLimits(turn_tokens=self.max_turn_tokens, session_tokens=self.max_session_tokens)

    def _create_eviction(self) -> EvictionStrategy:
        lru = LruEviction(self.eviction_max_sessions)
        return lru if self.eviction_ttl is None else CompositeEviction(lru, TtlEviction(self.eviction_ttl))


def _variable(field: str) -> str:
    return f"{_PREFIX}{field.upper()}"


def _describe_unknown(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name.upper() if name.upper().startswith(_PREFIX) else name, list(known), 1)
    return f"{name!r} is not a setting{f'; did you mean {close[0]!r}?' if close else ''}"


def _describe_problem(error: ErrorDetails) -> str:
    if error["type"] == "extra_forbidden":
        return _describe_unknown(str(error["loc"][0]), ToolSearchSettings.model_fields)
    message = error["msg"].removeprefix("Value error, ")
    return f"{_variable(str(error['loc'][0]))}: {message}" if error["loc"] else message


def _session_in_context(key: str, request: ChatRequest) -> Hashable | None:
    value = request.context.get(key)
    return None if value is None else (request.tenant_id, str(value))
