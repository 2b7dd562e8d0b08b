"""Reports of ayase 0.2.1 and CineInfini 1.0.1, with the keys that their code writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vmmetrics.alignment.readers.scores import read_scores


def sample(path: str, metrics: dict[str, object] | None) -> dict[str, object]:
    return {
        "path": path, "is_video": True, "reference_path": None, "video_metadata": {"fps": 8.0, "frame_count": 16},
        "caption": None, "quality_metrics": metrics, "validation_issues": [], "detections": [], "embedding": None,
        "failed_modules": [],
    }  # fmt: skip


def test_a_report_of_ayase(tmp_path: Path) -> None:
    samples = [
        sample("clips/a.mp4", {"vmbench_tcs": 0.9, "dynamics": 0.25, "vmbench_pas": None, "is_static": False}),
        sample("clips/b.mp4", {"vmbench_tcs": 0.5, "dynamics": 0.75, "vmbench_pas": None, "is_static": True}),
        sample("clips/c.mp4", None),
    ]
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"run_status": {"ok": True}, "stats": {"total_samples": 3}, "samples": samples}))
    found = read_scores([path])
    assert found.clips == ("clips/a.mp4", "clips/b.mp4")
    assert {name: list(values) for name, values in found.values.items()} == {
        "vmbench_tcs": [0.9, 0.5], "dynamics": [0.25, 0.75],
    }  # fmt: skip
    assert any("1 videos without a metric" in note for note in found.notes)


def test_an_export_of_cineinfini(tmp_path: Path) -> None:
    scores = {"motion_smoothness": 0.8, "dynamic_degree": 0.4, "color": None}
    content = {
        "model": "CineInfini", "version": "1.0.1", "video": "a.mp4", "scores": scores,
        "measured_dimensions": ["motion_smoothness", "dynamic_degree"], "unmeasured_dimensions": ["color"], "note": "",
    }  # fmt: skip
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content))
    found = read_scores([path])
    assert found.clips == ("a.mp4",)
    assert {name: values[0] for name, values in found.values.items()} == pytest.approx(
        {"motion_smoothness": 0.8, "dynamic_degree": 0.4}
    )
