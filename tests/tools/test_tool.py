"""Tools: definition, function, copies and the decorator."""

import asyncio
import contextvars
import functools
import re
import threading
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.errors import ConfigurationError, ToolArgumentError
from toolsearch.indexes import ToolReference
from toolsearch.indexes.reference import tool_identity
from toolsearch.tools.tool_type import Tool, ToolContext, tool

NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def weather(city: str, days: int = 1) -> str:
    """Tell the weather.

    Args:
        city: Where.
    """
    return f"rain in {city} for {days}"


async def aweather(city: str) -> str:
    """Tell the weather, later."""
    return f"sun in {city}"


class Counter:
    """Counts."""

    def __init__(self) -> None:
        self.count = 0

    @tool
    def increase(self, by: int = 1) -> int:
        """Count up."""
        self.count += by
        return self.count

    @tool(name="half", tags=["maths"])
    @staticmethod
    def divide(value: float) -> float:
        """Halve."""
        return value / 2

    @staticmethod
    @tool
    def double(value: float) -> float:
        """Double."""
        return value * 2

    @tool
    @classmethod
    def kind(cls) -> str:
        """Name the kind."""
        return cls.__name__

    def __call__(self, by: int) -> int:
        """Count by calling."""
        return self.increase(by)


def test_a_tool_has_the_given_attributes():
    made = Tool(
        "weather",
        "Tell it.",
        CITY,
        weather,
        source="nl",
        tags=["outdoors"],
        search_text="rain sun",
        return_direct=True,
        concurrent=False,
        timeout=3,
    )
    assert (made.name, made.description, made.source, made.tags) == ("weather", "Tell it.", "nl", ("outdoors",))
    assert (made.search_text, made.return_direct, made.concurrent, made.timeout) == ("rain sun", True, False, 3)
    assert made.parameters is CITY
    assert made.original_name == "weather"
    assert not made.is_async


def test_defaults_come_from_the_function_or_the_name():
    made = Tool("weather_nl", fn=weather)
    assert made.description == "Tell the weather."
    assert made.parameters["properties"]["city"] == {"type": "string", "description": "Where."}
    assert Tool("getWeatherFor-city").description == "Get weather for city"
    assert Tool("天気").description == "天気"
    assert Tool("ping").parameters == NOTHING
    assert Tool("ping", fn=lambda: 1).parameters == NOTHING
    assert Tool("ping", fn=lambda **anything: 1).parameters == NOTHING


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": ""}, "name"),
        ({"name": " "}, "name"),
        ({"name": None}, "name"),
        ({"name": 3}, "name"),
        ({"description": 3}, "description"),
        ({"fn": 3}, "function"),
        ({"fn": Counter}, "must be a function"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"timeout": "3"}, "timeout"),
        ({"name": re.sub}, r"name must be a non-empty string, got .*; write Tool\.from_function\(sub\)"),
        ({"tags": "outdoors"}, r"tags=\['outdoors'\]"),
        ({"parameters": []}, "JSON Schema of an object"),
        ({"parameters": {"type": "string"}}, "'string'"),
        ({"parameters": {"type": "object", "properties": []}}, "properties"),
        ({"parameters": {"properties": {"a": {"default": object()}}}}, "JSON"),
        ({"parameters": {"properties": {"a": {"default": float("nan")}}}}, "JSON"),
        ({"parameters": {"properties": {"a": {"enum": {1, 2}}}}}, "JSON"),
    ],
    ids=lambda value: re.sub(" at 0x[0-9a-f]+", "", str(value)),  # the same names in every process
)
def test_wrong_arguments_are_rejected_with_the_reason(arguments, said):
    with pytest.raises(ConfigurationError, match=said):
        Tool(**{"name": "act", "description": "Act.", **arguments})


def test_an_async_generator_is_rejected():
    async def numbers():
        yield 1

    with pytest.raises(ConfigurationError, match="return a list"):
        Tool("numbers", fn=numbers)


def test_a_given_schema_is_kept_and_completed():
    given = {"required": ["b"], "properties": {"b": {"title": "B", "format": "uri"}, "a": {}}, "$defs": {}}
    kept = Tool("act", "Act.", given).parameters
    assert list(kept.items()) == [("type", "object"), *given.items()]
    assert "type" not in given
    assert Tool("act", "Act.", {}).parameters == {"type": "object", "properties": {}}


def test_a_function_gets_the_arguments_by_keyword_and_the_context():
    def act(city, *, ctx: "ToolContext", **rest):
        return city, ctx["user"], rest

    made = Tool("act", "Act.", CITY, act)
    assert made.call({"city": "Gouda", "issue-number": 3}, ToolContext({"user": 7})) == (
        "Gouda",
        7,
        {"issue-number": 3},
    )


def test_a_tool_called_directly_gets_an_empty_context():
    seen = Tool("act", fn=_returns_context).call()
    assert dict(seen) == {}
    assert seen.tool_name == "act"


def _returns_context(ctx: ToolContext) -> ToolContext:
    return ctx


def test_positional_only_parameters_of_a_given_schema_are_filled():
    def act(a, b=2, /, c=3):
        return a, b, c

    made = Tool("act", "Act.", {"properties": {"a": {}, "b": {}, "c": {}}}, act)
    assert made.call({"a": 1, "c": 5}) == (1, 2, 5)
    assert made.call({"c": 5, "b": 4, "a": 1}) == (1, 4, 5)


def test_arguments_that_do_not_fit_the_function_are_tool_argument_errors():
    made = Tool("act", "Act.", {"properties": {}}, lambda city: city)
    with pytest.raises(ToolArgumentError, match="'town'"):
        made.call({"city": "Gouda", "town": 1})
    with pytest.raises(ToolArgumentError, match="'city'"):
        made.call({})


def test_a_type_error_of_the_function_is_not_converted():
    def act() -> None:
        raise TypeError("mine")

    with pytest.raises(TypeError, match="mine"):
        Tool("act", fn=act).call()


def test_a_builtin_can_be_a_tool():
    assert Tool("count", "Count.", {"properties": {"obj": {}}}, lambda obj: len(obj)).call({"obj": [1]}) == 1
    assert Tool("low", "Lower.", {}, "ABC".lower).call() == "abc"


def test_a_generator_becomes_a_list():
    def numbers():
        yield 1
        yield 2

    assert Tool("numbers", fn=numbers).call() == [1, 2]


def test_a_tool_without_a_function_cannot_be_called():
    made = Tool("ping", "Ping.", {})
    with pytest.raises(ConfigurationError, match="without a function"):
        made.call({})
    with pytest.raises(ConfigurationError, match="without a function"):
        asyncio.run(made.acall({}))


@pytest.mark.parametrize("fn", [aweather, functools.partial(aweather), SimpleNamespace(run=aweather).run])
def test_an_async_tool_is_awaited_by_acall_and_call(fn):
    made = Tool.from_function(fn)
    assert made.is_async
    assert made.awaits
    assert asyncio.run(made.acall({"city": "Gouda"})) == "sun in Gouda"
    assert made.call({"city": "Gouda"}) == "sun in Gouda"


def test_a_callable_object_may_be_async():
    class Weather:
        """Weather of a kind."""

        async def __call__(self, city: str) -> str:
            return city

    made = Tool.from_function(Weather())
    assert made.is_async
    assert (made.name, made.description) == ("weather", "Weather of a kind.")
    assert asyncio.run(made.acall({"city": "Gouda"})) == "Gouda"


def test_a_function_that_returns_a_coroutine_is_awaited():
    made = Tool("act", fn=lambda city: aweather(city))
    assert not made.is_async
    assert asyncio.run(made.acall({"city": "Gouda"})) == "sun in Gouda"
    assert made.call({"city": "Gouda"}) == "sun in Gouda"


def test_acall_runs_a_sync_function_in_a_thread_with_the_context_variables():
    variable = contextvars.ContextVar("variable", default="unset")

    def act() -> tuple[str, bool]:
        return variable.get(), threading.current_thread() is threading.main_thread()

    async def main() -> tuple[str, bool]:
        variable.set("set")
        return await Tool("act", fn=act).acall()

    assert asyncio.run(main()) == ("set", False)


def test_acall_can_be_cancelled_while_a_sync_function_runs():
    import anyio

    started, release = threading.Event(), threading.Event()

    def act() -> None:
        started.set()
        release.wait(10)

    async def main() -> bool:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(Tool("act", fn=act).acall)
                await anyio.to_thread.run_sync(started.wait, 10)
                scope.cancel()
        return scope.cancelled_caught

    try:
        assert asyncio.run(main())
    finally:
        release.set()


def test_an_async_twin_is_used_by_async_calls():
    async def act(x: int) -> str:
        return f"async {x}"

    made = Tool("act", fn=lambda x: f"sync {x}", afn=act)
    assert made.awaits
    assert not made.is_async
    assert made.call({"x": 1}) == "sync 1"
    assert asyncio.run(made.acall({"x": 1})) == "async 1"
    assert not made.replace(fn=lambda x: x).awaits
    with pytest.raises(ConfigurationError, match="afn"):
        Tool("act", fn=act, afn=act)


def test_a_renamed_tool_keeps_its_original_name_and_function():
    first = Tool.from_function(weather, search_text="rain")
    renamed = first.renamed("nl_weather").renamed("eu_weather")
    assert (renamed.name, renamed.original_name, first.name) == ("eu_weather", "weather", "weather")
    assert renamed.reference.search_text == "weather rain"
    assert renamed.search_text == "rain"
    assert first.reference.search_text == "rain"
    assert renamed.call({"city": "Gouda", "days": 2}) == "rain in Gouda for 2"


def test_replace_keeps_other_fields_and_argument_conversion():
    def double(n: int) -> int:
        return n * 2

    made = Tool.from_function(double, tags=["a"], timeout=2, return_direct=True)
    copy = made.replace(description="Other.", parameters={"properties": {"n": {}, "why": {}}})
    assert (copy.description, copy.tags, copy.timeout, copy.return_direct) == ("Other.", ("a",), 2, True)
    assert copy.call({"n": "4"}) == 8
    other = copy.replace(fn=lambda **arguments: arguments)
    assert other.call({"n": "4", "why": "so"}) == {"n": "4", "why": "so"}


def test_replace_rejects_unknown_fields():
    with pytest.raises(ConfigurationError, match="'title'"):
        Tool("ping").replace(title="Ping")
    with pytest.raises(ConfigurationError, match="timeout"):
        Tool("ping").replace(timeout=-1)


def test_the_reference_is_cached_and_has_the_searchable_fields():
    made = Tool("weather", "Tell it.", CITY, source="nl", tags=["outdoors"], search_text="rain")
    assert made.reference is made.reference
    assert made.reference == ToolReference(
        name="weather", description="Tell it.", parameters=CITY, source="nl", tags=("outdoors",), search_text="rain"
    )


def test_the_definition_digest_depends_on_what_a_model_sees():
    made = Tool("weather", "Tell it.", CITY)
    same = Tool("weather", "Tell it.", dict(reversed(CITY.items())), weather, tags=["x"], source="y")
    assert made.definition_digest == same.definition_digest
    assert len(made.definition_digest) == 16
    changed = [made.renamed("w"), made.replace(description="Other."), made.replace(parameters=NOTHING)]
    assert len({made.definition_digest, *(other.definition_digest for other in changed)}) == 4
    assert made.schema_digest == made.renamed("w").schema_digest


def test_lone_surrogates_in_a_definition_do_not_break_it():
    made = Tool("a\ud800", "b\udfff", {"properties": {"c\ud800": {}}})
    assert made.definition_digest
    assert made.reference.digest


def test_the_origin_is_the_source_or_the_function():
    assert Tool.from_function(weather).origin == f"function {weather.__module__}.weather"
    assert Tool("a", fn=Counter()).origin.endswith(".Counter")
    assert Tool("a", source="github").origin == "source 'github'"
    assert Tool("a").origin == "a definition without a function"


def test_a_lambda_needs_a_name():
    with pytest.raises(ConfigurationError, match="name="):
        Tool.from_function(lambda: 1)


@pytest.mark.parametrize("wrong", [None, 3, "weather", Counter])
def test_from_function_rejects_classes_and_non_callables(wrong):
    with pytest.raises(ConfigurationError, match="must be a function"):
        Tool.from_function(wrong)


def test_the_decorator_returns_the_function_unchanged():
    def plain(city: str) -> str:
        """Plain."""
        return city

    assert tool(plain) is plain
    marked = tool(name="marked", description="Marked.", tags=["a"], timeout=2, concurrent=False)(plain)
    assert marked is plain
    assert marked("Gouda") == "Gouda"
    made = Tool.from_function(marked)
    assert (made.name, made.description, made.tags, made.timeout, made.concurrent) == (
        "marked",
        "Marked.",
        ("a",),
        2,
        False,
    )
    again = Tool.from_function(marked, name="again", timeout=5)
    assert (again.name, again.description, again.timeout) == ("again", "Marked.", 5)


def test_methods_of_every_kind_are_bound():
    counter = Counter()
    assert Tool.from_function(counter.increase).call({"by": 2}) == 2
    assert Tool.from_function(counter.increase).call({}) == 3
    assert Tool.from_function(Counter().increase).call({}) == 1
    half = Tool.from_function(counter.divide)
    assert (half.name, half.tags, half.call({"value": 3})) == ("half", ("maths",), 1.5)
    assert Tool.from_function(counter.double).call({"value": 3}) == 6
    assert Tool.from_function(counter.kind).call({}) == "Counter"
    assert Counter.divide(3) == 1.5
    assert Counter.kind() == "Counter"


def test_a_callable_object_is_named_after_its_class():
    made = Tool.from_function(Counter())
    assert (made.name, made.description) == ("counter", "Count by calling.")
    assert made.call({"by": 3}) == 3


@pytest.mark.parametrize("wrong", ["weather", 3, Counter, len])
def test_the_decorator_rejects_objects_that_cannot_be_marked(wrong):
    with pytest.raises(ConfigurationError, match="@tool"):
        tool(wrong)


def test_the_decorator_rejects_unknown_options():
    with pytest.raises(ConfigurationError, match="'tag'"):
        tool(tag=["x"])


FORMS = [
    {"type": "function", "function": {"name": "ping", "description": "Ping.", "parameters": CITY}},
    {"type": "function", "name": "ping", "description": "Ping.", "parameters": CITY, "strict": True},
    {"name": "ping", "description": "Ping.", "input_schema": CITY},
    {"type": "custom", "name": "ping", "description": "Ping.", "input_schema": CITY},
    {"name": "ping", "description": "Ping.", "inputSchema": CITY},
    {"name": "ping", "description": "Ping.", "parameters": CITY},
    SimpleNamespace(name="ping", description="Ping.", inputSchema=CITY, annotations=None),
    SimpleNamespace(name="ping", description="Ping.", input_schema=CITY),
    SimpleNamespace(function=SimpleNamespace(name="ping", description="Ping.", parameters=CITY), type="function"),
]


@pytest.mark.parametrize("definition", FORMS, ids=repr)
def test_definitions_of_every_form_are_parsed(definition):
    made = Tool.from_definition(definition, lambda city: f"pong {city}", tags=["x"])
    assert (made.name, made.description, made.parameters, made.tags) == ("ping", "Ping.", CITY, ("x",))
    assert made.call({"city": "Gouda"}) == "pong Gouda"


def test_a_definition_without_description_or_schema_is_completed():
    def ping() -> str:
        """Answer."""
        return "pong"

    made = Tool.from_definition({"name": "ping", "description": None, "inputSchema": {"properties": {}}}, ping)
    assert made.description == "Answer."
    assert made.parameters == {"type": "object", "properties": {}}
    assert Tool.from_definition({"name": "ping"}).parameters == {"type": "object", "properties": {}}


def test_an_mcp_definition_is_concurrent_only_if_read_only():
    def made(**more):
        return Tool.from_definition({"name": "ping", "inputSchema": {}, **more})

    assert not made().concurrent
    assert not made(annotations={"readOnlyHint": False}).concurrent
    assert made(annotations={"readOnlyHint": True}).concurrent
    assert Tool.from_definition({"name": "ping", "input_schema": {}}).concurrent
    assert Tool.from_definition({"name": "ping", "inputSchema": {}}, concurrent=True).concurrent
    assert made(title="Sonar").search_text == made(annotations={"title": "Sonar"}).search_text == "Sonar"
    assert made(title="Sonar", annotations={"title": "Echo"}).search_text == "Sonar"
    assert made(annotations={"title": 5}).search_text == ""
    assert made(title="Ping a host").search_text == "Ping a host"


def test_a_tool_of_the_mcp_sdk_is_parsed():
    types = pytest.importorskip("mcp.types")
    given = types.Tool.model_validate(
        {"name": "ping", "description": "Ping.", "inputSchema": CITY, "annotations": {"readOnlyHint": True}}
    )
    made = Tool.from_definition(given)
    assert (made.name, made.description, made.parameters, made.concurrent) == ("ping", "Ping.", CITY, True)


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        ({}, "must have a name"),
        ({"function": {}}, "must have a name"),
        ({"name": 3}, "must have a name"),
        (None, "must have a name"),
        ("ping", "must have a name"),
        ({"type": "web_search_20250305", "name": "web_search"}, "provider itself runs"),
        ({"name": "ping", "parameters": "none"}, "JSON Schema"),
        ({"name": "ping", "parameters": {"type": "array"}}, "'array'"),
    ],
    ids=str,
)
def test_an_invalid_definition_is_rejected(definition, said):
    with pytest.raises(ConfigurationError, match=said):
        Tool.from_definition(definition)


def test_the_context_is_a_read_only_copy():
    given = {"user_id": 7}
    ctx = ToolContext(given, tool_call_id="1", tool_name="t", session_id="s", tenant_id="x")
    given["user_id"] = 8
    assert dict(ctx) == {"user_id": 7}
    assert (ctx["user_id"], ctx.get("none"), "user_id" in ctx, len(ctx)) == (7, None, True, 1)
    assert (ctx.tool_call_id, ctx.tool_name, ctx.session_id, ctx.tenant_id) == ("1", "t", "s", "x")
    for change in ("context", "tool_call_id", "session_id"):
        with pytest.raises(AttributeError):
            setattr(ctx, change, "other")
    with pytest.raises(TypeError):
        ctx.context["user_id"] = 9
    assert ToolContext() is not None
    assert bool(ToolContext())
    assert "7" not in repr(ctx)


def test_the_identity_is_the_source_and_its_own_name():
    made = Tool("pay", source="bank")
    assert made.identity == made.renamed("bank_pay").identity == made.published_as("x").identity == "bank::pay"
    assert Tool("pay").identity == "pay"
    assert Tool("pay").renamed("pay_now").identity == "pay_now"
    assert Tool("pay.now").published_as("pay_now_1").identity == "pay.now"
    assert Tool("pay").replace(source="bank").identity == "bank::pay"


@given(st.tuples(st.none() | st.text(":%ab", min_size=1), st.text(":%ab", min_size=1)), st.data())
def test_identities_of_different_tools_differ(first, data):
    other = data.draw(st.tuples(st.none() | st.text(":%ab", min_size=1), st.text(":%ab", min_size=1)))
    assert (tool_identity(*first) == tool_identity(*other)) == (first == other)


def test_the_fingerprint_depends_on_what_the_source_provides():
    made = Tool("pay", "Pay.", {"properties": {"to": {}}}, source="bank")
    assert made.fingerprint == made.renamed("bank_pay").fingerprint == Tool("pay", "Pay.", made.parameters).fingerprint
    changed = [
        made.replace(description="Other."),
        made.replace(parameters=NOTHING),
        made.replace(annotations={"readOnlyHint": True}),
        made.replace(annotations={"readOnlyHint": False}),
        made.replace(output_schema={"readOnlyHint": True}),
    ]
    assert len({made.fingerprint, *(other.fingerprint for other in changed)}) == 6


def test_annotations_and_output_schema_are_read_only():
    made = Tool("pay", annotations={"readOnlyHint": True}, output_schema={"type": "string"}).replace(timeout=1)
    assert (made.annotations, made.output_schema) == ({"readOnlyHint": True}, {"type": "string"})
    with pytest.raises(TypeError):
        made.annotations["readOnlyHint"] = False
    with pytest.raises(ConfigurationError, match="annotations must be a JSON object"):
        Tool("pay", annotations="readOnlyHint")


def test_arguments_of_a_direct_call_can_be_json_text():
    tool = Tool("add", fn=lambda a, b=2: a + b)
    assert tool.call('{"a": 1}') == 3
    assert asyncio.run(tool.acall('{"a": 1, "b": 5}')) == 6
    assert Tool("ping", fn=lambda: "pong").call("") == "pong"


@pytest.mark.parametrize("wrong", ["{", "[1]", "7", [1], 7])
def test_arguments_of_a_direct_call_must_be_an_object(wrong):
    with pytest.raises(ToolArgumentError, match="tool 'add': args must be a mapping or the JSON text of an object"):
        Tool("add", fn=lambda a: a).call(wrong)
