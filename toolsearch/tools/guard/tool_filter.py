"""The tool filter of the application, asked in one place. Whatever it answers but True refuses the tool."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Hashable, Iterable, Sequence
from copy import copy
from typing import NamedTuple, TypeAlias

from ...messages import ToolVersion
from ...text.logs import log_event
from ..context import ToolContext
from ..predicates import validate_predicate
from ..tool_type import Tool
from .definitions import DefinitionChange, DefinitionRule, DefinitionWatch

__all__ = ["FilterFailure", "ToolFilter", "ToolGuard", "TurnGuard", "ask_strictly"]

logger = logging.getLogger(__name__)

ToolFilter: TypeAlias = Callable[[Tool, ToolContext], bool]
"""``(tool, context) -> bool``: whether a session may have a tool. The context has the tenant, the session and the
application's values."""


class FilterFailure(NamedTuple):
    """A tool that was refused because the filter did not answer True or False.

    Attributes:
        tool: The name of the tool.
        source: The source of the tool, or None.
        error: The type of the exception, or of the answer.

    Example:
        >>> FilterFailure("delete_all", None, "KeyError").tool
        'delete_all'
    """

    tool: str
    source: str | None
    error: str


class ToolGuard:
    """The tool filter as every way to list, find, show or run a tool asks it.

    Args:
        tool_filter: The filter, or None to admit every tool.
        on_definition_changed: What becomes of a tool whose definition changed after a session was sent it.

    Attributes:
        watch: The definitions that sessions were sent.

    Raises:
        ConfigurationError: If the filter is async, or cannot be called with a tool and a context, or if the rule for
            changed definitions is unknown.

    Example:
        >>> guard = ToolGuard(lambda tool, context: context.tenant_id == "acme" or tool.name != "delete_all")
        >>> turn = guard.open(ToolContext(tenant_id="other"))
        >>> [tool.name for tool in turn.select([Tool("get_mail"), Tool("delete_all")])]
        ['get_mail']
    """

    __slots__ = ("_filter", "watch")

    def __init__(self, tool_filter: ToolFilter | None = None, on_definition_changed: DefinitionRule = "reveal") -> None:
        if tool_filter is not None:
            validate_predicate(tool_filter, "tool_filter", "tool", "context")
        self._filter = tool_filter
        self.watch = DefinitionWatch(on_definition_changed)

    def remembering(self, watch: DefinitionWatch) -> ToolGuard:
        """Return this guard with the sessions that `watch` remembers, for an advisor that is made for one call."""
        guard = copy(self)
        guard.watch = watch.with_rule_of(self.watch)
        return guard

    @property
    def filters(self) -> bool:
        """True if there is a filter. It belongs to the application and can be slow."""
        return self._filter is not None

    def open(self, context: ToolContext, session: Hashable | None = None) -> TurnGuard:
        """Return the guard of one turn. `session` is the key under which sent definitions are remembered."""
        try:
            hash(session)
        except TypeError:  # what needs a session reports it
            session = None
        return TurnGuard(self._filter, context, self.watch, session)


class TurnGuard:
    """The tool filter for one turn of one session. It never raises.

    Args:
        tool_filter: The filter, or None to admit every tool.
        context: The context of the turn.
        watch: The definitions that sessions were sent, or None to compare none.
        session: The session; None for a turn that is compared with its conversation alone.

    Example:
        >>> TurnGuard(lambda tool, context: "yes", ToolContext()).admits(Tool("get_mail"))  # not True: refused
        False
    """

    __slots__ = ("_context", "_failure", "_filter", "_logged", "_session", "_watch", "_withheld")

    def __init__(
        self,
        tool_filter: ToolFilter | None,
        context: ToolContext,
        watch: DefinitionWatch | None = None,
        session: Hashable | None = None,
    ) -> None:
        self._filter = tool_filter
        self._context = context
        self._failure: FilterFailure | None = None
        self._logged = False
        self._watch = watch
        self._session = session
        self._withheld: frozenset[str] = frozenset()

    @property
    def filters(self) -> bool:
        """True if there is a filter, or if a tool is withheld. A filter belongs to the application and can be slow."""
        return self._filter is not None or bool(self._withheld)

    @property
    def compares_slowly(self) -> bool:
        """True if a function of the application decides about changed definitions."""
        return self._watch is not None and self._watch.is_slow

    def compare(self, tools: Sequence[Tool], seen: Iterable[ToolVersion] = ()) -> tuple[DefinitionChange, ...]:
        """Withhold tools whose definition changed, if the rule says so, and return the changes that are new.

        Args:
            tools: The tools of the turn.
            seen: The definitions that the conversation shows.
        """
        if self._watch is None:
            return ()
        changes, self._withheld = self._watch.compare(self._session, tools, seen, self._context)
        return changes

    def withholds(self, tool: Tool) -> bool:
        """Return whether the tool is withheld because its definition changed."""
        return bool(self._withheld) and tool.identity in self._withheld

    def note_sent(self, tools: Iterable[Tool]) -> None:
        """Remember the definitions that the session is sent."""
        if self._watch is not None:
            self._watch.note_sent(self._session, tools)

    def admits(self, tool: Tool) -> bool:
        """Return whether the session may have the tool now.

        A filter that raises, or that answers with something else than True or False, refuses the tool. The first such
        answer of a turn is logged as an error.
        """
        if self.withholds(tool):
            return False
        if self._filter is None:
            return True
        admitted, failure = ask_strictly(self._filter, tool, self._context)
        if failure is not None:
            self._report(tool, failure)
        return admitted

    def select(self, tools: Iterable[Tool]) -> tuple[Tool, ...]:
        """Return the tools that the session may have, in their order."""
        return tuple(tool for tool in tools if self.admits(tool)) if self.filters else tuple(tools)

    def take_failure(self) -> FilterFailure | None:
        """Return the failure that was not reported yet, or None. There is at most one per turn."""
        failure, self._failure = self._failure, None
        return failure

    def _report(self, tool: Tool, failure: Exception) -> None:
        if self._logged:
            return
        self._logged = True
        kind = failure.args[0] if isinstance(failure, NotABoolError) else type(failure).__name__
        self._failure = FilterFailure(tool.name, tool.source, kind)
        facts = {"tool": tool.name, "source": tool.source, "answer": kind}
        log_event(logger, logging.ERROR, "tool_filter_failed", facts, error=failure, note="; the tool is refused")


class NotABoolError(TypeError):
    """An answer of a filter that is neither True nor False. The argument is the type of the answer."""


def ask_strictly(predicate: Callable[..., object], *arguments: object) -> tuple[bool, Exception | None]:
    """Ask a predicate that guards something. Return False and the reason unless it answers with a bool.

    Args:
        predicate: The predicate. An awaitable is not an answer, because nothing can be awaited here.
        arguments: Its arguments.
    """
    try:
        answer = predicate(*arguments)
    except Exception as error:
        return False, error
    if isinstance(answer, bool):
        return answer, None
    if inspect.iscoroutine(answer):
        answer.close()  # otherwise Python warns that it was never awaited
    return False, NotABoolError(type(answer).__name__)
