"""Advisors and the tool-calling loop: the types for authors of advisors."""

from .advisor import Advisor, ChunkTransformer, ChunkTransformerFactory, ToolLoop
from .clock import Clock, SystemClock
from .effects import AdvisorFlow, Effect, Emit, Perform, RunTools, Sleep, ToolBatchResult
from .hooks import Hook
from .limits import ToolCallLimits
from .resolver import ChainedToolResolver, StaticToolResolver, ToolResolver
from .state import LoopState
from .tool_calling import LoopOptions, ToolCallingAdvisor, has_tool_calls

__all__ = [
    "Advisor",
    "AdvisorFlow",
    "ChainedToolResolver",
    "ChunkTransformer",
    "ChunkTransformerFactory",
    "Clock",
    "Effect",
    "Emit",
    "Hook",
    "LoopOptions",
    "LoopState",
    "Perform",
    "RunTools",
    "Sleep",
    "StaticToolResolver",
    "SystemClock",
    "ToolBatchResult",
    "ToolCallLimits",
    "ToolCallingAdvisor",
    "ToolLoop",
    "ToolResolver",
    "has_tool_calls",
]
