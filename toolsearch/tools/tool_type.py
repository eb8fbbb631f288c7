"""Tools: a definition that the model reads, and the function that a tool call runs."""

from __future__ import annotations

import hashlib
import json
import types
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, Unpack

from ..errors import ConfigurationError
from ..indexes.canonical_json import canonical_json
from ..indexes.reference import ToolReference, tool_identity
from ..messages import ToolVersion
from ..text import short_repr
from .background_loop import run_coroutine
from .context import ToolContext
from .definition.decorator import ResultConverter, ToolMark, ToolOptions, mark_of, tool
from .definition.fields import (
    coerce_arguments,
    coerce_json_object,
    coerce_parameters,
    coerce_tags,
    coerce_timeout,
    name_in_words,
    validate_async_twin,
    validate_function,
    validate_result_options,
    validate_text,
)
from .definition.signature import (
    Binding,
    bind_by_name,
    declares_value,
    default_name,
    docstring,
    is_async,
    is_awaitable,
    origin,
    takes_anything,
)
from .threads import run_in_worker_thread

_LAZY_TYPES = (types.GeneratorType, map, filter, zip)

__all__ = ["ResultConverter", "Tool", "ToolContext", "ToolOptions", "tool"]


class Tool:
    """A tool: a definition that the model reads, and the function that runs. Immutable; `replace` makes a changed copy.

    Args:
        name: The name that the model calls.
        description: The description for the model. By default the function's docstring, else the name in words.
        parameters: A JSON Schema of an object, kept as it is. By default it is made from the function's type hints;
            a tool without a function takes no arguments.
        fn: A sync or async callable. It receives the arguments by keyword, and the `ToolContext` in a parameter that
            is annotated with it. A tool without a function can be listed and searched, but not called.
        source: The origin of the tool, e.g. an MCP server. It is a search category.
        tags: More search categories.
        search_text: More words to find the tool by; never sent to a model.
        return_direct: Whether the result is the answer to the user, without another round of the model.
        concurrent: Whether the tool can run at the same time as other tool calls of one batch.
        timeout: Seconds after which the model gets an error as the tool result. A sync function continues in its
            thread.
        result_converter: Converts what the function returns to the text for the model: ``value -> text`` or
            ``(value, tool) -> text``. `toolsearch.tools.convert_result` is the default one.
        returns_value: Whether None is a value. Then the model reads ``null``, else "Done". By default, whether the
            function's return annotation is present and not None.
        max_result_tokens: Tokens after which a result is cut. None means the limit of the loop, `math.inf` no limit.
        afn: An async twin of a sync `fn`, with the same parameters. Async calls await it instead of running `fn` in a
            thread, so that cancelling reaches it.
        annotations: What the source says about the tool, such as the hints of MCP. Nothing is decided by it.
        output_schema: A JSON Schema of the result, as the source declares it.

    Attributes:
        is_async: Whether `fn` is async.
        original_name: The name before the first renaming. For a tool of an MCP server, the server's own name.

    Raises:
        ConfigurationError: If an argument cannot work; the message names it.

    Example:
        >>> weather = Tool("weather", "Tell the weather.", fn=lambda city: f"rain in {city}")
        >>> weather.call({"city": "Gouda"})
        'rain in Gouda'
    """

    __slots__ = (
        "__weakref__",
        "_binding",
        "_definition_digest",
        "_fingerprint",
        "_identity",
        "_own_name",
        "_provided",
        "_reference",
        "_returns_value",
        "_schema_digest",
        "afn",
        "annotations",
        "concurrent",
        "description",
        "fn",
        "is_async",
        "max_result_tokens",
        "name",
        "original_name",
        "output_schema",
        "parameters",
        "result_converter",
        "return_direct",
        "search_text",
        "source",
        "tags",
        "timeout",
    )

    def __init__(
        self,
        name: str,
        description: str = "",
        parameters: Mapping[str, Any] | None = None,
        fn: Callable[..., Any] | None = None,
        *,
        source: str | None = None,
        tags: Iterable[str] = (),
        search_text: str = "",
        return_direct: bool = False,
        concurrent: bool = True,
        timeout: float | None = None,
        result_converter: ResultConverter | None = None,
        returns_value: bool | None = None,
        max_result_tokens: float | None = None,
        afn: Callable[..., Any] | None = None,
        annotations: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
    ) -> None:
        validate_text(name, "name", name, empty=False)
        validate_text(name, "description", description or "")
        validate_function(name, fn)
        validate_async_twin(name, fn, afn)
        self.name = self.original_name = self._own_name = name
        validate_result_options(name, returns_value, max_result_tokens)

        self.fn = fn
        self.afn = afn
        self.is_async = is_async(fn)
        self._binding: Binding | None = None
        documented = ""
        if parameters is None:
            parameters, documented = self._describe_function()
        self.description = description or documented or docstring(fn) or name_in_words(name)
        self.parameters, self._schema_digest = coerce_parameters(name, parameters)
        self.source = source or None
        self.tags = coerce_tags(name, tags)
        self.search_text = search_text or ""
        self.return_direct = return_direct
        self.concurrent = concurrent
        self.timeout = coerce_timeout(name, timeout)
        self.result_converter = result_converter
        self.annotations = coerce_json_object(name, "annotations", annotations)
        self.output_schema = coerce_json_object(name, "output_schema", output_schema)
        self.max_result_tokens = max_result_tokens
        self._returns_value = returns_value
        self._reference: ToolReference | None = None
        self._definition_digest: bytes | None = None
        self._fingerprint: str | None = None
        self._identity: str | None = None
        self._provided = False

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        **options: Unpack[ToolOptions],
    ) -> Tool:
        """Make a tool from the type hints and docstring of a function, method, callable object or `functools.partial`.

        Args:
            fn: The callable.
            name: The tool's name; by default the function's.
            description: The description for the model; by default the docstring.
            **options: See `Tool`. The options of `@tool` are the defaults.

        Raises:
            ConfigurationError: If a parameter has a type that JSON Schema cannot describe.

        Example:
            >>> def area(width: float, height: float = 1.0) -> float:
            ...     '''Compute an area.'''
            ...     return width * height
            >>> Tool.from_function(area).parameters["required"]
            ['width']
        """
        if isinstance(fn, type) or not callable(fn):
            raise ConfigurationError(f"fn must be a function, got {short_repr(fn)}")
        from .definition.function_schema import describe_function

        mark = mark_of(fn) or ToolMark({})
        given = {"name": name, "description": description, **options}
        merged = {**mark.options, **{key: value for key, value in given.items() if value is not None}}
        name = merged.pop("name", None) or default_name(fn)
        described = describe_function(fn)
        description = merged.pop("description", "") or described.description
        tool = cls(name, description, described.parameters, fn, **merged)
        tool._binding = described.bind
        return tool

    @classmethod
    def from_definition(
        cls, definition: object, fn: Callable[..., Any] | None = None, **options: Unpack[ToolOptions]
    ) -> Tool:
        """Make a tool from a definition in the form of OpenAI (chat or responses), Anthropic or MCP, or a plain one.

        Args:
            definition: A mapping, or an object with the same attributes, such as a tool of the MCP SDK.
            fn: The function that runs. It receives the arguments by keyword.
            **options: See `Tool`. They replace what the definition says.

        Raises:
            ConfigurationError: If the definition has none of these forms.

        Example:
            >>> Tool.from_definition({"name": "ping", "input_schema": {"type": "object"}}, lambda: "pong").call()
            'pong'
        """
        from .definition.foreign import read_definition

        found = read_definition(definition)
        merged: ToolOptions = {**found.options, **options}
        return cls(found.name, found.description, found.parameters, fn, **merged)

    @property
    def reference(self) -> ToolReference:
        """The tool as an index sees it. A renamed tool can also be found by its original name."""
        if self._reference is None:
            renamed = self.original_name if self.original_name != self.name else ""
            self._reference = ToolReference(
                name=self.name,
                description=self.description,
                parameters=self.parameters,
                source=self.source,
                tags=self.tags,
                search_text=" ".join(part for part in (renamed, self.search_text) if part),
                own_name=self._own_name if self._own_name != self.name else "",
            )
        return self._reference

    @property
    def identity(self) -> str:
        """The tool's source and the name that the source gave it, as ``source::name``. Without a source, its own name.

        Rules, limits and memories of a tool follow its identity: another source cannot take it, whatever it lists.
        """
        if self._identity is None:  # read for every tool in every turn
            self._identity = tool_identity(self.source, self._own_name)
        return self._identity

    @property
    def fingerprint(self) -> str:
        """A hex digest of the own name, description, parameters, annotations and output schema; 32 characters.

        It changes when the source changes the definition, and is independent of the name that the model sees.
        """
        if self._fingerprint is None:
            extra = [None if part is None else dict(part) for part in (self.annotations, self.output_schema)]
            text = canonical_json([self._own_name, self.description, *extra]).encode("utf-8", "surrogatepass")
            self._fingerprint = hashlib.blake2b(text + self._schema_digest, digest_size=16).hexdigest()
        return self._fingerprint

    @property
    def version(self) -> ToolVersion:
        """The name, identity and fingerprint, to be recorded in a conversation."""
        return ToolVersion(self.name, self.identity, self.fingerprint)

    @property
    def definition_digest(self) -> bytes:
        """A 16-byte blake2b digest of what the model sees: name, description and parameters."""
        if self._definition_digest is None:
            text = json.dumps([self.name, self.description]).encode()
            self._definition_digest = hashlib.blake2b(text + self._schema_digest, digest_size=16).digest()
        return self._definition_digest

    @property
    def schema_digest(self) -> bytes:
        """A 16-byte blake2b digest of the parameters, independent of the order of keys."""
        return self._schema_digest

    @property
    def origin(self) -> str:
        """The tool's source, or else the place of its function in the code, for messages."""
        if self.source:
            return f"source {self.source!r}"
        return f"function {origin(self.fn)}" if self.fn is not None else "a definition without a function"

    @property
    def returns_value(self) -> bool:
        """True if None is a value that the tool returns, and not the absence of a value."""
        if self._returns_value is None:
            self._returns_value = declares_value(self.fn)
        return self._returns_value

    @property
    def provided(self) -> bool:
        """True if a server chose the tool's name, so that a conflict of names is not the programmer's mistake."""
        return self._provided

    @property
    def awaits(self) -> bool:
        """True if `acall` awaits a coroutine of the function instead of running it in a worker thread."""
        return self.is_async or self.afn is not None

    @property
    def thread_source(self) -> str:
        """Key of the tool when threads are shared: its source, or its own name if it has none."""
        return self.source or self.original_name

    def call(self, args: Mapping[str, Any] | str | None = None, ctx: ToolContext | None = None) -> Any:
        """Run the tool in this thread and return the function's value.

        An async function runs on a background event loop of the library, which is not the application's. Clients and
        connections that belong to another loop cannot be used there; await `acall` instead.

        Args:
            args: The arguments by name, as JSON values, or the JSON text of an object.
            ctx: The context for the tool; by default an empty one.

        Raises:
            ToolArgumentError: If an argument cannot be converted to its annotated type.
            ConfigurationError: If the tool has no function.
        """
        if self.is_async:
            return run_coroutine(partial(self.acall, args, ctx))
        result = self._invoke(args, ctx)
        return run_coroutine(partial(_wait_for, result)) if is_awaitable(result) else result

    async def acall(self, args: Mapping[str, Any] | str | None = None, ctx: ToolContext | None = None) -> Any:
        """Run the tool and return the function's value. A sync function runs in a worker thread.

        Context variables are copied to the thread. Cancelling abandons it: a thread cannot be stopped.

        Args:
            args: The arguments by name, as JSON values, or the JSON text of an object.
            ctx: The context for the tool; by default an empty one.

        Raises:
            ToolArgumentError: If an argument cannot be converted to its annotated type.
            ConfigurationError: If the tool has no function.
        """
        if self.awaits:
            return await self._invoke(args, ctx, self.afn)
        work = partial(self.begin, args, ctx)
        tenant = ctx.tenant_id if ctx is not None else None
        result = await run_in_worker_thread(work, tenant=tenant, source=self.thread_source)
        return await result if is_awaitable(result) else result

    def begin(self, args: Mapping[str, Any] | str | None = None, ctx: ToolContext | None = None) -> Any:
        """Call the function in this thread and return its value, which can be an awaitable."""
        return self._invoke(args, ctx)

    def renamed(self, name: str) -> Tool:
        """Return a copy with another name and the same `original_name`.

        A tool with a source keeps its identity. Without a source, the new name is its identity.
        """
        return self.replace(name=name)

    def published_as(self, name: str) -> Tool:
        """Return a copy that the model sees as `name`; identity and `original_name` stay."""
        copy = self._copy()
        copy.name = name
        return copy

    def as_provided(self) -> Tool:
        """Return a copy that counts as listed by a server; see `provided`."""
        copy = self._copy()
        copy._provided = True
        return copy

    def _copy(self) -> Tool:
        """Return a copy without validating its fields again, which takes long for a large schema."""
        copy = object.__new__(Tool)
        for slot in Tool.__slots__:
            if slot != "__weakref__":
                setattr(copy, slot, getattr(self, slot))
        copy._reference = copy._definition_digest = None  # they contain the name
        return copy

    def replace(self, **changes: Any) -> Tool:
        """Return a copy with some fields changed.

        Raises:
            ConfigurationError: If a field does not exist, or a value cannot work.
        """
        fields = ("name", "description", "parameters", "fn", "afn", *ToolOptions.__annotations__)
        if unknown := sorted(changes.keys() - set(fields)):
            raise ConfigurationError(f"Tool does not have the field {', '.join(map(repr, unknown))}")
        if "fn" in changes:
            changes.setdefault("afn", None)  # it was the twin of the old function
            changes.setdefault("returns_value", None)
        kept = {field: getattr(self, field) for field in fields if field not in changes and field != "returns_value"}
        copy = Tool(**{"returns_value": self._returns_value, **kept, **changes})
        copy.original_name = self.original_name
        copy._provided = self._provided
        if self.source is not None or copy.name == self.name:
            copy._own_name = self._own_name
        if copy.fn is self.fn:
            copy._binding = self._binding
        return copy

    def __copy__(self) -> Tool:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tool:
        """Return the tool itself: it is immutable, and its function can hold connections and locks."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, if the function can be pickled. The binding is made again."""
        state = {slot: getattr(self, slot) for slot in Tool.__slots__ if slot not in ("__weakref__", "_binding")}
        for slot in ("annotations", "output_schema"):  # read-only views
            state[slot] = None if state[slot] is None else dict(state[slot])
        state["_described"] = self._binding is not None and hasattr(self._binding, "__self__")
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        described = state.pop("_described")
        for slot, value in state.items():
            if slot in ("annotations", "output_schema") and value is not None:
                value = types.MappingProxyType(value)
            setattr(self, slot, value)
        self._binding = None
        if described and self.fn is not None:
            from .definition.function_schema import describe_function

            self._binding = describe_function(self.fn).bind

    def __repr__(self) -> str:
        parts = [repr(self.name), *([f"source={self.source!r}"] if self.source else [])]
        return f"Tool({', '.join(parts)})"

    def _describe_function(self) -> tuple[Mapping[str, Any], str]:
        """Return the schema and the description that the function provides."""
        if self.fn is None or takes_anything(self.fn):
            return {"type": "object", "properties": {}, "additionalProperties": False}, ""
        from .definition.function_schema import describe_function

        described = describe_function(self.fn)
        self._binding = described.bind
        return described.parameters, described.description

    def _invoke(
        self, args: Mapping[str, Any] | str | None, ctx: ToolContext | None, twin: Callable[..., Any] | None = None
    ) -> Any:
        if self.fn is None:
            raise ConfigurationError(f"tool {self.name!r} is a definition without a function; pass fn=...")
        if self._binding is None:
            self._binding = bind_by_name(self.fn)
        context = ctx if ctx is not None else ToolContext(tool_name=self.name)
        positional, keywords = self._binding(coerce_arguments(self.name, args), context)
        result = (twin or self.fn)(*positional, **keywords)
        # By type, because an object can fail when it is asked for its class.
        return list(result) if type(result) in _LAZY_TYPES else result


async def _wait_for(result: Awaitable[Any]) -> Any:
    return await result
