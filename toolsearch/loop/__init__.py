"""Advisors and the tool-calling loop: the types for authors of advisors."""

from .advisor import Advisor, ChunkTransformer, ChunkTransformerFactory, EventListener, ToolLoop
from .clock import Clock, SystemClock
from .effects import AdvisorFlow, AskModel, Effect, Emit, Perform, RunTools, Sleep, ToolBatchResult
from .hooks import Hook
from .limits import ToolCallLimits
from .resolver import ChainedToolResolver, StaticToolResolver, ToolResolver
from .state import LoopState
from .tool_calling import LoopOptions, ToolCallingAdvisor, has_tool_calls

__all__ = [
    "Advisor",
    "AdvisorFlow",
    "AskModel",
    "ChainedToolResolver",
    "ChunkTransformer",
    "ChunkTransformerFactory",
    "Clock",
    "Effect",
    "Emit",
    "EventListener",
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
