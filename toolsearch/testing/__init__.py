"""For the tests of applications and of plug-ins: a scripted chat model, fakes and conformance suites."""

from .scripted import ScriptedAnswer, ScriptedChatModel, ScriptedStream, ScriptExhaustedError, estimate_usage

__all__ = ["ScriptExhaustedError", "ScriptedAnswer", "ScriptedChatModel", "ScriptedStream", "estimate_usage"]
