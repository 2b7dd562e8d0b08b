"""Print what the formulas of ``vmmetrics.functional`` make of random arrays, floats to the last bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from vmmetrics import functional as f

PROTOCOLS = ("vmmetrics", "vmbench")


def shown(value: Any) -> Any:
    if isinstance(value, (float, np.floating)):
        return float(value).hex()
    if isinstance(value, np.ndarray):
        return [shown(item) for item in value.tolist()]
    if dataclasses.is_dataclass(value):
        return {field.name: shown(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "items"):
        return {key: shown(item) for key, item in value.items()}
    return [shown(item) for item in value] if isinstance(value, (list, tuple)) else value


def tell(name: str, make: Callable[[], Any]) -> None:
    try:
        print(name, shown(make()))
    except Exception as error:
        print(name, type(error).__name__, error)


def tell_some(seed: int) -> None:
    random = np.random.default_rng(seed)
    frames, side = 12 + seed, (320.0, 240.0)
    quality, unsteady = random.random((2, frames))
    walk = random.normal(0, 4, (2, frames, 15, 2)).cumsum(1) + 120
    seen = random.random((2, frames, 15)) > 0.2
    joints = random.normal(0, 3, (frames, 17, 2)).cumsum(0) + random.uniform(40, 200, (1, 17, 2))
    certain = random.random((frames, 17))
    levels = random.dirichlet(np.ones(5), 3)
    scores = dict(zip(("cas", "mss", "ois", "pas", "tcs"), random.random(5).tolist(), strict=True))
    tell("cas", lambda: f.commonsense_adherence_score(levels))
    tell("index", lambda: f.motion_index(scores))
    tell("average", lambda: f.average(scores))
    tell("average of fewer", lambda: f.average({"cas": 0.5, "mss": None}, over=("cas", "mss")))
    for name in PROTOCOLS:
        tell(f"mss {name}", lambda n=name: f.motion_smoothness_score(quality, 0.1 * seed, protocol=n))
        tell(
            f"mss unsteady {name}", lambda n=name: f.motion_smoothness_score(quality, unsteadiness=unsteady, protocol=n)
        )
        tell(f"pas {name}", lambda n=name: f.perceptible_amplitude_score(*walk, side, fps=8, protocol=n))
        tell(f"pas seen {name}", lambda n=name: f.perceptible_amplitude_score(
            *walk, side, subject_visibility=seen[0], background_visibility=seen[1], fps=8, protocol=n))  # fmt: skip
        tell(f"ois {name}", lambda n=name: f.object_integrity_score(joints, certain, protocol=n))
        tell(f"tcs none {name}", lambda n=name: f.temporal_coherence_score(
            [], frame_size=side, num_frames=frames, protocol=n))  # fmt: skip
        tell(f"pas nothing {name}", lambda n=name: f.perceptible_amplitude_score(None, None, side, protocol=n))


for seed in range(6):
    print("#####", seed)
    tell_some(seed)
tell("wrong levels", lambda: f.commonsense_adherence_score([0.5, 0.4, 0, 0, 0]))
tell("wrong index", lambda: f.motion_index({"xyz": 0.5}))
tell("wrong quality", lambda: f.motion_smoothness_score([[0.5]]))
tell("wrong protocol", lambda: f.motion_smoothness_score([0.5, 0.4], protocol="xyz"))
