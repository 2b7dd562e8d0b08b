"""The ``vmmetrics`` command: a module per group of commands, each importing what it needs when it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from vmmetrics.cli import align, baselines, cas, generate_clips, leaderboard, probe, prompts, score, understand, weights
from vmmetrics.utils.display.markup import clean

_UsageError: type[Exception] = typer.BadParameter.__bases__[0]  # click's; typer keeps it in other places by version


@contextmanager
def _cleaned() -> Iterator[None]:
    """Escape control characters in the message of a usage error: it repeats what the user or a file wrote."""
    try:
        yield
    except _UsageError as error:
        vars(error)["message"] = clean(str(vars(error)["message"]))
        raise


class _Commands(TyperGroup):
    """The commands; no usage error of any of them has control characters in its message."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _cleaned():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _cleaned():
            return super().invoke(ctx)


app = typer.Typer(
    name="vmmetrics",
    cls=_Commands,
    help="Motion scores for generated video: how good the motion is, and what cost points.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("score")(score.score)
app.command("generate-clips")(generate_clips.generate_clips)
app.command("show")(score.show)
app.command("merge")(score.merge)
app.command("leaderboard")(leaderboard.leaderboard)
app.command("align")(align.align)
app.command("plan")(align.plan)
app.command("baselines")(baselines.baselines)
app.command("probe")(probe.probe)
app.command("doctor")(weights.doctor)
app.add_typer(cas.app, name="cas")
app.add_typer(prompts.app, name="prompts")
app.add_typer(understand.app, name="understand")
app.add_typer(weights.app, name="weights")


def _print_version(wanted: bool) -> None:
    if wanted:
        from vmmetrics.utils.version import __version__

        typer.echo(f"vmmetrics {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Hold the options that come before a subcommand."""
