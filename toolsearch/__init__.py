"""A chat client whose tool-calling loop is an advisor, and tool search that discloses tools progressively."""

from .chat.errors import StructuredOutputError
from .chat.events import ChatChunk, RoundStarted, StreamEvent, ToolFinished, ToolStarted, TurnFinished
from .chat.model import ChatModel
from .chat.requests import ChatRequest, OutputSchema
from .chat.responses import ChatResponse
from .chat.search_report import SearchRecord, ToolSearchReport
from .client.client import ChatClient
from .client.streams import AsyncChatStream, ChatStream
from .disclosure import Disclosure, DisclosureSettings, DisclosureTurn
from .disclosure.advisor import ToolFilter, ToolSearchAdvisor
from .disclosure.sessions import SessionToolIndex, ToolSearchRequest
from .disclosure.sessions.tool_set import ToolSet
from .errors import (
    AsyncCallableError,
    ConfigurationError,
    DuplicateToolError,
    IndexingError,
    MemoryStoreError,
    MissingExtraError,
    OutputError,
    ProviderError,
    ProviderProtocolError,
    StreamStateError,
    ToolSearchError,
)
from .indexes.reference import ToolReference
from .loop.advisor import Advisor, ChunkTransformer
from .loop.clock import Clock, SystemClock
from .loop.effects import AdvisorFlow, Effect, Perform, RunTools, Sleep, ToolBatchResult
from .loop.limits import ToolCallLimits
from .loop.resolver import ChainedToolResolver, StaticToolResolver, ToolResolver
from .loop.state import LoopState
from .loop.tool_calling import ToolCallingAdvisor
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
from .observability.observer import Observer
from .output import JsonOutputConverter, OutputConverter, StructuredOutputAdvisor
from .tools.augment import AugmentedCall, AugmentedTools
from .tools.tool import Tool, ToolContext, tool

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
    "IndexingError",
    "JsonOutputConverter",
    "LoopState",
    "Media",
    "MemoryAdvisor",
    "MemoryStoreError",
    "MemoryWindow",
    "Message",
    "MissingExtraError",
    "Observer",
    "OutputConverter",
    "OutputError",
    "OutputSchema",
    "Perform",
    "ProviderError",
    "ProviderProtocolError",
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
