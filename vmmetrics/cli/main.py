"""Entry point of the ``vmmetrics`` command: imports little, so that Ctrl-C is heeded while the rest is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from vmmetrics.cli.stopping import leaving
from vmmetrics.errors import VMMetricsError


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; what the user must mend ends on stderr with exit code 2."""
    with leaving():
        import typer

        from vmmetrics.cli.app import app

        try:
            app(args=None if arguments is None else list(arguments), prog_name="vmmetrics")
        except VMMetricsError as error:
            typer.echo(f"vmmetrics: {error}", err=True)
            sys.exit(2)
