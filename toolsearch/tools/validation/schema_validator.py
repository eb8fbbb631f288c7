"""Validation of arguments against a tool's JSON Schema, without network access and in linear time."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from cachetools import LRUCache
from jsonschema import Draft4Validator, Draft202012Validator, FormatChecker, ValidationError, validators
from referencing import Registry
from referencing.exceptions import Unresolvable

from ...text.logs import log_event
from .feedback import extra_names, schema_problems
from .patterns import matches

__all__ = ["find_problems"]

logger = logging.getLogger(__name__)

MAX_PROBLEMS = 20
_CERTAIN_DEPTH = 100
_NO_SCHEMAS: Registry[Any] = Registry()  # resolves references inside the schema only
_NO_FORMATS = FormatChecker(formats=())  # Python cannot compile every JavaScript pattern
_DATA_KEYWORDS = frozenset({"const", "enum", "default", "examples"})
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

_validators: LRUCache[bytes, Any] = LRUCache(maxsize=1024)
_lock = threading.Lock()


def find_problems(schema: Mapping[str, Any], digest: bytes, arguments: dict[str, Any], tool: str = "") -> list[str]:
    """Return the problems of `arguments` in words for the model; an empty list if they are valid.

    Nothing is rejected that cannot be judged: a reference to another document and a pattern that re2 does not support
    count as met. If the schema itself is not valid JSON Schema, nothing is validated, which is logged once.

    Args:
        schema: The JSON Schema, of the draft in its ``$schema``, else of 2020-12. A schema that is invalid there but
            valid in draft 4, such as one of OpenAPI 3.0 with ``exclusiveMinimum: true``, is read as draft 4.
        digest: The key under which the compiled validator is cached.
        arguments: The arguments that the model sent.
        tool: The name of the tool, for the log.
    """
    validator = _validator_for(schema, digest, tool)
    if validator is None:
        return []
    problems: list[str] = []
    try:
        for error in validator.iter_errors(arguments):
            problems.extend(schema_problems(error))
            if len(problems) >= MAX_PROBLEMS:
                break
    except RecursionError:
        # Either the value is nested deeply, or the schema refers to itself without end and says nothing.
        return ["the arguments: nested too deeply to be validated"] if _depth(arguments) > _CERTAIN_DEPTH else []
    except Exception:  # a schema that breaks the validator must not make the tool uncallable
        return problems
    return problems


def _validator_for(schema: Mapping[str, Any], digest: bytes, tool: str) -> Any:
    with _lock:
        if digest in _validators:
            return _validators[digest]
    try:
        validator, problem = _compile(schema)
    except (Unresolvable, RecursionError, TypeError, ValueError, AttributeError) as error:
        validator, problem = None, type(error).__name__
    with _lock:
        is_first = digest not in _validators
        _validators[digest] = validator
    if validator is None and is_first:
        facts = {"tool": tool, "problem": problem}
        log_event(logger, logging.WARNING, "invalid_tool_schema", facts, note="; its arguments are not validated")
    return validator


def _compile(schema: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the validator of a schema, or None and the first invalid keyword with its place."""
    plain = _without_dialects(json.loads(json.dumps({key: schema[key] for key in schema if key != "$schema"})))
    problem = ""
    for draft in (_draft_of(schema), Draft4Validator):
        meta_validator = draft(draft.META_SCHEMA, format_checker=_NO_FORMATS)
        # {"required": ["a", "a"]} is invalid, but harmless.
        errors = (error for error in meta_validator.iter_errors(plain) if error.validator != "uniqueItems")
        # The order of a meta-schema varies, so the place is chosen by itself.
        invalid = min(("/" + "/".join(map(str, error.absolute_path)) for error in errors), default=None)
        if invalid is None:
            return _lenient(draft, "patternProperties" in str(plain))(plain, registry=_NO_SCHEMAS), ""
        problem = problem or f"invalid {invalid}"
    return None, problem


def _draft_of(schema: Mapping[str, Any]) -> Any:
    try:
        return validators.validator_for(schema, default=Draft202012Validator)
    except (TypeError, ValueError, AttributeError):  # "$schema" is not an address
        return Draft202012Validator


def _without_dialects(schema: Any) -> Any:
    """Return a copy without ``$schema``, which would switch to a validator without the keywords defined here."""
    if isinstance(schema, list):
        return [_without_dialects(member) for member in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: value if key in _DATA_KEYWORDS else _without_dialects(value)
        for key, value in schema.items()
        if key != "$schema" or isinstance(value, Mapping)  # a property may be called "$schema"
    }


@lru_cache(maxsize=32)
def _lenient(draft: Any, with_patterns: bool) -> Any:
    """Return the validator class of a draft, with patterns in linear time and references that may be broken."""
    keywords: dict[str, Callable[..., Any]] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    }
    keywords.update({name: _reference(draft.VALIDATORS[name]) for name in _REFERENCES if name in draft.VALIDATORS})
    if with_patterns and "unevaluatedProperties" in draft.VALIDATORS:
        keywords["unevaluatedProperties"] = _accept  # the library's version would use Python's `re`
    extend: Callable[..., Any] = validators.extend
    return extend(draft, {name: check for name, check in keywords.items() if name in draft.VALIDATORS})


def _pattern(validator: Any, pattern: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and matches(pattern, instance) is False:
        yield ValidationError(f"it does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, schema in patterns.items():
        for name, value in instance.items():
            if matches(pattern, name):
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
    def check_leniently(validator: Any, reference: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        try:
            yield from check(validator, reference, instance, schema)
        except RecursionError:
            raise
        except Exception:  # the target does not exist, or is not a schema
            return

    return check_leniently


def _accept(_validator: Any, _value: Any, _instance: Any, _schema: Any) -> Iterator[ValidationError]:
    return iter(())


def _depth(value: Any) -> int:
    """Return how deeply a value is nested, without recursion."""
    deepest = 0
    pending = [(value, 1)]
    while pending:
        member, depth = pending.pop()
        deepest = max(deepest, depth)
        children = member.values() if isinstance(member, dict) else member if isinstance(member, list) else ()
        pending.extend((child, depth + 1) for child in children)
    return deepest
