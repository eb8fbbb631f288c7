"""Guards of tools: the application's tool filter, and changes of definitions that a session has seen."""

from .definitions import DefinitionChange, DefinitionRule, DefinitionWatch
from .tool_filter import FilterFailure, ToolFilter, ToolGuard, TurnGuard, ask_strictly

__all__ = [
    "DefinitionChange",
    "DefinitionRule",
    "DefinitionWatch",
    "FilterFailure",
    "ToolFilter",
    "ToolGuard",
    "TurnGuard",
    "ask_strictly",
]
