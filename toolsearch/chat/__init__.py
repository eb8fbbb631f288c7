"""Chat requests and responses, stream events, the model protocol and token counting."""

from .errors import StructuredOutputError
from .events import (
    ChatChunk,
    RoundStarted,
    StreamEvent,
    TextReplaced,
    ToolDefinitionChanged,
    ToolFilterFailed,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    event_from_dict,
)
from .limits import LimitKind, ReachedLimit
from .model import ChatModel, NamedModel, OutputSchemaModel
from .requests import ChatRequest, OutputSchema
from .responses import ChatResponse
from .search_report import SearchRecord, ToolSearchReport
from .tokens import CounterName, EstimateTokenCounter, TiktokenCounter, TokenCounter, count_json, token_counter
from .turn_memory import TurnMemory, TurnMemoryProvider
from .turn_record import BatchRecord, TurnRecord, partial_response
from .usage_limits import TokenPrice, TurnBudget, UsageLimits

__all__ = [
    "BatchRecord",
    "ChatChunk",
    "ChatModel",
    "ChatRequest",
    "ChatResponse",
    "CounterName",
    "EstimateTokenCounter",
    "LimitKind",
    "NamedModel",
    "OutputSchema",
    "OutputSchemaModel",
    "ReachedLimit",
    "RoundStarted",
    "SearchRecord",
    "StreamEvent",
    "StructuredOutputError",
    "TextReplaced",
    "TiktokenCounter",
    "TokenCounter",
    "TokenPrice",
    "ToolDefinitionChanged",
    "ToolFilterFailed",
    "ToolFinished",
    "ToolSearchReport",
    "ToolStarted",
    "TurnBudget",
    "TurnFinished",
    "TurnMemory",
    "TurnMemoryProvider",
    "TurnRecord",
    "UsageLimits",
    "count_json",
    "event_from_dict",
    "partial_response",
    "token_counter",
]
