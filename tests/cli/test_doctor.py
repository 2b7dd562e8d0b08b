from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vmmetrics.utils.weights.manifest import load_manifest, weight_path

Captured = pytest.CaptureFixture[str]


def test_a_whole_installation(vmmetrics: Any, capsys: Captured) -> None:
    assert vmmetrics("doctor") == 0
    shown = capsys.readouterr().out
    assert "ok  embedded: runs" in shown
    assert "av: " in shown
    assert all(name in shown for name in load_manifest())
    assert "BAD" not in shown


def test_what_is_broken_comes_with_its_cure(
    vmmetrics: Any, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for entry in load_manifest().values():
        file = tmp_path / entry.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"cut short")
    manifest = load_manifest()
    monkeypatch.setattr("vmmetrics.utils.weights.manifest.weights_folder", lambda: tmp_path)
    monkeypatch.setattr("vmmetrics.scoring.doctor.load_manifest", lambda: manifest)
    monkeypatch.setattr("vmmetrics.utils.weights.manifest.load_manifest", lambda: manifest)
    weight_path.cache_clear()
    assert vmmetrics("doctor") == 1
    shown = capsys.readouterr().out
    assert "BAD blazepose-detector: weight file" in shown
    assert "repair with: pip install --force-reinstall" in shown
    monkeypatch.undo()
    weight_path.cache_clear()
