"""``vmmetrics cas``: labels for clips, and classifiers that learn from them."""

from __future__ import annotations

import typer

from vmmetrics.cli import cas_label, cas_reward, cas_training

app = typer.Typer(help="Commonsense adherence: labels, and classifiers that learn from them.", no_args_is_help=True)
app.command("label")(cas_label.label)
app.command("reward")(cas_reward.reward)
app.command("train")(cas_training.train)
app.command("eval")(cas_training.evaluate)
