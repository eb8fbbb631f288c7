"""Signatures of callables: name, description and parameters, with annotations resolved."""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from ...errors import ConfigurationError
from ..context import ToolContext
from .decorator import mark_of
from .wrappers import read_signature

__all__ = [
    "Binding",
    "Parameter",
    "bind_by_name",
    "declares_value",
    "default_name",
    "docstring",
    "is_async",
    "is_awaitable",
    "local_names",
    "origin",
    "parameters_of",
    "takes_anything",
]

Binding: typing.TypeAlias = Callable[[Mapping[str, Any], ToolContext], tuple[list[Any], dict[str, Any]]]
"""Converts a model's arguments to the positional and keyword arguments of a call; raises `ToolArgumentError`."""

_NO_VALUE = (None, type(None), typing.NoReturn, typing.Never)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a callable, with its annotation resolved.

    Args:
        name: The name.
        annotation: The type; `Any` if there is none.
        default: The default value, or `inspect.Parameter.empty`.
        kind: The kind, as in `inspect.Parameter`.
        injected: Whether it receives the `ToolContext`.
    """

    name: str
    annotation: Any
    default: Any
    kind: Any
    injected: bool

    @property
    def positional(self) -> bool:
        """True if the parameter can only be passed by position."""
        return self.kind is inspect.Parameter.POSITIONAL_ONLY

    @property
    def private(self) -> bool:
        """True if the model does not fill it in: its name begins with an underscore, and it has a default.

        A default that is a pydantic `Field` is meant for the model.
        """
        given = self.default is not inspect.Parameter.empty and type(self.default).__name__ != "FieldInfo"
        return self.name.startswith("_") and given

    @property
    def variadic(self) -> bool:
        """True if the parameter is ``*args`` or ``**kwargs``."""
        return self.kind in _VARIADIC


def is_async(fn: Callable[..., Any] | None) -> bool:
    """Return whether `fn` is an async function, or an object with an async ``__call__``."""
    if fn is None:
        return False
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(_core(fn)).__call__)


def is_awaitable(value: object) -> bool:
    """Return whether the value of a function has to be awaited.

    The type decides: `isinstance` asks the object for its class, which can fail. So can a metaclass.
    """
    try:
        return issubclass(type(value), Awaitable)
    except Exception:
        return False


def default_name(fn: Callable[..., Any]) -> str:
    """Return the default name of a tool: that of the function, or of the class of a callable object."""
    core = _core(fn)
    name = getattr(core, "__name__", None)
    if not isinstance(name, str):
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(core).__name__).lower()
    if name == "<lambda>":
        raise ConfigurationError("a lambda does not have a name; write Tool.from_function(fn, name=...)")
    return name


def docstring(fn: Callable[..., Any] | None) -> str:
    """Return the docstring of `fn` without its indentation; an empty string if there is none."""
    core = _core(fn) if fn is not None else None
    if core is None:
        return ""
    if not _is_routine(core):  # an instance: the docstring of `__call__`, else that of its class
        return inspect.getdoc(type(core).__call__) or inspect.getdoc(type(core)) or ""
    return inspect.getdoc(core) or ""


def origin(fn: Callable[..., Any]) -> str:
    """Return module and qualified name of `fn`, for messages."""
    core = _core(fn)
    named = core if _is_routine(core) else type(core)
    return f"{getattr(named, '__module__', None) or '?'}.{getattr(named, '__qualname__', repr(named))}"


def parameters_of(fn: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the parameters of `fn`, without ``self`` and without those that a `functools.partial` has filled.

    Raises:
        ConfigurationError: If the signature cannot be read, or an annotation cannot be resolved.
    """
    return tuple(_parameters(fn, lenient=False))


def declares_value(fn: Callable[..., Any] | None) -> bool:
    """Return whether the return annotation of `fn` says that it returns a value: it is present and not None."""
    if fn is None:
        return False
    function = _function_in(fn)
    annotation = getattr(function, "__annotations__", {}).get("return")
    if not isinstance(annotation, str):
        return annotation not in _NO_VALUE
    try:
        return _resolve(annotation, function) not in _NO_VALUE
    except Exception:  # a name that exists for type checkers only
        return annotation.strip(" '\"").rpartition(".")[2] not in ("None", "NoReturn", "Never")


def takes_anything(fn: Callable[..., Any]) -> bool:
    """Return whether `fn` has no parameters but ``*args`` and ``**kwargs``."""
    try:
        parameters = read_signature(fn).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(parameter.kind in _VARIADIC for parameter in parameters)


def bind_by_name(fn: Callable[..., Any]) -> Binding:
    """Return a binding that passes arguments unchanged, and the context, for tools with a given schema."""
    try:
        parameters = list(_parameters(fn, lenient=True))
    except ConfigurationError:  # a builtin without a signature
        return lambda args, _ctx: ([], dict(args))
    positional = [p.name for p in parameters if p.positional]
    injected = [p.name for p in parameters if p.injected]
    signature = read_signature(fn)

    def bind(args: Mapping[str, Any], ctx: ToolContext) -> tuple[list[Any], dict[str, Any]]:
        keywords = {**args, **dict.fromkeys(injected, ctx)}
        positionals = []
        for name in positional:
            if name not in keywords:
                break
            positionals.append(keywords.pop(name))
        try:
            signature.bind(*positionals, **keywords)
        except TypeError as error:
            from ...errors import ToolArgumentError

            raise ToolArgumentError(f"The arguments do not fit the tool: {error}.") from None
        return positionals, keywords

    return bind


def _core(fn: Any) -> Any:
    """Return the callable inside partials."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn


def _is_routine(fn: Any) -> bool:
    return inspect.isroutine(fn) or inspect.isclass(fn)


def _parameters(fn: Callable[..., Any], *, lenient: bool) -> Iterator[Parameter]:
    try:
        signature = read_signature(fn)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(
            f"{origin(fn)} does not have a readable signature; pass parameters=<JSON Schema>"
        ) from error
    filled = fn.keywords if isinstance(fn, functools.partial) else {}
    for parameter in signature.parameters.values():
        if parameter.name in filled and parameter.kind not in _VARIADIC:
            continue
        annotation = Any if parameter.annotation is parameter.empty else parameter.annotation
        try:
            annotation = _resolve(annotation, fn)
        except Exception as error:
            if not lenient:
                raise ConfigurationError(
                    f"the annotation {annotation!r} of parameter {parameter.name!r} of {origin(fn)} cannot be resolved "
                    f"({error}); import its names at run time; define its types at module level, "
                    "or mark the function with @tool where it is defined"
                ) from error
            annotation = ToolContext if re.search(r"\bToolContext\b", str(annotation)) else Any
        yield Parameter(parameter.name, annotation, parameter.default, parameter.kind, _wants_context(annotation))


def _wants_context(annotation: Any) -> bool:
    """Return whether an annotation is `ToolContext`, also if it is optional or `Annotated`."""
    if isinstance(annotation, type) and issubclass(annotation, ToolContext):
        return True
    origin_type = typing.get_origin(annotation)
    members = typing.get_args(annotation)[:1] if origin_type is Annotated else typing.get_args(annotation)
    is_choice = origin_type is Annotated or origin_type is typing.Union or isinstance(annotation, _UNION_TYPE)
    return is_choice and any(_wants_context(member) for member in members)


_UNION_TYPE = type(int | str)


def _resolve(annotation: Any, fn: Callable[..., Any]) -> Any:
    """Evaluate an annotation that is or contains a string, in the namespace of the function."""
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation
    holder = _Annotated({"value": annotation})
    # A callable written in C does not have globals, and no string annotations.
    module = getattr(_function_in(fn), "__globals__", {})
    return typing.get_type_hints(holder, globalns=module, localns=local_names(fn), include_extras=True)["value"]


def _function_in(fn: Callable[..., Any]) -> Any:
    """Return the innermost function, without partials and wrappers."""
    core = _core(fn)
    function: Any = inspect.unwrap(core if _is_routine(core) else type(core).__call__)
    return getattr(function, "__func__", function)


class _Annotated:
    """Minimal argument for `typing.get_type_hints`."""

    def __init__(self, annotations: dict[str, Any]) -> None:
        self.__annotations__ = annotations


def local_names(fn: Callable[..., Any]) -> dict[str, Any]:
    """Return the local variables that the annotations of a nested function can refer to.

    They come from its `@tool` mark and its closure. The frames of the caller are not searched.
    """
    function = _function_in(fn)
    cells = getattr(function, "__closure__", None) or ()
    mark = mark_of(function)
    names: dict[str, Any] = dict(mark.names) if mark else {}
    for name, cell in zip(function.__code__.co_freevars if cells else (), cells, strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return names
