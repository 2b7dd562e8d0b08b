"""``vmmetrics prompts``: metadata from corpora, prompts from metadata, and what is worth keeping of them."""

from __future__ import annotations

import typer

from vmmetrics.cli import (
    prompts_compare,
    prompts_extract,
    prompts_filter,
    prompts_generate,
    prompts_review,
    prompts_select,
    prompts_stats,
)

app = typer.Typer(help="Motion prompts: extract, generate, filter, review, select, measure.", no_args_is_help=True)
app.command("review")(prompts_review.review)
app.command("select")(prompts_select.select)
app.command("stats")(prompts_stats.stats)
app.command("compare")(prompts_compare.compare)
app.command("extract")(prompts_extract.extract)
app.command("filter")(prompts_filter.filter_prompts)
app.command("generate")(prompts_generate.generate)
