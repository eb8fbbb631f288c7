"""`AugmentedTools`: asks the model for more with every tool call, such as why it makes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from ..errors import ConfigurationError
from .collect import ToolLike, expand_tools, resolve_tools
from .definition.signature import is_async
from .predicates import evaluate_predicate
from .tool import Tool, ToolContext

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["AugmentedCall", "AugmentedTools"]

FieldsT = TypeVar("FieldsT", bound="BaseModel")


@dataclass(frozen=True, slots=True)
class AugmentedCall(Generic[FieldsT]):
    """What a consumer is given for each call.

    Args:
        tool: the tool as it is without the added fields.
        arguments: all arguments of the model, added ones included.
        fields: the added ones, parsed.
        context: what the tool is given.

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
    """Adds the fields of a pydantic model to the parameters of every tool, and takes them out again before it runs.

    A provider: pass it to ``tools=[...]``. It wraps tools of every kind, other providers such as `McpTools` included,
    keeps what else they say (return-direct, timeout, tags, source), and works under tool search. Added fields come
    last; those without a default are required of the model.

    Args:
        tools: what ``ChatClient(tools=...)`` takes.
        fields: the pydantic model.
        consumer: called with an `AugmentedCall` before the tool runs; what it raises is answered to the model like an
            error of the tool, so it can refuse a call.
        remove: False leaves the added arguments in what the tool is given.

    Raises:
        ConfigurationError: if `fields` is not a pydantic model with fields, or the consumer cannot be called, and, when
            the tools are listed, if a tool has a parameter of the same name as a field.

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
        consumer: Callable[[AugmentedCall[FieldsT]], object],
        *,
        remove: bool = True,
    ) -> None:
        from pydantic import BaseModel

        if not (isinstance(fields, type) and issubclass(fields, BaseModel)) or not fields.model_fields:
            raise ConfigurationError(f"fields must be a pydantic model with at least one field, not {fields!r}")
        if not callable(consumer) or is_async(consumer):
            raise ConfigurationError(
                f"consumer must be a callable that is not async: AugmentedCall -> None, not {consumer!r}"
            )
        self._found = expand_tools(tools)
        self._fields = fields
        self._consumer = consumer
        self._remove = remove
        self._schema = _schema_of(fields)
        self._made: WeakKeyDictionary[Tool, Tool] = WeakKeyDictionary()
        self._lock = Lock()

    def tools(self) -> tuple[Tool, ...]:
        """The tools with the fields added; the same objects as long as the tools beneath are the same."""
        with self._lock:
            return tuple(self._augmented(tool) for tool in resolve_tools(self._found))

    def _augmented(self, tool: Tool) -> Tool:
        if tool not in self._made:
            parameters = _merged(tool, self._schema)
            # The wrapper must not hold the tool it is kept under, or neither would ever go: it holds a copy.
            inner = tool.replace()

            def run(context: ToolContext, **arguments: Any) -> Any:
                return inner.call(self._consume(inner, arguments, context), context)

            async def arun(context: ToolContext, **arguments: Any) -> Any:
                from anyio.to_thread import run_sync

                rest = await run_sync(partial(self._consume, inner, arguments, context))
                return await inner.acall(rest, context)

            changes: dict[str, Any] = {"fn": arun} if tool.is_async else {"fn": run, "afn": arun if tool.afn else None}
            self._made[tool] = tool.replace(parameters=parameters, **changes)
        return self._made[tool]

    def _consume(self, tool: Tool, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        from pydantic import ValidationError

        from ..errors import ToolArgumentError

        names = self._schema["properties"].keys()
        try:
            fields = self._fields.model_validate({name: arguments[name] for name in names if name in arguments})
        except ValidationError as error:
            raise ToolArgumentError(f"{tool.name}: {error}") from error
        evaluate_predicate(self._consumer(AugmentedCall(tool, arguments, fields, context)), "consumer")
        return {name: value for name, value in arguments.items() if not self._remove or name not in names}


def _schema_of(fields: type[BaseModel]) -> dict[str, Any]:
    from .definition.json_schema import ToolJsonSchema, tidy

    schema: dict[str, Any] = tidy(fields.model_json_schema(schema_generator=ToolJsonSchema))
    return schema


def _merged(tool: Tool, added: Mapping[str, Any]) -> dict[str, Any]:
    """The tool's parameters with the added ones behind them."""
    own = tool.parameters
    for part in ("allOf", "anyOf", "oneOf"):
        if any(
            isinstance(branch, Mapping) and branch.get("additionalProperties") is False for branch in own.get(part, ())
        ):
            raise ConfigurationError(
                f"the tool {tool.name!r} closes its parameters within {part}, so that no field can be added to them; "
                "leave it out of AugmentedTools"
            )
    for part in ("properties", "$defs"):
        both = own.get(part, {}).keys() & added.get(part, {}).keys()
        if both and (part == "properties" or any(own[part][name] != added[part][name] for name in both)):
            raise ConfigurationError(
                f"the tool {tool.name!r} has a {'parameter' if part == 'properties' else 'definition'} "
                f"{sorted(both)[0]!r} already; rename the added field"
            )
    merged = {**own, "properties": {**own.get("properties", {}), **added["properties"]}}
    required = [*own.get("required", ()), *added.get("required", ())]
    if required:
        merged["required"] = required
    if own.get("$defs") or added.get("$defs"):
        merged["$defs"] = {**own.get("$defs", {}), **added.get("$defs", {})}
    return merged
