"""`ToolSet`: an immutable value with equality by content."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.disclosure.sessions.tool_set import ToolSet
from toolsearch.errors import ConfigurationError, DuplicateToolError
from toolsearch.indexes.reference import ToolReference

REFERENCES = st.builds(
    ToolReference,
    name=st.text(st.characters(exclude_categories=()), min_size=1, max_size=8),
    description=st.text(max_size=8),
    source=st.sampled_from([None, "git", "mail"]),
    tags=st.lists(st.sampled_from(["read", "write", "git"]), max_size=3).map(tuple),
)
CATALOGS = st.lists(REFERENCES, max_size=12, unique_by=lambda tool: tool.name)


@given(CATALOGS, st.randoms(use_true_random=False))
def test_equality_does_not_depend_on_order(tools: list[ToolReference], random: Any) -> None:
    shuffled = random.sample(tools, len(tools))
    one, other = ToolSet(tools), ToolSet(iter(shuffled))
    assert (one.digest, one, hash(one)) == (other.digest, other, hash(other))
    assert one.categories == other.categories
    assert list(one.categories.items()) == list(other.categories.items())
    assert other.tools == tuple(shuffled)
    assert other.names == tuple(tool.name for tool in shuffled)
    assert list(other) == shuffled


@given(CATALOGS)
def test_tools_are_found_by_name(tools: list[ToolReference]) -> None:
    tool_set = ToolSet(tools)
    assert len(tool_set) == len(tools)
    assert all(tool.name in tool_set and tool_set.get(tool.name) is tool for tool in tools)
    assert "a name longer than any" not in tool_set
    assert tool_set.get("a name longer than any") is None


@given(CATALOGS, CATALOGS)
def test_sets_are_equal_only_if_their_tools_are(some: list[ToolReference], others: list[ToolReference]) -> None:
    assert (ToolSet(some) == ToolSet(others)) == (set(some) == set(others))


@given(CATALOGS)
def test_categories_list_sources_before_tags(tools: list[ToolReference]) -> None:
    tool_set = ToolSet(tools)
    expected = {c: sum(c in tool.categories for tool in tools) for tool in tools for c in tool.categories}
    assert dict(tool_set.categories) == expected
    sources = sorted({tool.source for tool in tools if tool.source})
    tags = sorted({tag for tool in tools for tag in tool.tags} - set(sources))
    assert list(tool_set.categories) == [*sources, *tags]
    assert dict(tool_set.sources) == {source: sum(tool.source == source for tool in tools) for source in sources}


@pytest.mark.parametrize(
    "change", [{"description": "x"}, {"parameters": {}}, {"source": "x"}, {"tags": ("x",)}, {"search_text": "x"}]
)
def test_every_field_of_a_tool_changes_the_digest(change: dict[str, Any]) -> None:
    other = ToolReference(name="other")
    assert ToolSet([ToolReference(name="a"), other]) != ToolSet([ToolReference(name="a", **change), other])


def test_set_does_not_equal_a_list() -> None:
    tool = ToolReference(name="a")
    assert ToolSet([tool]) != [tool]
    assert ToolSet() == ToolSet([])
    assert ToolSet([tool]) == ToolSet(ToolSet([tool]))


def test_content_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = [ToolReference(name=f"tool_{number}") for number in range(10)]
    tool_set = ToolSet(tools)
    digest = tool_set.digest
    monkeypatch.setattr("hashlib.blake2b", None)
    assert tool_set.digest is digest
    assert all(tool.digest for tool in tools)


def test_digest_is_the_same_in_every_process() -> None:
    code = (
        "from toolsearch.indexes import ToolReference as R; from toolsearch.disclosure import ToolSet;"
        "print(ToolSet([R(name='b', tags=('x', 'y'), parameters={'b': 1, 'a': 2}), R(name='a')]).digest.hex())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"}
    )
    tools = [ToolReference(name="a"), ToolReference(name="b", tags=("x", "y"), parameters={"a": 2, "b": 1})]
    assert run.stdout.strip() == ToolSet(tools).digest.hex()


def test_set_is_immutable() -> None:
    tool_set: Any = ToolSet([ToolReference(name="a", source="s")])
    with pytest.raises(AttributeError):
        tool_set.tools = ()
    with pytest.raises(TypeError):
        tool_set.categories["s"] = 2
    with pytest.raises(TypeError):
        tool_set.sources["s"] = 2


def test_duplicate_names_are_refused_with_their_sources() -> None:
    tools = [ToolReference(name="send", source="mail"), ToolReference(name="send", source="chat")]
    with pytest.raises(DuplicateToolError, match=r"'send'.*'mail'.*'chat'"):
        ToolSet(tools)
    with pytest.raises(DuplicateToolError, match=r"'send'.*'mail'.*no source"):
        ToolSet([tools[0], ToolReference(name="send")])
    with pytest.raises(DuplicateToolError, match=r"'send'.*'mail'.*'mail'"):
        ToolSet([tools[0], tools[0]])


def test_other_objects_are_refused_as_tools() -> None:
    not_tools: Any = ["get_weather"]
    with pytest.raises(ConfigurationError, match="must be ToolReference objects, got"):
        ToolSet(not_tools)
