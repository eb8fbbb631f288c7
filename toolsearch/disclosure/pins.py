"""Pinned tools: those that are sent in every round."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import ConfigurationError
from ..text.logs import log_event
from ..tools.argument_types import collect_finite
from ..tools.predicates import evaluate_predicate, validate_predicate
from ..tools.tool_type import Tool

if TYPE_CHECKING:
    from .catalog import ToolCatalog

__all__ = ["Pin", "PinnedTools"]

Pin: TypeAlias = str | Tool | Callable[..., Any]

logger = logging.getLogger(__name__)

_SOURCE_PREFIX = "source:"


class PinnedTools:
    """A rule for pinned tools: names, globs, sources, tools and functions, or one predicate.

    Args:
        pins: A list of names, globs (``"core_*"``), identities (``"github::get_issue"``), sources
            (``"source:github"``), `Tool`s and functions, or one predicate ``tool -> bool``.

    Raises:
        ConfigurationError: If a pin is something else, or the predicate cannot be called with a tool.

    Example:
        >>> tools = [Tool("core_time"), Tool("send_mail", source="mail")]
        >>> [tool.name for tool in tools if PinnedTools(["core_*"]).match(tool)]
        ['core_time']
        >>> [tool.name for tool in tools if PinnedTools(["source:mail"]).match(tool)]
        ['send_mail']
    """

    def __init__(self, pins: Iterable[Pin] | Callable[[Tool], bool]) -> None:
        self._predicate = pins if callable(pins) and not isinstance(pins, Tool) else None
        self._pins: tuple[Pin, ...] = ()
        self._warned: set[Pin] = set()
        if self._predicate is not None:
            validate_predicate(self._predicate, "pinned", "tool")
        else:
            if isinstance(pins, str | Tool):
                raise ConfigurationError(f"pinned must be a list: pinned=[{pins!r}]")
            self._pins = collect_finite(pins, "pinned")  # type: ignore[arg-type]  # the predicate was handled above
        for pin in self._pins:
            if not isinstance(pin, str | Tool) and not callable(pin):
                raise ConfigurationError(
                    f"a pin must be a name, a glob, 'source:NAME', a Tool or a function, got {pin!r}"
                )

    def match(self, tool: Tool) -> bool:
        """Return whether `tool` is pinned."""
        if self._predicate is not None:
            return evaluate_predicate(self._predicate(tool), "pinned")
        return any(_matches(pin, tool) for pin in self._pins)

    def names_in(self, catalog: ToolCatalog) -> tuple[str, ...]:
        """Return the names of the pinned tools in the catalog's order. Log once each pin that matches nothing."""
        if self._predicate is None and not self._pins:
            return ()
        tools = catalog.tools.values()
        for pin in self._pins:
            if pin not in self._warned and not any(_matches(pin, tool) for tool in tools):
                self._warned.add(pin)
                facts = {"pin": str(pin), "tools": len(tools)}
                log_event(logger, logging.WARNING, "pin_matches_nothing", facts)
        return tuple(tool.name for tool in tools if self.match(tool))


def _matches(pin: Pin, tool: Tool) -> bool:
    if isinstance(pin, str):
        if pin.startswith(_SOURCE_PREFIX):
            return tool.source is not None and fnmatchcase(tool.source, pin.removeprefix(_SOURCE_PREFIX))
        if "::" in pin:
            return fnmatchcase(tool.identity, pin)
        # A server chooses the own names of its tools, so they match nothing.
        return fnmatchcase(tool.name, pin) or (tool.source is None and fnmatchcase(tool.original_name, pin))
    return tool.identity == pin.identity if isinstance(pin, Tool) else tool.fn == pin
