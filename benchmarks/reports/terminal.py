"""The outcome of a run as tables in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from .console import harmless
from .wording import count_of, pays_sentence, source_name

__all__ = ["make_table", "print_servers", "print_suite"]

_STYLES = {"named": "in the tool's words", "paraphrase": "no word of the tool", "no_tool": "no tool fits"}
_LISTED_LOSSES = 20
_LISTED_SIZES = 10


def print_servers(console: Console, servers: Sequence[Mapping[str, Any]]) -> None:
    """Print which servers listed how many tools."""
    table = make_table("Tools listed by running MCP servers", left=("server", "distribution"), right=("tools",))
    for server in servers:
        found = f"[red]{escape(server['error'][:60])}[/red]" if server["error"] else str(server["tools"])
        table.add_row(server["name"], f"{server['distribution']} {server['version']}", found)
    table.add_section()
    table.add_row("all", "", str(sum(server["tools"] for server in servers)))
    console.print(table)


def print_suite(console: Console, suite: Mapping[str, Any], counter: str, prices: Mapping[str, Any]) -> None:
    """Print the outcome for one catalogue: tokens, cost with a prompt cache, tasks lost, and the break-even size."""
    if suite["tasks"]:
        _print_tokens(console, suite, counter)
        _print_cached(console, suite, prices)
        _print_losses(console, suite)
    else:
        console.print(_heading(suite, counter))
        if suite["definitions"]:
            _print_definitions(console, suite)
    if suite["skipped"]:
        skipped = f"Skipped, since a tool they need was not listed: {', '.join(suite['skipped'])}"
        console.print(escape(skipped), style="yellow")
    if suite["break_even"]:
        console.print(pays_sentence(suite))
    if suite["note"]:
        console.print(escape(suite["note"]))
    console.print()


def _print_tokens(console: Console, suite: Mapping[str, Any], counter: str) -> None:
    title = f"{_heading(suite, counter)}\nAverages of {suite['tasks']} tasks, all rounds of searching included"
    if suite["tasks"] == 1:
        title = f"{_heading(suite, counter)}\nOne task, all rounds of searching included"
    columns = ("input", "output", "total", "saved", "requests", "searches", "done")
    table = make_table(title, left=("",), right=columns)
    rows = [suite["baseline"], *suite["contenders"]]
    for row in rows:
        table.add_row(row["name"], *_tokens(row, plain=row is rows[0]))
    if len(suite["baseline"]["styles"]) > 1:
        for style in suite["baseline"]["styles"]:
            table.add_section()
            table.add_row(f"[dim]{escape(_STYLES.get(style) or style)}[/dim]")
            for row in rows:
                table.add_row(f"  {row['name']}", *_tokens(row["styles"][style], plain=row is rows[0]))
    console.print(table)


def _print_cached(console: Console, suite: Mapping[str, Any], prices: Mapping[str, Any]) -> None:
    title = (
        f"The same with a prompt cache, in tokens of plain input a task (read {prices['read']:g}, write "
        f"{prices['write']:g}, output {prices['output']:g})"
    )
    columns = ("cold cache", "saved", "warm cache", "saved", "tasks dearer when warm")
    table = make_table(title, left=("",), right=columns)
    for row in [suite["baseline"], *suite["contenders"]]:
        plain = row is suite["baseline"]
        table.add_row(
            row["name"],
            f"{row['cold'] / suite['tasks']:,.0f}",
            "" if plain else _share(row["saving_cold"]),
            f"{row['warm'] / suite['tasks']:,.0f}",
            "" if plain else _share(row["saving_warm"]),
            "" if plain else f"{row['tasks_dearer_warm']} of {suite['tasks']}",
        )
    console.print(table)


def _print_losses(console: Console, suite: Mapping[str, Any]) -> None:
    losses = suite["losses"]
    if not losses:
        console.print("No task failed, or cost more tokens, with search.\n")
        return
    left, right = ("index", "task", "why"), ("tokens", "with all tools")
    table = make_table("Tasks lost by searching", left=left, right=right)
    for loss in losses[:_LISTED_LOSSES]:
        why = "tool not found" if loss["reason"] == "failed" else "more tokens"
        figures = (f"{loss['tokens']:,}", f"{loss['tokens_all_tools']:,}")
        table.add_row(loss["contender"], escape(loss["task"]), why, *figures)
    console.print(table)
    if len(losses) > _LISTED_LOSSES:
        console.print(f"and {len(losses) - _LISTED_LOSSES} more, all of them in the file of --json\n")


def _print_definitions(console: Console, suite: Mapping[str, Any]) -> None:
    """The sources and the largest tools: what a catalogue without tasks has to tell."""
    found = suite["definitions"]
    by_source = any(source["name"] is not None for source in found["sources"])
    if by_source:
        table = make_table("Definitions by source", left=("source",), right=("tools", "tokens"))
        for source in found["sources"][:_LISTED_SIZES]:
            table.add_row(_shown(source_name(source["name"])), f"{source['tools']:,}", f"{source['tokens']:,}")
        console.print(table)
    left = ("tool", "source") if by_source else ("tool",)
    table = make_table("The largest definitions", left=left, right=("tokens",))
    for tool in found["largest"][:_LISTED_SIZES]:
        names = (tool["name"], source_name(tool["source"]))
        table.add_row(*map(_shown, names[: len(left)]), f"{tool['tokens']:,}")
    console.print(table)


def _heading(suite: Mapping[str, Any], counter: str) -> str:
    definitions = f"{suite['definition_tokens']:,} tokens of definitions by {counter}"
    return f"[bold]{escape(suite['name'])}[/bold]: {count_of(suite['tools'], 'tool')}, {definitions}"


def _shown(text: str) -> Text:
    """A name from a catalogue: nothing in it is taken for markup or steers the terminal."""
    return Text(harmless(text))


def make_table(title: str, *, left: Sequence[str], right: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD, pad_edge=False)
    sides: tuple[tuple[Sequence[str], Literal["left", "right"]], ...] = ((left, "left"), (right, "right"))
    for headings, side in sides:
        for heading in headings:
            table.add_column(heading, justify=side)
    return table


def _tokens(row: Mapping[str, Any], *, plain: bool) -> list[str]:
    tasks = row["tasks"]
    return [
        f"{row['input'] / tasks:,.0f}",
        f"{row['output'] / tasks:,.0f}",
        f"{row['total'] / tasks:,.0f}",
        "" if plain else _share(row["saving"]),
        f"{row['requests'] / tasks:.1f}",
        f"{row['searches'] / tasks:.1f}",
        f"{row['succeeded']}/{tasks}",
    ]


def _share(saving: float) -> str:
    return f"{saving:.0%}"
