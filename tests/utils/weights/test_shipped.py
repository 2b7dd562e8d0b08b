from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.utils.weights import manifest
from vmmetrics.utils.weights import manifest as weights


@pytest.fixture
def copied_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "weights"
    shutil.copytree(weights.weights_folder(), folder)
    monkeypatch.setattr(manifest, "_PACKAGED", tmp_path)
    weights.load_manifest.cache_clear()
    weights.weight_path.cache_clear()
    yield folder
    weights.load_manifest.cache_clear()
    weights.weight_path.cache_clear()


def test_every_shipped_file_is_in_the_manifest_with_its_size_and_hash() -> None:
    folder = weights.weights_folder()
    listed = {entry.file for entry in weights.load_manifest().values()}
    manifest = {p.relative_to(folder).as_posix() for p in (folder / "embedded").rglob("*") if p.is_file()}
    assert manifest == listed
    for name, entry in weights.load_manifest().items():
        assert weights.weight_path(name).stat().st_size == entry.bytes
        assert entry.licence


def test_a_truncated_file_is_refused_by_name(copied_weights: Path) -> None:
    path = copied_weights / "embedded" / "pose_detection.tflite"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(SetupError, match=r"pose_detection\.tflite.*truncated"):
        weights.weight_path("blazepose-detector")


def test_a_missing_file_is_named(copied_weights: Path) -> None:
    (copied_weights / "embedded" / "pose_detection.tflite").unlink()
    with pytest.raises(SetupError, match=r"pose_detection\.tflite is missing"):
        weights.weight_path("blazepose-detector")
