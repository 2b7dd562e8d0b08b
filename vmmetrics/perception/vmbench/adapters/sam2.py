"""SAM 2.1 Hiera-L, as the released TCS asks for it: masks of boxes in a still, and masks followed through a clip.

One network serves both: the published weights are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own convention

from vmmetrics.perception.vmbench import runtime
from vmmetrics.perception.vmbench.checkpoints import load_hub
from vmmetrics.perception.vmbench.ported import sam2_net
from vmmetrics.perception.vmbench.runtime import CachedModel, DeviceCache, Precision
from vmmetrics.types import BoolArray, FloatArray, UInt8Array

# Masks followed through a clip with SAM 2.1: every object of a key frame at once, features of a frame computed once.
#
# What upstream's predictor does where all masks are given in one frame and followed from there, in its order.

HOLE_LOGIT = 0.1
"""What a hole in a mask is filled with."""

OBJECTS_AT_ONCE = 16
"""Objects in one pass; they do not influence each other."""


class Memory(NamedTuple):
    """Memory of an object in a frame.

    Attributes:
        tokens: (S/16 * S/16, M) bfloat16, as upstream keeps it in any precision.
        pointer: (C,) float32.
    """

    tokens: Tensor
    pointer: Tensor


Answer = tuple[Tensor, Memory]
"""Of an object in a frame: (1, S/4, S/4) float32 mask logits, holes not filled yet, and its memory."""

FRAMES_PER_COPY = 12
"""Frames whose masks leave the GPU together: nothing that follows depends on them, and each copy waits for the GPU."""


@dataclass(slots=True)
class Followed:
    """An object: what is remembered of it in the frame that it was given in, and in those since."""

    anchor: Memory
    since: dict[int, Memory] = field(default_factory=dict)


class MaskSession:
    """One clip in a :class:`Sam2`; features of frames are kept as long as the session.

    Args:
        model: The network.
        frames: (T, H, W, 3) uint8 RGB.
        precision: Of matrix products and convolutions.
        hole_area: Holes in masks up to this size are filled, in pixels of the masks at a quarter of the input's side.
        frames_at_once: Frames in one pass of the image encoder.
    """

    def __init__(
        self, model: CachedModel[Any], frames: UInt8Array, precision: Precision, hole_area: int, frames_at_once: int
    ) -> None:
        self._model = model
        self._device = model.cache.device
        self._frames = frames
        self._precision = precision
        self._hole_area = hole_area
        self._frames_at_once = frames_at_once
        self._features: dict[int, sam2_net.Features] = {}
        self._keep: torch.device | None = None

    def propagate(
        self, start: int, masks: Mapping[int, BoolArray], steps: int, *, reverse: bool = False
    ) -> Iterator[tuple[int, dict[int, BoolArray]]]:
        """Forget earlier objects, take ``masks``, and follow them.

        Args:
            start: Frame that the masks are of.
            masks: Object id to (H, W) bool.
            steps: Frames to follow after the first; fewer where the clip ends.
            reverse: Follow towards the first frame.

        Yields:
            Frame index, ``start`` first, and (H, W) bool by object id (an object may be empty).

        Raises:
            ValueError: No mask, one of another size than the frames, or no such frame.
        """
        for frames, coarse in self._followed(start, masks, steps, reverse=reverse):
            full_masks = torch.stack([self._full(one) > 0 for one in coarse]).cpu().numpy()
            for frame, of_frame in zip(frames, full_masks, strict=True):
                yield frame, dict(zip(masks, of_frame, strict=True))

    def logits(
        self, start: int, masks: Mapping[int, BoolArray], steps: int, *, reverse: bool = False
    ) -> Iterator[tuple[int, Tensor]]:
        """Do :meth:`propagate` but yield, on the model's device, (N, H, W) float32 logits in the order of ``masks``."""
        for frames, coarse in self._followed(start, masks, steps, reverse=reverse):
            yield from ((frame, self._full(one)) for frame, one in zip(frames, coarse, strict=True))

    def masks(self, frame: int, boxes: FloatArray, ahead: Sequence[int] = ()) -> BoolArray:
        """Return (N, H, W) bool, one mask per box in a frame taken as a still; features are the session's.

        Args:
            frame: Its index.
            boxes: (N, 4) x0, y0, x1, y1 in pixels of the frame.
            ahead: Frames that are asked for next, which may be encoded together with it.
        """
        features = self._features_of(frame, [frame, *ahead])
        logits = box_logits(self._model, features, boxes, self._frames.shape[1:3], self._precision)
        return np.asarray((logits > 0).cpu().numpy())

    def _followed(
        self, start: int, masks: Mapping[int, BoolArray], steps: int, *, reverse: bool
    ) -> Iterator[tuple[list[int], list[Tensor]]]:
        """Yield some frames of the path at a time, and per frame (N, 1, S/4, S/4) logits whose holes are filled."""
        size = self._frames.shape[1:3]
        if not masks or any(np.shape(mask) != size for mask in masks.values()):
            raise ValueError(f"Expected masks of {size} but got {[np.shape(mask) for mask in masks.values()]}")
        if not 0 <= start < len(self._frames):
            raise ValueError(f"Expected start within the clip's {len(self._frames)} frames but got {start}")
        step = -1 if reverse else 1
        path = [t for t in range(start, start + step * (steps + 1), step) if 0 <= t < len(self._frames)]
        followed: list[Followed] = []
        coarse: list[Tensor] = []
        for number, frame in enumerate(path, 1):
            features = self._features_of(frame, path)
            if frame == start:
                answers = self._in_batches(partial(self._take, features), list(masks.values()))
                followed = [Followed(remembered) for _, remembered in answers]
            else:
                answers = self._in_batches(partial(self._follow, start, step, frame, features), followed)
                for one, (_, remembered) in zip(followed, answers, strict=True):
                    one.since[frame] = remembered
            coarse.append(torch.stack([logits for logits, _ in answers]))
            if len(coarse) == FRAMES_PER_COPY or number == len(path):
                with torch.inference_mode():
                    whole = self._without_holes(torch.cat(coarse)).split(len(masks))
                yield path[number - len(coarse) : number], list(whole)
                coarse = []

    def _full(self, coarse: Tensor) -> Tensor:
        """Return (N, H, W) logits at the frame's size."""
        with torch.inference_mode():
            return F.interpolate(coarse, self._frames.shape[1:3], mode="bilinear", align_corners=False)[:, 0]

    def _in_batches(self, run: Callable[[Sequence[Any]], list[Answer]], items: Sequence[Any]) -> list[Answer]:
        with runtime.computing(self._device, self._precision):
            return runtime.in_batches(run, items, OBJECTS_AT_ONCE, self._model)

    def _features_of(self, frame: int, path: Sequence[int]) -> sam2_net.Features:
        """Features of a frame, with those of the next on the path where they are not there yet."""
        if frame not in self._features:
            net = self._model.get()
            side = net.config.image_size
            ahead = [t for t in path[path.index(frame) :] if t not in self._features][: self._frames_at_once]

            def run(some: Sequence[int]) -> list[sam2_net.Features]:
                batch = sam2_net.encode(net, sam2_net.prepared(self._frames[list(some)], side, self._device))
                return [batch.at(index).to(self._keeper(batch, len(some))) for index in range(len(some))]

            with runtime.computing(self._device, self._precision):
                self._features.update(
                    zip(ahead, runtime.in_batches(run, ahead, self._frames_at_once, self._model), strict=True)
                )
        return self._features[frame].to(self._device)

    def _keeper(self, batch: sam2_net.Features, count: int) -> torch.device:
        """Return the device that features stay on: the CPU where they would fill half of the free GPU memory."""
        if self._keep is None:
            self._keep = self._device
            needed = sum(level.nbytes for level in batch) // count * len(self._frames)
            if self._device.type == "cuda" and needed > torch.cuda.mem_get_info(self._device)[0] // 2:
                self._keep = torch.device("cpu")
                self._model.cache.note(
                    f"{self._model.name}: features of frames moved to the CPU: too little GPU memory"
                )
        return self._keep

    def _take(self, features: sam2_net.Features, masks: Sequence[BoolArray]) -> list[Answer]:
        """Take masks as they are given: they come back as they are remembered, at a quarter of the input's side."""
        net = self._model.get()
        side = net.config.image_size
        anchor = runtime.on_device(np.stack(masks), self._device)[:, None].float()
        if anchor.shape[2:] != (side, side):
            anchor = F.interpolate(anchor, (side, side), mode="bilinear", align_corners=False, antialias=True)
            anchor = (anchor >= 0.5).float()
        here = anchor.flatten(1).any(dim=1, keepdim=True)
        logits = anchor * 2 * sam2_net.SURE - sam2_net.SURE
        coarse = F.interpolate(logits, (side // 4, side // 4), mode="bilinear", align_corners=False, antialias=True)
        coarse = self._without_holes(coarse)
        own = features.coarse.expand(len(masks), -1, -1, -1)
        pointers = sam2_net.decode_objects(net, features, own, net.mask_downsample(anchor)).pointers
        pointers = torch.where(here, pointers, net.no_object_pointer)
        back = F.interpolate(coarse, (side, side), mode="bilinear", align_corners=False)
        return self._answers(coarse, sam2_net.remember(net, features, (back > 0).float(), here), pointers)

    def _follow(
        self, start: int, step: int, frame: int, features: sam2_net.Features, objects: Sequence[Followed]
    ) -> list[Answer]:
        """Find objects in a frame by what is remembered of them."""
        net = self._model.get()
        side = net.config.image_size
        memories, positions, pointers = self._memories(start, step, frame, objects)
        decoded = sam2_net.decode_objects(
            net, features, sam2_net.recall(net, features, memories, positions, pointers), None
        )
        full = F.interpolate(decoded.masks, (side, side), mode="bilinear", align_corners=False)
        tokens = sam2_net.remember(net, features, full.sigmoid(), decoded.scores > 0)
        return self._answers(decoded.masks, tokens, decoded.pointers)

    def _memories(self, start: int, step: int, frame: int, objects: Sequence[Followed]) -> tuple[Tensor, Tensor, int]:
        """Return the memories that objects are segmented by in ``frame``.

        Returns:
            (K, N, M) tokens, (K, N, M) their places in space and time, and how many at the end are of pointers.
        """
        net = self._model.get()
        first, count = objects[0], len(objects)
        slots = net.memory_temporal_positional_encoding.flatten(1)  # (slots, M): frames back 1, 2, ..., last the given
        seen = [(n, frame - n * step) for n in range(len(slots) - 1, 0, -1) if frame - n * step in first.since]
        tokens = [torch.stack([one.anchor.tokens for one in objects], dim=1)]
        tokens += [torch.stack([one.since[t].tokens for one in objects], dim=1) for _, t in seen]
        grid = net.config.image_size // 16
        plane = sam2_net.plane_positions(grid, grid, slots.shape[1], self._device)
        if self._precision != "fp32":
            plane = plane.to(runtime.DTYPES[self._precision])  # upstream keeps them as its convolutions answer
        positions = [plane + slots[-1]] + [plane + slots[back - 1] for back, _ in seen]

        limit = min(len(self._frames), net.config.max_object_pointers_in_encoder)
        ages_frames = [frame - n * step for n in range(1, limit) if frame - n * step in first.since]
        pointers = [torch.stack([one.anchor.pointer for one in objects])]
        pointers += [torch.stack([one.since[t].pointer for one in objects]) for t in ages_frames]
        # All frames since the given one are remembered: ages are 1, 2, ...; a list would be copied, and waited for.
        count_up = torch.arange(len(self._frames), device=self._device)
        ages = torch.cat([count_up[abs(frame - start)][None], count_up[1 : len(ages_frames) + 1]])
        channels = pointers[0].shape[1]
        parts = channels // slots.shape[1]  # a pointer is as long as so many tokens
        split = torch.stack(pointers).unflatten(2, (parts, -1)).transpose(1, 2).flatten(0, 1)
        when = net.temporal_positional_encoding_projection_layer(sam2_net.time_positions(ages / (limit - 1), channels))
        when = when.repeat_interleave(parts, dim=0)
        everywhere = torch.cat([*positions, when])[:, None].expand(-1, count, -1)
        return torch.cat([*tokens, split]), everywhere, len(split)

    def _without_holes(self, logits: Tensor) -> Tensor:
        """Fill small holes in masks of (N, 1, h, w) logits."""
        if self._hole_area == 0:
            return logits
        holes = np.stack([small_holes(mask, self._hole_area) for mask in (logits[:, 0] <= 0).cpu().numpy()])
        return torch.where(runtime.on_device(holes, logits.device)[:, None], HOLE_LOGIT, logits)

    def _answers(self, coarse: Tensor, tokens: Tensor, pointers: Tensor) -> list[Answer]:
        pairs = zip(tokens.to(torch.bfloat16), pointers.float(), strict=True)
        return [(logits, Memory(*one)) for logits, one in zip(coarse, pairs, strict=True)]


def small_holes(background: BoolArray, area: int) -> BoolArray:
    """Return the parts of ``background`` that hang together, corners included, in at most ``area`` pixels.

    >>> small_holes(np.array([[0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 0, 1]], bool), 2).astype(int)
    array([[0, 0, 0, 0],
           [0, 1, 0, 0],
           [0, 0, 0, 0]])
    """
    _, labels, stats, _ = cv2.connectedComponentsWithStats(background.astype(np.uint8), connectivity=8)
    small = stats[:, cv2.CC_STAT_AREA] <= area
    small[0] = False  # what is not background
    return np.asarray(small[labels])


HOLE_AREA = 8
"""Of upstream's video predictor, where its CUDA extension is installed; without it holes stay."""

BOXES_AT_ONCE = 16
"""Boxes in one pass of the mask decoder."""

FRAMES_AT_ONCE = 4
"""Frames in one pass of the image encoder; enough to fill a GPU, and 2 GB of activations in bf16."""

BYTES = 900_000_000
"""Of the weights: 224.4 M in float32; less in bf16."""


class Sam2:
    """Masks of boxes in one frame, and masks followed through a clip.

    Args:
        folder: Checkpoint ``sam2.1-hiera-large``.
        cache: The device and the models that share it.
        precision: Of matrix products and convolutions. Default: bf16 on a GPU, as the released code has it; fp32 on a
            CPU.
        hole_area: Holes up to this size are filled in masks that are followed.
    """

    def __init__(
        self, folder: Path, cache: DeviceCache, precision: Precision | None = None, hole_area: int = HOLE_AREA
    ) -> None:
        self.precision: Precision = precision or ("bf16" if cache.device.type == "cuda" else "fp32")
        self.hole_area = hole_area
        self.model: CachedModel[Any] = CachedModel("SAM 2", lambda: self._loaded(folder), BYTES, cache)

    def _loaded(self, folder: Path) -> Any:
        net = load_hub("Sam2VideoModel", folder, "sam2.1-hiera-large")
        runtime.lower(net, self.precision)
        return net.to(self.model.cache.device)

    def masks(self, frame: UInt8Array, boxes: FloatArray) -> BoolArray:
        """Return (N, H, W) bool, one mask per box.

        Args:
            frame: (H, W, 3) uint8 RGB.
            boxes: (N, 4) x0, y0, x1, y1 in pixels of the frame.
        """
        return np.asarray((self.logits(frame, boxes) > 0).cpu().numpy())

    def logits(self, frame: UInt8Array, boxes: FloatArray) -> Tensor:
        """Return (N, H, W) float32 on the model's device; the masks are where it is above 0."""
        (features,) = self._encoded([frame])
        return box_logits(self.model, features, boxes, frame.shape[:2], self.precision)

    def masks_in(self, frames: Sequence[UInt8Array], boxes: Sequence[FloatArray]) -> list[BoolArray]:
        """Do :meth:`masks` for several frames of one size, each with one box or more."""
        return [
            np.asarray((box_logits(self.model, *asked, frames[0].shape[:2], self.precision) > 0).cpu().numpy())
            for asked in zip(self._encoded(frames), boxes, strict=True)
        ]

    def _encoded(self, frames: Sequence[UInt8Array]) -> list[sam2_net.Features]:
        def encode(some: Sequence[UInt8Array]) -> list[sam2_net.Features]:
            net, device = self.model.get(), self.model.cache.device
            batch = sam2_net.encode(net, sam2_net.prepared(np.stack(some), net.config.image_size, device))
            return [batch.at(index) for index in range(len(some))]

        with runtime.computing(self.model.cache.device, self.precision):
            return runtime.in_batches(encode, frames, self._at_once, self.model)

    @property
    def _at_once(self) -> int:
        return FRAMES_AT_ONCE if self.model.cache.device.type == "cuda" else 1

    def open(self, frames: UInt8Array) -> MaskSession:
        """Begin a clip (T, H, W, 3) uint8 RGB."""
        return MaskSession(self.model, frames, self.precision, self.hole_area, self._at_once)


def box_logits(
    model: CachedModel[Any], features: sam2_net.Features, boxes: FloatArray, size: tuple[int, int], precision: Precision
) -> Tensor:
    """Return (N, H, W) float32 logits for boxes in a frame, on the model's device.

    Args:
        model: The network.
        features: Of the frame.
        boxes: (N, 4) x0, y0, x1, y1 in pixels of the frame.
        size: Height and width of the frame.
        precision: Of matrix products and convolutions.
    """
    net, device = model.get(), model.cache.device
    height, width = size
    prompts = torch.as_tensor(np.asarray(boxes, np.float32)) / torch.tensor([width, height] * 2)
    pixel_boxes = runtime.on_device((prompts * net.config.image_size).numpy(), device)

    def decode(some: Sequence[Tensor]) -> list[Tensor]:
        coarse = sam2_net.decode_boxes(net, features, torch.stack(list(some)))
        return list(F.interpolate(coarse, (height, width), mode="bilinear", align_corners=False)[:, 0])

    with runtime.computing(device, precision):
        return torch.stack(runtime.in_batches(decode, list(pixel_boxes), BOXES_AT_ONCE, model))
