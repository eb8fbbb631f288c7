"""Validation of arguments against a tool's JSON Schema, without network access and with a budget of steps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final

from ...shared.lru_cache import ByteLruCache
from ...text.logs import log_event
from .compiled_schema import CompiledSchema
from .feedback import violation_problems
from .json_values import json_key
from .keywords import KEYWORDS, MAX_VIOLATIONS, Violation
from .patterns import matches
from .steps import OutOfStepsError, Steps
from .top_level import top_level_problems
from .unevaluated import EvaluatedMembers

__all__ = ["MAX_STEPS", "find_problems"]

logger = logging.getLogger(__name__)

MAX_STEPS: Final = 500_000
"""Maximum steps of one validation."""
MAX_SCHEMA_STEPS: Final = 40_000
"""Maximum steps to prepare a schema."""
MAX_VALUE_STEPS: Final = 5_000
"""Maximum steps for the values that are validated after the budget is used up."""
_CERTAIN_DEPTH: Final = 100

_schemas: ByteLruCache[bytes, CompiledSchema] = ByteLruCache(64_000_000)


def find_problems(
    schema: Mapping[str, Any], digest: bytes, arguments: dict[str, Any], tool: str = "", *, quick_steps: int = 0
) -> list[str]:
    """Return the problems of `arguments` in words for the model; an empty list if they are valid.

    Nothing is rejected that cannot be judged, such as a reference to another document or a pattern that re2 does not
    support: it counts as met, and under ``not``, ``oneOf`` or ``if`` neither as met nor as broken. If the schema itself
    is not valid JSON Schema, nothing is validated, which is logged once.

    The work has a budget of steps. If it is used up, the rest is left to the tool, which is logged once: only the
    names and types of the arguments, and the arguments that are not lists or objects, are validated.

    Args:
        schema: The JSON Schema, of the draft in its ``$schema``, else of 2020-12. Forms of older drafts, such as
            ``exclusiveMinimum: true``, and ``nullable`` of OpenAPI 3.0 are read too.
        digest: The key under which the prepared schema is cached.
        arguments: The arguments that the model sent.
        tool: The name of the tool, for the log.
        quick_steps: A smaller budget that raises an error when it is used up; 0 for the whole budget.

    Raises:
        OutOfStepsError: If `quick_steps` do not suffice.
    """
    compiled = _compiled(schema, digest, tool, quick_steps)
    if compiled.problem:
        return []
    if compiled.is_too_large:
        return top_level_problems(schema, arguments)
    validation = _Validation(compiled, Steps(quick_steps or MAX_STEPS))
    try:
        return validation.problems(arguments)
    except OutOfStepsError:
        if quick_steps:
            raise
    except RecursionError:
        # Either the value is nested deeply, or the schema is.
        if _depth(arguments) > _CERTAIN_DEPTH:
            return ["the arguments: nested too deeply to be validated"]
    except Exception:  # a schema that breaks the validator must not make the tool uncallable
        return []
    if not compiled.is_logged:
        compiled.is_logged = True
        note = "; the tool receives them as they are"
        log_event(logger, logging.WARNING, "arguments_not_validated", {"tool": tool}, note=note)
    judge = _Validation(compiled, Steps(MAX_VALUE_STEPS)).check_within_limits
    return top_level_problems(schema, arguments, judge)


def _compiled(schema: Mapping[str, Any], digest: bytes, tool: str, quick_steps: int) -> CompiledSchema:
    compiled = _schemas.get(digest)
    if compiled is not None:
        return compiled
    compiled = CompiledSchema(schema, quick_steps or MAX_SCHEMA_STEPS)
    if compiled.is_too_large and quick_steps:
        raise OutOfStepsError
    is_first = _schemas.put(digest, compiled, size=compiled.size)
    if is_first and (compiled.problem or compiled.is_too_large):
        problem = "too large" if compiled.is_too_large else f"invalid {compiled.problem}"
        facts = {"tool": tool, "problem": problem}
        log_event(logger, logging.WARNING, "invalid_tool_schema", facts, note="; its arguments are not validated")
    return compiled


class _Validation:
    """One validation of arguments. It judges each pair of a referenced schema and a value once.

    Attributes:
        steps: The budget.
        doubts: How often a value was accepted because it could not be judged.
    """

    def __init__(self, compiled: CompiledSchema, steps: Steps) -> None:
        self.steps = steps
        self._compiled = compiled
        self._judged: dict[tuple[int, int], tuple[list[Violation], bool]] = {}
        self.doubts = 0

    def problems(self, arguments: dict[str, Any]) -> list[str]:
        """Return the problems of the arguments in words."""
        violations = self.check(self._compiled.schema, arguments)
        return list(islice((p for v in violations for p in violation_problems(v, steps=self.steps)), MAX_VIOLATIONS))

    def check_within_limits(self, schema: Any, value: Any, key: str) -> list[str]:
        """Return the problems of one argument in words; none if its validation needs too many steps."""
        try:
            violations = self.check_member(schema, value, key)
        except Exception:  # out of steps, or a schema that breaks the validator
            return []
        return list(islice((p for v in violations for p in violation_problems(v)), MAX_VIOLATIONS))

    def check(self, schema: Any, value: Any) -> list[Violation]:
        """Return the violations of a value, at most `MAX_VIOLATIONS`."""
        if schema is True:
            return []
        if schema is False:
            return [Violation("not", {}, value, {})]
        if self._compiled.reference_alone and "$ref" in schema:
            return self.check_target(schema, "$ref", value)
        if value is None and schema.get("nullable") is True:  # OpenAPI 3.0
            return []
        steps, found = self.steps, []
        steps.spend(1 + (len(value) // 8 if isinstance(value, list | dict) else 0))
        for keyword, expected in schema.items():
            judge = KEYWORDS.get(keyword)
            if judge is None:
                continue
            steps.spend(1 + (len(expected) // 8 if isinstance(expected, list | tuple | dict) else 0))
            found += judge(self, expected, value, schema)
            if len(found) >= MAX_VIOLATIONS:
                return found[:MAX_VIOLATIONS]
        return found

    def check_target(self, schema: Mapping[str, Any], keyword: str, value: Any) -> list[Violation]:
        """Return the violations of the schema that a reference in `schema` leads to."""
        target = self._compiled.target(schema, keyword)
        if target is None:
            self.doubts += 1
            return []
        pair = id(target), id(value)
        if pair not in self._judged:
            before = self.doubts
            self._judged[pair] = [], True  # a reference that leads back to itself rejects nothing
            found = self.check(target, value)
            self._judged[pair] = found, self.doubts != before
            return found
        found, is_doubtful = self._judged[pair]
        self.doubts += is_doubtful
        return found

    def check_member(self, schema: Any, value: Any, key: str | int) -> list[Violation]:
        """Return the violations of a member of a list or object."""
        found = self.check(schema, value)
        return [violation._replace(path=(key, *violation.path)) for violation in found] if found else found

    def matches(self, pattern: str, text: str) -> bool | None:
        """Return whether a pattern matches, or None if that cannot be told."""
        found = matches(pattern, text, self.steps)
        self.doubts += found is None
        return found

    def key(self, value: Any) -> str:
        """Return a string that is equal for equal values."""
        return json_key(value, self.steps)

    def allowed_keys(self, schema: Mapping[str, Any], keyword: str) -> frozenset[str]:
        """Return the keys of the values that `const` or `enum` allows."""
        return self._compiled.allowed_keys(schema, keyword, self.steps)

    def evaluated(self, schema: Mapping[str, Any], value: Any) -> Callable[[str | int], bool]:
        """Return a function that tells whether other keywords judge a member of the value."""
        members = EvaluatedMembers(self, self._compiled.target, value)
        members.add(schema)
        return members.__contains__


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
