"""`Pins`: which tools are always sent."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import ConfigurationError
from ..tools.predicates import evaluate_predicate
from ..tools.tool import Tool

if TYPE_CHECKING:
    from .catalog import Catalog

__all__ = ["Pin", "Pins"]

Pin: TypeAlias = str | Tool | Callable[..., Any]

_LOG = logging.getLogger(__name__)
_SOURCE = "source:"


class Pins:
    """Finds the pinned tools of a catalog: by name, glob, source, tool or function, or by one predicate.

    Raises:
        ConfigurationError: if a pin is of another kind.

    Example:
        >>> tools = [Tool("core_time"), Tool("send_mail", source="mail")]
        >>> [tool.name for tool in tools if Pins(["core_*"]).match(tool)]
        ['core_time']
        >>> [tool.name for tool in tools if Pins(["source:mail"]).match(tool)]
        ['send_mail']
    """

    def __init__(self, pins: Iterable[Pin] | Callable[[Tool], bool]) -> None:
        self._predicate = pins if callable(pins) and not isinstance(pins, Tool) else None
        self._pins: tuple[Pin, ...] = ()
        self._warned: set[Pin] = set()
        if self._predicate is None:
            if isinstance(pins, str | Tool):
                raise ConfigurationError(f"pinned takes a list: pinned=[{pins!r}]")
            self._pins = tuple(pins)  # type: ignore[arg-type]  # a callable was sorted out above
        for pin in self._pins:
            if not isinstance(pin, str | Tool) and not callable(pin):
                raise ConfigurationError(f"a pin is a name, a glob, 'source:NAME', a Tool or a function, not {pin!r}")

    def match(self, tool: Tool) -> bool:
        """Whether `tool` is pinned."""
        if self._predicate is not None:
            return evaluate_predicate(self._predicate(tool), "pinned")
        return any(_matches(pin, tool) for pin in self._pins)

    def among(self, catalog: Catalog) -> tuple[str, ...]:
        """The names of the pinned tools, in the catalog's order; a pin that matches nothing is logged once."""
        if self._predicate is None and not self._pins:
            return ()
        tools = catalog.tools.values()
        for pin in self._pins:
            if pin not in self._warned and not any(_matches(pin, tool) for tool in tools):
                self._warned.add(pin)
                facts = {"pin": str(pin), "tools": len(tools)}
                _LOG.warning("toolsearch.pin_matches_nothing pin=%(pin)s tools=%(tools)d", facts, extra=facts)
        return tuple(tool.name for tool in tools if self.match(tool))


def _matches(pin: Pin, tool: Tool) -> bool:
    if isinstance(pin, str):
        if pin.startswith(_SOURCE):
            return tool.source is not None and fnmatchcase(tool.source, pin.removeprefix(_SOURCE))
        return fnmatchcase(tool.name, pin) or fnmatchcase(tool.original_name, pin)
    return tool is pin or tool.original_name == pin.original_name if isinstance(pin, Tool) else tool.fn == pin
