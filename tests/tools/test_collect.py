"""Collection of tools: accepted items, rejected items and names."""

import json
import operator
import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.errors import ConfigurationError, DuplicateToolError
from toolsearch.mcp import HttpServer, StdioServer
from toolsearch.tools.collect import ToolListing, collect_tools, expand_tools, name_tools
from toolsearch.tools.names import is_wire_name
from toolsearch.tools.tool_type import Tool, tool


def ping() -> str:
    """Answer."""
    return "pong"


@tool(name="echo")
def say(text: str) -> str:
    """Repeat."""
    return text


class Base:
    @tool
    def zebra(self) -> str:
        """Base."""
        return "base"

    @tool
    def dropped(self) -> str:
        """To be dropped."""
        return ""


class Animals(Base):
    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def trap(self) -> str:
        raise AssertionError("a property was run")

    @tool
    def ape(self) -> str:
        """An ape."""
        return self.name

    @tool
    def zebra(self) -> str:
        """Another zebra."""
        return self.name

    def dropped(self) -> str:
        return ""

    def untold(self) -> None:
        pass


class Provider:
    def __init__(self, *tools: object) -> None:
        self.given = tools

    def tools(self) -> list:
        return list(self.given)


class Caller:
    def __call__(self, x: int) -> int:
        """Call."""
        return x


def names(*items: object) -> list[str]:
    return [made.name for made in collect_tools(*items)]


def test_functions_tools_and_marked_functions_keep_their_order():
    assert names(say, Tool("made"), ping) == ["echo", "made", "ping"]


def test_a_tool_is_returned_unchanged():
    made = Tool("made")
    assert collect_tools([made])[0] is made


def test_an_object_gives_its_marked_methods_in_order():
    animals = Animals("Bo")
    found = collect_tools(animals)
    assert [made.name for made in found] == ["zebra", "ape"]
    assert [made.call() for made in found] == ["Bo", "Bo"]
    assert found[0].description == "Another zebra."


def test_a_proxy_gives_the_marked_methods_of_what_it_wraps():
    class Alarms:
        @tool
        def ring(self) -> str:
            """Ring."""
            return "ring"

    class Proxy:
        def __init__(self, wrapped):
            object.__setattr__(self, "wrapped", wrapped)

        @property
        def __class__(self):
            return type(self.wrapped)

        def __getattr__(self, name):
            return getattr(self.wrapped, name)

    (ring,) = collect_tools(Proxy(Alarms()))
    assert (ring.name, ring.call()) == ("ring", "ring")


def test_bound_methods_and_callable_objects_are_collected():
    assert names(Animals("Bo").untold, Caller()) == ["untold", "caller"]


def test_nested_iterables_are_flattened():
    assert names([ping, (say, [Tool("a")])], (Tool(name) for name in "bc"), {"x": Tool("d")}.values(), [], ()) == [
        "ping",
        "echo",
        "a",
        "b",
        "c",
        "d",
    ]


def test_a_provider_is_called_each_time():
    provider = Provider(ping)
    assert names(provider) == ["ping"]
    provider.given = (Tool("later"), [say])
    assert names([provider]) == ["later", "echo"]


def test_an_object_with_a_plain_attribute_tools_is_not_a_provider():
    class Box:
        tools = ("hammer",)

        @tool
        def open(self) -> None:
            """Open."""

    assert names(Box()) == ["open"]


def test_a_definition_with_a_callable_is_a_tool():
    definition = {"name": "add", "input_schema": {"properties": {"a": {}}}}
    (made,) = collect_tools([(definition, lambda a: a + 1)])
    assert made.call({"a": 1}) == 2
    (made,) = collect_tools((SimpleNamespace(name="add", inputSchema={}), ping))
    assert (made.name, made.call()) == ("add", "pong")
    (made,) = collect_tools((definition, Caller()))
    assert made.name == "add"


def test_a_pair_of_functions_is_two_tools():
    assert names((ping, say)) == ["ping", "echo"]


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (object(), "does not have tools"),
        (Animals, r"Animals is a class; pass an instance: tools=\[Animals\(\.\.\.\)\]"),
        (Animals.ape, r"ape is a method of a class"),
        ("ping", "pass the function itself"),
        (b"ping", "pass the function itself"),
        (None, "pass a function"),
        (3, "does not have tools"),
        ({"name": "ping", "parameters": {}}, r"pair \(definition, function\)"),
        ({}, r"pair \(definition, function\)"),
        (SimpleNamespace(name="ping", inputSchema={}), r"pair \(definition, function\)"),
        ({ping, say}, "pass a list"),
        ({"ping": ping}, r"pass a list: tools=\[ping\]"),
        ((ping, {"name": "ping"}), r"the pair must be \(definition, function\), in this order"),
        ([[ping, [None]]], "pass a function"),
        (StdioServer("git", "uvx"), r"write tools=\[McpTools\(StdioServer\(\.\.\.\)\)\]"),
        (HttpServer("docs", "https://x.org"), r"write tools=\[McpTools\(HttpServer\(\.\.\.\)\)\]"),
    ],
    ids=lambda value: re.sub(" at 0x[0-9a-f]+", "", str(value)),  # the same names in every process
)
def test_an_item_without_tools_is_rejected_with_advice(item, said):
    with pytest.raises(ConfigurationError, match=said):
        collect_tools(item)


def test_a_coroutine_is_rejected_without_a_warning():
    async def later() -> None:
        """Later."""

    with pytest.raises(ConfigurationError, match="without calling it"):
        collect_tools(later())


def test_invalid_names_are_replaced_in_place():
    tools = [Tool("a.b", "A b."), Tool("ok"), Tool("c d", source="s")]
    named = name_tools(tools)
    assert [is_wire_name(made.name) for made in named] == [True] * 3
    assert named[1] is tools[1]
    assert [made.original_name for made in named] == ["a.b", "ok", "c d"]
    assert named[0].name.startswith("a_b_")
    assert named[0].reference.search_text == "a.b"


def test_a_name_does_not_depend_on_other_tools():
    alone = name_tools([Tool("a.b")])[0].name
    among = name_tools([Tool("x"), Tool("a/b"), Tool("a.b"), Tool("a_b")])
    assert among[2].name == alone
    assert len({made.name for made in among}) == 4


def test_a_valid_name_wins_over_an_equal_replacement():
    replacement = name_tools([Tool("a.b")])[0].name
    for order in ([Tool("a.b"), Tool(replacement)], [Tool(replacement), Tool("a.b")]):
        named = {made.original_name: made.name for made in name_tools(order)}
        assert named[replacement] == replacement
        assert named["a.b"].startswith(replacement)
        assert named["a.b"] != replacement


def test_naming_is_idempotent():
    once = name_tools([Tool("a.b"), Tool("c")])
    assert name_tools(once) == once


def test_duplicate_names_are_rejected_with_both_sources():
    with pytest.raises(DuplicateToolError) as caught:
        name_tools([Tool("ping", fn=ping), Tool("x"), Tool("ping", source="github")])
    assert "'ping'" in str(caught.value)
    assert f"function {ping.__module__}.ping" in str(caught.value)
    assert "source 'github'" in str(caught.value)


def test_duplicate_invalid_names_are_rejected():
    with pytest.raises(DuplicateToolError, match=r"'a\.b'"):
        name_tools([Tool("a.b"), Tool("a.b")])


def test_renamed_tools_may_share_their_original_name():
    named = name_tools([Tool("search").renamed("a_search"), Tool("search").renamed("b_search")])
    assert [made.name for made in named] == ["a_search", "b_search"]


def test_a_reserved_name_is_rejected_with_the_source():
    with pytest.raises(DuplicateToolError, match=r"reserved.*source 'github'"):
        name_tools([Tool("tool_search", source="github")])
    with pytest.raises(DuplicateToolError, match="reserved"):
        name_tools([Tool("find")], reserved=["find"])
    assert name_tools([Tool("tool_search")], reserved=())[0].name == "tool_search"


def listed(*items: object) -> list[str]:
    return [made.identity for made in ToolListing().current(expand_tools(*items))]


def test_a_tool_of_a_provider_never_takes_a_name():
    """Local tools come first, then the providers in their order."""
    bank = Provider(Tool("ping", source="bank"), Tool("pay", source="bank"), Tool("tool_search", source="bank"))
    fun = Provider(Tool("pay", source="fun"), Tool("joke", source="fun"))
    assert listed(bank, fun, ping) == ["bank::pay", "fun::joke", "ping"]
    assert listed(fun, bank, ping) == ["fun::pay", "fun::joke", "ping"]


def test_a_replaced_name_is_not_taken_by_a_valid_one():
    replacement = name_tools([Tool("weather.get")])[0].name
    meteo, fun = Provider(Tool("weather.get", source="meteo")), Provider(Tool(replacement, source="fun"))
    assert listed(meteo, fun) == ["meteo::weather.get"]
    assert listed(fun, Tool("weather.get")) == ["weather.get"]
    both = [Tool(replacement, source="meteo"), Tool("weather.get", source="meteo")]
    assert listed(Provider(*both)) == listed(Provider(*both[::-1])) == ["meteo::weather.get"]


def test_a_provider_with_local_functions_gives_them_their_names():
    """A provider can wrap functions of the application and a server, in any order."""
    assert listed(Provider(Tool("ping", source="fun"), ping)) == ["ping"]


def test_the_second_provider_of_one_source_is_left_out():
    bank = Tool("pay", source="bank")
    assert listed(Provider(bank.renamed("bank_pay")), Provider(bank)) == ["bank::pay"]


def test_tools_that_a_server_listed_are_no_mistake_of_the_programmer():
    """Also if the application passes them on as a list."""
    strange = [Tool(name, source="fun").as_provided() for name in ("ping", "tool_search", "joke")]
    assert listed(strange, ping) == ["fun::joke", "ping"]
    assert [tool.identity for tool in name_tools([*strange, Tool("ping")])] == ["fun::joke", "ping"]


def test_tools_that_are_left_out_are_logged_once_on_one_line(caplog):
    provider = Provider(*(Tool(f"a\nERROR forged {n}", source="fun") for n in range(3)), Tool("ping", source="fun"))
    listing = ToolListing()
    for extra in ([], [Tool("x", source="fun")], []):
        provider.given = (*provider.given[:4], *extra)
        listing.current([Tool("ping"), provider])
    (message,) = (message for message in caplog.messages if "left_out" in message)
    assert message.startswith("toolsearch.tools_left_out tools=1 tool=ping source=fun reason=")


def test_unchanged_tools_stay_the_same_objects():
    listing, provider = ToolListing(), Provider(Tool("weather.get"))
    first = listing.current([provider])
    assert all(map(operator.is_, first, listing.current([provider])))


def test_one_tool_of_the_programmer_has_one_name():
    with pytest.raises(DuplicateToolError, match="one tool of source 'bank' under two names"):
        name_tools([Tool("pay", source="bank").renamed("a"), Tool("pay", source="bank").renamed("b")])


@given(st.lists(st.text(min_size=1, max_size=80).filter(str.strip), unique=True, max_size=20))
def test_replaced_names_keep_the_original_name(originals):
    named = name_tools([Tool(name) for name in originals], reserved=())
    assert [made.original_name for made in named] == originals
    assert len({made.name for made in named}) == len(originals)
    assert all(is_wire_name(made.name) for made in named)


def test_a_large_catalog_is_collected_without_copying_schemas():
    class Untouched(dict):
        def items(self):
            raise AssertionError("the schema was read")

        def get(self, *args):
            raise AssertionError("the schema was read")

    tools = [Tool(f"tool_{number}", "Do it.", {}) for number in range(5000)]
    for made in tools:
        made.parameters = Untouched()
    assert name_tools(collect_tools(tools)) == tuple(tools)


def test_a_definition_keeps_its_bytes():
    schema = {"$schema": "x", "properties": {"b": {"format": "date"}, "a": {}}, "type": "object"}
    (made,) = collect_tools(({"name": "add", "parameters": schema}, lambda **_: 1))
    assert json.dumps(made.parameters) == json.dumps(schema)
