"""The ``vmmetrics`` command: its groups and commands, each imported and built when it is asked for."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

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


class _OnDemand(UserDict[str, Any]):
    """Commands by name; one that was not asked for yet is a group, or its place as ``module:function``."""

    def __getitem__(self, name: str) -> Any:
        command = super().__getitem__(name)
        if isinstance(command, str):
            module, _, function = command.partition(":")
            command = typer.Typer(add_completion=False)
            command.command()(getattr(import_module(f"vmmetrics.cli.{module}"), function))
        if isinstance(command, typer.Typer):
            self[name] = command = typer.main.get_command(command)
            command.name = name
        return command


def _group(text: str, commands: Mapping[str, str | typer.Typer]) -> typer.Typer:
    """Return a group of commands; no usage error of any of them has control characters in its message."""

    class Group(TyperGroup):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.commands = _OnDemand(commands)

        def get_help_option(self, ctx: Any) -> Any:
            option = super().get_help_option(ctx)
            if option is not None:
                option.default = False  # typer would load pydantic to read the None that it has there
            return option

        def make_context(self, *arguments: Any, **options: Any) -> Any:
            with _cleaned():
                return super().make_context(*arguments, **options)

        def invoke(self, ctx: Any) -> Any:
            with _cleaned():
                return super().invoke(ctx)

    return typer.Typer(
        cls=Group,
        callback=lambda: None,
        help=text,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )


cas = _group(
    "Commonsense adherence: labels, and classifiers that learn from them.",
    {
        "label": "cas_label:label",
        "reward": "cas:reward",
        "train": "cas_training:train",
        "eval": "cas_training:evaluate",
    },
)
prompts = _group(
    "Motion prompts: extract, generate, filter, review, select, measure.",
    {
        "review": "prompts_review:review",
        "select": "prompts:select",
        "stats": "prompts:stats",
        "compare": "prompts:compare",
        "extract": "prompts_extract:extract",
        "filter": "prompts_filter:filter_prompts",
        "generate": "prompts_generate:generate",
    },
)
understand = _group(
    "Motion understanding of video language models: run, score, compare.",
    {
        "run": "understand_run:run",
        "score": "understand:score",
        "compare": "understand:compare",
        "leaderboard": "understand:leaderboard",
        "build": "understand_build:build",
        "synthetic": "understand:synthetic",
        "submission": "understand:submission",
        "lmms-eval": "understand:lmms_eval",
        "minfps": "understand_minfps:minfps",
        "list": "understand:list_benchmarks",
    },
)
weights = _group(
    "Published weights: list, fetch, verify, find.",
    {"list": "weights:list_weights", "fetch": "weights:fetch", "verify": "weights:verify", "path": "weights:path"},
)
app = _group(
    "Motion scores for generated video: how good the motion is, and what cost points.",
    {
        "score": "score:score",
        "generate-clips": "generate_clips:generate_clips",
        "show": "score:show",
        "merge": "score:merge",
        "leaderboard": "leaderboard:leaderboard",
        "align": "align:align",
        "plan": "align:plan",
        "baselines": "baselines:baselines",
        "probe": "probe:probe",
        "doctor": "weights:doctor",
        "cas": cas,
        "prompts": prompts,
        "understand": understand,
        "weights": weights,
    },
)


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
