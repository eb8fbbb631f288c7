"""`Tool`: what a model can call: a definition, and the function behind it."""

from __future__ import annotations

import hashlib
import inspect
import json
import types
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Unpack

from ..errors import AsyncCallableError, ConfigurationError
from ..indexes.reference import ToolReference
from .context import ToolContext
from .definition.decorator import ResultConverter, ToolMark, ToolOptions, mark_of, tool
from .definition.fields import (
    checked_function,
    checked_name,
    checked_parameters,
    checked_tags,
    checked_text,
    checked_timeout,
    checked_twin,
    in_words,
)
from .definition.signature import Binding, bind_by_name, default_name, docstring, is_async, origin, takes_anything
from .threads import run_in_worker_thread

__all__ = ["ResultConverter", "Tool", "ToolContext", "ToolOptions", "tool"]


class Tool:
    """A tool: what the model reads of it, and the function that runs. Do not change one; `replace` makes a copy.

    Args:
        name: the name the model calls.
        description: what the model reads; by default the function's docstring, else the name in words.
        parameters: a JSON Schema of the arguments, an object schema, kept as it is; by default made from the
            function's type hints, and without a function that of a tool that takes nothing.
        fn: a sync or async callable that receives the arguments by keyword, and the `ToolContext` in a
            parameter annotated so. Without one the tool is a definition only: it can be listed, not called.
        source: where the tool comes from, e.g. an MCP server; a search category.
        tags: further search categories.
        search_text: more words to find the tool by; never sent to a model.
        return_direct: the result is the answer to the user; the model does not see it.
        concurrent: whether it may run at the same time as others of one batch.
        timeout: seconds after which the model is told that it took too long. A sync function runs on in its thread.
        result_converter: turns what the function returns into the text for the model.
        afn: an async twin of a sync `fn` with the same parameters; async drivers await it rather than run `fn` in a
            thread, so that cancelling reaches it.

    Raises:
        ConfigurationError: when one of these cannot work.

    Example:
        >>> weather = Tool("weather", "Tell the weather.", fn=lambda city: f"rain in {city}")
        >>> weather.call({"city": "Gouda"})
        'rain in Gouda'
    """

    __slots__ = (
        "__weakref__",
        "_binding",
        "_definition_digest",
        "_reference",
        "_schema_digest",
        "afn",
        "concurrent",
        "description",
        "fn",
        "is_async",
        "name",
        "original_name",
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
        afn: Callable[..., Any] | None = None,
    ) -> None:
        self.name = self.original_name = checked_name(name)
        self.fn = checked_function(name, fn)
        self.afn = checked_twin(name, fn, afn)
        self.is_async = is_async(fn)
        self._binding: Binding | None = None
        if parameters is None:
            parameters, documented = self._describe_function()
        else:
            documented = ""
        self.description = (
            checked_text(name, "description", description) or documented or docstring(fn) or in_words(name)
        )
        self.parameters, self._schema_digest = checked_parameters(name, parameters)
        self.source = checked_text(name, "source", source) or None
        self.tags = checked_tags(name, tags)
        self.search_text = checked_text(name, "search_text", search_text)
        self.return_direct = return_direct
        self.concurrent = concurrent
        self.timeout = checked_timeout(name, timeout)
        self.result_converter = result_converter
        self._reference: ToolReference | None = None
        self._definition_digest: bytes | None = None

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        **options: Unpack[ToolOptions],
    ) -> Tool:
        """Make a tool of a function, method, callable object or `functools.partial`, by its type hints and docstring.

        What `@tool` was given holds where nothing is given here.

        Raises:
            ConfigurationError: when a parameter has a type that a model cannot be told of.

        Example:
            >>> def area(width: float, height: float = 1.0) -> float:
            ...     '''Compute an area.'''
            ...     return width * height
            >>> Tool.from_function(area).parameters["required"]
            ['width']
        """
        if isinstance(fn, type) or not callable(fn):
            raise ConfigurationError(f"a tool is made of a function, not of {fn!r}")
        from .definition.function_schema import describe_function

        mark = mark_of(fn) or ToolMark({})
        given = {"name": name, "description": description, **options}
        merged = {**mark.options, **{key: value for key, value in given.items() if value is not None}}
        called = merged.pop("name", None) or default_name(fn)
        described = describe_function(fn)
        explained = merged.pop("description", "") or described.description
        made = cls(called, explained, described.parameters, fn, **merged)
        made._binding = described.bind
        return made

    @classmethod
    def from_definition(
        cls, definition: object, fn: Callable[..., Any] | None = None, **options: Unpack[ToolOptions]
    ) -> Tool:
        """Make a tool of a definition in the form of OpenAI (chat or responses), Anthropic or MCP, or a plain one.

        Args:
            definition: a mapping, or an object with those attributes such as a tool of the MCP SDK.
            fn: what runs; it receives the arguments by keyword.
            options: see `Tool`; they win over what the definition says.

        Raises:
            ConfigurationError: when it is none of these.

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
        """What an index knows of the tool. A renamed tool is also found by its original name."""
        if self._reference is None:
            renamed = self.original_name if self.original_name != self.name else ""
            self._reference = ToolReference(
                name=self.name,
                description=self.description,
                parameters=self.parameters,
                source=self.source,
                tags=self.tags,
                search_text=" ".join(part for part in (renamed, self.search_text) if part),
            )
        return self._reference

    @property
    def definition_digest(self) -> bytes:
        """16 bytes of blake2b over what a model sees: name, description and parameters."""
        if self._definition_digest is None:
            text = json.dumps([self.name, self.description]).encode()
            self._definition_digest = hashlib.blake2b(text + self._schema_digest, digest_size=16).digest()
        return self._definition_digest

    @property
    def schema_digest(self) -> bytes:
        """16 bytes of blake2b over the parameters alone, without regard to the order of keys."""
        return self._schema_digest

    @property
    def origin(self) -> str:
        """Where the tool comes from, for messages: its source, else its function's place in the code."""
        if self.source:
            return f"source {self.source!r}"
        return f"function {origin(self.fn)}" if self.fn is not None else "a definition without a function"

    @property
    def awaits(self) -> bool:
        """Whether `acall` awaits the function's own coroutine, rather than run it in a worker thread."""
        return self.is_async or self.afn is not None

    def call(self, args: Mapping[str, Any] | None = None, ctx: ToolContext | None = None) -> Any:
        """Run the tool on this thread and return what its function returns.

        Raises:
            ToolArgumentError: when an argument cannot be turned into the type the function asks for.
            AsyncCallableError: when the function is async.
            ConfigurationError: when the tool has no function.
        """
        if self.is_async:
            raise AsyncCallableError(self._async_only())
        result = self._invoke(args, ctx)
        if inspect.isawaitable(result):
            if inspect.iscoroutine(result):
                result.close()
            raise AsyncCallableError(self._async_only())
        return result

    async def acall(self, args: Mapping[str, Any] | None = None, ctx: ToolContext | None = None) -> Any:
        """Run the tool and return what its function returns; a sync function runs in a worker thread.

        Context variables are copied to the thread. A cancelled call is left behind there: threads cannot be stopped.

        Raises:
            ToolArgumentError: when an argument cannot be turned into the type the function asks for.
            ConfigurationError: when the tool has no function.
        """
        if self.awaits:
            return await self._invoke(args, ctx, self.afn)
        result = await run_in_worker_thread(partial(self.begin, args, ctx))
        return await result if inspect.isawaitable(result) else result

    def begin(self, args: Mapping[str, Any] | None = None, ctx: ToolContext | None = None) -> Any:
        """Call the function on this thread and return what it gives; that may be something to await."""
        return self._invoke(args, ctx)

    def renamed(self, name: str) -> Tool:
        """Return the tool under another name; `original_name` stays what it was."""
        return self.replace(name=name)

    def replace(self, **changes: Any) -> Tool:
        """Return a copy with some fields changed.

        Raises:
            ConfigurationError: for an unknown field, or a value that cannot work.
        """
        fields = ("name", "description", "parameters", "fn", "afn", *ToolOptions.__annotations__)
        if unknown := sorted(changes.keys() - set(fields)):
            raise ConfigurationError(f"a tool has no field {', '.join(map(repr, unknown))} to replace")
        if "fn" in changes:
            changes.setdefault("afn", None)  # the twin of another function
        copy = Tool(**{field: changes.get(field, getattr(self, field)) for field in fields})
        copy.original_name = self.original_name
        if copy.fn is self.fn:
            copy._binding = self._binding
        return copy

    def __repr__(self) -> str:
        parts = [repr(self.name), *([f"source={self.source!r}"] if self.source else [])]
        return f"Tool({', '.join(parts)})"

    def _describe_function(self) -> tuple[Mapping[str, Any], str]:
        """The parameters' schema and the description that the function itself gives."""
        if self.fn is None or takes_anything(self.fn):
            return {"type": "object", "properties": {}, "additionalProperties": False}, ""
        from .definition.function_schema import describe_function

        described = describe_function(self.fn)
        self._binding = described.bind
        return described.parameters, described.description

    def _invoke(
        self, args: Mapping[str, Any] | None, ctx: ToolContext | None, twin: Callable[..., Any] | None = None
    ) -> Any:
        if self.fn is None:
            raise ConfigurationError(f"the tool {self.name!r} is a definition without a function; give it fn=...")
        if self._binding is None:
            self._binding = bind_by_name(self.fn)
        context = ctx if ctx is not None else ToolContext(tool_name=self.name)
        positional, keywords = self._binding(args or {}, context)
        result = (twin or self.fn)(*positional, **keywords)
        return list(result) if isinstance(result, types.GeneratorType) else result

    def _async_only(self) -> str:
        return f"the tool {self.name!r} is async; use acall or astream of the client, or acall of the tool"
