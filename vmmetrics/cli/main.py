"""Entry point of the ``vmmetrics`` command: imports little, so that Ctrl-C is heeded while the rest is imported."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from vmmetrics.cli.stopping import leaving
from vmmetrics.errors import StoppedError, VMMetricsError, os_sentence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; what the user must mend ends on stderr with exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the encoding lacks is no reason to end a run
    with leaving():
        import typer

        from vmmetrics.cli.app import app
        from vmmetrics.cli.terminal import EXIT_FAILURES
        from vmmetrics.cli.usage import UsageError, report, shown

        try:
            args = None if arguments is None else list(arguments)
            sys.exit(app(args=args, prog_name="vmmetrics", standalone_mode=False) or 0)
        except UsageError as error:
            typer.echo(report(error), err=True)
            sys.exit(error.exit_code)
        except typer.Abort:
            typer.echo("vmmetrics: aborted", err=True)
            sys.exit(1)
        except (VMMetricsError, OSError) as error:
            lines = [os_sentence(error)] if isinstance(error, OSError) else map(str, error.args)
            typer.echo("vmmetrics: error: " + "\n".join(map(shown, lines)), err=True)
            sys.exit(EXIT_FAILURES if isinstance(error, StoppedError) else 2)
