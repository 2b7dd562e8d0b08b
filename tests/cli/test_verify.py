"""``vmmetrics verify``: the fake suite's scores stand for this machine's, and for stored ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from vmmetrics.scoring import verification

CLIP = "rendered-linear-pan.mp4"
Change = Callable[[str, float | None], None]


@pytest.fixture
def change(fake_suite: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Change:
    """Store this machine's scores; the function changes one of :data:`CLIP`."""
    stored: dict[str, Any] = json.loads(verification.STORED.read_text())
    scores = {record.clip: verification.values_of(record) for record in verification.score_clips(jobs=0)}
    stored["scores"] = {cv2.__version__[0]: scores}
    path = tmp_path / "stored.json"
    path.write_text(json.dumps(stored))
    monkeypatch.setattr(verification, "STORED", path)
    monkeypatch.setattr(verification, "_MOST_JOBS", 0)

    def change(key: str, value: float | None) -> None:
        scores[CLIP][key] = value
        path.write_text(json.dumps(stored))

    return change


def test_equal_scores_and_the_passport(vmmetrics: Any, change: Change, capsys: pytest.CaptureFixture[str]) -> None:
    assert vmmetrics("verify", "--format", "json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["differing"] == 0 and len(result["scores"]) == 20 * 6
    versions = result["passport"]["versions"]
    assert versions["numpy"] == np.__version__
    assert {"python", "vmmetrics", "scipy", "av", "ai-edge-litert"} <= versions.keys()
    assert result["passport"]["scores"].keys() == {"cas", "mss", "ois", "pas", "tcs", "motion_index"}
    assert {"system", "processor", "avx2"} <= result["passport"].keys()
    assert "host" not in result["passport"]


@pytest.mark.parametrize("value", [0.123, None])
def test_a_differing_score_is_named(
    vmmetrics: Any, change: Change, capsys: pytest.CaptureFixture[str], value: float | None
) -> None:
    change("mss", value)
    assert vmmetrics("verify") == 3
    shown = capsys.readouterr()
    row = next(line for line in shown.out.splitlines() if CLIP in line)
    assert row.split()[:3] == [CLIP, "mss", "–" if value is None else "0.1230000"]
    assert np.__version__ in shown.out
    assert "1 of 120 scores" in shown.out
