"""How often ``vmmetrics calibrate`` reports a gain, in made studies: ``python -m benchmarks.calibrate_null``.

Scores are drawn by a normal copula (share of the variance: prompt 0.3, model 0.1; two scores correlate by 0.3) with the
margins of ``tests/data/fetv-dev/scores.csv``, OIS missing in one clip of eight. Four models, three raters on 1 to 5,
the prompt 0.3 of a rating's variance besides, a rater's noise 0.7 of a standard deviation. Kinds of truth, each with
noise: nothing; the model's name; less motion; the default index; an index far from it (OIS and TCS alone, two thirds of
the variance of true quality, as of the default index). A report on the first four is false. 95 % intervals: Wilson's.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats
from scipy.stats import binomtest

from vmmetrics.alignment.calibration import DEFAULT, PARTS, RatedParts, calibrate
from vmmetrics.alignment.calibration_gains import deciding_gain
from vmmetrics.alignment.study import Study
from vmmetrics.functional.motion_index import motion_index
from vmmetrics.types import FloatArray

SCORES = Path(__file__).parents[1] / "tests" / "data" / "fetv-dev" / "scores.csv"
KINDS = ("noise", "name", "calm", "default", "far")
MODELS, RATERS = 4, 3
FAR = np.where(np.isin(PARTS, ["ois", "tcs"]), 1.0, 0.0)


def margins() -> dict[str, FloatArray]:
    """Return the scores of generated clips by metric, sorted."""
    with SCORES.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if "_real" not in row["clip"]]
    return {key: np.sort([float(row[key]) for row in rows if row[key]]) for key in (*PARTS, "amplitude")}


def made(kind: str, prompts: int, seed: int, share: float = 2 / 3) -> Study:
    """Return a study of one kind."""
    rng = np.random.default_rng(seed)
    prompt, model = (codes.ravel() for codes in np.indices((prompts, MODELS)))
    n = prompt.size

    def mixed(count: int) -> FloatArray:
        return (
            np.sqrt(0.3) * rng.normal(size=(prompts, count))[prompt]
            + np.sqrt(0.1) * rng.normal(size=(MODELS, count))[model]
            + np.sqrt(0.6) * rng.normal(size=(n, count))
        )

    latent = np.sqrt(0.3) * mixed(1) + np.sqrt(0.7) * mixed(len(PARTS))
    columns = {}
    by_name = margins()
    for key, normal in zip(PARTS, latent.T, strict=True):
        columns[key] = np.quantile(by_name[key], stats.norm.cdf(normal))
    columns["amplitude"] = np.quantile(by_name["amplitude"], stats.norm.cdf(latent[:, PARTS.index("pas")]))
    columns["ois"][rng.random(n) < 1 / 8] = np.nan
    amplitude = columns.pop("amplitude")
    rows = [{k: float(c[i]) for k, c in columns.items() if np.isfinite(c[i])} for i in range(n)]
    columns["motion_index"] = np.array([motion_index(row).score for row in rows])
    blank = Study(
        tuple(f"c{i}" for i in range(n)),
        tuple(f"p{i:03d}" for i in prompt),
        tuple(f"m{i}" for i in model),
        columns,
        {"motion": np.zeros((n, 1))},
        amplitude=amplitude,
    )
    signal = {
        "noise": lambda: rng.normal(size=n),
        "name": lambda: rng.normal(size=MODELS)[model],
        "calm": lambda: -stats.rankdata(amplitude),
        "default": lambda: RatedParts.of(blank, "motion").index(DEFAULT),
        "far": lambda: RatedParts.of(blank, "motion").index(FAR),
    }[kind]()
    signal = stats.rankdata(signal)
    signal = (signal - signal.mean()) / signal.std()
    truth = np.sqrt(share) * signal + np.sqrt(1 - share) * rng.normal(size=n) + 0.65 * rng.normal(size=prompts)[prompt]
    ratings = np.clip(np.round(3 + truth[:, None] + 0.7 * rng.normal(size=(n, RATERS))), 1, 5)
    return Study(blank.clips, blank.prompts, blank.models, columns, {"motion": ratings}, amplitude=amplitude)


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, nargs="+", default=[10, 20, 40, 80])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--resamples", type=int, default=300)
    options = parser.parse_args()
    for kind in options.kinds:
        for prompts in options.prompts:
            gains = []
            for seed in range(options.studies):
                data = RatedParts.of(made(kind, prompts, seed), "motion")
                gains.append(deciding_gain(data, calibrate(data, seed), options.resamples, seed))
            reported = sum(gain.low is not None and gain.low > 0 for gain in gains)
            share = binomtest(reported, len(gains)).proportion_ci(method="wilson")
            mean = np.mean([gain.value for gain in gains])
            say(
                f"{kind} {prompts} prompts: {reported} of {len(gains)} = {reported / len(gains):.1%} "
                f"[{share.low:.1%}, {share.high:.1%}] mean gain {mean:+.3f}"
            )


if __name__ == "__main__":
    main()
