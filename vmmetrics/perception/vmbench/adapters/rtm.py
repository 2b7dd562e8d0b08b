"""People and their keypoints as the released OIS finds them: RTMDet-m person, then RTMPose-m body7 on each box.

Two kinds of file serve as source, for both:

- the model zoo's own checkpoints, run in torch:
  ``rtmdet_m_8xb32-100e_coco-obj365-person-235e8209.pth`` and
  ``rtmpose-m_simcc-body7_pt-body7_420e-256x192-e48f03d0_20230504.pth``;
- ``.onnx`` files that ``python -m vmmetrics.perception.vmbench.adapters.rtm_convert`` makes of them, run by ONNX
  Runtime, with the same raw outputs. For the pose, ``end2end.onnx`` from the zoo's own
  ``onnx_sdk/rtmpose-m_simcc-body7_pt-body7_420e-256x192-e48f03d0_20230504.zip`` will do as well. For the detector the
  zoo's export will not: non-maximum suppression is built into it, with another threshold than the released OIS has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vmmetrics.errors import SetupError
from vmmetrics.perception.vmbench.models import UInt8Array
from vmmetrics.perception.vmbench.ported import rtm_steps as steps
from vmmetrics.perception.vmbench.ported.rtm_networks import MEDIUM, RTMDet, RTMPose, Size, load_rtm
from vmmetrics.perception.vmbench.runtime import DTYPES, Held, Precision, Shelf, in_batches, shelf_on
from vmmetrics.types import FloatArray

Run = Callable[[Tensor], tuple[Tensor, Tensor]]
"""A network: pixels to its two raw answers."""

DETECTOR_OUTPUTS = ("logits", "sides")
POSE_OUTPUTS = ("simcc_x", "simcc_y")
"""Names in ``.onnx`` files; the second are those of the zoo's own export."""

DETECTOR_BATCH, POSE_BATCH = 16, 64
"""Frames, and boxes, at a time: enough to fill a GPU, below 2 GB of activations."""
_DETECTOR_BYTES, _POSE_BYTES = 24_700_000 * 4, 13_600_000 * 4


class RTMDetPersons:
    """RTMDet-m: :class:`~vmmetrics.perception.vmbench.models.PersonFinder`.

    Args:
        source: Checkpoint (``.pth``) or network (``.onnx``).
        device: Where it runs; None takes a GPU where there is one.
        precision: What convolutions are computed in; ``"fp32"``, as released. ``.onnx`` files run in their own.
        shelf: Whom it shares the device with; None for nobody.
        size: Of the network in a checkpoint.
    """

    def __init__(
        self,
        source: str | Path,
        device: str | None = None,
        precision: Precision = "fp32",
        shelf: Shelf | None = None,
        size: Size = MEDIUM,
    ) -> None:
        shelf = shelf_on(device, shelf)
        self._device = shelf.device
        load = partial(_network, Path(source), lambda: RTMDet(size), DETECTOR_OUTPUTS, shelf.device, precision)
        self._held: Held[Run] = Held("RTMDet", load, _DETECTOR_BYTES, shelf)

    def boxes(self, frames: UInt8Array) -> list[FloatArray]:
        """Return per frame of (T, H, W, 3) uint8 RGB (N, 5) float64: x0, y0, x1, y1 in pixels and score, best first.

        Raises:
            SetupError: The checkpoint is missing or wrong.
        """
        return in_batches(self._detect, list(frames), DETECTOR_BATCH, self._held)

    def _detect(self, frames: Sequence[UInt8Array]) -> list[FloatArray]:
        squares, factors = zip(*(steps.letterboxed(frame) for frame in frames), strict=True)
        bgr = np.ascontiguousarray(np.stack(squares)[..., ::-1])
        logits, sides = self._held.get()(_normalised(bgr, steps.DETECTOR_MEAN, steps.DETECTOR_STD, self._device))
        answers = zip(logits.numpy(), sides.numpy(), factors, strict=True)
        return [steps.persons(steps.detections(*answer)).astype(np.float64) for answer in answers]


class RTMPoseKeypoints:
    """RTMPose-m: :class:`~vmmetrics.perception.vmbench.models.KeypointFinder`.

    Args:
        source: Checkpoint (``.pth``) or network (``.onnx``).
        device: As for :class:`RTMDetPersons`.
        precision: Likewise.
        shelf: Likewise.
        size: Likewise.
    """

    def __init__(
        self,
        source: str | Path,
        device: str | None = None,
        precision: Precision = "fp32",
        shelf: Shelf | None = None,
        size: Size = MEDIUM,
    ) -> None:
        shelf = shelf_on(device, shelf)
        self._device = shelf.device
        load = partial(_network, Path(source), lambda: RTMPose(size), POSE_OUTPUTS, shelf.device, precision)
        self._held: Held[Run] = Held("RTMPose", load, _POSE_BYTES, shelf)

    def keypoints(self, frame: UInt8Array, boxes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (N, 17, 2) float64 pixels in COCO order and (N, 17) scores, for boxes (N, 4) of the frame.

        Args:
            frame: (H, W, 3) uint8 RGB.
            boxes: x0, y0, x1, y1 in pixels; further columns are not looked at.

        Raises:
            SetupError: The checkpoint is missing or wrong.
        """
        return self.in_frames(frame[None], [boxes])[0]

    def in_frames(self, frames: UInt8Array, boxes: Sequence[FloatArray]) -> list[tuple[FloatArray, FloatArray]]:
        """Do :meth:`keypoints` for a clip, in larger batches.

        Args:
            frames: (T, H, W, 3) uint8 RGB.
            boxes: T times (N, 4 or more).
        """
        people = [(frame, box[:4]) for frame, of_frame in zip(frames, boxes, strict=True) for box in of_frame]
        found = in_batches(self._estimate, people, POSE_BATCH, self._held)
        answers, start = [], 0
        for of_frame in boxes:
            part = found[start : start + len(of_frame)]
            start += len(of_frame)
            points = np.array([xy for xy, _ in part]).reshape(-1, 17, 2)
            answers.append((points, np.array([score for _, score in part]).reshape(-1, 17)))
        return answers

    def _estimate(self, people: Sequence[tuple[UInt8Array, FloatArray]]) -> list[tuple[FloatArray, FloatArray]]:
        pictures, centres, extents = zip(*(steps.cut_out(frame, box) for frame, box in people), strict=True)
        pixels = _normalised(np.stack(pictures), steps.POSE_MEAN, steps.POSE_STD, self._device)
        run = self._held.get()
        straight, mirrored = ([scores.numpy() for scores in run(x)] for x in (pixels, pixels.flip(-1)))
        along = steps.with_mirrored((straight[0], straight[1]), (mirrored[0], mirrored[1]))
        points, scores = steps.peaks(along, np.stack(centres), np.stack(extents))
        return list(zip(points, scores, strict=True))


def _normalised(pictures: UInt8Array, mean: Sequence[float], std: Sequence[float], device: torch.device) -> Tensor:
    """(B, H, W, 3) uint8 to (B, 3, H, W) float32 on the device."""
    pixels = torch.from_numpy(pictures).to(device).permute(0, 3, 1, 2).float()
    shape = (1, 3, 1, 1)
    return (pixels - torch.tensor(mean, device=device).view(shape)) / torch.tensor(std, device=device).view(shape)


def _network(
    source: Path, build: Callable[[], Any], outputs: tuple[str, str], device: torch.device, precision: Precision
) -> Run:
    """Load a file of either kind."""
    if source.suffix == ".onnx":
        return _onnx(source, outputs, device)
    network = load_rtm(source, build()).to(device)

    def run(pixels: Tensor) -> tuple[Tensor, Tensor]:
        half = precision != "fp32"
        with torch.inference_mode(), torch.autocast(device.type, dtype=DTYPES[precision], enabled=half):
            first, second = network(pixels)
        return first.float().cpu(), second.float().cpu()

    return run


def _onnx(source: Path, outputs: tuple[str, str], device: torch.device) -> Run:
    if not source.is_file():
        raise SetupError(
            f"{source}: no such network; make it with: python -m vmmetrics.perception.vmbench.adapters.rtm_convert"
        )
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise SetupError(f"{error.name} is missing; install it with: pip install onnxruntime") from error
    wanted = ["CUDAExecutionProvider"] if device.type == "cuda" else []
    available = [p for p in (*wanted, "CPUExecutionProvider") if p in onnxruntime.get_available_providers()]
    try:
        session = onnxruntime.InferenceSession(str(source), providers=available)
    except Exception as error:  # its errors have no common class
        raise SetupError(f"{source}: not readable as an ONNX network: {error}") from error
    names = tuple(output.name for output in session.get_outputs())
    if names != outputs:
        raise SetupError(
            f"{source}: expected outputs {outputs} but it has {names}; make one from the model zoo's checkpoint with: "
            "python -m vmmetrics.perception.vmbench.adapters.rtm_convert"
        )
    (entry,) = session.get_inputs()

    def run(pixels: Tensor) -> tuple[Tensor, Tensor]:
        first, second = session.run(None, {entry.name: pixels.cpu().numpy()})
        return torch.from_numpy(first), torch.from_numpy(second)

    return run
