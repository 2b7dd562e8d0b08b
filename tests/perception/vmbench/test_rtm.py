"""RTMDet and RTMPose, against what mmdet and mmpose answered (benchmarks/rtm_parity.py)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from benchmarks.rtm_parity import (  # noqa: E402
    BOXES,
    FRAMES,
    TINY,
    network_input,
    our_answers,
    random_frame,
    random_weights,
    sampled,
)
from vmmetrics.errors import SetupError  # noqa: E402
from vmmetrics.perception.vmbench.adapters import rtm  # noqa: E402
from vmmetrics.perception.vmbench.adapters.rtm import RTMDetPersons, RTMPoseKeypoints  # noqa: E402
from vmmetrics.perception.vmbench.ported.rtm_networks import RTMDet, RTMPose, load_rtm  # noqa: E402
from vmmetrics.perception.vmbench.runtime import DeviceCache  # noqa: E402

CPU = DeviceCache(torch.device("cpu"))
UPSTREAM = np.load(ROOT / "tests/data/vmbench/rtm_parity.npz")
SHAPES: dict[str, dict[str, list[int]]] = json.loads(str(UPSTREAM["shapes"]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both checkpoints in the zoo's layout, with what its trainer leaves beside the weights."""
    folder = tmp_path_factory.mktemp("rtm")
    for what, shapes in SHAPES.items():
        meta = {"dataset_meta": {"sigmas": np.ones(17), "classes": ("person",)}, "time": "2023"}
        torch.save({"meta": meta, "state_dict": random_weights(shapes)}, folder / f"{what}.pth")
    return folder


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, np.ndarray]:
    return our_answers(folder / "detector.pth", folder / "pose.pth")


@pytest.mark.parametrize(
    ("stage", "tolerance"), [("logits", 1e-5), ("sides", 2e-4), ("simcc_x", 2e-4), ("simcc_y", 2e-4)]
)
def test_raw_outputs_equal_upstream(stage: str, tolerance: float, answers: dict[str, np.ndarray]):
    """Sides and scores are of order 100 here: the tolerance is one part in a million."""
    assert np.abs(sampled(answers[stage]) - UPSTREAM[stage]).max() < tolerance


@pytest.mark.parametrize("index", range(len(FRAMES)))
def test_boxes_equal_upstream(index: int, answers: dict[str, np.ndarray]):
    expected = UPSTREAM[f"persons{index}"]
    assert np.array_equal(sampled(answers[f"square{index}"]), UPSTREAM[f"square{index}"])
    assert len(expected) > 10
    assert answers[f"persons{index}"].shape == expected.shape
    assert np.abs(answers[f"persons{index}"] - expected).max() < 2e-4  # pixels of up to 700, in float32


@pytest.mark.parametrize("index", BOXES)
def test_keypoints_equal_upstream(index: int, answers: dict[str, np.ndarray]):
    """OpenCV 4.11, which upstream ran with, warps a few pixels to other grey levels than 5 does."""
    assert np.abs(sampled(answers[f"cut{index}"]).astype(int) - UPSTREAM[f"cut{index}"]).max() <= 3
    assert np.array_equal(answers[f"points{index}"].astype(np.float32), UPSTREAM[f"points{index}"])
    scores = UPSTREAM[f"scores{index}"]
    assert np.abs(answers[f"scores{index}"] - scores).max() < 1e-3 * np.abs(scores).max()


def _norm_epsilon(network: torch.nn.Module) -> None:
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eps = 1e-3


def _identity_missing(network: torch.nn.Module) -> None:
    network.backbone.stage1[1].blocks[0].identity = False


def _convolutions_not_shared(network: torch.nn.Module) -> None:
    first, second = network.bbox_head.cls_convs[0], network.bbox_head.cls_convs[2]
    second[0].conv, second[1].conv = first[1].conv, first[0].conv


@pytest.mark.parametrize("fault", [_norm_epsilon, _identity_missing, _convolutions_not_shared])
def test_a_fault_shows(fault: Callable[[torch.nn.Module], None], folder: Path):
    network = load_rtm(folder / "detector.pth", RTMDet(TINY))
    fault(network)
    with torch.inference_mode():
        logits = network(network_input(640, 640))[0][0].numpy()
    assert np.abs(sampled(logits) - UPSTREAM["logits"]).max() > 1e-4


def test_published_sizes():
    with torch.device("meta"):
        counts = [sum(weight.numel() for weight in network().parameters()) for network in (RTMDet, RTMPose)]
    assert [round(count / 1e6, 2) for count in counts] == [24.66, 13.59]


def test_frames_in_a_batch_do_not_mix(folder: Path):
    persons = RTMDetPersons(folder / "detector.pth", CPU, size=TINY)
    clip = np.stack([random_frame(0), random_frame(0)[::-1], random_frame(0)[:, ::-1]])
    for together, alone in zip(persons.boxes(clip), (persons.boxes(frame[None])[0] for frame in clip), strict=True):
        assert np.abs(together - alone).max() < 2e-4
    pose = RTMPoseKeypoints(folder / "pose.pth", CPU, size=TINY)
    boxes = [np.array(BOXES[0]), np.empty((0, 5)), np.array([[*BOXES[0][1], 0.9]])]
    found = pose.in_frames(clip, boxes)
    assert [len(points) for points, _ in found] == [3, 0, 1]
    assert found[1][0].shape == (0, 17, 2)
    for frame, of_frame, (points, _) in zip(clip, boxes, found, strict=True):
        assert np.array_equal(points, pose.in_frames(frame[None], [of_frame])[0][0])


def test_suppression_by_hand():
    boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 6], [5, 0, 15, 10], [20, 20, 21, 21]], np.float32)
    order = np.arange(4)
    # shared over covered: 60 / 100 with the second, 50 / 150 with the third
    assert rtm.suppressed(boxes, order, 0.5, 0.0).tolist() == [0, 2, 3]
    assert rtm.suppressed(boxes, order, 0.61, 0.0).tolist() == [0, 1, 2, 3]
    assert rtm.suppressed(boxes, order, 0.3, 0.0).tolist() == [0, 3]
    # counting pixels with both ends: 6 * 11 of 2 * 121 - 66 is 0.375 where it was 0.333
    assert rtm.suppressed(boxes, order, 0.35, 0.0).tolist() == [0, 2, 3]
    assert rtm.suppressed(boxes, order, 0.35, 1.0).tolist() == [0, 3]
    assert rtm.suppressed(boxes, order[::-1], 0.3, 0.0).tolist() == [3, 2, 1]


def test_persons_are_those_above_the_score():
    found = np.array([[0, 0, 9, 9, 0.9], [40, 0, 49, 9, 0.3], [60, 0, 69, 9, 0.31], [1, 0, 9, 9, 0.8]], np.float32)
    assert rtm.persons(found)[:, 4].tolist() == pytest.approx([0.9, 0.31])
    assert rtm.persons(found[:0]).shape == (0, 5)


def test_a_box_is_where_its_place_says():
    logits = np.full(8400, -20.0, np.float32)
    sides = np.ones((8400, 4), np.float32)
    place = 80 * 80 + 3 * 40 + 5  # second grid, row 3, column 5: x 80, y 48
    logits[place], sides[place] = 2.0, (10, 20, 30, 40)
    (found,) = rtm.detections(logits, sides, (0.5, 0.25))
    assert found.tolist() == pytest.approx([140, 112, 220, 352, 1 / (1 + np.exp(-2))])
    assert rtm.detections(np.full(8400, -20, np.float32), sides, (1, 1)).shape == (0, 5)


@pytest.mark.parametrize("box", [(10.0, 20.0, 58.0, 84.0), (10.0, 20.0, 90.0, 30.0), (-20.0, 4.0, 20.0, 100.0)])
def test_a_point_comes_back_to_where_it_was(box: tuple[float, ...]):
    """A bright spot in the frame, seen in the cut, mapped back by its peak."""
    middle = (int(box[0] + box[2]) // 2 + 3, int(box[1] + box[3]) // 2 - 4)
    frame = np.zeros((100, 100, 3), np.uint8)
    cv2.circle(frame, middle, 2, (255, 255, 255), -1)
    picture, centre, extent = rtm.cut_out(frame, box)
    assert picture.shape == (256, 192, 3)
    assert extent[0] / extent[1] == pytest.approx(0.75)
    assert max(extent[0] / (box[2] - box[0]), extent[1] / (box[3] - box[1])) >= 1.25 - 1e-6
    weight = picture[..., 0].astype(float)
    x, y = (weight.sum(0) @ np.arange(192)) / weight.sum(), (weight.sum(1) @ np.arange(256)) / weight.sum()
    along = np.zeros((1, 17, 384), np.float32), np.zeros((1, 17, 512), np.float32)
    along[0][..., round(2 * x)], along[1][..., round(2 * y)] = 0.7, 0.4
    points, scores = rtm.peaks(along, centre[None], extent[None])
    assert np.abs(points - middle).max() < 0.3 * extent[0] / 192 + 0.5
    assert np.allclose(scores, 0.4)


def test_no_peak_is_no_keypoint():
    along = np.full((1, 17, 384), -1.0, np.float32), np.full((1, 17, 512), 0.5, np.float32)
    points, scores = rtm.peaks(along, np.array([[96, 128]], np.float32), np.array([[192, 256]], np.float32))
    assert np.allclose(points, -0.5)
    assert np.allclose(scores, -1.0)


def test_the_mirror_swaps_sides():
    """A network that answers with the place of a spot has the same answer for the mirrored picture, turned back."""
    x = np.zeros((1, 17, 384), np.float32)
    x[0, np.arange(17), 10 * np.arange(17)] = 1
    mirrored = x[:, list(rtm.MIRRORED), ::-1]
    y = np.random.default_rng(0).random((1, 17, 512), np.float32)
    averaged = rtm.with_mirrored((x, y), (mirrored, y[:, list(rtm.MIRRORED)]))
    assert np.array_equal(averaged[0], x)
    assert np.array_equal(averaged[1], y)


def test_a_wrong_checkpoint_is_told(folder: Path, tmp_path: Path):
    weights = random_weights(SHAPES["pose"])
    del weights["head.gau.uv.weight"]
    weights["head.extra"] = torch.zeros(1)
    weights["head.cls_x.weight"] = torch.zeros(3)
    torch.save({"state_dict": weights}, tmp_path / "wrong.pth")
    with pytest.raises(SetupError, match=r"wrong\.pth.*misses head\.gau\.uv\.weight.*has head\.extra.*\(3,\) where"):
        RTMPoseKeypoints(tmp_path / "wrong.pth", CPU, size=TINY).in_frames(random_frame(0)[None], [np.ones((1, 4))])
    with pytest.raises(SetupError, match=r"pose\.pth: .*no checkpoint of RTMDet;.*rtmdet-m-person"):
        RTMDetPersons(folder / "pose.pth", CPU, size=TINY).boxes(random_frame(0)[None])
    with pytest.raises(SetupError, match=r"no\.pth.*weights fetch rtmdet-m-person"):
        RTMDetPersons(tmp_path / "no.pth", CPU).boxes(random_frame(0)[None])
    (tmp_path / "cut.pth").write_bytes((folder / "pose.pth").read_bytes()[:50_000])
    with pytest.raises(SetupError, match=r"cut\.pth.*weights fetch rtmpose-m-body7"):
        RTMPoseKeypoints(tmp_path / "cut.pth", CPU).in_frames(random_frame(0)[None], [np.ones((1, 4))])
