"""The five metrics as pure functions: arrays in, numbers and events out.

Every function takes numpy arrays, uses no model and no file, and implements two definitions:
``protocol="vmmetrics"`` (the default: the paper's formula without the quirks of its released code) and
``protocol="vmbench"`` (exactly the released code). ``docs/protocols.md`` lists every difference with its reason.
"""

from vmmetrics.functional.cas import commonsense_adherence_score
from vmmetrics.functional.excuses import (
    is_edge_emerge,
    is_edge_vanish,
    is_emerge_detection_error,
    is_small_emerge,
    is_small_vanish,
    is_vanish_detection_error,
)
from vmmetrics.functional.motion_index import average, motion_index, still_factor
from vmmetrics.functional.mss import SMOOTHNESS_THRESHOLDS, SmoothnessThresholds, motion_smoothness_score
from vmmetrics.functional.ois import object_integrity_score
from vmmetrics.functional.pas import perceptible_amplitude_score
from vmmetrics.functional.tcs import ObjectHistory, temporal_coherence_score

__all__ = [
    "SMOOTHNESS_THRESHOLDS",
    "ObjectHistory",
    "SmoothnessThresholds",
    "average",
    "commonsense_adherence_score",
    "is_edge_emerge",
    "is_edge_vanish",
    "is_emerge_detection_error",
    "is_small_emerge",
    "is_small_vanish",
    "is_vanish_detection_error",
    "motion_index",
    "motion_smoothness_score",
    "object_integrity_score",
    "perceptible_amplitude_score",
    "still_factor",
    "temporal_coherence_score",
]
