"""A chat client for LLMs with many tools: tool search reveals tools to the model as it finds them.

This package exports what applications use. Types for authors of advisors, indexes, stores and adapters are in the
packages of the first level, e.g. `toolsearch.loop` and `toolsearch.indexes`.
"""

from .advisors import Fallback, Progress, Retry
from .chat import (
    ChatChunk,
    ChatRequest,
    ChatResponse,
    RoundStarted,
    SearchRecord,
    StreamEvent,
    StructuredOutputError,
    TextReplaced,
    TokenPrice,
    ToolFinished,
    ToolSearchReport,
    ToolStarted,
    TurnFinished,
    UsageLimits,
    event_from_dict,
    partial_response,
)
from .client import AsyncChatStream, CallOptions, ChatClient, ChatStream
from .disclosure import ToolSearchAdvisor
from .errors import (
    AsyncCallableError,
    ConfigurationError,
    DuplicateToolError,
    IndexingError,
    MemoryStoreError,
    MissingExtraError,
    NoFreeThreadError,
    OutputError,
    ProviderError,
    ProviderProtocolError,
    StreamStateError,
    ToolArgumentError,
    ToolSearchError,
)
from .indexes.reference import ToolReference
from .loop import Advisor, ToolCallingAdvisor, ToolCallLimits
from .memory import ChatMemory, InMemoryRepository, MemoryAdvisor, SqliteRepository
from .messages import (
    AssistantMessage,
    Media,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
    message_from_dict,
)
from .output import StructuredOutputAdvisor
from .text.secret import Secret
from .tools import AugmentedTools, Tool, ToolContext, tool

__all__ = [
    "Advisor",
    "AssistantMessage",
    "AsyncCallableError",
    "AsyncChatStream",
    "AugmentedTools",
    "CallOptions",
    "ChatChunk",
    "ChatClient",
    "ChatMemory",
    "ChatRequest",
    "ChatResponse",
    "ChatStream",
    "ConfigurationError",
    "DuplicateToolError",
    "Fallback",
    "InMemoryRepository",
    "IndexingError",
    "Media",
    "MemoryAdvisor",
    "MemoryStoreError",
    "Message",
    "MissingExtraError",
    "NoFreeThreadError",
    "OutputError",
    "Progress",
    "ProviderError",
    "ProviderProtocolError",
    "Retry",
    "RoundStarted",
    "SearchRecord",
    "Secret",
    "SqliteRepository",
    "StreamEvent",
    "StreamStateError",
    "StructuredOutputAdvisor",
    "StructuredOutputError",
    "SystemMessage",
    "TextReplaced",
    "TokenPrice",
    "Tool",
    "ToolArgumentError",
    "ToolCall",
    "ToolCallLimits",
    "ToolCallingAdvisor",
    "ToolContext",
    "ToolFinished",
    "ToolMessage",
    "ToolReference",
    "ToolSearchAdvisor",
    "ToolSearchError",
    "ToolSearchReport",
    "ToolStarted",
    "TurnFinished",
    "Usage",
    "UsageLimits",
    "UserMessage",
    "event_from_dict",
    "message_from_dict",
    "partial_response",
    "tool",
]

__version__ = "0.1.0"
