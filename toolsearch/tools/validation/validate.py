"""Checking arguments against a tool's JSON Schema, without network and in linear time."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from cachetools import LRUCache
from jsonschema import Draft202012Validator, ValidationError, validators
from referencing import Registry
from referencing.exceptions import Unresolvable

from .feedback import extra_names, schema_problems
from .lenient_schema import sound_schema
from .patterns import found_in

__all__ = ["validate"]

_DEEPEST_FOR_SURE = 100
_MOST_ERRORS = 20
_NO_SCHEMAS: Registry[Any] = Registry()  # resolves what is inside the schema, fetches nothing
_DATA = frozenset({"const", "enum", "default", "examples"})
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_MOST_PLACES = 20

_LOG = logging.getLogger(__name__)
_validators: LRUCache[bytes, Any] = LRUCache(maxsize=1024)
_lock = threading.Lock()


def validate(schema: Mapping[str, Any], digest: bytes, arguments: dict[str, Any], tool: str = "") -> list[str]:
    """Return what is wrong with `arguments`, in words; nothing where they fit.

    A part of the schema that cannot be judged (a reference to elsewhere, a pattern beyond re2, a keyword that is
    not valid itself) is taken to be met: the tool decides. Keywords that are not valid are logged, once a schema.

    Args:
        schema: the JSON Schema, of the draft that its ``$schema`` names, else of 2020-12.
        digest: a key under which the validator made of the schema is kept.
        arguments: what the model sent.
        tool: whose schema it is, for the log.
    """
    validator = _validator(schema, digest, tool)
    if validator is None:
        return []
    problems: list[str] = []
    try:
        for error in validator.iter_errors(arguments):
            problems.extend(schema_problems(error))
            if len(problems) >= _MOST_ERRORS:
                break
    except RecursionError:
        # Either the value is that deep, or the schema refers to itself without end and says nothing.
        return ["the arguments: nested too deeply to be checked"] if _depth(arguments) > _DEEPEST_FOR_SURE else []
    except Exception:  # a schema that the validator cannot work with must not make the tool uncallable
        return problems
    return problems


def _validator(schema: Mapping[str, Any], digest: bytes, tool: str) -> Any:
    with _lock:
        if digest in _validators:
            return _validators[digest]
    made, left_out = _make(schema)
    with _lock:
        first = digest not in _validators
        _validators[digest] = made
    if left_out and first:
        facts = {"tool": tool, "places": left_out[:_MOST_PLACES], "left_out": len(left_out)}
        text = "toolsearch.schema_part_left_out tool=%(tool)s left_out=%(left_out)d places=%(places)s"
        _LOG.warning(text, facts, extra=facts)
    return made


def _make(schema: Mapping[str, Any]) -> tuple[Any, tuple[str, ...]]:
    """The validator of a schema, None where there can be none, and the places in the schema that it leaves out."""
    try:
        draft = _draft(schema)
        plain, left_out = sound_schema(_without_dialects(json.loads(json.dumps(schema))), draft)
        return _lenient(draft, "patternProperties" in str(plain))(plain, registry=_NO_SCHEMAS), left_out
    except (Unresolvable, RecursionError, TypeError, ValueError, AttributeError):
        return None, ("/",)


def _draft(schema: Mapping[str, Any]) -> Any:
    try:
        return validators.validator_for(schema, default=Draft202012Validator)
    except (TypeError, ValueError, AttributeError):  # what it names is not the address of one
        return Draft202012Validator


def _without_dialects(schema: Any) -> Any:
    """A copy without ``$schema``: inside a schema it would switch to a validator that has not our keywords."""
    if isinstance(schema, list):
        return [_without_dialects(member) for member in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: value if key in _DATA else _without_dialects(value)
        for key, value in schema.items()
        if key != "$schema" or not isinstance(value, str)
    }


@lru_cache(maxsize=32)
def _lenient(draft: Any, with_patterns: bool) -> Any:
    """The validator of a draft with patterns in linear time, and references that may lead nowhere."""
    keywords: dict[str, Callable[..., Any]] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    }
    keywords.update({name: _reference(draft.VALIDATORS[name]) for name in _REFERENCES if name in draft.VALIDATORS})
    if with_patterns and "unevaluatedProperties" in draft.VALIDATORS:
        keywords["unevaluatedProperties"] = _accept  # the library's own would search with Python's engine
    extend: Callable[..., Any] = validators.extend
    return extend(draft, {name: check for name, check in keywords.items() if name in draft.VALIDATORS})


def _pattern(validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and found_in(pattern, instance) is False:
        yield ValidationError(f"it does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, schema in patterns.items():
        for name, value in instance.items():
            if found_in(pattern, name):
                yield from validator.descend(value, schema, path=name, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    extras = extra_names(schema, instance)
    if validator.is_type(allowed, "object"):
        for name in extras:
            yield from validator.descend(instance[name], allowed, path=name)
    elif not allowed and extras:
        yield ValidationError(f"unknown: {', '.join(map(repr, extras))}")


def _reference(check: Callable[..., Any]) -> Callable[..., Iterator[ValidationError]]:
    def lenient(validator: Any, reference: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        try:
            yield from check(validator, reference, instance, schema)
        except RecursionError:
            raise
        except Exception:  # it leads nowhere, or to something that is no schema
            return

    return lenient


def _accept(_validator: Any, _value: Any, _instance: Any, _schema: Any) -> Iterator[ValidationError]:
    return iter(())


def _depth(value: Any) -> int:
    """How deep a value is nested, without recursion."""
    deepest = 0
    pending = [(value, 1)]
    while pending:
        member, depth = pending.pop()
        deepest = max(deepest, depth)
        children = member.values() if isinstance(member, dict) else member if isinstance(member, list) else ()
        pending.extend((child, depth + 1) for child in children)
    return deepest
