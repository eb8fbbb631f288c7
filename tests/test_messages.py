"""Messages and tool calls reject wrong types where they are made."""

import pytest

from toolsearch import (
    AssistantMessage,
    ConfigurationError,
    Media,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolsearch.messages import ToolVersion


def test_arguments_as_a_mapping_are_rejected_with_advice():
    with pytest.raises(ConfigurationError, match=r"'hi'.* write ToolCall\.from_dict\(id, name, arguments\)"):
        ToolCall("1", "hi", {"x": "a"})
    assert ToolCall.from_dict("1", "hi", {"x": "a"}) == ToolCall("1", "hi", '{"x": "a"}')


@pytest.mark.parametrize("parts", [("1", "hi", None), ("1", "hi", b"{}"), (None, "hi", "{}"), ("1", None, "{}")])
def test_a_tool_call_takes_strings_only(parts):
    kinds = ", ".join(type(part).__name__ for part in parts)
    with pytest.raises(ConfigurationError, match=f"must be strings, got {kinds}"):
        ToolCall(*parts)


WRONG = (5, None, ["Hi"], b"Hi")


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("kind", [SystemMessage, UserMessage, AssistantMessage])
def test_text_must_be_a_string(kind, wrong):
    with pytest.raises(ConfigurationError, match=rf"text must be a string, got .*; write {kind.__name__}"):
        kind(wrong)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda wrong: ToolMessage(wrong, "add", "3"), "tool_call_id must be a string"),
        (lambda wrong: ToolMessage("1", wrong, "3"), "name must be a string"),
        (lambda wrong: ToolMessage("1", "add", wrong), "text must be a string"),
        (lambda wrong: ToolMessage("1", "add", "3", is_error=wrong), "is_error must be True or False"),
        (lambda wrong: ToolMessage("1", "add", "3", ran=wrong), "ran must be True or False"),
        (lambda wrong: ToolMessage("1", "add", "3", media=wrong), "media must be a list of Media objects"),
        (lambda wrong: ToolMessage("1", "add", "3", tools=wrong), "tools must be a list of ToolVersion objects"),
        (lambda wrong: ToolMessage("1", "add", "3", revealed=wrong or 5), "revealed must be a list of strings"),
        (lambda wrong: UserMessage("Hi", wrong), "media must be a list of Media objects"),
        (lambda wrong: AssistantMessage("Hi", wrong), "tool_calls must be a list of ToolCall objects"),
        (lambda wrong: AssistantMessage("Hi", revealed=wrong or 5), "revealed must be a list of strings"),
        (lambda wrong: UserMessage("Hi", [Media(wrong)]), "mime_type must be a string"),
        (
            lambda wrong: ToolMessage("1", "add", "3", media=[Media("a/b", url=wrong or 5)]),
            "url must be a string or None",
        ),
        (lambda wrong: ToolVersion(wrong, "a"), "name must be a string"),
    ],
)
@pytest.mark.parametrize("wrong", [5, None, [5], b"Hi"])
def test_fields_of_a_wrong_type_are_refused(make, says, wrong):
    """Where the value is made, instead of later in a counter, a store or a provider."""
    with pytest.raises(ConfigurationError, match=f"{says}.*, got .*; write "):
        make(wrong)


@pytest.mark.parametrize("data", [5, None, "text"])
def test_media_take_bytes_only(data):
    with pytest.raises(ConfigurationError, match="data must be bytes"):
        UserMessage("Hi", [Media("image/png", data)])
    assert Media("image/png", bytearray(b"x")) == Media("image/png", b"x")


def test_messages_with_equal_parts_are_equal():
    """Whatever iterable the parts came in."""
    medium, call = Media("image/png", b"x"), ToolCall("1", "add")
    assert UserMessage("Hi", [medium]) == UserMessage("Hi", iter([medium])) == UserMessage("Hi", (medium,))
    assert ToolMessage("1", "add", "3", media=[medium]) == ToolMessage("1", "add", "3", media=(medium,))
    assert ToolMessage("1", "s", "3", revealed=["add"]) == ToolMessage("1", "s", "3", revealed=("add",))
    assert AssistantMessage("", [call]) == AssistantMessage("", (call,))
    assert hash(UserMessage("Hi", [medium])) == hash(UserMessage("Hi", (medium,)))
