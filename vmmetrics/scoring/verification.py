"""Comparison of the scores of 20 shipped clips with stored ones: does this machine give what others get?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2

from vmmetrics.engines.pool import usable_cores
from vmmetrics.errors import SetupError
from vmmetrics.functional.motion_index import VERSION as INDEX_VERSION
from vmmetrics.metrics import METRICS
from vmmetrics.metrics.registry import version_of
from vmmetrics.scoring.anchors import INDEX
from vmmetrics.scoring.api import score
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.session import Listener
from vmmetrics.utils.schema import read_json
from vmmetrics.utils.storage import provenance

CLIPS = Path(__file__).with_name("verification_clips")
STORED = Path(__file__).with_name("verification.json")
"""Scores by major version of OpenCV and clip, and what made them; written by benchmarks/verify_clips.py."""
SAME = 1e-6
"""Difference up to which two scores are the same: rounding of float32 in the neural models."""
OTHER_VERSIONS = 1e-5
"""As :data:`SAME`, with other versions of packages than made the stored scores: the lowest allowed ones give 1.4e-6."""
_PACKAGES = ("ai-edge-litert", "av", "numpy", "opencv-python-headless", "pillow", "scipy")
_AVX2 = 11  # CV_CPU_AVX2, which has no name in Python
_MOST_JOBS = 4  # each loads the models


@dataclass(frozen=True, slots=True)
class ComparedScore:
    """A score here and as stored.

    Attributes:
        clip: Name of the clip.
        score: Key of the metric, or "motion_index".
        stored: Stored score, None where there is none.
        here: Score here, None where there is none.
        tolerance: Largest difference that is no fault on this machine.
        error: Reason of a failure here, empty without one.
    """

    clip: str
    score: str
    stored: float | None
    here: float | None
    tolerance: float
    error: str = ""

    @property
    def difference(self) -> float:
        """Absolute difference; 0 where both scores are missing, infinite where one is."""
        if self.here is None or self.stored is None:
            return 0.0 if self.here is self.stored and not self.error else float("inf")
        return abs(self.here - self.stored)

    @property
    def agrees(self) -> bool:
        """True within the tolerance."""
        return self.difference <= self.tolerance


def verify(limit: int | None = None, listener: Listener | None = None, jobs: int | None = None) -> list[ComparedScore]:
    """Score the shipped clips and compare the scores with the stored ones.

    Args:
        limit: Score only the first clips.
        listener: Called for every clip.
        jobs: Worker processes, as for :func:`vmmetrics.score`; None for one per core, four at most.

    Raises:
        SetupError: No scores are stored for the installed version of OpenCV, the models cannot be loaded, or clips
            are absent.
    """
    stored, major = read_json(STORED), opencv_major()
    if major not in stored["scores"]:
        raise SetupError(f"No scores are stored for OpenCV {major}; install one of {', '.join(stored['scores'])}")
    versions, made_with = provenance.recorded_versions(), stored["made_with"][major]["versions"]
    rounding = SAME if all(versions.get(name) == made_with[name] for name in _PACKAGES) else OTHER_VERSIONS
    compared = []
    for record in score_clips(limit, listener, jobs):
        here = values_of(record)
        for key, value in stored["scores"][major][record.clip].items():  # none of a metric newer than the file
            allowed = rounding if has_avx2() else stored["tolerance_without_avx2"][key]
            error = record.error or record.errors.get(key, "")
            compared.append(ComparedScore(record.clip, key, value, here[key], allowed, error))
    return compared


def score_clips(limit: int | None = None, listener: Listener | None = None, jobs: int | None = None) -> list[Record]:
    """Score the shipped clips with the default models and definitions; arguments and errors as for :func:`verify`."""
    clips = sorted(CLIPS.glob("*.mp4"))[:limit]
    if not clips:
        raise SetupError(f"The clips to score are not in {CLIPS}; install vmmetrics again")
    workers = min(usable_cores(), _MOST_JOBS) if jobs is None else jobs
    return list(score([str(clip) for clip in clips], jobs=workers, listener=listener))


def values_of(record: Record) -> dict[str, float | None]:
    """Return the scores of a clip that are compared, by metric, and the index; None where there is none."""
    return {**{key: record.scores.get(key) for key in METRICS}, INDEX: record.motion_index}


def opencv_major() -> str:
    """Return the major version of OpenCV: 4 samples pictures at steps of 1/32 pixel, 5 exactly, and scores follow."""
    return cv2.__version__.partition(".")[0]


def has_avx2() -> bool:
    """Return True if OpenCV uses AVX2, as where the stored scores were made; other instructions round otherwise."""
    return bool(cv2.checkHardwareSupport(_AVX2))


def passport() -> dict[str, Any]:
    """Return what scores depend on here: system, processor, versions of packages and of scores."""
    machine = provenance.machine()
    return {
        **{name: machine[name] for name in ("system", "processor", "cpus")},
        "avx2": has_avx2(),
        "versions": provenance.recorded_versions(),
        "scores": {**{key: version_of(key) for key in METRICS}, INDEX: INDEX_VERSION},
    }
