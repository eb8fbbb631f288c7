"""A page of HTML in one file: tables and plots without scripts, fonts or anything else from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .svg import plain

__all__ = ["html_page", "html_table"]

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2328; background: #fff; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #d8dde3; text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; }
svg { max-width: 100%; height: auto; }
footer { margin-top: 2.5rem; color: #59636e; font-size: .85rem; }
"""


def html_page(title: str, body: str, origin: Mapping[str, Any]) -> str:
    """Return a whole page.

    Args:
        title: plain text.
        body: HTML.
        origin: a report with the fields of `provenance`, shown at the end.
    """
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{plain(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{plain(title)}</h1>\n{body}\n<footer>{plain(origin_line(origin))}</footer></body></html>\n"
    )


def html_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the cells are plain text."""
    head = "".join(f"<th>{plain(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{plain(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>\n"


def origin_line(origin: Mapping[str, Any]) -> str:
    """Say when, where and with what the figures of a report were measured."""
    machine = origin["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in origin["versions"].items())
    commit = f"commit {origin['commit']}, " if origin["commit"] else ""
    return (
        f"Measured on {origin['date']}, {commit}Python {machine['python']}, {machine['system']} "
        f"{machine['architecture']}, {machine['processor']}, {machine['cpus']} CPUs; {versions}."
    )
