"""Messages and tool calls reject wrong types where they are made."""

import pytest

from toolsearch import ConfigurationError, ToolCall, UserMessage


def test_arguments_as_a_mapping_are_rejected_with_advice():
    with pytest.raises(ConfigurationError, match=r"'hi'.* write ToolCall\.from_dict\(id, name, arguments\)"):
        ToolCall("1", "hi", {"x": "a"})
    assert ToolCall.from_dict("1", "hi", {"x": "a"}) == ToolCall("1", "hi", '{"x": "a"}')


@pytest.mark.parametrize("parts", [("1", "hi", None), ("1", "hi", b"{}"), (None, "hi", "{}"), ("1", None, "{}")])
def test_a_tool_call_takes_strings_only(parts):
    kinds = ", ".join(type(part).__name__ for part in parts)
    with pytest.raises(ConfigurationError, match=f"must be strings, got {kinds}"):
        ToolCall(*parts)


@pytest.mark.parametrize("text", [5, None, ["Hi"]])
def test_a_user_message_takes_a_string_only(text):
    with pytest.raises(ConfigurationError, match=r"text must be a string, got .*; write UserMessage"):
        UserMessage(text)
