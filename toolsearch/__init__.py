"""A chat client whose tool-calling loop is an advisor, and tool search that discloses tools progressively."""

from .advisor import Advisor, ChunkTransformer
from .augment import AugmentedCall, AugmentedTools
from .chat import (
    ChatChunk,
    ChatRequest,
    ChatResponse,
    ResponseSchema,
    RoundStarted,
    StreamEvent,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from .client import ChatClient
from .clock import Clock, SystemClock
from .disclosure import Disclosure, DisclosureSettings, DisclosureTurn
from .effects import AdvisorFlow, Effect, Perform, RunTools, Sleep, ToolBatchResult
from .errors import (
    AsyncCallableError,
    ConfigurationError,
    DuplicateToolError,
    IndexFailure,
    MemoryFailure,
    MissingExtraError,
    OutputError,
    ProviderError,
    ProviderProtocolError,
    StreamStateError,
    StructuredOutputError,
    ToolSearchError,
)
from .indexes.reference import ToolReference
from .limits import ToolCallLimits
from .loop_state import LoopState
from .memory import (
    AsyncChatMemoryRepository,
    ChatMemory,
    ChatMemoryRepository,
    InMemoryRepository,
    MemoryAdvisor,
    MemoryWindow,
    SessionKey,
    SqliteRepository,
    TokenWindow,
    TurnWindow,
)
from .messages import AssistantMessage, Media, Message, SystemMessage, ToolCall, ToolMessage, Usage, UserMessage
from .model import ChatModel
from .observer import Observer
from .output import JsonOutputConverter, OutputConverter, StructuredOutputAdvisor
from .resolver import ChainedToolResolver, StaticToolResolver, ToolResolver
from .savings import SearchRecord, ToolSearchReport
from .sessions import SessionToolIndex, ToolSearchRequest
from .streams import AsyncChatStream, ChatStream
from .tool import Tool, ToolContext, tool
from .tool_calling import ToolCallingAdvisor
from .tool_search import ToolFilter, ToolSearchAdvisor
from .tool_set import ToolSet

__all__ = [
    "Advisor",
    "AdvisorFlow",
    "AssistantMessage",
    "AsyncCallableError",
    "AsyncChatMemoryRepository",
    "AsyncChatStream",
    "AugmentedCall",
    "AugmentedTools",
    "ChainedToolResolver",
    "ChatChunk",
    "ChatClient",
    "ChatMemory",
    "ChatMemoryRepository",
    "ChatModel",
    "ChatRequest",
    "ChatResponse",
    "ChatStream",
    "ChunkTransformer",
    "Clock",
    "ConfigurationError",
    "Disclosure",
    "DisclosureSettings",
    "DisclosureTurn",
    "DuplicateToolError",
    "Effect",
    "InMemoryRepository",
    "IndexFailure",
    "JsonOutputConverter",
    "LoopState",
    "Media",
    "MemoryAdvisor",
    "MemoryFailure",
    "MemoryWindow",
    "Message",
    "MissingExtraError",
    "Observer",
    "OutputConverter",
    "OutputError",
    "Perform",
    "ProviderError",
    "ProviderProtocolError",
    "ResponseSchema",
    "RoundStarted",
    "RunTools",
    "SearchRecord",
    "SessionKey",
    "SessionToolIndex",
    "Sleep",
    "SqliteRepository",
    "StaticToolResolver",
    "StreamEvent",
    "StreamStateError",
    "StructuredOutputAdvisor",
    "StructuredOutputError",
    "SystemClock",
    "SystemMessage",
    "TokenWindow",
    "Tool",
    "ToolBatchResult",
    "ToolCall",
    "ToolCallLimits",
    "ToolCallingAdvisor",
    "ToolContext",
    "ToolFilter",
    "ToolFinished",
    "ToolMessage",
    "ToolReference",
    "ToolResolver",
    "ToolSearchAdvisor",
    "ToolSearchError",
    "ToolSearchReport",
    "ToolSearchRequest",
    "ToolSet",
    "ToolStarted",
    "TurnFinished",
    "TurnWindow",
    "Usage",
    "UserMessage",
    "tool",
]

__version__ = "0.1.0"
