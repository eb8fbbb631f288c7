"""Tools for tests of applications and plug-ins: a scripted chat model, fakes and conformance suites."""

from typing import TYPE_CHECKING, Any

from .clock import FakeClock
from .eviction_suite import EvictionSuite
from .scripted import ScriptedAnswer, ScriptedChatModel, ScriptedStream, ScriptExhaustedError, estimate_usage

if TYPE_CHECKING:
    from .index_suite import ToolIndexSuite
    from .memory_suite import ChatMemoryRepositorySuite
    from .model_suite import ChatModelSuite
    from .openai_server import OpenAIWireServer, WireAnswer, WireEvent, WireReply, WireRequest

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
    "WireAnswer",
    "WireEvent",
    "WireReply",
    "WireRequest",
    "estimate_usage",
]

# Imported on first access, because most tests do not need them.
_MODULES = {
    "ChatMemoryRepositorySuite": "memory_suite",
    "ChatModelSuite": "model_suite",
    "OpenAIWireServer": "openai_server",
    "ToolIndexSuite": "index_suite",
    "WireAnswer": "openai_server",
    "WireEvent": "openai_server",
    "WireReply": "openai_server",
    "WireRequest": "openai_server",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
