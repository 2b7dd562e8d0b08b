"""How often ``vmmetrics calibrate`` reports a gain in made studies: ``python -m benchmarks.calibrate_null``.

Scores come by a normal copula from those in ``tests/data/fetv-dev/scores.csv``: of the variance 0.3 is the prompt's,
0.1 the model's; two scores correlate by 0.3; OIS is missing in one clip of eight. Four models; three raters on 1 to 5,
with a noise of 0.7 standard deviations of true quality, to which the prompt adds 0.65. Two thirds of the variance of
quality within prompts is of one kind: noise; the model's name; less motion; the default index; an index far from it
(OIS and TCS alone). A gain over the default is false but for the last. 95 % intervals: Wilson's.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from scipy import stats

from vmmetrics.alignment.calibration import DEFAULT, PARTS, RatedParts, calibrate
from vmmetrics.alignment.calibration_gains import deciding_gain
from vmmetrics.alignment.study import Study
from vmmetrics.functional.motion_index import motion_index
from vmmetrics.types import FloatArray
from vmmetrics.utils.statistics.bootstrap import Estimate

SCORES = Path(__file__).parents[1] / "tests" / "data" / "fetv-dev" / "scores.csv"
KINDS = ("noise", "name", "calm", "default", "far")
MODELS, RATERS = 4, 3
FAR = np.isin(PARTS, ["ois", "tcs"]).astype(float)
_PROMPT, _MODEL, _ALIKE, _SHARE, _OF_PROMPT, _OF_RATER, _NO_OIS = 0.3, 0.1, 0.3, 2 / 3, 0.65, 0.7, 1 / 8


@cache
def margins() -> dict[str, FloatArray]:
    """Return the scores and amplitudes of generated clips."""
    with SCORES.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if "_real" not in row["clip"]]
    return {key: np.array([float(row[key]) for row in rows if row[key]]) for key in (*PARTS, "amplitude")}


def made(kind: str, prompts: int, seed: int) -> Study:
    """Return a study of one kind of truth."""
    rng = np.random.default_rng(seed)
    prompt, model = (codes.ravel() for codes in np.indices((prompts, MODELS)))
    n = prompt.size

    def normal(columns: int) -> FloatArray:
        parts = (rng.normal(size=(size, columns)) for size in (prompts, MODELS, n))
        shares = np.sqrt([_PROMPT, _MODEL, 1 - _PROMPT - _MODEL])
        return sum(
            share * part[rows] for share, part, rows in zip(shares, parts, (prompt, model, np.arange(n)), strict=True)
        )

    place = stats.norm.cdf(np.sqrt(_ALIKE) * normal(1) + np.sqrt(1 - _ALIKE) * normal(len(PARTS)))
    columns = {key: np.quantile(margins()[key], place[:, number]) for number, key in enumerate(PARTS)}
    amplitude = np.quantile(margins()["amplitude"], place[:, PARTS.index("pas")])
    columns["ois"][rng.random(n) < _NO_OIS] = np.nan
    rows = [{key: of[clip] for key, of in columns.items() if of[clip] == of[clip]} for clip in range(n)]
    columns["motion_index"] = np.array([motion_index(row).score for row in rows])
    names = [f"prompt {number:03d}" for number in prompt], [f"model {number}" for number in model]
    clips = [f"{of}/{text}.mp4" for text, of in zip(*names, strict=True)]
    blank = Study(tuple(clips), *map(tuple, names), columns, {"motion": np.zeros((n, 1))}, amplitude=amplitude)
    signal = {
        "noise": rng.normal(size=n),
        "name": rng.normal(size=MODELS)[model],
        "calm": -amplitude,
        "default": RatedParts.of(blank, "motion").index(DEFAULT),
        "far": RatedParts.of(blank, "motion").index(FAR),
    }[kind]
    quality = np.sqrt(_SHARE) * stats.zscore(stats.rankdata(signal)) + np.sqrt(1 - _SHARE) * rng.normal(size=n)
    quality += _OF_PROMPT * rng.normal(size=prompts)[prompt]
    answers = np.round(3 + quality[:, None] + _OF_RATER * rng.normal(size=(n, RATERS)))
    return replace(blank, ratings={"motion": np.clip(answers, 1, 5)})


def gain(kind: str, prompts: int, seed: int, resamples: int) -> Estimate:
    """Return the gain that decides in a made study."""
    data = RatedParts.of(made(kind, prompts, seed), "motion")
    return deciding_gain(data, calibrate(data, seed), resamples, seed)


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--prompts", type=int, nargs="+", default=[10, 20, 40, 80])
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--resamples", type=int, default=300)
    options = parser.parse_args()
    for kind in options.kinds:
        for prompts in options.prompts:
            gains = [gain(kind, prompts, seed, options.resamples) for seed in range(options.studies)]
            reported = sum(one.low is not None and one.low > 0 for one in gains)
            share = stats.binomtest(reported, len(gains)).proportion_ci(method="wilson")
            say(
                f"{kind}, {prompts} prompts: {reported} of {len(gains)} = {reported / len(gains):.1%} "
                f"[{share.low:.1%}, {share.high:.1%}], mean gain {np.mean([one.value for one in gains]):+.3f}"
            )


if __name__ == "__main__":
    main()
