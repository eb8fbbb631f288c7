"""Verbs for one kind of work: a request says "remove", the tool's author wrote "delete"."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from .stemming import stem

__all__ = ["synonyms"]

# What tools do, whatever they do it to. Nouns are left out: theirs are the business of embeddings.
_VERBS = """
    create add make new insert
    delete remove erase destroy drop clear
    update change edit modify set alter
    get fetch retrieve obtain read show view
    list show enumerate
    search find query lookup
    send deliver
    start begin launch
    stop end halt terminate
    run execute invoke
    book reserve
    buy purchase order
    calculate compute
    convert transform
    check verify validate
    suggest recommend
    copy duplicate clone
    merge combine join
    enable activate
    disable deactivate
    cancel abort
"""


def synonyms(term: str) -> Mapping[str, str]:
    """Return the terms that mean about the same as `term` in the name of a tool, each with its verb; or none.

    Example:
        >>> synonyms("remov")
        {'delet': 'delete', 'eras': 'erase', 'destroy': 'destroy', 'drop': 'drop', 'clear': 'clear'}
    """
    return _table().get(term, {})


@cache
def _table() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for line in _VERBS.strip().splitlines():
        group = {stem(verb): verb for verb in line.split()}
        for term in group:
            found.setdefault(term, {}).update({other: verb for other, verb in group.items() if other != term})
    return found
