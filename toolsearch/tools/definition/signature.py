"""Reading a callable: its name, its description, its parameters, and whether it is async."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from ...errors import ConfigurationError
from ..context import ToolContext
from .decorator import mark_of

__all__ = [
    "Binding",
    "Parameter",
    "bind_by_name",
    "default_name",
    "docstring",
    "is_async",
    "local_names",
    "origin",
    "parameters_of",
    "takes_anything",
]

Binding: typing.TypeAlias = Callable[[Mapping[str, Any], ToolContext], tuple[list[Any], dict[str, Any]]]
"""Turns a model's arguments into the positional and keyword arguments of a call; raises `ToolArgumentError`."""

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a callable with its annotation resolved.

    Args:
        name: its name.
        annotation: its type, `Any` where there is none.
        default: its default, or `inspect.Parameter.empty`.
        kind: as in `inspect.Parameter`.
        injected: whether it takes the `ToolContext`.
    """

    name: str
    annotation: Any
    default: Any
    kind: Any
    injected: bool

    @property
    def positional(self) -> bool:
        """Whether it can only be passed by position."""
        return self.kind is inspect.Parameter.POSITIONAL_ONLY

    @property
    def variadic(self) -> bool:
        """Whether it is ``*args`` or ``**kwargs``."""
        return self.kind in _VARIADIC


def is_async(fn: Callable[..., Any] | None) -> bool:
    """Whether calling `fn` gives a coroutine, as far as that can be seen without calling it."""
    if fn is None:
        return False
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(_core(fn)).__call__)


def default_name(fn: Callable[..., Any]) -> str:
    """The name a tool of `fn` has when none is given: the function's, or the class's of a callable object."""
    core = _core(fn)
    name = getattr(core, "__name__", None)
    if not isinstance(name, str):
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(core).__name__).lower()
    if name == "<lambda>":
        raise ConfigurationError("a lambda has no name to call it by; write Tool.from_function(fn, name=...)")
    return name


def docstring(fn: Callable[..., Any] | None) -> str:
    """The documentation of `fn`, cleaned of its indentation; empty where there is none."""
    core = _core(fn) if fn is not None else None
    if core is None:
        return ""
    if not _is_routine(core):  # an instance: what its class says of calling, before what it says of itself
        return inspect.getdoc(type(core).__call__) or inspect.getdoc(type(core)) or ""
    return inspect.getdoc(core) or ""


def origin(fn: Callable[..., Any]) -> str:
    """Where `fn` was written, for messages: module and qualified name."""
    core = _core(fn)
    named = core if _is_routine(core) else type(core)
    return f"{getattr(named, '__module__', None) or '?'}.{getattr(named, '__qualname__', repr(named))}"


def parameters_of(fn: Callable[..., Any]) -> tuple[Parameter, ...]:
    """The parameters of `fn`, without ``self`` and without those a `functools.partial` has filled.

    Raises:
        ConfigurationError: when the signature cannot be read or an annotation cannot be resolved.
    """
    return tuple(_parameters(fn, lenient=False))


def takes_anything(fn: Callable[..., Any]) -> bool:
    """Return whether `fn` has no parameters but ``*args`` and ``**kwargs``."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(parameter.kind in _VARIADIC for parameter in parameters)


def bind_by_name(fn: Callable[..., Any]) -> Binding:
    """A binding that hands the arguments over as they are, for tools whose schema was given, and the context."""
    try:
        parameters = list(_parameters(fn, lenient=True))
    except ConfigurationError:  # a builtin without a signature takes what it takes
        return lambda args, _ctx: ([], dict(args))
    positional = [p.name for p in parameters if p.positional]
    injected = [p.name for p in parameters if p.injected]
    signature = inspect.signature(fn)

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
    """The callable inside partials."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn


def _is_routine(fn: Any) -> bool:
    return inspect.isroutine(fn) or inspect.isclass(fn)


def _parameters(fn: Callable[..., Any], *, lenient: bool) -> Iterator[Parameter]:
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{origin(fn)} has no readable signature; give parameters=<JSON Schema>") from error
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
                    f"({error}); import what it names at run time, and define it at the module's level"
                ) from error
            annotation = ToolContext if re.search(r"\bToolContext\b", str(annotation)) else Any
        yield Parameter(parameter.name, annotation, parameter.default, parameter.kind, _wants_context(annotation))


def _wants_context(annotation: Any) -> bool:
    """Whether an annotation is `ToolContext`, also optional or annotated."""
    if isinstance(annotation, type) and issubclass(annotation, ToolContext):
        return True
    origin_type = typing.get_origin(annotation)
    members = typing.get_args(annotation)[:1] if origin_type is Annotated else typing.get_args(annotation)
    is_choice = origin_type is Annotated or origin_type is typing.Union or isinstance(annotation, _UNION_TYPE)
    return is_choice and any(_wants_context(member) for member in members)


_UNION_TYPE = type(int | str)


def _resolve(annotation: Any, fn: Callable[..., Any]) -> Any:
    """Evaluate an annotation that is a string, or holds one, where the function was written."""
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation
    holder = _Annotated({"value": annotation})
    # a callable of C has no globals, and needs none: nobody writes string annotations there
    module = getattr(_function_in(fn), "__globals__", {})
    return typing.get_type_hints(holder, globalns=module, localns=local_names(fn), include_extras=True)["value"]


def _function_in(fn: Callable[..., Any]) -> Any:
    """The function that was written, without what wraps it."""
    core = _core(fn)
    function: Any = inspect.unwrap(core if _is_routine(core) else type(core).__call__)
    return getattr(function, "__func__", function)


class _Annotated:
    """The least that `typing.get_type_hints` asks of an object."""

    def __init__(self, annotations: dict[str, Any]) -> None:
        self.__annotations__ = annotations


def local_names(fn: Callable[..., Any]) -> dict[str, Any]:
    """Return the local names that an annotation of a nested function may use.

    They are in its closure, in its `@tool` mark, or, while the function that defines it still runs, in that frame.
    """
    function = _function_in(fn)
    names: dict[str, Any] = {}
    qualified = getattr(function, "__qualname__", "")
    if "<locals>" in qualified:
        frame = sys._getframe(1).f_back
        frames = []
        while frame is not None:
            code = frame.f_code
            if frame.f_globals is function.__globals__ and qualified.startswith(f"{code.co_qualname}.<locals>."):
                frames.append(frame)
            frame = frame.f_back
        for defining in reversed(frames):  # the innermost, found first, wins
            names.update(defining.f_locals)
    mark = mark_of(function)
    names.update(mark.names if mark else {})
    closure = getattr(function, "__closure__", None) or ()
    for name, cell in zip(function.__code__.co_freevars if closure else (), closure, strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return names
