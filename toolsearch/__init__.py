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
from .messages import AssistantMessage, Media, Message, SystemMessage, ToolCall, ToolMessage, Usage, UserMessage
from .model import ChatModel
from .output import JsonOutputConverter, OutputConverter, StructuredOutputAdvisor
from .resolver import ChainedToolResolver, StaticToolResolver, ToolResolver
from .savings import SearchRecord, ToolSearchReport
from .sessions import SessionToolIndex, ToolSearchRequest
from .streams import AsyncChatStream, ChatStream
from .tool import Tool, ToolContext, tool
from .tool_calling import LoopState, ToolCallingAdvisor
from .tool_search import ToolFilter, ToolSearchAdvisor
from .tool_set import ToolSet

__all__ = [
    "Advisor",
    "AdvisorFlow",
    "AssistantMessage",
    "AsyncCallableError",
    "AsyncChatStream",
    "AugmentedCall",
    "AugmentedTools",
    "ChainedToolResolver",
    "ChatChunk",
    "ChatClient",
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
    "IndexFailure",
    "JsonOutputConverter",
    "LoopState",
    "Media",
    "Message",
    "MissingExtraError",
    "OutputConverter",
    "OutputError",
    "Perform",
    "ProviderError",
    "ProviderProtocolError",
    "ResponseSchema",
    "RoundStarted",
    "RunTools",
    "SearchRecord",
    "SessionToolIndex",
    "Sleep",
    "StaticToolResolver",
    "StreamEvent",
    "StreamStateError",
    "StructuredOutputAdvisor",
    "StructuredOutputError",
    "SystemClock",
    "SystemMessage",
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
    "Usage",
    "UserMessage",
    "tool",
]

__version__ = "0.1.0"
