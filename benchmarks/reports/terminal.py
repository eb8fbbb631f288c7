"""Tables of a savings run for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from .console import strip_control_characters
from .table_cells import (
    COST_HEADINGS,
    LOSS_HEADINGS,
    STYLES,
    TOKEN_HEADINGS,
    cost_cells,
    loss_cells,
    token_cells,
)
from .wording import break_even_sentence, count_noun, source_name

__all__ = ["make_table", "print_servers", "print_suite"]

_MAX_LOSSES = 20
_MAX_SIZES = 10
_MAX_ERROR_LENGTH = 60


def make_table(title: str, *, left: Sequence[str], right: Sequence[str]) -> Table:
    """Create a table from a title in rich markup and the headings of left-aligned and right-aligned columns."""
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False)
    sides: tuple[tuple[Sequence[str], Literal["left", "right"]], ...] = ((left, "left"), (right, "right"))
    for headings, side in sides:
        for heading in headings:
            table.add_column(heading, justify=side)
    return table


def print_servers(console: Console, servers: Sequence[Mapping[str, Any]]) -> None:
    """Print the number of tools that each server listed."""
    table = make_table("Tools listed by running MCP servers", left=("server", "distribution"), right=("tools",))
    for server in servers:
        error = server["error"][:_MAX_ERROR_LENGTH]
        listed = f"[red]{escape(error)}[/red]" if error else str(server["tools"])
        table.add_row(server["name"], f"{server['distribution']} {server['version']}", listed)
    table.add_section()
    table.add_row("all", "", str(sum(server["tools"] for server in servers)))
    console.print(table)


def print_suite(console: Console, suite: Mapping[str, Any], counter: str, prices: Mapping[str, Any]) -> None:
    """Print the results of one catalog: tokens, costs with a prompt cache, lost tasks, and the break-even size."""
    if suite["tasks"]:
        _print_tokens(console, suite, counter)
        _print_costs(console, suite, prices)
        _print_losses(console, suite)
    else:
        console.print(_heading(suite, counter))
        if suite["definitions"]:
            _print_definitions(console, suite)
    if suite["skipped"]:
        skipped = f"Skipped, because a tool of the task was not listed: {', '.join(suite['skipped'])}"
        console.print(escape(skipped), style="yellow")
    if suite["break_even"]:
        console.print(break_even_sentence(suite))
    if suite["note"]:
        console.print(escape(suite["note"]))
    console.print()


def _print_tokens(console: Console, suite: Mapping[str, Any], counter: str) -> None:
    tasks = "One task" if suite["tasks"] == 1 else f"Averages of {suite['tasks']} tasks"
    title = f"{_heading(suite, counter)}\n{tasks}, including all rounds of searching"
    table = make_table(title, left=("",), right=TOKEN_HEADINGS)
    rows = [suite["baseline"], *suite["strategies"]]
    for row in rows:
        table.add_row(row["name"], *token_cells(row, baseline=row is rows[0]))
    if len(suite["baseline"]["styles"]) > 1:
        for style in suite["baseline"]["styles"]:
            table.add_section()
            table.add_row(f"[dim]{escape(STYLES.get(style) or style)}[/dim]")
            for row in rows:
                table.add_row(f"  {row['name']}", *token_cells(row["styles"][style], baseline=row is rows[0]))
    console.print(table)


def _print_costs(console: Console, suite: Mapping[str, Any], prices: Mapping[str, Any]) -> None:
    title = (
        f"Cost per task with a prompt cache, in tokens of plain input (read {prices['read']:g}, write "
        f"{prices['write']:g}, output {prices['output']:g})"
    )
    table = make_table(title, left=("",), right=COST_HEADINGS)
    rows = [suite["baseline"], *suite["strategies"]]
    for row in rows:
        table.add_row(row["name"], *cost_cells(row, baseline=row is rows[0]))
    console.print(table)


def _print_losses(console: Console, suite: Mapping[str, Any]) -> None:
    losses = suite["losses"]
    if not losses:
        console.print("With search, no task failed or took more tokens.\n")
        return
    table = make_table("Tasks that search lost", left=LOSS_HEADINGS[:3], right=LOSS_HEADINGS[3:])
    for loss in losses[:_MAX_LOSSES]:
        table.add_row(*map(escape, loss_cells(loss)))
    console.print(table)
    if len(losses) > _MAX_LOSSES:
        console.print(f"and {len(losses) - _MAX_LOSSES} more; --json writes all of them\n")


def _print_definitions(console: Console, suite: Mapping[str, Any]) -> None:
    """Print the sources and the largest tools of a catalog without tasks."""
    sizes = suite["definitions"]
    by_source = any(source["name"] is not None for source in sizes["sources"])
    if by_source:
        table = make_table("Definitions by source", left=("source",), right=("tools", "tokens"))
        for source in sizes["sources"][:_MAX_SIZES]:
            table.add_row(_plain(source_name(source["name"])), f"{source['tools']:,}", f"{source['tokens']:,}")
        console.print(table)
    left = ("tool", "source") if by_source else ("tool",)
    table = make_table("Largest definitions", left=left, right=("tokens",))
    for tool in sizes["largest"][:_MAX_SIZES]:
        names = (tool["name"], source_name(tool["source"]))
        table.add_row(*map(_plain, names[: len(left)]), f"{tool['tokens']:,}")
    console.print(table)


def _heading(suite: Mapping[str, Any], counter: str) -> str:
    definitions = f"{suite['definition_tokens']:,} tokens of definitions by {counter}"
    return f"[bold]{escape(suite['name'])}[/bold]: {count_noun(suite['tools'], 'tool')}, {definitions}"


def _plain(text: str) -> Text:
    """Return a name from a catalog without markup and control characters."""
    return Text(strip_control_characters(text))
