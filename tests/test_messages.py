"""Messages and calls say what is wrong with them where they are made."""

import pytest

from toolsearch import ConfigurationError, ToolCall


def test_arguments_as_a_mapping_are_refused_with_the_way_to_write_them():
    with pytest.raises(ConfigurationError, match=r"'hi'.* write ToolCall\.of\(id, name, arguments\)"):
        ToolCall("1", "hi", {"x": "a"})
    assert ToolCall.from_dict("1", "hi", {"x": "a"}) == ToolCall("1", "hi", '{"x": "a"}')


@pytest.mark.parametrize("parts", [("1", "hi", None), ("1", "hi", b"{}"), (None, "hi", "{}"), ("1", None, "{}")])
def test_a_call_is_made_of_texts(parts):
    kinds = ", ".join(type(part).__name__ for part in parts)
    with pytest.raises(ConfigurationError, match=f"made of three texts: .*; not of {kinds}"):
        ToolCall(*parts)
