"""Measures of filters in the adapters of data frameworks, which hand over bytes or paths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.bad_inputs import write_video
from vmmetrics.scoring.filtering import score_apart


def test_a_measure_is_a_component_of_bytes_and_paths(tmp_path: Path) -> None:
    wide = np.random.default_rng(0).integers(60, 200, (18, 50)).repeat(4, 0).repeat(4, 1)
    frames = np.stack([wide[:, 2 * n : 2 * n + 128] for n in range(16)]).astype(np.uint8)[..., None].repeat(3, -1)
    path = write_video(tmp_path / "a.mp4", frames, options={"crf": "18"})
    found = score_apart([str(path), path.read_bytes(), b"", b"no film"], "pan")
    values = found.components["pan"]
    assert values[0] == values[1] == pytest.approx(2 * 10 / 128, rel=0.1)
    assert np.isnan(values[2:]).all()
    assert not found.reasons[0]
    assert all("pan" in reasons for reasons in found.reasons[2:])
