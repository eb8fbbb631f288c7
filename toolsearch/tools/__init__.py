"""Tools: functions and definitions that a model can call, their names, schemas and validation."""

from ..messages import ToolVersion
from .augment import AugmentedCall, AugmentedTools
from .catalog_file import load_catalog
from .collect import ToolLike, ToolProvider, collect_tools, name_tools
from .context import ToolContext
from .definition.decorator import ResultConverter, ToolOptions, tool
from .guard import DefinitionChange, DefinitionRule, DefinitionWatch, FilterFailure, ToolFilter, ToolGuard, TurnGuard
from .results import ResultLimits, ResultStore, StoredResult, TurnResults, convert_result
from .threads import ToolThreads
from .tool_type import Tool

__all__ = [
    "AugmentedCall",
    "AugmentedTools",
    "DefinitionChange",
    "DefinitionRule",
    "DefinitionWatch",
    "FilterFailure",
    "ResultConverter",
    "ResultLimits",
    "ResultStore",
    "StoredResult",
    "Tool",
    "ToolContext",
    "ToolFilter",
    "ToolGuard",
    "ToolLike",
    "ToolOptions",
    "ToolProvider",
    "ToolThreads",
    "ToolVersion",
    "TurnGuard",
    "TurnResults",
    "collect_tools",
    "convert_result",
    "load_catalog",
    "name_tools",
    "tool",
]
