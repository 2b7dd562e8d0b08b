"""Faults injected into batches of rewards: every one must end as NaN with a reason, never as a number.

    python -m benchmarks.reward_faults [--faults 10000] [--real 500] [--kills 20]

Batches of eight samples in two groups, some of which are spoilt: frames with NaN or infinity, no frame, values out of
range, another type, cut and empty files, files that are none, absent files, a rate other than stated. A stand-in scores
most of them (the brightest frame's mean), the real metrics ``--real``. ``--kills`` batches go to workers that are
killed, or that hang beyond their deadline, meanwhile. A spoilt sample must have NaN and a reason, its group too where
components are left out, and the others a number.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import vmmetrics
import vmmetrics.scoring.settings
from vmmetrics.scoring import rewards as module

ROOT = Path(__file__).resolve().parents[1]
BATCH, FPS = 8, 10
Rng = np.random.Generator


def frames(rng: Rng, count: int = 6, size: int = 24) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return frames of a pattern that moves, floats in 0..1."""
    y, x = np.mgrid[:size, : size + 8]
    shifts = rng.uniform(0.5, 2) * np.arange(count)[:, None, None]
    grey = 0.5 + 0.3 * np.sin((x + shifts) / rng.uniform(2, 6)) * np.cos(y / 3 + shifts / 9)
    return np.repeat(grey[..., None], 3, -1).astype(np.float32)


def encoded(clip: np.ndarray[Any, Any], fps: int = FPS) -> bytes:
    """Return frames as an animated PNG."""
    pictures = [Image.fromarray(np.uint8(255 * frame)) for frame in clip]
    file = io.BytesIO()
    pictures[0].save(file, "png", save_all=True, append_images=pictures[1:], duration=1000 // fps)
    return file.getvalue()


def spoilt(clip: np.ndarray[Any, Any], rng: Rng) -> tuple[str, Any]:
    """Return the name of a fault and a sample with it."""
    at = int(rng.integers(len(clip)))
    broken = clip.copy()
    kinds: dict[str, Callable[[], Any]] = {
        "NaN": lambda: _put(broken, at, np.nan),
        "infinity": lambda: _put(broken, at, np.inf),
        "out of range": lambda: clip * 255,
        "below range": lambda: clip * 2 - 1.2,
        "whole numbers": lambda: (clip * 255).astype(np.int64),
        "two axes": lambda: clip[0, :, :, 0],
        "no frame": lambda: clip[:0],
        "cut file": lambda: (whole := encoded(clip))[: int(rng.integers(8, len(whole) // 2))],
        "empty file": lambda: b"",
        "no video": lambda: rng.bytes(200),
        "absent file": lambda: ROOT / "there is no such file.mp4",
        "another rate": lambda: encoded(clip, FPS * 2),
        "text": lambda: "not a path\0",
    }
    kind = str(rng.choice(list(kinds)))
    return kind, kinds[kind]()


def _put(clip: np.ndarray[Any, Any], at: int, value: float) -> np.ndarray[Any, Any]:
    clip[at, 0, 0] = value
    return clip


def batches(faults: int, seed: int, size: int, least: int) -> Iterator[tuple[list[Any], dict[int, str]]]:
    """Yield batches and the faults in them by position."""
    rng, made = np.random.default_rng(seed), 0
    while made < faults:
        clips = [frames(rng, least, size) for _ in range(BATCH)]
        where = rng.choice(BATCH, int(rng.integers(1, 4)), replace=False)
        batch: list[Any] = [encoded(clip) if rng.random() < 0.3 else clip for clip in clips]
        named = {}
        for position in where:
            named[int(position)], batch[int(position)] = spoilt(clips[int(position)], rng)
        made += len(named)
        yield batch, named


def check(batch: list[Any], named: dict[int, str], found: Counter[str], **options: Any) -> None:
    """Score a batch in both ways and count what is wrong."""
    groups = [number // (BATCH // 2) for number in range(BATCH)]
    given = {"fps": FPS, "value_range": (0, 1), "layout": "THWC", **options}
    for missing in ("nan", "drop-component"):
        scored = vmmetrics.rewards(batch, groups=groups, missing=missing, **given)
        for number in range(BATCH):
            value, why = scored.values[number], scored.reasons[number]
            whole = any(groups[position] == groups[number] for position in named)
            expected_nan = number in named or (missing == "drop-component" and whole)
            if expected_nan and not np.isnan(value):
                found[f"A NUMBER for {named.get(number, 'one of its group')}: {value}"] += 1
            elif expected_nan and not why.get("reward"):
                found[f"NO REASON for {named.get(number, 'one of its group')}"] += 1
            elif not expected_nan and np.isnan(value):
                found[f"NaN for a good sample: {dict(why)}"] += 1
            else:
                found["as it should be"] += 1
    for position, kind in named.items():
        found[f"fault: {kind}"] += 1
        del position


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=10_000)
    parser.add_argument("--real", type=int, default=500)
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    found = Counter[str]()
    suite = vmmetrics.scoring.settings.SUITE
    sys.path.insert(0, str(ROOT / "tests" / "scoring"))
    vmmetrics.scoring.settings.SUITE = "fake_suite:FakeSuite"
    for batch, named in batches(options.faults, 1, 24, 6):
        check(batch, named, found, weights={"mss": 1})
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(2)
        for number in range(options.kills):
            good = [Path(folder) / f"{number}-{position}.npy" for position in range(BATCH)]
            for path in good:
                np.save(path, np.uint8(255 * frames(rng)))
            position, kind = int(rng.integers(BATCH)), str(rng.choice(["kill", "hang", "raise"]))
            good[position] = good[position].rename(Path(folder) / f"{number}-{kind}.npy")
            check(list(good), {position: kind}, found, weights={"mss": 1}, jobs=2, timeout=3)
    vmmetrics.scoring.settings.SUITE = suite
    module._loaded.cache_clear()
    for batch, named in batches(options.real, 3, 64, 8):
        check(batch, named, found, weights={"mss": 2, "pas": 1})
    for text, count in sorted(found.items()):
        print(f"{count:7,}  {text}")


if __name__ == "__main__":
    main()
