"""Docstrings in Google, NumPy and Sphinx style: the description, and the text of each parameter."""

from __future__ import annotations

import inspect
import re

__all__ = ["parse_docstring"]

_GOOGLE_HEADING = re.compile(r"(Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters):\s*")
_GOOGLE_ITEM = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\([^)]*(?:\([^)]*\)[^)]*)*\))?\s*:\s*(?P<text>.*)")
_NUMPY_HEADING = re.compile(r"(Parameters|Other Parameters)\s*")
_NUMPY_ITEM = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")
_SPHINX_ITEM = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(?P<name>\w+)\s*:\s*(?P<text>.*)"
)
_SPHINX_TYPE = re.compile(r":type\s+\w+\s*:.*")


def parse_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the docstring without its section on parameters, and the text of each parameter.

    Example:
        >>> parse_docstring('''Tell the weather.
        ...
        ... Args:
        ...     city: Where,
        ...         e.g. Gouda.
        ... ''')
        ('Tell the weather.', {'city': 'Where, e.g. Gouda.'})
    """
    lines = inspect.cleandoc(text).splitlines()
    kept: list[str] = []
    found: dict[str, list[str]] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        underlined = at + 1 < len(lines) and re.fullmatch(r"-{3,}\s*", lines[at + 1]) is not None
        if underlined and _NUMPY_HEADING.fullmatch(line):
            at = _read_numpy(lines, at + 2, found)
        elif _GOOGLE_HEADING.fullmatch(line):
            at = _read_google(lines, at + 1, found)
        elif item := _SPHINX_ITEM.fullmatch(line):
            at = _read_sphinx(lines, at + 1, found.setdefault(item["name"], [item["text"]]))
        elif _SPHINX_TYPE.fullmatch(line):
            at += 1
        else:
            kept.append(line)
            at += 1
    described = {name: " ".join(part.strip() for part in parts if part.strip()) for name, parts in found.items()}
    whole = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return whole, {name: text for name, text in described.items() if text}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _read_google(lines: list[str], at: int, found: dict[str, list[str]]) -> int:
    """Read indented items; a more deeply indented line continues the item before it."""
    base = 0
    current: list[str] = []
    while at < len(lines) and (not lines[at].strip() or _indent(lines[at]) > 0):
        line = lines[at]
        base = base or _indent(line)
        item = _GOOGLE_ITEM.fullmatch(line.strip()) if _indent(line) <= base else None
        if item:
            current = found.setdefault(item["name"], [])
            current.append(item["text"])
        else:
            current.append(line)
        at += 1
    return at


def _read_numpy(lines: list[str], at: int, found: dict[str, list[str]]) -> int:
    """Read ``name : type`` lines with their indented texts, up to the next underlined heading."""
    current: list[list[str]] = []
    while at < len(lines):
        line = lines[at]
        if at + 1 < len(lines) and line.strip() and re.fullmatch(r"-{3,}\s*", lines[at + 1]):
            break
        item = _NUMPY_ITEM.fullmatch(line.rstrip()) if line.strip() and not _indent(line) else None
        if item:
            current = [found.setdefault(name.strip(" *"), []) for name in item["names"].split(",")]
        elif line.strip() and not _indent(line):
            break  # prose again
        else:
            for parts in current:
                parts.append(line)
        at += 1
    return at


def _read_sphinx(lines: list[str], at: int, parts: list[str]) -> int:
    """Read the indented lines that continue a field."""
    while at < len(lines) and lines[at].strip() and _indent(lines[at]) > 0:
        parts.append(lines[at])
        at += 1
    return at
