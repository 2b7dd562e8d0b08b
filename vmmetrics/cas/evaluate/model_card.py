"""What a trained classifier is, what it learnt from and how far it can be trusted: ``card.md`` and ``card.json``."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from vmmetrics.cas.evaluate.evaluation import Bin, Evaluation, Figure, Report
from vmmetrics.cas.labelled_clips import LabelledClip
from vmmetrics.cas.train.settings import Epoch
from vmmetrics.errors import cannot
from vmmetrics.functional.cas import LEVELS
from vmmetrics.utils.display.style import FAINT, FAULT, INK, OBJECTS, PAPER, RULE, Colour, text_width, write
from vmmetrics.utils.storage.provenance import now, version_of

# Two charts that go with a trained classifier: how training went, and whether its confidence can be believed.

WIDTH, PANEL, SIDE = 720, 220, 360
MARGIN, GAP = 64, 56
"""Pixels beside a panel for the numbers of its axis, and above and below it for its title and foot."""
_FINE = 3  # drawn so many times larger and shrunk: smooth lines
_LEAST_ROOM = 1e-9  # a curve that is constant still needs an axis with two ends


def training_chart(panels: Mapping[str, Mapping[str, Sequence[float]]], marked: int) -> Image.Image:
    """Draw curves over epochs, a panel per quantity.

    Args:
        panels: Title to curves by name, one value per epoch.
        marked: Epoch, from 1, to mark by a vertical line.
    """
    image = Image.new("RGB", (WIDTH, len(panels) * (PANEL + GAP) + 24), PAPER)
    draw = ImageDraw.Draw(image)
    for row, (title, curves) in enumerate(panels.items()):
        top = row * (PANEL + GAP) + GAP
        low, high = _ends(curves)
        image.paste(_panel(curves, low, high, marked), (MARGIN, top))
        write(draw, (MARGIN, top - 40), title, 15, INK)
        left = MARGIN
        for (name, _), colour in zip(curves.items(), OBJECTS, strict=False):
            draw.rectangle((left, top - 15, left + 10, top - 5), fill=colour)
            write(draw, (left + 16, top - 17), name, 12, FAINT)
            left += 16 + int(text_width(name, 12)) + 24
        for value, y in ((high, top), (low, top + PANEL)):
            write(draw, (MARGIN - 8, y), f"{value:.3g}", 12, FAINT, anchor="rm")
    epochs = max(len(values) for curves in panels.values() for values in curves.values())
    write(draw, (MARGIN, image.height - 24), "epoch 1", 12, FAINT)
    write(draw, (WIDTH - MARGIN, image.height - 24), f"{epochs}", 12, FAINT, anchor="ra")
    write(draw, (WIDTH / 2, image.height - 24), f"the line marks epoch {marked}, which is kept", 12, FAINT, anchor="ma")
    return image


def _ends(curves: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    values = [value for curve in curves.values() for value in curve]
    return min(0.0, *values), max(*values, _LEAST_ROOM)


def _panel(curves: Mapping[str, Sequence[float]], low: float, high: float, marked: int) -> Image.Image:
    width, height = (WIDTH - 2 * MARGIN) * _FINE, PANEL * _FINE
    image = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(image)
    for share in (0.0, 0.5, 1.0):
        y = min(height - 1, share * height)
        draw.line((0, y, width, y), fill=RULE, width=_FINE)
    for number, (values, colour) in enumerate(zip(curves.values(), OBJECTS, strict=False)):
        xs = np.linspace(0, width - 1, len(values)) if len(values) > 1 else np.array([width / 2])
        if number == 0:
            x = xs[marked - 1]
            draw.line((x, 0, x, height), fill=FAULT, width=_FINE)
        ys = (height - 1) * (1 - (np.asarray(values) - low) / (high - low))
        points = list(zip(xs.tolist(), ys.tolist(), strict=True))
        draw.line(points, fill=colour, width=2 * _FINE, joint="curve")
        for x, y in points:
            _dot(draw, x, y, 2.2 * _FINE, colour)
    return image.resize((width // _FINE, height // _FINE), Image.Resampling.LANCZOS)


def calibration_chart(bins: Sequence[Bin]) -> Image.Image:
    """Draw confidence against accuracy: on the diagonal is right, below it is overconfident."""
    image = Image.new("RGB", (SIDE + 2 * MARGIN, SIDE + 2 * GAP), PAPER)
    draw = ImageDraw.Draw(image)
    size = SIDE * _FINE
    panel = Image.new("RGB", (size, size), PAPER)
    pen = ImageDraw.Draw(panel)
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        place = min(size - 1, share * size)
        pen.line((0, place, size, place), fill=RULE, width=_FINE)
        pen.line((place, 0, place, size), fill=RULE, width=_FINE)
    pen.line((0, size, size, 0), fill=FAINT, width=_FINE)
    most = max(part.clips for part in bins)
    for part in bins:
        x, y = part.confidence * size, (1 - part.accuracy) * size
        pen.line((x, y, x, (1 - part.confidence) * size), fill=FAULT, width=_FINE)
        _dot(pen, x, y, (3 + 9 * np.sqrt(part.clips / most)) * _FINE, OBJECTS[0])
    image.paste(panel.resize((SIDE, SIDE), Image.Resampling.LANCZOS), (MARGIN, GAP))
    write(draw, (MARGIN, 14), "share right, against confidence (area: clips)", 15, INK)
    for share in (0.0, 0.5, 1.0):
        write(draw, (MARGIN - 8, GAP + (1 - share) * SIDE), f"{share:g}", 12, FAINT, anchor="rm")
        write(draw, (MARGIN + share * SIDE, GAP + SIDE + 8), f"{share:g}", 12, FAINT, anchor="ma")
    return image


def _dot(draw: ImageDraw.ImageDraw, x: float, y: float, radius: float, colour: Colour) -> None:
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)


FIGURES = {
    "accuracy": "accuracy",
    "mae": "MAE in levels",
    "spearman": "Spearman",
    "calibration_error": "calibration error",
}
"""Attributes of an :class:`~vmmetrics.cas.evaluate.evaluation.Evaluation`, and what tables call them."""


@dataclass(frozen=True, slots=True)
class Card:
    """What the card is written from.

    Attributes:
        run: Settings, architecture, start and hashes, as plain values.
        trained: Clips trained on.
        held_out: Clips held out.
        without_level: Clips in the labels without a level.
        unreadable: ``clip`` and ``reason`` of clips left out.
        history: Epochs.
        best: The epoch kept.
        report: Agreement over the clips held out.
        weights: Number of the model's weights.
    """

    run: Mapping[str, Any]
    trained: Sequence[LabelledClip]
    held_out: Sequence[LabelledClip]
    without_level: Sequence[str]
    unreadable: Sequence[Mapping[str, str]]
    history: Sequence[Epoch]
    best: Epoch
    report: Report
    weights: int


def write_card(card: Card, out: Path) -> None:
    """Write ``card.md``, ``card.json``, ``curves.png`` and ``calibration.png`` into ``out``.

    Raises:
        SetupError: A file cannot be written.
    """
    content = to_json(card)
    curves = {
        "loss": {
            "training (mixed and smoothed labels)": [epoch.loss for epoch in card.history],
            "prompts held out": [epoch.held_out_loss for epoch in card.history],
        },
        "accuracy": {"prompts held out": [epoch.held_out_accuracy for epoch in card.history]},
    }
    try:
        (out / "card.json").write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        (out / "card.md").write_text(_markdown(card, content), encoding="utf-8")
        _save(training_chart(curves, card.best.number), out / "curves.png")
        _save(calibration_chart(card.report.overall.bins), out / "calibration.png")
    except OSError as error:
        raise cannot("write", f"the model card to {out}", error) from error


def _save(image: Image.Image, path: Path) -> None:
    image.save(path, optimize=True)


def to_json(card: Card) -> dict[str, Any]:
    """The card as plain values."""
    return {
        "created": now(),
        "versions": {
            name: version_of(name) for name in ("vmmetrics", "torch", "numpy", "opencv-python-headless", "av")
        },
        "python": platform.python_version(),
        **card.run,
        "weights": card.weights,
        "data": {
            "trained": _counts(card.trained),
            "held_out": _counts(card.held_out),
            "without_level": len(card.without_level),
            "unreadable": list(card.unreadable),
        },
        "history": [asdict(epoch) for epoch in card.history],
        "best_epoch": card.best.number,
        "agreement": card.report.to_json(),
    }


def _counts(clips: Sequence[LabelledClip]) -> dict[str, Any]:
    levels = Counter(clip.level for clip in clips)
    return {
        "clips": len(clips),
        "prompts": len({clip.prompt_key for clip in clips}),
        "levels": {name: levels[level] for level, name in enumerate(LEVELS)},
        "groups": dict(sorted(Counter(clip.group or "" for clip in clips).items())),
    }


def _markdown(card: Card, content: Mapping[str, Any]) -> str:
    start, net, rate = card.run["start"], card.run["architecture"], card.run["settings"]["rate"]
    origin = "from scratch" if start is None else f"from `{start['file']}` (SHA-256 `{start['sha256']}`)"
    data = content["data"]
    lines = [
        "# Commonsense-adherence classifier",
        "",
        f"A VideoMAE V2 of {card.weights:,} weights (width {net['width']}, depth {net['depth']}, patch {net['patch']}, "
        f"{net['frames']} frames of {net['image']} px, 1 of every {rate} of the clip), trained {origin}. "
        f"It gives the probabilities of the levels {', '.join(LEVELS)}; the score is the expected level on a scale "
        "from 0 to 1.",
        "",
        f"Written {content['created']} by vmmetrics {content['versions']['vmmetrics']}, torch "
        f"{content['versions']['torch']}, seed {card.run['settings']['seed']}. Labels: SHA-256 `{card.run['labels']}`.",
        "",
        "## Data",
        "",
        *_table(["", "clips", "prompts", *LEVELS], (_data_row(part, data[part]) for part in ("trained", "held_out"))),
        "",
        f"Held out are whole prompts: none of them was trained on. {data['without_level']} clips had no level, "
        f"{len(data['unreadable'])} could not be read.",
        "",
        "## Agreement with the labels of the clips held out",
        "",
        *agreement_table(card.report),
        "",
        *remarks(card.report),
        "",
        "Brackets: 95 % bootstrap intervals over clips. The epoch was chosen on these clips, so the figures are a "
        "little kind; evaluate on clips of your own with `vmmetrics cas eval`.",
        "",
        f"## Training: epoch {card.best.number} of {len(card.history)} kept",
        "",
        "![loss and accuracy by epoch](curves.png)",
        "",
        "![confidence against accuracy](calibration.png)",
        "",
        "## Settings",
        "",
        "```json",
        json.dumps(card.run["settings"], indent=2),
        "```",
        "",
        "## Limits",
        "",
        "It knows what its labels say of clips like these. Levels given by other people, to other generators or "
        "lengths, may mean something else; compare scores only where they come from the same checkpoint.",
    ]
    return "\n".join(lines) + "\n"


def _data_row(part: str, counts: Mapping[str, Any]) -> list[str]:
    return [part.replace("_", " "), str(counts["clips"]), str(counts["prompts"]), *map(str, counts["levels"].values())]


def agreement_table(report: Report) -> list[str]:
    """Lines of a Markdown table: all clips, then each group."""
    rows = [["all", *cells(report.overall)]]
    if len(report.groups) > 1:
        rows += [[name or "(no group)", *cells(evaluation)] for name, evaluation in report.groups.items()]
    return _table(["", "clips", *FIGURES.values()], rows)


def cells(evaluation: Evaluation) -> list[str]:
    """Clips and figures of one row."""
    return [str(evaluation.clips), *(figure_text(getattr(evaluation, name)) for name in FIGURES)]


def figure_text(figure: Figure) -> str:
    """A figure with its interval.

    >>> figure_text(Figure(0.5, 0.25, 0.75)), figure_text(Figure(None))
    ('0.500 [0.250, 0.750]', '-')
    """
    if figure.value is None:
        return "-"
    interval = "" if figure.low is None else f" [{figure.low:.3f}, {figure.high:.3f}]"
    return f"{figure.value:.3f}{interval}"


def remarks(report: Report) -> list[str]:
    """What the figures are to be held against."""
    within = "none can be given" if report.within_groups is None else f"{report.within_groups:.3f}"
    return [
        f"Always naming the commonest level is right in {report.majority:.3f} of the clips. Mean Spearman within "
        f"groups: {within}; only that cannot be won by recognising the generator."
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows),
    ]
