"""A suite of the real one's shape that scores a clip from its pixels in no time, and misbehaves on request.

What it does to a clip is asked for by the clip's name: ``slow`` sleeps, ``kill`` dies as if killed for memory,
``raise`` raises, ``badmss`` fails in one metric, ``noone`` has no person.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from vmmetrics.types import METRICS, AmplitudeResult, Event, MetricResult

SUITE = "fake_suite:FakeSuite"


class FakeScores:
    def __init__(self, results: dict[str, MetricResult], errors: dict[str, str]) -> None:
        self.results, self.errors, self.notes, self.seconds = results, errors, (), 0.0


class FakeSuite:
    weights: ClassVar = {"fake": "00ff"}

    def __init__(self, preset="embedded", protocol="vmmetrics", metrics=METRICS, *, threads=None) -> None:
        if preset != "embedded":
            raise ValueError(f"Expected preset to be one of ('embedded',) but got {preset!r}")
        self.preset, self.protocol, self.metrics = preset, protocol, tuple(metrics)

    def describe(self) -> dict[str, Any]:
        return {
            "preset": self.preset,
            "protocol": self.protocol,
            "metrics": list(self.metrics),
            "weights": dict(self.weights),
            "comparable": False,
            "label": f"preset {self.preset}, protocol {self.protocol}: not comparable with published VMBench numbers",
        }

    def score_clip(self, clip) -> FakeScores:
        name = clip.name.rsplit("/")[-1]
        if "slow" in name:
            time.sleep(0.15)
        if "kill" in name:
            os.kill(os.getpid(), signal.SIGKILL)
        if "raise" in name:
            raise RuntimeError("something unforeseen")
        if log := os.environ.get("FAKE_SUITE_LOG"):
            with Path(log).open("a") as file:
                file.write(f"{clip.name} {','.join(self.metrics)}\n")
        values = clip.frames.reshape(len(clip), -1).mean(axis=1) / 255
        results: dict[str, MetricResult] = {}
        errors: dict[str, str] = {}
        for metric in self.metrics:
            if metric == "cas":
                results[metric] = MetricResult(None, "this preset has no commonsense classifier yet")
            elif metric == "ois" and "noone" in name:
                results[metric] = MetricResult(None, "no person")
            elif metric == "mss" and "badmss" in name and not os.environ.get("FAKE_SUITE_MENDED"):
                errors[metric] = "ValueError: broken"
            elif metric == "pas":
                results[metric] = AmplitudeResult(float(values.mean()), amplitude=float(values.std()))
            else:
                event = Event(metric, (0, 1), "made up", box=(0.0, 0.0, 4.0, 4.0), magnitude=0.5, threshold=0.25)
                series = {"value": np.r_[np.nan, values[1:]]}
                results[metric] = MetricResult(float(values.max()), events=(event,), series=series)
        return FakeScores(results, errors)
