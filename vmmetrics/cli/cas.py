"""``vmmetrics cas``: labels for clips, and classifiers that learn from them."""

from __future__ import annotations

import typer

from vmmetrics.cli import cas_eval, cas_label, cas_reward, cas_train

app = typer.Typer(help="Commonsense adherence: labels, and classifiers that learn from them.", no_args_is_help=True)
app.command("label")(cas_label.label)
app.command("reward")(cas_reward.reward)
app.command("train")(cas_train.train)
app.command("eval")(cas_eval.evaluate)
