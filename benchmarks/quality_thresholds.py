"""Calibrate MSS of the embedded preset: print what its limits let through in clean footage, and find of its defects.

Run ``python -m benchmarks.quality_thresholds [--defects]``. Sources weigh equally.
"""

from __future__ import annotations

import argparse
import zlib
from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy.optimize import minimize
from scipy.stats import spearmanr

from benchmarks.footage import FOOTAGE, recordings, window
from vmmetrics.alignment.perturbations.library import DEFECTS
from vmmetrics.alignment.perturbations.objects import NotApplicableError
from vmmetrics.clip import Clip
from vmmetrics.metrics import mss, pas
from vmmetrics.perception.presets import load_preset
from vmmetrics.perception.scene import Scene
from vmmetrics.types import FloatArray

KINDS = (*(name for name, defect in DEFECTS.items() if defect.owner == "mss"), "flicker", "boil", "shuffle")
STRENGTHS = (0.5, 1.0)
LONGEST = 36
"""Frames of a window with defects, from its middle."""
QUANTILE = 0.95
"""Of the unsteadiness of clean windows at one pace: what is expected."""


def expected_curve(pace: FloatArray, unsteadiness: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return a and b of the weighted :data:`QUANTILE` of ``unsteadiness``, a + b ln(0.1 + pace)."""
    spread = np.log(0.1 + pace)

    def loss(curve: FloatArray) -> float:
        rest = unsteadiness - curve[0] - curve[1] * spread
        return float(np.sum(weights * np.where(rest > 0, QUANTILE * rest, (QUANTILE - 1) * rest)))

    starts = ([np.quantile(unsteadiness, 0.9), slope] for slope in (0.0, 0.03, 0.08))
    best = min((minimize(loss, start, method="Nelder-Mead", options={"maxiter": 4000}) for start in starts),
               key=lambda fit: float(fit.fun))  # fmt: skip
    return float(best.x[0]), float(best.x[1])


def damaged(clip: Clip, kind: str, strength: float) -> Clip | None:
    """Return the middle of ``clip`` with a defect; None where it cannot show."""
    first = max(0, len(clip) - LONGEST) // 2
    frames = np.ascontiguousarray(clip.frames[first : first + LONGEST])
    short = Clip(frames, np.arange(len(frames)) / clip.fps, clip.fps, name=clip.name)
    try:
        return DEFECTS[kind](short, strength, np.random.default_rng([zlib.crc32(kind.encode()), len(clip.name)])).clip
    except NotApplicableError:
        return None


def measure(speeds: Sequence[int], *, defects: bool) -> None:
    """Print the scores of clean windows, the expected unsteadiness, and how defects separate from clean windows."""
    models = load_preset("embedded").models
    rows: list[tuple[str, int, float, float, float, float]] = []
    bad: dict[tuple[str, float], list[float]] = {(kind, s): [] for kind in KINDS for s in STRENGTHS}
    for item, speed in product(recordings("train", "validation"), speeds):
        clip = window(item.read(), speed)
        if clip is None:
            continue
        scene = Scene(clip, models)
        amount = pas.measure(scene, "vmmetrics")
        score = mss.measure(scene, "vmmetrics", amount).score
        if score is None or scene.unsteadiness is None:
            continue
        size = float(np.sqrt(np.mean(scene.unsteadiness**2)))
        rows.append((item.source, speed, amount.numbers.get("amplitude") or 0.0, mss.pace(scene), size, score))
        print(f"{clip.name:40} amplitude {rows[-1][2]:.3f}  pace {rows[-1][3]:.3f}  u {size:.3f}  MSS {score:.3f}",
              flush=True)  # fmt: skip
        for (kind, strength), scores in bad.items() if defects else ():
            spoilt = damaged(clip, kind, strength)
            value = None if spoilt is None else mss.measure(Scene(spoilt, models), "vmmetrics").score
            scores += [] if value is None else [value]
    per_source = Counter(row[0] for row in rows)
    weights = np.array([1 / per_source[row[0]] for row in rows])
    speed_of, amplitude, pace, size, score = np.array([row[1:] for row in rows], float).T
    print(f"expected: {expected_curve(pace, size, weights / weights.sum())}, in use {mss.EXPECTED}")
    for speed in speeds:
        at = speed_of == speed
        low, middle = np.quantile(score[at], (0.05, 0.5))
        falls = spearmanr(amplitude[at], score[at])[0]
        print(f"speed {speed}: {at.sum()} windows, MSS median {middle:.3f}, 5 % {low:.3f}, with amplitude {falls:.2f}")
    for (kind, strength), scores in bad.items():
        if scores:
            above = score[:, None] - np.array(scores)[None]
            area = float(np.mean(above > 0) + np.mean(above == 0) / 2)
            print(f"{kind:12} {strength:g}: AUC {area:.2f}, median {np.median(scores):.3f} ({len(scores)} windows)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--defects", action="store_true", help="also inject defects")
    parser.add_argument("--speeds", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args()
    if not FOOTAGE.is_dir():
        print(f"No footage at {FOOTAGE}: nothing to measure on")
        return
    measure(tuple(options.speeds), defects=options.defects)


if __name__ == "__main__":
    main()
