"""Signatures of decorated functions: a wrapper can take other parameters than the function that it names."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any

from ...text.logs import log_event

__all__ = ["read_signature"]

logger = logging.getLogger(__name__)

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def read_signature(fn: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a callable. If a wrapper names parameters, they are those of the wrapper.

    `inspect.signature` shows the function in a wrapper that was made with `functools.wraps`, also if the wrapper fills
    in some of its parameters. A wrapper with ``*args`` or ``**kwargs`` passes arguments on, so it is read as usual.

    Raises:
        TypeError: If the object is not callable.
        ValueError: If there is no signature.

    Example:
        >>> def find(query: str, user: str): ...
        >>> @functools.wraps(find)
        ... def wrapper(query): ...
        >>> list(read_signature(wrapper).parameters)
        ['query']
    """
    shown = inspect.signature(fn)
    wrapper = _naming_wrapper(fn)
    if wrapper is None:
        return shown
    own = inspect.signature(wrapper, follow_wrapped=False)
    if own.parameters.keys() == shown.parameters.keys():
        return shown
    # functools.wraps gives the wrapper the annotations of the function.
    log_event(
        logger,
        logging.WARNING,
        "wrapper_signature",
        {
            "function": getattr(wrapper, "__qualname__", repr(wrapper)),
            "parameters": ", ".join(own.parameters),
            "wrapped": ", ".join(shown.parameters),
        },
        note="; the tool has the parameters of the wrapper",
    )
    return own


def _naming_wrapper(function: Any) -> Any:
    """Return the outermost wrapper of a plain function if it names all its parameters, else None."""
    if isinstance(function, functools.partial) or not inspect.isfunction(function):
        return None
    fn: Any = function
    while hasattr(fn, "__wrapped__") and not hasattr(fn, "__signature__"):
        parameters = inspect.signature(fn, follow_wrapped=False).parameters.values()
        kinds = {parameter.kind for parameter in parameters}
        if not kinds.intersection(_VARIADIC):
            return fn
        if kinds - set(_VARIADIC):
            return None
        fn = fn.__wrapped__
    return None
