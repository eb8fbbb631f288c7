"""Entry point of ``python -m toolsearch.benchmarks.heartbeat``, the same as `toolsearch bench heartbeat`."""

import typer

from .command import heartbeat

app = typer.Typer(add_completion=False)
app.command()(heartbeat)

if __name__ == "__main__":
    app(prog_name="python -m toolsearch.benchmarks.heartbeat")
