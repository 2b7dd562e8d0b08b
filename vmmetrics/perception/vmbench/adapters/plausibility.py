"""Commonsense plausibility by a VideoMAE V2 classifier, over the views that VMBench tests with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import softmax

from vmmetrics.errors import ClipError
from vmmetrics.functional.cas import LEVEL_VALUES, LEVELS
from vmmetrics.perception.scene import Scene
from vmmetrics.perception.views import VMBENCH_RATE, View, Viewer, ViewPlan
from vmmetrics.perception.vmbench import runtime
from vmmetrics.perception.vmbench.checkpoints import Checkpoint, build_videomae, read_checkpoint
from vmmetrics.perception.vmbench.ported.videomae import SIZES, Architecture, VideoMAE
from vmmetrics.perception.vmbench.runtime import CachedModel, DeviceCache, Precision
from vmmetrics.types import FloatArray, SaliencyMap, UInt8Array

PARTS = 5
"""Parts along each side of a frame that the answer is explained by."""
MOMENTS = 4
"""Stretches of a view that it is explained by."""

_NAME = "VideoMAE V2"

BATCH_MEMORY = 2**30
"""Bytes that the activations of one batch may take; what views a batch holds follows from it."""
GRADIENT_MEMORY = 6 * 2**30
"""Bytes that those of all blocks may take behind saliency(); beyond, they are computed once more on the way back."""

EXPLAINED_BELOW = 0.5
"""Score below which saliency() is called: below Fair. At the published size it costs 11.1 TFLOP, the score of a clip
of 49 frames 15.3. Its pass forward cannot be the score's own: which view is worst is known afterwards, and a view that
can be gone back through takes 3.9 GB."""

PUBLISHED = SIZES["giant"]
"""Size of VMBench's classifier."""
_PUBLISHED_PARAMETERS = 1_011_617_797


def _released_precision(device: torch.device) -> Precision:
    return "fp16" if device.type == "cuda" else "fp32"


class VideoMAEPlausibility:
    """A :class:`~vmmetrics.perception.scene.PlausibilityModel`, and an explaining one.

    Args:
        model: The classifier, with a class per level, Bad to Perfect; or what loads it when it is needed.
        plan: How views lie over a clip.
        device: Where it runs; None takes a GPU where there is one. What loads by itself knows its own.
        precision: What matrix products are computed in; norms stay float32. The released code has fp16 on a GPU.
            Default: that there, fp32 on a CPU.
    """

    def __init__(
        self,
        model: VideoMAE | CachedModel[VideoMAE],
        plan: ViewPlan,
        device: str | None = None,
        precision: Precision | None = None,
    ) -> None:
        if isinstance(model, CachedModel):
            self._model = model
        else:
            network, cache = model, runtime.cache_on(device)
            self._model = CachedModel(_NAME, lambda: network.to(cache.device).eval(), 0, cache)
        self.device = self._model.cache.device
        self.plan = plan
        self.precision: Precision = precision or _released_precision(self.device)
        self.explained_below = EXPLAINED_BELOW

    @classmethod
    def of(
        cls, checkpoint: Checkpoint, device: str | None = None, precision: Precision | None = None
    ) -> VideoMAEPlausibility:
        """Take a checkpoint: VMBench's ``vit_g_vmbench.pt``, or one that ``vmmetrics cas train`` wrote.

        Raises:
            SetupError: It does not hold such a classifier; the text names what is wrong.
        """
        model = build_videomae(checkpoint, len(LEVELS)).requires_grad_(False)
        rate = checkpoint.meta.get("rate", VMBENCH_RATE)
        plan = ViewPlan(frames=model.net.frames, rate=rate, size=model.net.image)
        classifier = cls(model, plan, device, precision)
        runtime.lower(model, classifier.precision)
        return classifier

    @classmethod
    def published(cls, path: Path, cache: DeviceCache) -> VideoMAEPlausibility:
        """Take VMBench's checkpoint, which is read when it is first needed.

        Raises:
            SetupError: Then, if the file does not hold such a classifier.
        """
        precision = _released_precision(cache.device)

        def load() -> Any:
            model = build_videomae(read_checkpoint(path), len(LEVELS)).requires_grad_(False)
            runtime.lower(model, precision)
            return model.to(cache.device)

        cached = CachedModel(_NAME, load, _PUBLISHED_PARAMETERS * runtime.DTYPES[precision].itemsize, cache)
        return cls(cached, ViewPlan(frames=PUBLISHED.frames, size=PUBLISHED.image))

    def classify(self, scene: Scene) -> FloatArray:
        """Return (V, 5) float64 probabilities, one row per view, those that are equal repeated."""
        return self.probabilities(scene.clip.frames)

    def view_frames(self, scene: Scene) -> list[tuple[int, ...]]:
        """Return the frames of each view."""
        return [view.frames for view in self._views(scene.clip.frames)]

    def probabilities(self, frames: UInt8Array) -> FloatArray:
        """Classify the views of a clip.

        Args:
            frames: (T, H, W, 3) uint8 RGB.

        Returns:
            (V, 5) float64, V = segments x crops, crops innermost; softmax of each view.

        Raises:
            ClipError: The network's answer is not finite.
        """
        views = self._views(frames)
        distinct = list(dict.fromkeys(views))
        viewer = Viewer(frames, self.plan)
        logits = np.stack(runtime.in_batches(partial(self._logits, viewer), distinct, self._batch_size(), self._model))
        if not np.all(np.isfinite(logits)):
            raise ClipError(f"the plausibility model's answer is not finite in {self.precision}")
        by_view = dict(zip(distinct, softmax(logits, axis=1), strict=True))
        return np.stack([by_view[view] for view in views])

    def saliency(self, scene: Scene) -> tuple[SaliencyMap, ...]:
        """Return where the worst view's score comes from, moment by moment.

        The gain of a part is a first-order estimate: the slope of the log-odds of the view's score along the line from
        its pixels to the mean colour of their frame. Hiding each part in turn would cost a hundred passes.
        """
        frames = scene.clip.frames
        worst = int(np.argmin(scene.probabilities @ LEVEL_VALUES))
        view = self._views(frames)[worst]
        effect = self._slopes(Viewer(frames, self.plan).cut(view))
        rows, columns = self.plan.resized(*frames.shape[1:3])
        side = np.arange(self.plan.size)
        row, column = (side + view.top) * PARTS // rows, (side + view.left) * PARTS // columns
        looks = []
        for moment in np.array_split(np.arange(len(effect)), MOMENTS):
            gain = np.zeros((PARTS, PARTS))
            np.add.at(gain, (row[:, None], column[None]), effect[moment].sum(0))
            frame = view.frames[int(moment[len(moment) // 2])]
            looks.append(SaliencyMap(frame, tuple(map(tuple, gain.tolist())), "looks implausible"))
        return tuple(looks)

    def _slopes(self, pixels: FloatArray) -> FloatArray:
        """(3, T, size, size) view to (T, size, size): the rise of its log-odds for each pixel that is hidden."""
        activation_bytes = self._model.get().net.depth * self._view_values() * (2 if self.device.type == "cuda" else 4)
        model = self._model.get(min(activation_bytes, GRADIENT_MEMORY))
        model.checkpointing = activation_bytes > GRADIENT_MEMORY
        try:
            return self._gradient(model, pixels)
        except torch.OutOfMemoryError:
            model.checkpointing = True
        # outside of the handler: its traceback keeps the tensors alive
        return self._model.guarded(lambda: self._gradient(model, pixels))

    def _gradient(self, model: VideoMAE, pixels: FloatArray) -> FloatArray:
        batch = runtime.on_device(pixels, self.device)[None].requires_grad_()
        scores = torch.as_tensor(LEVEL_VALUES, dtype=torch.float64, device=self.device)
        # Gradients underflow in fp16; bfloat16 will do for an explanation where float32 is ten times slower.
        autocast = torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda")
        with torch.enable_grad(), autocast:
            probabilities = model(batch).double().softmax(dim=-1)
            log_odds = torch.logit((probabilities @ scores)[0], eps=1e-6)
            (slope,) = torch.autograd.grad(log_odds, batch)
        hidden = batch.mean(dim=(3, 4), keepdim=True)
        return np.asarray(((hidden - batch) * slope).sum(dim=1)[0].detach().double().cpu().numpy())

    def _views(self, frames: UInt8Array) -> list[View]:
        return self.plan.views(*frames.shape[:3])

    def _logits(self, viewer: Viewer, views: Sequence[View]) -> list[FloatArray]:
        batch = runtime.on_device(np.stack([viewer.cut(view) for view in views]), self.device)
        with runtime.computing(self.device, self.precision):
            return list(self._model.get()(batch).double().cpu().numpy())

    def _batch_size(self) -> int:
        """Views whose activations in one block fit into the memory."""
        return max(1, BATCH_MEMORY // (self._view_values() * (4 if self.precision == "fp32" else 2)))

    def _view_values(self) -> int:
        """Numbers that one block makes of a view: tokens, qkv, and the perceptron's around GELU."""
        net: Architecture = self._model.get().net
        return net.tokens * (2 * net.mlp_width + 8 * net.width)
