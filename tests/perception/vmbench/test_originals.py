"""The adapters on upstream's own packages, in the environments that they run in; elsewhere what they say."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from benchmarks.parity import grounding_original  # noqa: E402
from benchmarks.parity.rtm_original import MMDetPersons, MMPoseKeypoints  # noqa: E402
from vmmetrics.errors import SetupError  # noqa: E402

DATA = ROOT / "tests/data/vmbench"


def test_groundingdino_py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    transformers = pytest.importorskip("transformers")
    if find_spec("groundingdino") is None or int(transformers.__version__.split(".")[0]) > 4:
        pytest.skip("groundingdino-py stops at transformers 4.57")
    from benchmarks.grounding_parity import checkpoint, random_picture, tiny_config, upstream_settings, write_tokenizer
    from benchmarks.parity import publishers
    from vmmetrics.perception.vmbench.adapters import grounding
    from vmmetrics.perception.vmbench.runtime import DeviceCache

    settings = upstream_settings(tmp_path / "bert-base-uncased")
    monkeypatch.setattr(grounding_original, "settings", lambda _: settings)
    index = {"module.bert.embeddings.position_ids": torch.zeros(1)}
    torch.save({"model": checkpoint() | index}, tmp_path / "tiny.pth")
    frame = random_picture(48, 72)
    found = grounding_original.OriginalGroundingDINO(tmp_path / "tiny.pth", device="cpu").boxes(frame, " Horse")
    publishers.grounding_dino(tmp_path / "tiny.pth", tiny_config()).save_pretrained(tmp_path / "hub")
    hub = write_tokenizer(tmp_path / "hub")
    ours = grounding.GroundingDINO(hub, DeviceCache(torch.device("cpu"))).boxes(frame, " Horse")
    assert len(found) > 10
    assert np.abs(np.sort(found, axis=0) - np.sort(ours, axis=0)).max() < 1e-4


def test_mmdet_and_mmpose(tmp_path: Path):
    pytest.importorskip("mmpose", reason="mmpose does not install with numpy 2")
    from benchmarks.rtm_parity import BOXES, random_frame, random_weights, upstream_detector, upstream_pose

    kept = np.load(DATA / "rtm_parity.npz")
    for what, shapes in json.loads(str(kept["shapes"])).items():
        torch.save({"state_dict": random_weights(shapes)}, tmp_path / f"{what}.pth")
    persons = MMDetPersons(upstream_detector().cfg, tmp_path / "detector.pth", device="cpu")
    assert np.abs(persons.boxes(random_frame(0)[None])[0] - kept["persons0"]).max() < 2e-4
    pose = MMPoseKeypoints(upstream_pose().cfg, tmp_path / "pose.pth", device="cpu")
    points, scores = pose.keypoints(random_frame(0), np.array(BOXES[0]))
    assert np.array_equal(points.astype(np.float32), kept["points0"])
    assert np.abs(scores - kept["scores0"]).max() < 1e-3
    assert pose.in_frames(random_frame(0)[None], [np.empty((0, 5))])[0][0].shape == (0, 17, 2)


def test_without_the_packages_they_say_so(tmp_path: Path):
    torch.save({"model": {"w": torch.ones(1)}}, tmp_path / "x.pth")
    frame = np.zeros((8, 8, 3), np.uint8)
    if find_spec("groundingdino") is None:
        (tmp_path / "bert-base-uncased").mkdir()
        with pytest.raises(SetupError, match="pip install groundingdino-py"):
            grounding_original.OriginalGroundingDINO(tmp_path / "x.pth", device="cpu").boxes(frame, "horse")
    if find_spec("mmpose") is None:
        with pytest.raises(SetupError, match="mmpose and mmdet"):
            MMDetPersons("config.py", tmp_path / "x.pth", device="cpu").boxes(frame[None])
        with pytest.raises(SetupError, match="mmpose and mmdet"):
            MMPoseKeypoints("config.py", tmp_path / "x.pth", device="cpu").keypoints(frame, np.ones((1, 4)))
