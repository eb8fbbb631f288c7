"""Entry point of ``python -m toolsearch.benchmarks.scaling``, the same as `toolsearch bench scaling`."""

import typer

from .command import scaling

app = typer.Typer(add_completion=False)
app.command()(scaling)

if __name__ == "__main__":
    app(prog_name="python -m toolsearch.benchmarks.scaling")
