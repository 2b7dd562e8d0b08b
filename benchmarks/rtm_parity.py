"""Hold our RTMDet and RTMPose against mmdet and mmpose, tiny, with the same random weights.

    python -m benchmarks.rtm_parity --write tests/data/vmbench/rtm_parity.npz

Needs an environment of its own: numpy 1.26, opencv 4.11, mmengine 0.10.7, mmcv-lite 2.1.0, mmdet 3.3.0, mmpose 1.3.2,
and a module ``mmcv.ops`` whose ``batched_nms`` calls torchvision's (mmcv-lite has none). What they answered is kept for
the tests; the same comparison is printed here.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch

from vmmetrics.perception.vmbench.adapters import rtm
from vmmetrics.perception.vmbench.adapters.rtm import RTMDetPersons, RTMPoseKeypoints
from vmmetrics.perception.vmbench.ported.rtm_networks import RTMDet, RTMPose, RTMSize, load_rtm
from vmmetrics.perception.vmbench.runtime import DeviceCache

SEED = 4
TINY = RTMSize(widen=0.125, deepen=0.34)
"""Of every stage two blocks or one."""
FRAMES = ((90, 136), (160, 90), (640, 640), (700, 400))
"""Height and width; the third is not resized for the detector, the fourth made smaller."""
BOXES = {
    0: [[20.5, 10.25, 70.0, 80.0], [-30.0, 5.0, 60.0, 120.0], [0.0, 0.0, 136.0, 90.0]],
    1: [[5.0, 20.0, 85.0, 60.0], [40.125, 30.0, 60.0, 150.0]],
}
"""Boxes of people by frame: inside, across the frame's edge, the whole frame, wide, slender."""
SAMPLES = 300


def random_weights(shapes: Mapping[str, list[int]]) -> dict[str, torch.Tensor]:
    """Weights by the zoo's names, such that activations keep their size and some boxes are found."""
    weights = {}
    for name, shape in shapes.items():
        shared = name if ".bn." in name else name.replace("convs.1.", "convs.0.").replace("convs.2.", "convs.0.")
        draw = np.random.default_rng([SEED, zlib.crc32(shared.encode())])
        values = draw.standard_normal(shape)
        if name.endswith("num_batches_tracked"):
            weights[name] = torch.tensor(7)
            continue
        if name.endswith("running_var"):
            values = np.exp(0.3 * values)
        elif "rtm_cls" in name:
            values = 1.5 * values if len(shape) > 1 else values * 0 - 3.3
        elif "rtm_reg" in name:
            values = 0.3 * values if len(shape) > 1 else values * 0 + 1.2
        elif ".cls_x." in name or ".cls_y." in name:
            values *= 1e-3
        elif name.endswith((".g", "scale.scale", ".gamma")) or (len(shape) == 1 and name.endswith("weight")):
            values = 1 + 0.2 * values
        elif len(shape) == 1 or name.endswith("beta"):
            values = 0.2 * values
        else:
            values *= 1.4 / np.sqrt(np.prod(shape[1:]))
        weights[name] = torch.from_numpy(np.array(values, np.float32))
    return weights


def random_frame(index: int) -> np.ndarray:
    """(H, W, 3) uint8 RGB: coloured blocks and noise."""
    height, width = FRAMES[index]
    draw = np.random.default_rng([SEED, index])
    coarse = draw.integers(0, 256, (height // 8 + 1, width // 8 + 1, 3)).repeat(8, 0).repeat(8, 1)[:height, :width]
    return ((3 * coarse + draw.integers(0, 256, (height, width, 3))) // 4).astype(np.uint8)


def network_input(height: int, width: int) -> torch.Tensor:
    """(1, 3, height, width) float32."""
    return torch.from_numpy(np.random.default_rng(SEED).standard_normal((1, 3, height, width), dtype=np.float32))


def sampled(values: np.ndarray) -> np.ndarray:
    """(SAMPLES,) of an array's values."""
    return values.ravel()[np.random.default_rng(SEED).integers(0, values.size, SAMPLES)]


def our_answers(detector: Path, pose: Path) -> dict[str, np.ndarray]:
    """What our networks and steps make of the fixture's inputs."""
    with torch.inference_mode():
        logits, sides = load_rtm(detector, RTMDet(TINY))(network_input(640, 640))
        x, y = load_rtm(pose, RTMPose(TINY))(network_input(256, 192))
    answers = {"logits": logits[0].numpy(), "sides": sides[0].numpy(), "simcc_x": x[0].numpy(), "simcc_y": y[0].numpy()}
    cache = DeviceCache(torch.device("cpu"))
    persons = RTMDetPersons(detector, cache, size=TINY)
    keypoints = RTMPoseKeypoints(pose, cache, size=TINY)
    for i in range(len(FRAMES)):
        frame = random_frame(i)
        answers[f"square{i}"] = rtm.letterboxed(frame)[0]
        answers[f"persons{i}"] = persons.boxes(frame[None])[0]
    for i, boxes in BOXES.items():
        frame = random_frame(i)
        answers[f"cut{i}"] = np.stack([rtm.cut_out(frame, box)[0] for box in boxes])
        answers[f"points{i}"], answers[f"scores{i}"] = keypoints.in_frames(frame[None], [np.array(boxes)])[0]
    return answers


def upstream_detector() -> Any:
    """Build mmdet's network at the tiny size; its settings are in ``cfg``."""
    import mmdet
    from mmdet.registry import MODELS
    from mmdet.utils import register_all_modules
    from mmengine.config import Config
    from mmengine.model import revert_sync_batchnorm

    register_all_modules()
    settings = Config.fromfile(Path(mmdet.__file__).parent / ".mim/configs/rtmdet/rtmdet_m_8xb32-300e_coco.py")
    model = settings.model
    model.backbone.update(deepen_factor=TINY.deepen, widen_factor=TINY.widen)
    width = list(TINY.widths[-3:])
    model.neck.update(in_channels=width, out_channels=width[0], num_csp_blocks=1)
    model.bbox_head.update(in_channels=width[0], feat_channels=width[0], num_classes=1)
    # as in mmpose's rtmdet_m_640-8xb32_coco-person.py
    model.test_cfg.update(nms_pre=1000, score_thr=0.05, nms={"type": "nms", "iou_threshold": 0.6}, max_per_img=100)
    network = revert_sync_batchnorm(MODELS.build(model)).eval()
    network.cfg = settings
    network.dataset_meta = {"classes": ("person",)}
    return network


def upstream_pose() -> Any:
    """Build mmpose's network at the tiny size; its settings are in ``cfg``."""
    import mmpose
    from mmengine.config import Config
    from mmpose.apis import init_model

    path = ".mim/configs/body_2d_keypoint/rtmpose/body8/rtmpose-m_8xb256-420e_body8-256x192.py"
    settings = Config.fromfile(Path(mmpose.__file__).parent / path)
    settings.model.backbone.update(deepen_factor=TINY.deepen, widen_factor=TINY.widen, init_cfg=None)
    settings.model.head.in_channels = TINY.widths[-1]
    return init_model(settings, None, device="cpu")


def _filled(model: Any) -> tuple[dict[str, list[int]], dict[str, torch.Tensor]]:
    shapes = {name: list(value.shape) for name, value in model.state_dict().items()}
    weights = random_weights(shapes)
    model.load_state_dict(weights, strict=True)
    return shapes, weights


def _detector_answers(model: Any) -> dict[str, np.ndarray]:
    from mmdet.apis import inference_detector
    from mmpose.evaluation.functional import nms
    from mmpose.utils import adapt_mmdet_pipeline

    with torch.inference_mode():
        logits, sides = model(network_input(640, 640), mode="tensor")
    answers = {
        "logits": torch.cat([level[0].flatten() for level in logits]).numpy(),
        "sides": torch.cat([level[0].flatten(1).T for level in sides]).numpy(),
    }
    model.cfg = adapt_mmdet_pipeline(model.cfg)
    seen: dict[str, np.ndarray] = {}
    model.data_preprocessor.register_forward_hook(lambda _, __, out: seen.update(pixels=out["inputs"].numpy()))
    for i in range(len(FRAMES)):
        found = inference_detector(model, np.ascontiguousarray(random_frame(i)[..., ::-1])).pred_instances.cpu().numpy()
        # the released OIS, object_integrity_score.py: process_one_image
        boxes = np.concatenate((found.bboxes, found.scores[:, None]), axis=1)
        boxes = boxes[np.logical_and(found.labels == 0, found.scores > 0.3)]
        answers[f"persons{i}"] = boxes[nms(boxes, 0.3)]
        answers[f"count{i}"] = np.array(len(found.scores))
        mean, std = np.array(rtm.DETECTOR_MEAN), np.array(rtm.DETECTOR_STD)
        grey = seen["pixels"][0].transpose(1, 2, 0) * std + mean
        answers[f"square{i}"] = np.rint(grey).astype(np.uint8)[..., ::-1]
    return answers


def _pose_answers(model: Any) -> dict[str, np.ndarray]:
    from mmpose.apis import inference_topdown

    with torch.inference_mode():
        x, y = model(network_input(256, 192), None, mode="tensor")
    answers = {"simcc_x": x[0].numpy(), "simcc_y": y[0].numpy()}
    seen: dict[str, np.ndarray] = {}
    model.data_preprocessor.register_forward_hook(lambda _, __, out: seen.update(pixels=out["inputs"].numpy()))
    for i, boxes in BOXES.items():
        bgr = np.ascontiguousarray(random_frame(i)[..., ::-1])
        found = inference_topdown(model, bgr, np.array(boxes, np.float32))
        answers[f"points{i}"] = np.concatenate([one.pred_instances.keypoints for one in found])
        answers[f"scores{i}"] = np.concatenate([one.pred_instances.keypoint_scores for one in found])
        grey = seen["pixels"].transpose(0, 2, 3, 1) * np.array(rtm.POSE_STD) + np.array(rtm.POSE_MEAN)
        answers[f"cut{i}"] = np.rint(grey).astype(np.uint8)
    return answers


def main() -> None:
    """Print the largest difference per stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="where their answers are kept for the tests")
    arguments = parser.parse_args()
    print(f"torch {torch.__version__}, numpy {np.__version__}, OpenCV {cv2.__version__}, {platform.machine()}")
    detector, pose = upstream_detector(), upstream_pose()
    shapes = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, model in (("detector", detector), ("pose", pose)):
            shapes[what], weights = _filled(model)
            torch.save({"meta": {}, "state_dict": weights}, folder / f"{what}.pth")
        expected = _detector_answers(detector) | _pose_answers(pose)
        ours = our_answers(folder / "detector.pth", folder / "pose.pth")
    for stage, values in expected.items():
        if stage not in ours:
            print(f"{stage}: {values}")
        elif ours[stage].shape != values.shape:
            print(f"{stage}: {ours[stage].shape} where {values.shape} is expected")
        else:
            apart = np.abs(ours[stage].astype(np.float64) - values)
            scale = np.abs(values.astype(np.float64)).max(initial=0)
            print(f"{stage} {values.shape}: scale {scale:.2f}, max |difference| {apart.max(initial=0):.1e}")
    if arguments.write:
        whole = ("persons", "points", "scores", "count")
        kept = {stage: values if stage.startswith(whole) else sampled(values) for stage, values in expected.items()}
        np.savez_compressed(arguments.write, shapes=np.array(json.dumps(shapes)), **kept)


if __name__ == "__main__":
    main()
