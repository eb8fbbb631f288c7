"""`ToolSearchSettings`: the client's advisor from environment variables; needs the extra ``settings``.

Variables begin with ``TOOLSEARCH_``; nothing reads them unless you make an object of this class.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from ..chat.requests import ChatRequest
from ..disclosure.advisor import ToolSearchAdvisor
from ..disclosure.sentences import DEFAULT_INSTRUCTIONS
from ..errors import ConfigurationError, MissingExtraError
from ..eviction import CompositeEviction, EvictionStrategy, LruEviction, TtlEviction
from ..indexes import Bm25ToolIndex, HybridToolIndex, ToolIndex, VectorToolIndex, resolve_index
from ..indexes.vector.encode import require_vector_extra
from ..loop.limits import ToolCallLimits
from ..loop.tool_calling import ToolCallingAdvisor

try:
    from pydantic_settings import BaseSettings, SettingsConfigDict

    from .env_types import Duration, Limit, Limits, Names, Positive
except ImportError as error:
    raise MissingExtraError("settings", "ToolSearchSettings") from error

__all__ = ["ToolSearchSettings"]

_PREFIX = "TOOLSEARCH_"
_FOR_INDEX = {"bm25_min_score": ("bm25", "hybrid"), "embedder": ("vector", "hybrid")}


class ToolSearchSettings(BaseSettings):
    """Every property of tool search and of the tool-calling loop; an unknown name or value is an error.

    Each field is the variable ``TOOLSEARCH_`` and its name in capitals, e.g. ``TOOLSEARCH_MAX_RESULTS=3`` or
    ``TOOLSEARCH_EVICTION_TTL=PT8H``. Lists are written with commas or as JSON, mappings as JSON, None as ``none``.
    Arguments win over variables.

    Raises:
        ConfigurationError: from `load` and `advisor`, for a value that cannot work.

    Example:
        >>> settings = ToolSearchSettings.load(enabled=True, index="regex", max_results=3)
        >>> type(settings.advisor()).__name__
        'ToolSearchAdvisor'
        >>> ToolSearchSettings.load(max_results=20)
        Traceback (most recent call last):
        ...
        toolsearch.errors.ConfigurationError: settings that cannot work: TOOLSEARCH_MAX_RESULTS=20 is more than
        TOOLSEARCH_MAX_RESULTS_LIMIT=10
    """

    model_config = SettingsConfigDict(env_prefix=_PREFIX, env_parse_none_str="none", extra="forbid", frozen=True)

    enabled: bool = Field(default=False, description="Disclose tools progressively; off sends all tools.")
    index: str = Field(default="bm25", description="regex, bm25, vector, hybrid, or a plug-in's name.")
    bm25_min_score: float | None = Field(default=None, ge=0, le=1, description="Share of the query that must match.")
    embedder: str | None = Field(default=None, description="Model name or folder of the vector index.")
    max_results: Positive = Field(default=5, description="Tools a search returns unless the model asks otherwise.")
    max_results_limit: Positive = Field(default=10, description="The most the model may ask for.")
    session_id_key: str | None = Field(default=None, description="Read the session id from this key of the context.")
    keep_revealed: bool = Field(default=True, description="Keep all tools found in a session.")
    instructions: str = Field(default=DEFAULT_INSTRUCTIONS, description="Appended to the system message.")
    order: int = Field(default=300, description="The advisor's place in the chain.")
    eviction_max_sessions: Positive = Field(default=1000, description="Sessions kept, the least recently used go.")
    eviction_ttl: Duration | None = Field(default=None, description="Sessions idle for longer go too.")
    reveal_all_below: Positive | None = Field(default=None, description="Send all tools below this many tokens.")
    reveal_upfront: int = Field(default=0, ge=0, description="Tools disclosed from the user's own words.")
    max_revealed: Positive | None = Field(default=None, description="Tools disclosed at most.")
    max_searches: Positive | None = Field(default=10, description="Searches per turn.")
    run_unrevealed: bool = Field(default=False, description="Run a tool that was not disclosed yet.")
    pinned: Names = Field(default=(), description="Tools that are always sent: names, globs, source:NAME.")
    max_calls_per_tool_default: Limit = Field(default=40, description="Calls of one tool per turn.")
    max_calls_per_tool: Limits = Field(default={}, description="Other limits, by tool.")
    max_total_tool_calls: Limit = Field(default=150, description="Tool calls per turn.")
    excluded_tools: Names = Field(default=(), description="Tools without a limit of their own.")
    on_limit_exceeded: Literal["end", "answer"] = Field(default="end", description="End the turn, or tell the model.")
    raise_on_error: bool = Field(default=False, description="Raise a tool's error instead of telling the model.")
    resolve_fallback: bool = Field(default=False, description="Run tools that only the advisor's `resolver` knows.")
    tool_calling: bool = Field(default=True, description="For `ChatClient(tool_calling=settings.tool_calling)`.")

    @model_validator(mode="after")
    def _no_unknown_variables(self) -> Self:
        known = {_variable(name) for name in type(self).model_fields}
        for name in os.environ:
            if name.upper().startswith(_PREFIX) and name.upper() not in known:
                close = get_close_matches(name.upper(), known, 1)
                raise ValueError(f"{name} is no setting{f'; did you mean {close[0]}?' if close else ''}")
        return self

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.max_results > self.max_results_limit:
            raise ValueError(
                f"{_variable('max_results')}={self.max_results} is more than "
                f"{_variable('max_results_limit')}={self.max_results_limit}"
            )
        for name, indexes in _FOR_INDEX.items():
            if getattr(self, name) is not None and self.index not in indexes:
                raise ValueError(f"{_variable(name)} has no effect with {_variable('index')}={self.index}")
        try:
            self._make_index()
            if self.index in ("vector", "hybrid"):
                require_vector_extra()
        except (ConfigurationError, MissingExtraError) as error:
            raise ValueError(f"{_variable('index')}={self.index}: {error}") from error
        return self

    @classmethod
    def load(cls, **values: Any) -> Self:
        """Read the variables; `values` win over them.

        Raises:
            ConfigurationError: naming each variable that is wrong, and why.
        """
        try:
            return cls(**values)
        except ValidationError as error:
            problems = "; ".join(map(_problem, error.errors()))
            raise ConfigurationError(f"settings that cannot work: {problems}") from error

    def advisor(self, **options: Any) -> ToolCallingAdvisor:
        """Make the tool advisor that these settings describe.

        Args:
            options: what has no variable: `tool_filter`, `token_counter`, `session_key`, `resolver`, `should_continue`,
                `history`, and exception types as `raise_on_error`.
        """
        limits = ToolCallLimits(
            per_tool=self.max_calls_per_tool_default,
            total=self.max_total_tool_calls,
            overrides=self.max_calls_per_tool,
            exempt=self.excluded_tools,
            on_limit=self.on_limit_exceeded,
        )
        search_options: dict[str, Any] = (
            {} if self.session_id_key is None else {"session_key": partial(_session_in_context, self.session_id_key)}
        )
        for name in ("session_key", "token_counter", "tool_filter"):
            if name in options:
                search_options[name] = options.pop(name)
        options = {"raise_on_error": self.raise_on_error, "resolve_fallback": self.resolve_fallback, **options}
        # Made in any case: what cannot work is an error also while it is switched off.
        search = ToolSearchAdvisor(
            self._make_index(),
            max_results=self.max_results,
            max_results_limit=self.max_results_limit,
            instructions=self.instructions,
            keep_revealed=self.keep_revealed,
            pinned=self.pinned,
            eviction=self._make_eviction(),
            reveal_all_below=self.reveal_all_below,
            reveal_upfront=self.reveal_upfront,
            max_revealed=self.max_revealed,
            max_searches=self.max_searches,
            run_unrevealed=self.run_unrevealed,
            order=self.order,
            limits=limits,
            **search_options,
            **options,
        )
        return search if self.enabled else ToolCallingAdvisor(order=self.order, limits=limits, **options)

    def _make_index(self) -> ToolIndex:
        if self.index == "bm25":
            return Bm25ToolIndex(min_score=self.bm25_min_score)
        if self.index == "vector" and self.embedder is not None:
            return VectorToolIndex(self.embedder)
        if self.index == "hybrid" and self.embedder is not None:
            return HybridToolIndex([Bm25ToolIndex(min_score=self.bm25_min_score), VectorToolIndex(self.embedder)])
        return resolve_index(self.index)

    def _make_eviction(self) -> EvictionStrategy:
        lru = LruEviction(self.eviction_max_sessions)
        return lru if self.eviction_ttl is None else CompositeEviction(lru, TtlEviction(self.eviction_ttl))


def _variable(field: str) -> str:
    return f"{_PREFIX}{field.upper()}"


def _problem(error: ErrorDetails) -> str:
    """One thing that is wrong, under the name of its variable."""
    message = error["msg"].removeprefix("Value error, ")
    return f"{_variable(str(error['loc'][0]))}: {message}" if error["loc"] else message


def _session_in_context(key: str, request: ChatRequest) -> Hashable | None:
    value = request.context.get(key)
    return None if value is None else (request.tenant_id, str(value))
