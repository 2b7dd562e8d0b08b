"""Failure cases of the embedded CAS classifier on fetv-dev, as pictures: where it and people disagree most.

    python -m benchmarks.cas_pictures [--ratings ../shared/fetv-dev] [--output docs/pictures/cas-failures.jpg]

Generated clips of the open prompts only (benchmarks/seal.py). Each row is a clip: four moments of its worst view, in
red what counted most against it, with the score, its rank among the clips of the same generator, and the rank of its
rating (1 is the best).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

import vmmetrics
from benchmarks.fetv_dev import RATINGS, mean_rating, rated_clips, read
from benchmarks.seal import halves
from vmmetrics.clip import Clip
from vmmetrics.types import PlausibilityResult, SaliencyMap

ROWS = 6
HEIGHT, WIDTH = 120, 180
LEAST_SCALE = 0.02  # gain; a part that costs less is not drawn in full red even where it costs most


def drawn(clip: Clip, look: SaliencyMap, most: float) -> NDArray[np.uint8]:
    frame = cv2.resize(clip.frames[look.frame], (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA).astype(np.float32)
    gain = cv2.resize(np.maximum(np.array(look.gain, np.float32), 0), (WIDTH, HEIGHT), interpolation=cv2.INTER_LINEAR)
    share = 0.7 * np.minimum(gain / max(most, LEAST_SCALE), 1)[..., None]
    return np.asarray(frame * (1 - share) + np.array([255, 30, 30]) * share, np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ratings", type=Path, default=RATINGS)
    parser.add_argument("--output", type=Path, default=Path("docs/pictures/cas-failures.jpg"))
    options = parser.parse_args()
    suite = vmmetrics.Suite(metrics=("cas",))
    rated = rated_clips(options.ratings)
    opened, _ = halves(row["prompt_id"] for row in rated)
    rows = [row for row in rated if row["source"] != "real" and row["prompt_id"] in opened]
    clips, results = [], []
    for row in rows:
        clip = read(options.ratings, row)
        clips.append(clip)
        result = suite.score_clip(clip).results["cas"]
        assert isinstance(result, PlausibilityResult)
        results.append(result)
    sources = np.array([row["source"] for row in rows])
    scores = np.array([result.score for result in results])
    ratings = np.array([mean_rating(row) for row in rows])
    ours, theirs = np.zeros(len(rows)), np.zeros(len(rows))
    for source in np.unique(sources):
        here = sources == source
        ours[here], theirs[here] = rankdata(-scores[here]), rankdata(-ratings[here])
    strips = []
    for i in np.argsort(-np.abs(ours - theirs), kind="stable")[:ROWS]:
        most = float(np.max([look.gain for look in results[i].looks]))
        strip = np.concatenate([drawn(clips[i], look, most) for look in results[i].looks], axis=1)
        name = rows[i]["clip"]
        text = f"{name}: score {scores[i]:.2f}, rank {ours[i]:.0f}; rated {ratings[i]:.1f}, rank {theirs[i]:.0f}"
        title = np.full((18, strip.shape[1], 3), 255, np.uint8)
        cv2.putText(title, text, (4, 13), cv2.FONT_HERSHEY_SIMPLEX, 0.42, (0, 0, 0), 1, cv2.LINE_AA)
        strips += [title, strip]
        print(f"{text}; {results[i].looks[0].reason}; {rows[i]['prompt']}")
    picture = np.concatenate(strips)[..., ::-1]
    cv2.imwrite(str(options.output), picture, [cv2.IMWRITE_JPEG_QUALITY, 85])


if __name__ == "__main__":
    main()
