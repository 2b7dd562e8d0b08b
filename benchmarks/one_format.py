"""fetv-dev in one format: does a score tell real clips from generated ones without size, frames and bytes?

    python -m benchmarks.one_format --runs RUNS [--ratings ../shared/fetv-dev]

Scores the clips as they are and as 16 frames of 192 × 144 pixels at 8 fps, through x264 at one CRF, into run
directories below RUNS, which keep what they have. Prints, for each score and for what size, frames and bytes alone say:
AUC of real above generated, and the mean of the real clips less that of the best model. Intervals are 95 % of a
bootstrap over prompts. No ratings are read, so nothing is unsealed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import cv2
import numpy as np

import vmmetrics
from benchmarks.fetv_dev import RATINGS, REAL, rated_clips, read
from benchmarks.known_groups import COLUMNS, ROUNDS, Interval, Scores, name_of, scores_of, separation
from vmmetrics.clip import Clip
from vmmetrics.types import FloatArray
from vmmetrics.video.encoding import write_h264

WIDTH, HEIGHT = 192, 144
FRAMES, RATE = 16, 8.0
CRF = "23"
"""x264's default quality."""
FORMS = ("as they are", "one format")
TRIVIAL = ("size", "frames", "bytes")


def one_format(clip: Clip) -> Clip:
    """Return the middle 2 s at 8 fps, or as many frames as 16 of a shorter clip, in 4:3 at 192 × 144 pixels."""
    span = min((FRAMES - 1) / RATE * clip.fps, len(clip) - 1)
    indices = ((len(clip) - 1 - span) / 2 + np.linspace(0, span, FRAMES)).round().astype(int)
    width = min(clip.width, round(clip.height * WIDTH / HEIGHT))
    height = min(clip.height, round(clip.width * HEIGHT / WIDTH))
    left, top = (clip.width - width) // 2, (clip.height - height) // 2
    way = cv2.INTER_AREA if height > HEIGHT else cv2.INTER_CUBIC
    frames = [
        cv2.resize(clip.frames[i, top : top + height, left : left + width], (WIDTH, HEIGHT), interpolation=way)
        for i in indices
    ]
    return Clip(np.stack(frames), np.arange(FRAMES) / RATE, RATE, name=clip.name)


def score_all(folder: Path, rows: Sequence[dict[str, str]], runs: Path) -> dict[str, Scores]:
    """Return the scores of both forms, with size, frames and bytes; what the runs have is not scored again."""
    clips = [read(folder, row) for row in rows]
    encoded = runs / "clips"
    encoded.mkdir(parents=True, exist_ok=True)
    files = {row["clip"]: encoded / f"{name_of(row['clip'])}.mp4" for row in rows}
    for row, clip in zip(rows, clips, strict=True):
        if not files[row["clip"]].exists():
            write_h264(files[row["clip"]], one_format(clip).frames, RATE, {"crf": CRF}, threads=1)
    given: dict[str, list[Clip] | list[str]] = {FORMS[0]: clips, FORMS[1]: [str(files[row["clip"]]) for row in rows]}
    scores = {}
    for form, of_form in given.items():
        run = runs / form.replace(" ", "-")
        vmmetrics.score(of_form, out=run, jobs=1)
        scores[form] = scores_of(run)
    for row, clip in zip(rows, clips, strict=True):
        name, original = name_of(row["clip"]), folder / "clips" / row["clip"]
        as_is = (clip.width * clip.height, len(clip), original.stat().st_size)
        same = (WIDTH * HEIGHT, FRAMES, files[row["clip"]].stat().st_size)
        for form, facts in zip(FORMS, (as_is, same), strict=True):
            scores[form].setdefault(name, {}).update(zip(TRIVIAL, map(float, facts), strict=True))
    return scores


def margin(values: FloatArray, models: Sequence[str], prompts: Sequence[str]) -> tuple[str, Interval]:
    """Return the model with the highest mean, and the mean of the real clips less its, drawing prompts.

    Args:
        values: (N,) scores without NaN.
        models: (N,) model of each clip, ``"real"`` among them.
        prompts: (N,) prompt of each clip.
    """
    names, model = np.unique(models, return_inverse=True)
    numbers, prompt = np.unique(prompts, return_inverse=True)
    sums, counts = np.zeros((2, len(numbers), len(names)))
    np.add.at(sums, (prompt, model), values)
    np.add.at(counts, (prompt, model), 1)
    drawn = np.random.default_rng(0).multinomial(len(numbers), np.full(len(numbers), 1 / len(numbers)), ROUNDS)
    real = names == REAL
    means = []
    for weights in (np.ones((1, len(numbers))), drawn):
        clips = weights @ counts
        means.append(np.divide(weights @ sums, clips, out=np.full(clips.shape, np.nan), where=clips > 0))
    apart = [of[:, real][:, 0] - np.nanmax(of[:, ~real], axis=1) for of in means]
    ends = np.nanquantile(apart[1], (0.025, 0.975))
    best = names[~real][np.nanargmax(means[0][0, ~real])]
    return str(best), Interval(float(apart[0][0]), float(ends[0]), float(ends[1]))


def lines(rows: Sequence[dict[str, str]], scores: dict[str, Scores]) -> Iterator[str]:
    """Yield a table in Markdown; of size, frames and bytes the AUC is that of the better direction."""
    heads = " | ".join(f"{form}: clips | AUC | real − best model" for form in FORMS)
    yield f"| score | {heads} |"
    yield "|---" * (1 + 3 * len(FORMS)) + "|"
    for column in (*COLUMNS, *TRIVIAL):
        cells = [cell for form in FORMS for cell in _cells(rows, scores[form], column)]
        yield f"| {column} | {' | '.join(cells)} |"


def _cells(rows: Sequence[dict[str, str]], scores: Scores, column: str) -> tuple[str, str, str]:
    held = [row for row in rows if column in scores.get(name_of(row["clip"]), {})]
    sides = [[row for row in held if (row["source"] == REAL) is real] for real in (True, False)]
    if not all(sides):
        return str(len(held)), "–", "–"
    high, low = ([scores[name_of(row["clip"])][column] for row in side] for side in sides)
    of_high, of_low = ([row["prompt_id"] for row in side] for side in sides)
    auc = separation(high, low, (of_high, of_low), equal=False)
    if column in TRIVIAL:
        turned = separation(low, high, (of_low, of_high), equal=False)
        return str(len(held)), str(max(auc, turned)), "–"
    values = np.array([scores[name_of(row["clip"])][column] for row in held])
    best, apart = margin(values, [row["source"] for row in held], [row["prompt_id"] for row in held])
    return str(len(held)), str(auc), f"{apart} ({best})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ratings", type=Path, default=RATINGS)
    parser.add_argument("--runs", type=Path, default=Path("one-format-runs"))
    options = parser.parse_args()
    rows = rated_clips(options.ratings)
    print("\n".join(lines(rows, score_all(options.ratings, rows, options.runs))))


if __name__ == "__main__":
    main()
