"""Augmented tools: extra arguments that the model fills in with every tool call, such as its reason."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from ..errors import ConfigurationError
from ..shared.fork import new_lock
from .collect import ToolLike, expand_tools, resolve_tools
from .definition.signature import is_async
from .predicates import evaluate_predicate
from .threads import run_library_work
from .tool_type import Tool, ToolContext

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["AugmentedCall", "AugmentedTools"]

FieldsT = TypeVar("FieldsT")


@dataclass(frozen=True, slots=True)
class AugmentedCall(Generic[FieldsT]):
    """One tool call with its added fields, as the consumer receives it.

    Args:
        tool: The tool without the added fields.
        arguments: All arguments of the model, including the added ones.
        fields: The added arguments, parsed.
        context: The context of the tool call.

    Example:
        >>> call = AugmentedCall(Tool("ping"), {"reason": "why not"}, None, ToolContext())
        >>> call.arguments["reason"]
        'why not'
    """

    tool: Tool
    arguments: Mapping[str, Any]
    fields: FieldsT
    context: ToolContext


class AugmentedTools(Generic[FieldsT]):
    """A tool provider that adds the fields of a pydantic model or a dataclass to the parameters of every tool.

    Pass it to ``tools=[...]``. It wraps every kind of tool and provider, such as `McpTools`, keeps their other
    properties (``return_direct``, timeout, tags, source), and works with tool search. The added fields come last.
    Fields without a default are required. They are removed from the arguments before the tool runs.

    Args:
        tools: The tools, as for ``ChatClient(tools=...)``.
        fields: A pydantic model or a dataclass.
        consumer: Called with an `AugmentedCall` before the tool runs. An exception becomes the tool result, so the
            consumer can reject a call. Without a consumer, the model only has to fill in the fields.
        remove: False passes the added arguments to the tool, too.

    Raises:
        ConfigurationError: If `fields` is not a class with fields, or the consumer is not a sync callable.
            Also when the tools are listed, if a tool has a parameter with the name of a field.

    Example:
        >>> from pydantic import BaseModel
        >>> class Thought(BaseModel):
        ...     reason: str
        >>> def weather(city: str) -> str:
        ...     "Weather in a city."
        ...     return f"rain in {city}"
        >>> said = []
        >>> (augmented,) = AugmentedTools([weather], Thought, lambda call: said.append(call.fields.reason)).tools()
        >>> augmented.parameters["required"]
        ['city', 'reason']
        >>> augmented.call({"city": "Gouda", "reason": "They asked."}), said
        ('rain in Gouda', ['They asked.'])
    """

    def __init__(
        self,
        tools: Iterable[ToolLike] | ToolLike,
        fields: type[FieldsT],
        consumer: Callable[[AugmentedCall[FieldsT]], object] | None = None,
        *,
        remove: bool = True,
    ) -> None:
        from pydantic import TypeAdapter

        if not _names_of_fields(fields):
            raise ConfigurationError(
                f"fields must be a pydantic model or a dataclass with at least one field, got {fields!r}"
            )
        if consumer is not None and (not callable(consumer) or is_async(consumer)):
            raise ConfigurationError(
                f"consumer must be a callable that is not async: AugmentedCall -> None, got {consumer!r}"
            )
        self._wrapped = expand_tools(tools)
        self._fields: TypeAdapter[FieldsT] = TypeAdapter(fields)
        self._consumer = consumer
        self._remove = remove
        self._schema = _schema_of(self._fields)
        self._augmented_tools: WeakKeyDictionary[Tool, Tool] = WeakKeyDictionary()
        self._lock = new_lock()

    def tools(self) -> tuple[Tool, ...]:
        """Return the tools with the added fields; the same objects as long as the wrapped tools are the same."""
        with self._lock:
            return tuple(self._augment(tool) for tool in resolve_tools(self._wrapped))

    def _augment(self, tool: Tool) -> Tool:
        if tool not in self._augmented_tools:
            parameters = _merged(tool, self._schema)
            # A copy, because a reference to the key of a WeakKeyDictionary would keep the entry alive.
            inner = tool.replace()

            def run(context: ToolContext, **arguments: Any) -> Any:
                return inner.call(self._consume(inner, arguments, context), context)

            async def arun(context: ToolContext, **arguments: Any) -> Any:
                consume = partial(self._consume, inner, arguments, context)
                rest = await run_library_work(consume, tenant=context.tenant_id)
                return await inner.acall(rest, context)

            changes: dict[str, Any] = {"fn": arun} if tool.is_async else {"fn": run, "afn": arun if tool.afn else None}
            changes["returns_value"] = tool.returns_value
            self._augmented_tools[tool] = tool.replace(parameters=parameters, **changes)
        return self._augmented_tools[tool]

    def _consume(self, tool: Tool, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        from pydantic import ValidationError

        from ..errors import ToolArgumentError

        names = self._schema["properties"].keys()
        try:
            fields = self._fields.validate_python({name: arguments[name] for name in names if name in arguments})
        except ValidationError as error:
            raise ToolArgumentError(f"{tool.name}: {error}") from error
        if self._consumer is not None:
            evaluate_predicate(self._consumer(AugmentedCall(tool, arguments, fields, context)), "consumer")
        return {name: value for name, value in arguments.items() if not self._remove or name not in names}


def _names_of_fields(fields: object) -> tuple[str, ...]:
    """Return the names of the fields of a pydantic model or a dataclass; none for anything else."""
    from pydantic import BaseModel

    if not isinstance(fields, type):
        return ()
    if issubclass(fields, BaseModel):
        return tuple(fields.model_fields)
    return tuple(field.name for field in dataclasses.fields(fields)) if is_dataclass(fields) else ()


def _schema_of(fields: TypeAdapter[Any]) -> dict[str, Any]:
    from .definition.json_schema import ToolJsonSchema, tidy

    schema: dict[str, Any] = tidy(fields.json_schema(schema_generator=ToolJsonSchema))
    return schema


def _merged(tool: Tool, added: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tool's parameters, followed by the added ones."""
    own = tool.parameters
    for part in ("allOf", "anyOf", "oneOf"):
        if any(
            isinstance(branch, Mapping) and branch.get("additionalProperties") is False for branch in own.get(part, ())
        ):
            raise ConfigurationError(
                f"tool {tool.name!r}: {part} forbids additional properties, so no field can be added; "
                "do not pass the tool to AugmentedTools"
            )
    for part in ("properties", "$defs"):
        both = own.get(part, {}).keys() & added.get(part, {}).keys()
        if both and (part == "properties" or any(own[part][name] != added[part][name] for name in both)):
            raise ConfigurationError(
                f"tool {tool.name!r} already has a {'parameter' if part == 'properties' else 'definition'} "
                f"{sorted(both)[0]!r}; rename the added field"
            )
    merged = {**own, "properties": {**own.get("properties", {}), **added["properties"]}}
    required = [*own.get("required", ()), *added.get("required", ())]
    if required:
        merged["required"] = required
    if own.get("$defs") or added.get("$defs"):
        merged["$defs"] = {**own.get("$defs", {}), **added.get("$defs", {})}
    return merged
