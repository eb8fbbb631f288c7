"""Errors keep their message and attributes when they are pickled or copied."""

from __future__ import annotations

import copy
import pickle

import pytest

import toolsearch
from toolsearch import (
    AssistantMessage,
    ChatResponse,
    MissingExtraError,
    ProviderError,
    StructuredOutputError,
    ToolCall,
    ToolSearchError,
    Usage,
)
from toolsearch.errors import TookTooLongError, ToolArgumentError
from toolsearch.mcp import McpServerError, McpToolError
from toolsearch.testing import ScriptExhaustedError

RESPONSE = ChatResponse(messages=[AssistantMessage("a", [ToolCall("1", "hi", "{}")])], usage=Usage(1, 2), raw={"a": 1})


def make_error(kind: type[Exception]) -> Exception:
    if issubclass(kind, MissingExtraError):
        return kind("openai", "Foo")
    if issubclass(kind, StructuredOutputError):
        return kind("no city", response=RESPONSE, problem="city is missing")
    if issubclass(kind, ProviderError):
        return kind("overloaded", status=503, retryable=True)
    return kind("something went wrong")


EXPORTED = [getattr(toolsearch, name) for name in toolsearch.__all__]
KINDS = [kind for kind in EXPORTED if isinstance(kind, type) and issubclass(kind, Exception)]
KINDS += [TookTooLongError, ToolArgumentError, McpServerError, McpToolError, ScriptExhaustedError]
WAYS = {
    **{f"pickle {number}": lambda e, n=number: pickle.loads(pickle.dumps(e, n)) for number in range(2, 6)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_public_error_survives_pickling_and_copying(kind, way):
    error = make_error(kind)
    error.add_note("seen in a worker")
    again = WAYS[way](error)
    assert type(again) is kind
    assert (str(again), repr(again), again.args) == (str(error), repr(error), error.args)
    assert vars(again) == vars(error)
    assert getattr(again, "msg", "") == getattr(error, "msg", "")


def test_a_subclass_with_other_arguments_survives_pickling():
    error = Refused("send_mail", code=7)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.code) == (Refused, "send_mail was refused (7)", 7)


class Refused(ToolSearchError):
    def __init__(self, tool: str, *, code: int) -> None:
        self.code = code
        super().__init__(f"{tool} was refused ({code})")
