"""``vmmetrics understand``: whether a video language model sees motion, by public benchmarks and our own suite."""

from __future__ import annotations

import typer

from vmmetrics.cli import (
    understand_build,
    understand_compare,
    understand_leaderboard,
    understand_list,
    understand_minfps,
    understand_run,
    understand_score,
    understand_submission,
    understand_synthetic,
)

app = typer.Typer(help="Motion understanding of video language models: run, score, compare.", no_args_is_help=True)
app.command("run")(understand_run.run)
app.command("score")(understand_score.score)
app.command("compare")(understand_compare.compare)
app.command("leaderboard")(understand_leaderboard.leaderboard)
app.command("build")(understand_build.build)
app.command("synthetic")(understand_synthetic.synthetic)
app.command("submission")(understand_submission.submission)
app.command("minfps")(understand_minfps.minfps)
app.command("list")(understand_list.list_benchmarks)
