"""The five metrics as pure functions: arrays in, numbers and events out.

Every function takes numpy arrays, touches no model and no file, and knows two definitions under one switch:
``protocol="vmmetrics"`` (the default: the paper's formula with the quirks of its released code mended) and
``protocol="vmbench"`` (what that released code computes, decision for decision). ``docs/protocols.md`` lists
every difference with its reason.
"""

from vmmetrics.functional.cas import commonsense_adherence_score as commonsense_adherence_score
from vmmetrics.functional.excuses import is_edge_emerge as is_edge_emerge
from vmmetrics.functional.excuses import is_edge_vanish as is_edge_vanish
from vmmetrics.functional.excuses import is_emerge_detection_error as is_emerge_detection_error
from vmmetrics.functional.excuses import is_small_emerge as is_small_emerge
from vmmetrics.functional.excuses import is_small_vanish as is_small_vanish
from vmmetrics.functional.excuses import is_vanish_detection_error as is_vanish_detection_error
from vmmetrics.functional.motion_index import average as average
from vmmetrics.functional.motion_index import motion_index as motion_index
from vmmetrics.functional.mss import SMOOTHNESS_THRESHOLDS as SMOOTHNESS_THRESHOLDS
from vmmetrics.functional.mss import SmoothnessThresholds as SmoothnessThresholds
from vmmetrics.functional.mss import motion_smoothness_score as motion_smoothness_score
from vmmetrics.functional.ois import object_integrity_score as object_integrity_score
from vmmetrics.functional.pas import perceptible_amplitude_score as perceptible_amplitude_score
from vmmetrics.functional.tcs import ObjectHistory as ObjectHistory
from vmmetrics.functional.tcs import temporal_coherence_score as temporal_coherence_score
