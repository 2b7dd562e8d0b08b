"""Scores must not depend on what people do not see: re-encoding, scale, mirroring, frame rate; and must repeat.

    python -m benchmarks.robustness [CLIPS...] [--frames 100] [--synthetic 6] [--metrics mss ois pas tcs]

By default the clips are the real footage beside the checkout, cut to 100 frames, and a few rendered ones. Printed: the
change of every score against its bound, whether a second scoring is identical, and what real footage scores.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import av
import numpy as np

from benchmarks.scenes import SUITES, render
from benchmarks.scenes.textures import HELD_OUT_SEED
from benchmarks.synthetic import AMPLITUDE_OF_INTEREST, machine
from vmmetrics.alignment.perturbations.frames import at_rate, mirrored, reencoded, scaled
from vmmetrics.clip import Clip
from vmmetrics.scoring.clip_scores import ClipScores
from vmmetrics.scoring.suite import Suite

REAL_CLIPS = Path(__file__).resolve().parents[2] / "shared" / "real-clips"
METRICS = ("mss", "ois", "pas", "tcs")
MEAN_BOUND, MAX_BOUND = 0.03, 0.10  # of |Δ score|
RATE_BOUND = 0.10  # of |Δ amplitude| / amplitude at half the frame rate
SHORT_SIDE = 480  # only clips at least this high are halved
EXPECTED_OF_REAL = 0.95  # what MSS, OIS and TCS should give unedited footage


def read(path: Path, limit: int) -> Clip:
    """Decode the first ``limit`` frames."""
    with av.open(str(path), mode="r") as container:
        stream = container.streams.video[0]
        fps = float(stream.average_rate or 25)
        frames = [frame.to_ndarray(format="rgb24") for frame in islice(container.decode(stream), limit)]
    return _clip(np.stack(frames), fps, path.name)


def _clip(frames: np.ndarray, fps: float, name: str) -> Clip:
    return Clip(np.ascontiguousarray(frames), np.arange(len(frames)) / fps, fps, name=name)


def coded(clip: Clip) -> Clip | None:
    """Return the clip after x264 at CRF 18; None for odd sizes, which 4:2:0 does not take."""
    return None if clip.width % 2 or clip.height % 2 else reencoded(clip, 18)


def halved(clip: Clip) -> Clip | None:
    """Return the clip at half its size; None where it is small already."""
    return scaled(clip, 0.5) if min(clip.width, clip.height) >= SHORT_SIDE else None


VARIANTS: dict[str, Callable[[Clip], Clip | None]] = {
    "CRF 18": coded,
    "half scale": halved,
    "mirrored": mirrored,
}


def sources(paths: Sequence[Path], limit: int, synthetic: int) -> Iterator[tuple[str, Clip]]:
    """Yield (kind, clip): the files, or the real footage, and rendered clips."""
    files = list(paths) or sorted(p for p in REAL_CLIPS.glob("*.*") if p.suffix in {".mp4", ".mkv"})
    for path in files:
        yield "file", read(path, limit)
    for seed in range(HELD_OUT_SEED, HELD_OUT_SEED + synthetic):
        # Half of the suite of motions, half of comings and goings, at a size that may be halved.
        spec = replace(SUITES["pas" if seed % 2 else "tcs"](seed), size=(720, 480))
        rendered = render(spec, seed)
        yield "rendered", _clip(rendered.frames, rendered.fps, f"{spec.name}#{seed}")


class Changes:
    """Collects what the variants change.

    Attributes:
        scores: (variant, metric) to a list of (|Δ|, clip).
        rates: (relative change of the amplitude at half the rate, clip).
        flips: Scores that became missing, or the other way round.
        unequal: Clips whose second scoring differed.
    """

    def __init__(self) -> None:
        self.scores: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
        self.rates: list[tuple[float, str]] = []
        self.flips: list[str] = []
        self.unequal: list[str] = []

    def compare(self, variant: str, metrics: Sequence[str], before: ClipScores, after: ClipScores) -> None:
        """Note the change of every score."""
        for key in metrics:
            if (key in before.scores) != (key in after.scores):
                self.flips.append(f"{key} {variant} {before.name}: {_text(before, key)} -> {_text(after, key)}")
            elif key in before.scores:
                change = abs(before.scores[key] - after.scores[key])
                self.scores[variant, key].append((change, f"{before.name} {_text(before, key)} -> {_text(after, key)}"))


def _text(scores: ClipScores, key: str) -> str:
    return f"{scores.scores[key]:.3f}" if key in scores.scores else "missing"


def measure(suite: Suite, clip: Clip, changes: Changes) -> ClipScores:
    """Score a clip and its variants, note the changes, and return its own scores."""
    scores = suite.score_clip(clip)
    if not _equal(suite.score_clip(clip), scores):
        changes.unequal.append(clip.name)
    for name, change in VARIANTS.items():
        variant = change(clip)
        if variant is not None:
            changes.compare(name, suite.metrics, scores, suite.score_clip(variant))
    half = at_rate(clip, clip.fps / 2) if len(clip) >= 12 else None
    if half is not None and "pas" in suite.metrics and (scores.amplitude or 0.0) >= AMPLITUDE_OF_INTEREST:
        assert scores.amplitude is not None
        amplitude = Suite(metrics=("pas",)).score_clip(half).amplitude or 0.0
        changes.rates.append(
            (amplitude / scores.amplitude - 1, f"{clip.name} {scores.amplitude:.3f} -> {amplitude:.3f}")
        )
    return scores


def _equal(a: ClipScores, b: ClipScores) -> bool:
    """Whether scores, events and series agree to the last bit."""
    if a.scores != b.scores or a.missing != b.missing:
        return False
    return all(
        r.events == b.results[k].events
        and all(np.array_equal(v, b.results[k].series[s], equal_nan=True) for s, v in r.series.items())
        for k, r in a.results.items()
    )


def print_changes(changes: Changes) -> None:
    """Print the tables of changes, with the clips that broke a bound."""
    print(f"\n|Δ score|: wanted mean < {MEAN_BOUND}, max <= {MAX_BOUND}")
    print(f"  {'':14}{'metric':>8}{'clips':>7}{'mean':>9}{'max':>9}")
    for (variant, key), deltas in sorted(changes.scores.items()):
        sizes = np.array([size for size, _ in deltas])
        verdict = "" if sizes.mean() < MEAN_BOUND and sizes.max() <= MAX_BOUND else "   beyond"
        print(f"  {variant:14}{key:>8}{len(sizes):7d}{sizes.mean():9.4f}{sizes.max():9.4f}{verdict}")
        for size, text in sorted(deltas, reverse=True)[:3]:
            if size > MAX_BOUND / 2:
                print(f"      {size:.3f}  {text}")
    if changes.rates:
        sizes = np.abs([change for change, _ in changes.rates])
        print(f"\nPAS amplitude at half the frame rate, relative: wanted < {RATE_BOUND}")
        print(f"  clips {len(sizes)}, mean {sizes.mean():.3f}, median {np.median(sizes):.3f}, max {sizes.max():.3f}")
        for change, text in sorted(changes.rates, key=lambda item: -abs(item[0]))[:6]:
            print(f"      {change:+.3f}  {text}")
    print(f"\nscored on one side only: {len(changes.flips)}")
    for text in changes.flips:
        print(f"      {text}")
    print(f"second scoring not identical: {len(changes.unequal)} {changes.unequal}")


def print_footage(results: Sequence[ClipScores], metrics: Sequence[str]) -> None:
    """Print what the files themselves scored, and every event that cost points where a score is low."""
    print(f"\nFootage: MSS, OIS, TCS wanted >= {EXPECTED_OF_REAL} where not missing")
    print(f"  {'':28}" + "".join(f"{key:>9}" for key in metrics))
    for scores in results:
        print(f"  {scores.name:28}" + "".join(f"{_text(scores, key):>9}" for key in metrics))
        for key in sorted({"mss", "ois", "tcs"} & scores.scores.keys()):
            if scores.scores[key] < EXPECTED_OF_REAL:
                events = [e for e in scores.results[key].events if e.excuse is None]
                for event in events[:4]:
                    print(
                        f"      {key}: frames {event.frames[0]}-{event.frames[-1]} {event.target or ''} {event.reason}"
                    )
        for key, text in scores.errors.items():
            print(f"      {key} failed: {text}")
    amplitudes = [scores.scores["pas"] for scores in results if "pas" in scores.scores]
    if amplitudes:
        print(f"  median PAS {np.median(amplitudes):.3f} (wanted 0.2 to 0.8)")


def main() -> None:
    """Score clips and their variants."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", nargs="*", type=Path)
    parser.add_argument("--frames", type=int, default=100, help="frames taken of each clip")
    parser.add_argument("--synthetic", type=int, default=6, help="rendered clips")
    parser.add_argument("--metrics", nargs="+", choices=METRICS, default=METRICS)
    parser.add_argument("--footage-only", action="store_true", help="score the files alone, without variants")
    arguments = parser.parse_args()
    print(machine())
    start = time.perf_counter()
    suite, changes, footage = Suite(metrics=arguments.metrics), Changes(), []
    rendered = 0 if arguments.footage_only else arguments.synthetic
    for kind, clip in sources(arguments.clips, arguments.frames, rendered):
        scores = suite.score_clip(clip) if arguments.footage_only else measure(suite, clip, changes)
        if kind == "file":
            footage.append(scores)
    print_footage(footage, suite.metrics)
    if not arguments.footage_only:
        print_changes(changes)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
