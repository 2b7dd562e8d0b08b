"""``vmmetrics understand``: whether a video language model sees motion, by public benchmarks and our own suite."""

from __future__ import annotations

import typer

from vmmetrics.cli import understand_list

app = typer.Typer(help="Motion understanding of video language models: run, score, compare.", no_args_is_help=True)
app.command("list")(understand_list.list_benchmarks)
