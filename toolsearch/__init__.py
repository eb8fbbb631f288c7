"""A chat client whose tool-calling loop is an advisor, and tool search that discloses tools progressively."""

from .advisor import Advisor, ChunkTransformer
from .chat import (
    ChatChunk,
    ChatRequest,
    ChatResponse,
    RoundStarted,
    StreamEvent,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from .client import ChatClient
from .effects import AdvisorFlow, Effect, Perform, RunTools, Sleep, ToolBatchResult
from .errors import (
    AsyncCallableError,
    ConfigurationError,
    DuplicateToolError,
    IndexFailure,
    MissingExtraError,
    ProviderError,
    ProviderProtocolError,
    StreamStateError,
    ToolSearchError,
)
from .limits import ToolCallLimits
from .messages import AssistantMessage, Media, Message, SystemMessage, ToolCall, ToolMessage, Usage, UserMessage
from .model import ChatModel
from .streams import AsyncChatStream, ChatStream
from .tool import Tool, ToolContext, tool
from .tool_calling import LoopState, ToolCallingAdvisor
from .tool_search import ToolSearchAdvisor

__version__ = "0.1.0"
