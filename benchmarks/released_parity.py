"""The released scripts' own lines against our control flow, both on the same fake models.

    git clone https://github.com/AMAP-ML/VMBench        # measured at commit c278a73
    python -m benchmarks.released_parity VMBench [--clips 120]

Run from the checkout, none of it being ours: the loop bodies of the PAS and TCS scripts, their helpers and their
``MaskDictionaryModel``, segment-anything's box transform, the two functions that score OIS, and the windows, threshold
and flags of MSS. In the networks' place stand the fakes of the tests (tests/perception/vmbench/released_fakes.py).
"""

from __future__ import annotations

import argparse
import ast
import copy
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "perception" / "vmbench"))

from released_fakes import FakeModels, FakePeople, noise_clip
from released_scripts import through_jpeg

from vmmetrics.clip import Clip
from vmmetrics.metrics import mss, ois, pas, tcs
from vmmetrics.perception.scene import Models, Scene
from vmmetrics.perception.vmbench.adapters.grounding import resized
from vmmetrics.perception.vmbench.released import Released
from vmmetrics.types import AmplitudeResult

NOUN = "Horse"
Names = dict[str, Any]


class Rounding(FakeModels):
    """Draws masks from rounded boxes, so that the last bit of a float does not draw others."""

    def masks(self, frame: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        return super().masks(frame, np.round(boxes, 1).astype(np.float32))


def functions(path: Path) -> Names:
    """The functions and classes of a script, without running the rest of it."""
    names: Names = {"torch": torch, "np": np, "Image": Image, "cv2": cv2, "copy": copy, "deepcopy": copy.deepcopy}
    exec("from dataclasses import dataclass, field\nfrom typing import Any, List, Tuple", names)  # noqa: S102
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.ClassDef) and node.name != "QAlignVideoScorer"):
            exec(compile(ast.Module([node], []), path.name, "exec"), names)  # noqa: S102
    return names


def loop_body(path: Path, first: str, last: str) -> Any:
    """The statements of a script's last loop over clips, from one that holds ``first`` to before one with ``last``."""
    main = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.If)][-1]
    loop = [node for node in main.body if isinstance(node, ast.For)][-1]
    statements = [ast.unparse(node) for node in loop.body]
    start = next(i for i, text in enumerate(statements) if first in text)
    stop = next(i for i, text in enumerate(statements) if last in text)
    text = "\n".join(statements[start:stop]).replace("read_video_from_path(meta_info['filepath'])", "frames_of_clip")
    return compile(text, path.name, "exec")


def quiet(*_: Any, **__: Any) -> None:
    """In the place of print."""


def tracker(fakes: FakeModels, clip: Clip, *, half: bool) -> Any:
    def track(video: Any, grid_size: int, grid_query_frame: int, backward_tracking: bool, segm_mask: Any) -> Any:
        assert video.shape[1] == len(clip)
        assert backward_tracking
        assert segm_mask.dtype == torch.uint8
        tracks = fakes.grid(clip.frames, grid_size, grid_query_frame, segm_mask[0, 0].numpy(), half=half)
        return torch.from_numpy(tracks.xy).float()[None], torch.from_numpy(tracks.visible)[None]

    return track


def grounding(fakes: FakeModels) -> Any:
    def answer(_: Any, image: Any, caption: str, *__: Any, **___: Any) -> Any:
        boxes = torch.from_numpy(fakes.boxes(image, caption.lower().strip()))
        return boxes, ["phrase"] * len(boxes)

    return answer


class Released2:
    """SAM 2's two predictors, on fakes."""

    def __init__(self, fakes: FakeModels, clip: Clip) -> None:
        self.fakes, self.clip = fakes, clip
        self.image: Any = None
        self.masks_by_id: dict[int, np.ndarray] = {}

    def set_image(self, image: np.ndarray) -> None:
        self.image = image

    def predict(self, *, box: Any, **_: Any) -> Any:
        masks = self.fakes.masks(self.image, np.asarray(box)).astype(np.float32)
        return (masks[:, None] if len(masks) > 1 else masks), np.zeros(len(masks)), None

    def reset_state(self, _: Any) -> None:
        self.masks_by_id = {}

    def add_new_mask(self, _: Any, __: int, identity: int, mask: Any) -> Any:
        self.masks_by_id[identity] = np.asarray(mask).astype(bool)
        return 0, [], []

    def propagate_in_video(self, _: Any, max_frame_num_to_track: int, start_frame_idx: int) -> Any:
        session = self.fakes.open(self.clip.frames)
        for frame, masks in session.propagate(start_frame_idx, self.masks_by_id, max_frame_num_to_track):
            yield frame, list(masks), [torch.from_numpy(np.where(mask, 1.0, -1.0))[None] for mask in masks.values()]


def coherence(folder: Path, fakes: FakeModels, clip: Clip) -> float:
    script = folder / "temporal_coherence_score.py"
    names = {**functions(folder / "bench_utils/tcs_utils.py"), **functions(script)}
    names |= functions(folder / "Grounded-SAM-2/utils/mask_dictionary_model.py")
    sam2 = Released2(fakes, clip)
    names |= {
        "frames_of_clip": clip.frames, "frames": [Image.fromarray(through_jpeg(frame)) for frame in clip.frames],
        "frame_names": [f"{i:04d}" for i in range(1, len(clip) + 1)], "device": "cpu", "print": quiet,
        "args": types.SimpleNamespace(step=int(clip.fps) - 1, box_threshold=0.25, text_threshold=0.2, grid_size=50),
        "text_prompt": NOUN + ".", "inference_state": None, "meta_info": {}, "transform_pil": np.asarray,
        "grounding_model_local": None, "get_grounding_output": grounding(fakes), "image_predictor": sam2,
        "video_predictor": sam2, "cotracker_model": tracker(fakes, clip, half=True),
    }  # fmt: skip
    exec(loop_body(script, "step = args.step", "meta_info['temporal_coherence_score']"), names)  # noqa: S102
    return float(names["vanish_score"] + names["emerge_score"]) / 2


def amplitude(folder: Path, fakes: FakeModels, clip: Clip) -> float:
    script = folder / "perceptible_amplitude_score.py"
    (path,) = (folder / "Grounded-Segment-Anything").rglob("segment_anything/utils/transforms.py")
    transform = functions(path)["ResizeLongestSide"](1024)
    height, width = clip.frames.shape[1:3]
    rows, columns = transform.get_preprocess_shape(height, width, 1024)

    def masks(*, boxes: Any, **_: Any) -> Any:
        in_frame = boxes.numpy() * np.array([width / columns, height / rows] * 2)
        return torch.from_numpy(fakes.masks(clip.frames[0], in_frame))[:, None], None, None

    sam = types.SimpleNamespace(set_image=quiet, transform=transform, predict_torch=masks)
    names = functions(script)
    names |= {
        "video": clip.frames, "image": clip.frames[0], "image_pil": Image.fromarray(clip.frames[0]), "device": "cpu",
        "image_array": clip.frames[0], "text_prompt": NOUN + ".", "box_threshold": 0.25, "text_threshold": 0.2,
        "grid_size": 30, "meta_info": {"prompt": ""}, "grounding_model": None, "print": quiet, "sam_predictor": sam,
        "get_grounding_output": grounding(fakes), "cotracker_model": tracker(fakes, clip, half=False),
    }  # fmt: skip
    seen = torch.zeros(3, *resized(height, width))  # the tensor whose shape the script reads

    def answer(model: Any, image: Any, *rest: Any, **how: Any) -> Any:
        names["image"] = seen
        return grounding(fakes)(model, image, *rest, **how)

    names["get_grounding_output"] = answer
    exec(loop_body(script, "get_grounding_output", "with open"), names)  # noqa: S102
    return float(names["meta_info"]["perceptible_amplitude_score"])


def integrity(folder: Path, fakes: FakeModels, people: FakePeople, clip: Clip) -> float:
    names = functions(folder / "bench_utils/pose_utils.py")
    names["distance"] = types.SimpleNamespace(euclidean=lambda a, b: np.linalg.norm(a - b))
    whole = np.array([[0, 0, clip.width, clip.height]], np.float64)
    frames = []
    for frame, boxes in zip(clip.frames, people.boxes(clip.frames), strict=True):
        points, scores = fakes.keypoints(frame, boxes[:, :4] if len(boxes) else whole)
        people_of_frame = zip(points.tolist(), scores.tolist(), strict=True)
        frames.append({"instances": [{"keypoints": p, "keypoint_scores": s} for p, s in people_of_frame]})
    return float(0.5 * names["analyze_lengths_over_time"](frames)[1] + 0.5 * names["analyze_joint_angles"](frames)[1])


def smoothness(folder: Path, fakes: FakeModels, clip: Clip, of_clip: float) -> float:
    names = functions(folder / "motion_smoothness_score.py")

    class Reader(list[int]):
        def get_batch(self, indices: list[int]) -> Any:
            found = np.array([self[i] for i in indices])
            return types.SimpleNamespace(asnumpy=lambda: found)

    names |= {"VideoReader": lambda _: Reader(range(len(clip))), "Image": types.SimpleNamespace(fromarray=int)}
    windows = np.array(names["load_video_sliding_window"]("", 3))
    scores = fakes.rate(clip.frames, windows).tolist()
    flagged = names["get_artifacts_frames"](scores, names["set_threshold"](of_clip))
    return 1 - len(flagged) / len(scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vmbench", type=Path, help="checkout of AMAP-ML/VMBench")
    parser.add_argument("--clips", type=int, default=120)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    apart: dict[str, list[float]] = {key: [] for key in ("pas", "tcs", "ois", "mss")}
    values: dict[str, set[float]] = {key: set() for key in apart}
    for seed in range(options.clips):
        fps, size = [2.0, 3.0, 4.0, 6.0, 8.0, 24.0][seed % 6], [(64, 48), (48, 64), (90, 40)][seed % 3]
        clip = noise_clip(6 + seed * 7 % 40, fps, size, seed)
        fakes, people = Rounding(seed), FakePeople(seed)
        released = Released(fakes, fakes, fakes, fakes, people, fakes)
        nothing: Names = dict.fromkeys(("flow", "camera", "segmenter", "tracker", "pose"))
        scene = Scene(clip, Models(**nothing, quality=fakes, released=released))
        theirs = {
            "pas": amplitude(options.vmbench, fakes, clip),
            "tcs": coherence(options.vmbench, fakes, clip),
            "ois": integrity(options.vmbench, fakes, people, clip),
        }
        theirs["mss"] = smoothness(options.vmbench, fakes, clip, theirs["pas"])
        ours = {
            "pas": pas.measure(scene, "vmbench"),
            "tcs": tcs.measure(scene, "vmbench"),
            "ois": ois.measure(scene, "vmbench"),
            "mss": mss.measure(scene, "vmbench", AmplitudeResult(0.0, amplitude=theirs["pas"])),
        }
        for key, score in theirs.items():
            values[key].add(score)
            our_score = ours[key].score
            apart[key].append(np.inf if our_score is None else abs(our_score - score))
    print(f"{options.clips} clips")
    for key in apart:
        print(f"{key}: largest difference {max(apart[key]):.2g}, over {len(values[key])} different scores")


if __name__ == "__main__":
    main()
