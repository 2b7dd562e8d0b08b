"""Scores of the sample clips by the present versions of the metrics.

On the machine that made them they are equal to the last digit; the tolerance is for other processors, whose vector
instructions round otherwise.
"""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import pytest

from vmmetrics import Suite

DATA = Path(__file__).parents[1] / "data"
GOLDENS = json.loads((DATA / "goldens.json").read_text())
TOLERANCE = 0.01
CLIPS = [
    ("vmmetrics", "text2video-zero/woman-walks-and-sits.gif"),
    ("vmbench", "zeroscope/woman-walks-and-sits.mp4"),
]


def test_every_sample_has_goldens_under_both_protocols() -> None:
    samples = {
        str(p.relative_to(DATA / "samples")) for p in (DATA / "samples").rglob("*") if p.suffix in {".mp4", ".gif"}
    }
    assert set(GOLDENS["vmmetrics"]) == set(GOLDENS["vmbench"]) == samples
    assert {clip for _, clip in CLIPS} <= samples


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "clip"), CLIPS)
def test_scores_are_what_they_were(protocol: str, clip: str) -> None:
    if clip.endswith(".gif") and int(cv2.__version__.partition(".")[0]) < 5:
        pytest.skip("OpenCV 4 gives this clip another MSS (docs/measurements.md)")
    golden = GOLDENS[protocol][clip]
    found = Suite(protocol=protocol).score_clip(DATA / "samples" / clip)
    assert found.errors == {}
    assert found.scores == pytest.approx(golden["scores"], abs=TOLERANCE)
    assert found.missing == golden["missing"]
    assert found.amplitude == pytest.approx(golden["amplitude"], abs=TOLERANCE)
