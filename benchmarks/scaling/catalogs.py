"""Catalogs of any size with queries: tools of real servers if available, otherwise generated tools."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from ...errors import ConfigurationError
from ...indexes.reference import ToolReference
from ...tools.catalog_file import load_catalog
from ..retrieval.queries import CATALOG_FILES, QUERIES_FILE, find_catalog
from ..savings.tasks import load_tasks

__all__ = ["Material", "bundled_material", "generate_tools", "load_material", "repeat_tools"]

_DATA = Path(__file__).parents[1] / "data"
_SERVERS = Path(__file__).resolve().parents[3] / "shared" / "data" / "mcp_servers"
_MAX_SHORT_WORDS = 6
_MIN_LONG_WORDS = 50

_VERBS = {
    "create": "Create a new {thing}",
    "list": "List the {thing}s that match a filter, newest first",
    "get": "Return one {thing} by its id",
    "update": "Change some fields of a {thing} and leave the others",
    "delete": "Delete a {thing} for good",
    "search": "Search {thing}s by free text",
    "export": "Export {thing}s to a file for download",
    "share": "Share a {thing} with a person or a team",
    "archive": "Put a {thing} away without deleting it",
    "approve": "Approve a {thing} that waits for a decision",
}
_SERVICES = {
    "billing": ("invoice", "refund", "subscription", "payment method"),
    "calendar": ("meeting", "reminder", "holiday", "room booking"),
    "code": ("pull request", "branch", "release", "code review"),
    "mail": ("draft", "mailbox rule", "newsletter", "attachment"),
    "shop": ("order", "shipment", "discount code", "product page"),
    "people": ("applicant", "contract", "leave request", "salary slip"),
}
_PARAMETERS = {
    "limit": ("integer", "How many to return at most"),
    "since": ("string", "Only what changed after this date, as in 2024-05-31"),
    "format": ("string", "One of csv, json or pdf"),
    "owner": ("string", "The person in charge, by e-mail address"),
    "note": ("string", "A sentence to keep with it, shown in the history"),
    "notify": ("boolean", "Whether to tell everybody concerned"),
}


@dataclass(frozen=True, slots=True)
class Material:
    """Tools to repeat, and queries to search them with.

    Args:
        name: Origin of the tools, for reports.
        tools: Distinct tools.
        short: Queries of up to six words.
        long: Queries of about fifty words with several intents.
    """

    name: str
    tools: tuple[ToolReference, ...]
    short: tuple[str, ...]
    long: tuple[str, ...]


def bundled_material() -> Material:
    """Return the tools of real MCP servers if their checkout is next to this one, otherwise generated tools."""
    if not _SERVERS.is_dir():
        return _generate_material()
    return replace(load_material(_SERVERS), name="tools of MCP servers")


def load_material(place: Path) -> Material:
    """Read the tools of a catalog, or of every catalog in a folder. The queries are those of the bundled tasks.

    A folder for ``toolsearch bench retrieval`` also has queries; only its catalog is read.

    Raises:
        ConfigurationError: No catalog exists, or one cannot be read.
    """
    found: dict[str, ToolReference] = {}
    for path in _catalog_files(place):
        for tool in load_catalog(path):
            reference = replace(tool.reference, source=tool.reference.source or path.stem)
            name = reference.name if reference.name not in found else f"{path.stem}_{reference.name}"
            found[name] = replace(reference, name=name)
    if not found:
        raise ConfigurationError(f"{place}: must be a catalog, or a folder with catalogs (*.json, *.jsonl)")
    tasks = load_tasks(_DATA / "tasks.jsonl")
    phrasings = [text for task in tasks for step in task.steps for text in step.phrasings]
    sentences = [task.prompt for task in tasks]
    return Material(
        f"tools of {place.resolve().name}", tuple(found.values()), _short_queries(phrasings), _long_queries(sentences)
    )


def _catalog_files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    files = sorted(path for pattern in ("*.json", "*.jsonl") for path in place.glob(pattern))
    names = {path.name for path in files}
    return [find_catalog(place)] if QUERIES_FILE in names and not names.isdisjoint(CATALOG_FILES) else files


def repeat_tools(tools: Sequence[ToolReference], size: int, *, salt: str = "") -> tuple[ToolReference, ...]:
    """Return `size` tools: the given ones, then copies of them with other names.

    Args:
        tools: The tools to repeat.
        size: Number of tools to return.
        salt: Suffix of every name. Catalogs with different salts have no tool in common, so a cache by content does
            not help to build the second one.
    """
    ending = f"_{salt}" if salt else ""

    def copies() -> Iterator[ToolReference]:
        for number in range(-(-size // len(tools))):
            for tool in tools:
                yield replace(tool, name=f"{tool.name}{f'_{number}' if number else ''}{ending}")

    return tuple(tool for tool, _ in zip(copies(), range(size), strict=False))


def generate_tools(count: int = 400, seed: int = 7) -> tuple[ToolReference, ...]:
    """Generate `count` different tools of six services, the same ones in every run.

    Raises:
        ConfigurationError: `count` is higher than the number of different tools.

    Example:
        >>> generate_tools(2)[0].source in ("billing", "calendar", "code", "mail", "shop", "people")
        True
    """
    generator = random.Random(seed)
    kinds = [(service, thing) for service, things in _SERVICES.items() for thing in things]
    combinations = [
        _generate_tool(verb, service, thing, other, generator)
        for verb, (service, thing), other in product(_VERBS, kinds, ("", "team"))
    ]
    if count > len(combinations):
        raise ConfigurationError(f"count must be at most {len(combinations)}, got {count}")
    generator.shuffle(combinations)
    return tuple(combinations[:count])


def _generate_tool(verb: str, service: str, thing: str, owner: str, generator: random.Random) -> ToolReference:
    words = [verb, *filter(None, [owner]), *thing.split()]
    suffix = f" of the whole {owner}" if owner else ""
    name = "_".join(words) if generator.random() < 0.5 else words[0] + "".join(map(str.title, words[1:]))
    properties = {f"{thing.replace(' ', '_')}_id": {"type": "string", "description": f"Which {thing} is meant"}}
    for parameter in generator.sample(sorted(_PARAMETERS), generator.randint(2, 5)):
        kind, description = _PARAMETERS[parameter]
        properties[parameter] = {"type": kind, "description": f"{description}."}
    return ToolReference(
        name=f"{service}_{name}",
        description=f"{_VERBS[verb].format(thing=thing)}{suffix}. Part of {service}.",
        parameters={"type": "object", "properties": properties},
        source=service,
    )


def _generate_material() -> Material:
    phrases = [
        f"{verb} {thing} {word}" for verb, (word, things) in product(_VERBS, _SERVICES.items()) for thing in things
    ]
    random.Random(11).shuffle(phrases)
    sentences = [f"{_VERBS[p.split()[0]].format(thing=' '.join(p.split()[1:-1]))}." for p in phrases]
    return Material("generated tools", generate_tools(), _short_queries(phrases[:60]), _long_queries(sentences[:60]))


def _short_queries(phrasings: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in phrasings if len(text.split()) <= _MAX_SHORT_WORDS))


def _long_queries(sentences: Sequence[str]) -> tuple[str, ...]:
    """Join consecutive sentences into queries of about fifty words."""
    queries: list[str] = []
    words: list[str] = []
    for sentence in sentences:
        words += sentence.split()
        if len(words) >= _MIN_LONG_WORDS:
            queries.append(" ".join(words))
            words = []
    return tuple(queries)
