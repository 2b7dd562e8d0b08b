"""Model card of a trained classifier: ``card.md`` and ``card.json``."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from vmmetrics.cas.evaluate.evaluation import Bin, EvaluationReport, Interval
from vmmetrics.cas.labelled_clips import LabelledClip, LabelledClips, Split
from vmmetrics.cas.train.settings import Epoch
from vmmetrics.errors import refusing
from vmmetrics.functional.cas import LEVELS
from vmmetrics.utils.display import tables
from vmmetrics.utils.display.canvas import MODEL_COLOURS, MUTED, RULE, chart_style, grid_of, hexadecimal, save_charts
from vmmetrics.utils.display.style import FAULT
from vmmetrics.utils.display.tables import DisplayCell, DisplayTable
from vmmetrics.utils.storage.provenance import now, version_of


def training_chart(history: Sequence[Epoch], best: int) -> Figure:
    """Draw loss and accuracy over epochs, and mark the epoch that is kept."""
    panels = {
        "loss": {
            "training (mixed and smoothed labels)": [epoch.loss for epoch in history],
            "held-out prompts": [epoch.held_out_loss for epoch in history],
        },
        "accuracy": {"held-out prompts": [epoch.held_out_accuracy for epoch in history]},
    }
    with chart_style():
        figure, rows = grid_of(len(panels), 1, 2.6, share_y=False)
        for axes, (title, curves) in zip(rows, panels.items(), strict=True):
            axes.set_title(title)
            axes.axvline(best, color=hexadecimal(FAULT), linewidth=1)
            for (name, values), colour in zip(curves.items(), MODEL_COLOURS, strict=False):
                axes.plot(range(1, len(values) + 1), values, "o-", color=colour, markersize=3, label=name)
            axes.set_ylim(bottom=0)
            axes.legend(fontsize=8)
        rows[-1].set_xlabel(f"epoch; the line marks the best one, {best}", color=MUTED, loc="left", fontsize=8)
    return figure


def calibration_chart(bins: Sequence[Bin]) -> Figure:
    """Draw confidence against accuracy: on the diagonal is right, below it is overconfident."""
    confidence, accuracy, clips = np.array([(part.confidence, part.accuracy, part.clips) for part in bins]).T
    with chart_style():
        figure = Figure(figsize=(5, 5), layout="constrained")
        axes = figure.subplots()
        axes.set_title("accuracy against confidence (area: clips)")
        axes.grid(color=RULE)
        axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1)
        axes.vlines(confidence, accuracy, confidence, color=hexadecimal(FAULT), linewidth=1)
        axes.scatter(confidence, accuracy, s=10 + 120 * clips / clips.max(), color=MODEL_COLOURS[0], zorder=2)
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    return figure


FIGURES = {
    "accuracy": "accuracy",
    "mae": "MAE in levels",
    "spearman": "Spearman",
    "calibration_error": "calibration error",
}
"""Attributes of an :class:`~vmmetrics.cas.evaluate.evaluation.Evaluation`, and what tables call them."""


@dataclass(frozen=True, slots=True)
class Trained:
    """Result of a training run.

    Attributes:
        checkpoint: The best epoch's weights.
        best: That epoch.
        history: All epochs.
        report: Its agreement with the labels of the clips held out, over all views.
        split: Which clips were trained on, and which held out.
    """

    checkpoint: Path
    best: Epoch
    history: Sequence[Epoch]
    report: EvaluationReport
    split: Split


def write_card(
    out: Path, run: Mapping[str, Any], trained: Trained, data: LabelledClips, failed: Mapping[str, str]
) -> None:
    """Write ``card.md``, ``card.json``, ``curves.png`` and ``calibration.png``.

    Args:
        out: Folder that takes them.
        run: Settings, architecture, start, hashes and the number of the model's weights, as plain values.
        trained: What came of it.
        data: All clips of the labels.
        failed: Why clips were left out, by name.

    Raises:
        SetupError: A file cannot be written.
    """
    packages = ("vmmetrics", "torch", "numpy", "opencv-python-headless", "av")
    content = {
        "created": now(),
        "versions": {name: version_of(name) for name in packages},
        "python": platform.python_version(),
        **run,
        "data": {
            "trained": _counts(trained.split.trained),
            "held_out": _counts(trained.split.held_out),
            "without_level": len(data.without_level),
            "unreadable": [{"clip": name, "reason": reason} for name, reason in failed.items()],
        },
        "history": [asdict(epoch) for epoch in trained.history],
        "best_epoch": trained.best.number,
        "agreement": asdict(trained.report),
    }
    with refusing("write", f"the model card to {out}"):
        (out / "card.json").write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        (out / "card.md").write_text(_markdown(content, trained.report), encoding="utf-8")
        curves = training_chart(trained.history, trained.best.number)
        save_charts({"curves": curves, "calibration": calibration_chart(trained.report.overall.bins)}, out)


def _counts(clips: Sequence[LabelledClip]) -> dict[str, Any]:
    levels = Counter(clip.level for clip in clips)
    return {
        "clips": len(clips),
        "prompts": len({clip.prompt_key for clip in clips}),
        "levels": {name: levels[level] for level, name in enumerate(LEVELS)},
        "groups": dict(sorted(Counter(clip.group or "" for clip in clips).items())),
    }


def _markdown(content: Mapping[str, Any], report: EvaluationReport) -> str:
    start, net, settings = content["start"], content["architecture"], content["settings"]
    origin = "from scratch" if start is None else f"from `{start['file']}` (SHA-256 `{start['sha256']}`)"
    data = content["data"]
    shown = {"trained": data["trained"], "held out": data["held_out"]}
    parts = [[name, *map(str, (c["clips"], c["prompts"], *c["levels"].values()))] for name, c in shown.items()]
    heads = ["", "clips", "prompts", *LEVELS]
    blocks = [
        "# Commonsense-adherence classifier",
        f"A VideoMAE V2 of {content['weights']:,} weights (width {net['width']}, depth {net['depth']}, "
        f"patch {net['patch']}, {net['frames']} frames of {net['image']} px, 1 of every {settings['rate']} of the "
        f"clip), trained {origin}. It gives the probabilities of the levels {', '.join(LEVELS)}; the score is the "
        "expected level on a scale from 0 to 1.",
        f"Written {content['created']} by vmmetrics {content['versions']['vmmetrics']}, torch "
        f"{content['versions']['torch']}, seed {settings['seed']}. Labels: SHA-256 `{content['labels']}`.",
        "## Data",
        tables.pipe_table(heads, ["---"] * len(heads), parts),
        f"Whole prompts are held out of training. {data['without_level']} clips had no level, "
        f"{len(data['unreadable'])} could not be read.",
        "## Held-out clips",
        tables.to_markdown(agreement_table(report)).rstrip(),
        "The epoch was chosen on these clips, so the figures are slightly optimistic; evaluate on your own clips with "
        "`vmmetrics cas eval`.",
        f"## Training: best epoch {content['best_epoch']} of {len(content['history'])}",
        "![loss and accuracy by epoch](curves.png)",
        "![confidence against accuracy](calibration.png)",
        "## Settings",
        f"```json\n{json.dumps(settings, indent=2)}\n```",
        "## Limits",
        "It reproduces its labels on clips like these. Levels by other raters, or of other generators or lengths, may "
        "differ; compare only scores of the same checkpoint.",
    ]
    return "\n\n".join(blocks) + "\n"


def agreement_table(report: EvaluationReport) -> DisplayTable:
    """Return a row for all clips and one per group, with the chance level and the mean within groups as caption."""
    within, majority = report.spearman_within_groups, report.accuracy_of_the_commonest_level
    mean = "not defined, as no group has several levels" if within is None else f"{within:.3f}"
    caption = (
        f"Accuracy of always predicting the commonest level: {majority:.3f}. Mean Spearman within groups: {mean}; "
        "it does not reward telling generators apart. Brackets: 95 % bootstrap intervals over clips."
    )
    title = "Agreement with the labels"
    table = DisplayTable("agreement", title, caption, tables.heads("group", "clips", *FIGURES.values()))
    for name, evaluation in [("all", report.overall), *(report.groups.items() if len(report.groups) > 1 else ())]:
        figures: list[Interval] = [getattr(evaluation, figure) for figure in FIGURES]
        cells = (DisplayCell(tables.number(f.value, 3), tables.bounds(f.low, f.high, 3)) for f in figures)
        table.add(name or "(no group)", str(evaluation.clips), *cells)
    return table
