"""For the tests of applications and of plug-ins: a scripted chat model, fakes and conformance suites."""

from typing import TYPE_CHECKING, Any

from .clock import FakeClock
from .eviction_suite import EvictionSuite
from .scripted import ScriptedAnswer, ScriptedChatModel, ScriptedStream, ScriptExhaustedError, estimate_usage

if TYPE_CHECKING:
    from .index_suite import ToolIndexSuite
    from .memory_suite import ChatMemoryRepositorySuite
    from .model_suite import ChatModelSuite
    from .openai_server import OpenAIWireServer, WireReply, WireRequest

__all__ = [
    "ChatMemoryRepositorySuite",
    "ChatModelSuite",
    "EvictionSuite",
    "FakeClock",
    "OpenAIWireServer",
    "ScriptExhaustedError",
    "ScriptedAnswer",
    "ScriptedChatModel",
    "ScriptedStream",
    "ToolIndexSuite",
    "WireReply",
    "WireRequest",
    "estimate_usage",
]

# Imported when asked for: they need more than the rest does (pytest, an HTTP server).
_LAZY = {
    "ChatMemoryRepositorySuite": "memory_suite",
    "ChatModelSuite": "model_suite",
    "OpenAIWireServer": "openai_server",
    "ToolIndexSuite": "index_suite",
    "WireReply": "openai_server",
    "WireRequest": "openai_server",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
