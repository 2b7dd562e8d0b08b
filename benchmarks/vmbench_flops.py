"""FLOPs of the vmbench preset per clip and metric, counted from the calls that the metrics make; no weights, no GPU.

    python -m benchmarks.vmbench_flops [--protocol vmmetrics] [--metrics cas ois]

The adapters and metrics run as they are, on a clip of 49 frames of 720 x 480 with one subject, then with two (1.5 on
average). Behind them stand the published networks at their true size on torch's meta device: each call runs there, is
counted by the formulas of :mod:`torch.utils.flop_counter`, and answers zeros; :mod:`benchmarks.vmbench_speed` says what
is in the clip.
CoTracker's code is not ours to ship: its calls are counted by a formula, fitted to counts of its own network (12.37
TFLOP at 936 points, 4.49 at 136, 28.14 at 2,536). Only matrix products, convolutions and attention count.

Exits with 1 where a metric costs more than :data:`LIMITS`.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import transformers
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten
from torch.utils.flop_counter import flop_registry
from transformers.models.grounding_dino import modeling_grounding_dino

from benchmarks import vmbench_speed as speed
from benchmarks.parity import publishers
from vmmetrics.clip import Clip, Subject
from vmmetrics.functional.cas import LEVELS
from vmmetrics.perception.scene import Models, PointTracks, Scene
from vmmetrics.perception.vmbench import preset
from vmmetrics.perception.vmbench.ported import qalign_network, qalign_vision, rtm_networks, sam2_net
from vmmetrics.perception.vmbench.ported.videomae import SIZES, VideoMAE
from vmmetrics.types import Protocol

TERA = 1e12
LEAN = {"pas": 21.5, "ois": 4.25, "tcs": 155.0, "mss": 179.0, "cas": 15.5}
"""TFLOP without redundant work, worked out by hand from the networks' sizes, to half of the last digit."""
LIMITS = {"pas": 21.5, "ois": 4.25, "tcs": 141.0, "mss": 167.0, "cas": 15.5}
"""TFLOP of a clip under protocol vmbench, an object that comes or goes and CAS's explanation apart."""

META = torch.device("meta")
SIZE = (49, 480, 720)
BOXES = np.array([[0.3, 0.5, 0.2, 0.34], [0.7, 0.45, 0.15, 0.3]], np.float32)
"""Of the subjects, a ninth of the frame together."""

POINTS_BASE, POINTS_EACH, POINTS_FEATURES = 0.61, 0.009855, 2.54
"""TFLOP of CoTracker for 49 frames: of a pass, of a point in it, and of the clip's features."""
SUPPORT = 36
"""Points that CoTracker adds."""


class Counter(TorchDispatchMode):  # type: ignore[misc]
    """Counts by torch's own formulas; its FlopCounterMode cannot follow a backward pass to an input."""

    flops = 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        answer = func(*args, **(kwargs or {}))
        if (formula := flop_registry.get(func._overloadpacket)) is not None:
            self.flops += formula(*args, **(kwargs or {}), out_val=answer)
        return answer


@dataclass
class Meter:
    """What was computed, by metric and network, in FLOP; and how often it was called.

    Attributes:
        metric: Whose calls are counted now.
        flops: By metric and network.
        calls: Likewise.
    """

    metric: str = ""
    flops: defaultdict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    calls: defaultdict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    _known: dict[Any, Any] = field(default_factory=dict)

    def add(self, name: str, flops: float) -> None:
        self.flops[self.metric, name] += flops
        self.calls[self.metric, name] += 1

    def of(self, metric: str) -> float:
        """TFLOP of a metric."""
        return sum(flops for (whose, _), flops in self.flops.items() if whose == metric) / TERA

    def metered(self, name: str, network: Callable[..., Any], *, gradients: bool = False) -> Callable[..., Any]:
        """Return a function that counts a call of ``network``, which lies on the meta device, and answers zeros."""

        def call(*args: Any, **options: Any) -> Any:
            leaves, layout = tree_flatten((args, options))
            key = (name, *((tuple(x.shape), x.dtype) if isinstance(x, Tensor) else repr(x)[:80] for x in leaves))
            if key not in self._known:
                with torch.inference_mode(False), torch.set_grad_enabled(gradients), Counter() as counter:
                    there = [x.to(META) if isinstance(x, Tensor) else x for x in leaves]
                    arguments, chosen = tree_unflatten(there, layout)
                    answer = network(*arguments, **chosen)
                self._known[key] = counter.flops, answer
            flops, answer = self._known[key]
            self.add(name, flops)
            return tree_map_only(Tensor, lambda x: torch.zeros((), dtype=x.dtype).expand(x.shape), answer)

        return call


def on_meta(build: Callable[[], Any]) -> Any:
    """Build a network without weights."""
    with META:
        net = build()
    return net.to(META).eval().requires_grad_(False)


def videomae(meter: Meter) -> Any:
    net: Any = on_meta(lambda: VideoMAE(SIZES["giant"], len(LEVELS)))
    call = meter.metered("VideoMAE", net)
    call.net = net.net  # type: ignore[attr-defined]
    return call


def explanation(meter: Meter) -> Callable[[Any, Any], Any]:
    """Count what VideoMAEPlausibility._gradient does: one view forwards and back to its pixels."""
    net: Any = on_meta(lambda: VideoMAE(SIZES["giant"], len(LEVELS)))

    def slopes(pixels: Tensor) -> Tensor:
        batch = pixels.clone().requires_grad_()
        return torch.autograd.grad(net(batch).sum(), batch)[0].detach()

    counted = meter.metered("VideoMAE, explanation", slopes, gradients=True)
    return lambda _, pixels: counted(torch.from_numpy(pixels)[None])[0, 0].numpy()


QALIGN_ANSWER = qalign_network.answer
"""As it is before it is replaced."""


def qalign(meter: Meter) -> Any:
    sizes = qalign_network.Sizes()
    net: Any = on_meta(lambda: qalign_network.Network(sizes))
    prompt = qalign_network.Prompt(before=(1, *range(3, 17)), after=tuple(range(17, 29)), levels=tuple(range(30, 35)))
    with torch.inference_mode():
        question = qalign_network.pose(net, prompt, 3)
    answer = meter.metered("Q-Align, windows", lambda windows: QALIGN_ANSWER(net, question, windows))
    seen = SimpleNamespace(sizes=sizes, see=meter.metered("Q-Align, frames", net.see), answer=answer)
    return SimpleNamespace(network=seen, question=None, table=qalign_vision.shades())


def dino(meter: Meter) -> Any:
    net: Any = on_meta(lambda: transformers.GroundingDinoForObjectDetection(publishers.swin_b_config()))
    net.model.text_backbone.set_attn_implementation("sdpa")

    def find(pixel_values: Tensor, input_ids: Tensor) -> Any:
        # transformers builds some tensors where torch's default device is, and checks a sum that meta cannot tell.
        with META, patch.object(modeling_grounding_dino, "torch_compilable_check", lambda *_, **__: None):
            masks = {"attention_mask": torch.ones_like(input_ids), "token_type_ids": torch.zeros_like(input_ids)}
            answer = net(pixel_values=pixel_values, input_ids=input_ids, **masks)
        return answer.logits, answer.pred_boxes

    counted = meter.metered("Grounding DINO", find)

    def model(pixel_values: Tensor, input_ids: Tensor) -> Any:
        logits, boxes = zip(
            *(counted(one[None], ids[None]) for one, ids in zip(pixel_values, input_ids, strict=True)), strict=True
        )
        return SimpleNamespace(logits=torch.cat(logits), pred_boxes=torch.cat(boxes))

    class Tokens(dict[str, Tensor]):
        def to(self, _: Any) -> Tokens:
            return self

    return model, lambda texts, **_: Tokens(input_ids=torch.tensor([[101, 3586, 1012, 102]] * len(texts)))


def sam(meter: Meter) -> Any:
    kind = publishers.SAM.kind
    net: Any = on_meta(
        lambda: getattr(transformers, kind)(getattr(transformers, kind).config_class(**publishers.SAM.options))
    )
    decode = meter.metered("SAM, boxes", lambda **arguments: net(**arguments, multimask_output=False).pred_masks)

    def masks(*, multimask_output: bool, **arguments: Any) -> Any:  # noqa: ARG001 - never more than one, as asked
        return SimpleNamespace(pred_masks=decode(**arguments))

    masks.config = net.config  # type: ignore[attr-defined]
    masks.get_image_embeddings = meter.metered("SAM, frame", net.get_image_embeddings)  # type: ignore[attr-defined]
    return masks


SAM2_PARTS = ("encode", "decode_boxes", "decode_objects", "remember", "recall")


def sam2(meter: Meter) -> tuple[Any, dict[str, Callable[..., Any]]]:
    """Return what stands for the network, and for the functions of :mod:`sam2_net` that run it."""
    kind = publishers.SAM2.kind
    net: Any = on_meta(
        lambda: getattr(transformers, kind)(getattr(transformers, kind).config_class(**publishers.SAM2.options))
    )
    small = ("no_object_pointer", "memory_temporal_positional_encoding")
    tensors = {name: torch.zeros(getattr(net, name).shape) for name in small}
    layers = ("mask_downsample", "temporal_positional_encoding_projection_layer")
    tensors |= {name: meter.metered("SAM 2, memory", getattr(net, name)) for name in layers}

    def part(name: str) -> Callable[..., Any]:
        real = getattr(sam2_net, name)
        label = {"encode": "frames", "recall": "memory", "remember": "memory"}.get(name, "masks")
        counted = meter.metered(f"SAM 2, {label}", lambda _, *arguments, **options: real(net, *arguments, **options))
        return lambda _, *arguments, **options: counted(name, *arguments, **options)

    return SimpleNamespace(config=net.config, **tensors), {name: part(name) for name in SAM2_PARTS}


@dataclass
class CountedPoints:
    """CoTracker's calls, counted by formula."""

    meter: Meter
    features: set[tuple[int, bool]] = field(default_factory=set)

    def grid(self, frames: Any, side: int, frame: int, mask: Any, *, half: bool = False) -> PointTracks:
        self._count(frames, round(float((mask > 0).mean()) * side**2), backward=frame > 0, half=half)
        return PointTracks(np.zeros((len(frames), 4, 2)), np.ones((len(frames), 4), bool), np.full(4, frame))

    def points(self, frames: Any, queries: Any) -> PointTracks:
        self._count(frames, len(queries), backward=bool((queries[:, 0] > 0).any()), half=False)
        return speed.still(len(frames), queries[:, 1:], queries[:, 0].astype(np.int64))

    def _count(self, frames: Any, count: int, *, backward: bool, half: bool) -> None:
        passes = (POINTS_BASE + POINTS_EACH * (count + SUPPORT)) * (1 + backward)
        self.meter.add("CoTracker3", (passes + POINTS_FEATURES * ((id(frames), half) not in self.features)) * TERA)
        self.features.add((id(frames), half))


def counted_models(meter: Meter) -> tuple[Models, dict[str, Callable[..., Any]]]:
    """Return the preset's models with counted networks behind them, and the functions of SAM 2 to be replaced."""
    models = preset.build_models({}, "cpu")
    released: Any = models.released
    net2, parts = sam2(meter)
    rtm = {rtm_networks.RTMDet: released.people, rtm_networks.RTMPose: released.keypoints}
    for kind, adapter in rtm.items():
        net = on_meta(lambda kind=kind: kind(rtm_networks.MEDIUM))
        adapter._model.load = lambda net=net, name=kind.__name__: meter.metered(name, net)
    released.grounder._model.load = lambda: dino(meter)
    released.sam.model.load = lambda: sam(meter)
    released.sam2.model.load = lambda: net2
    models.quality._model.load = lambda: qalign(meter)  # type: ignore[attr-defined]
    models.plausibility._model.load = lambda: videomae(meter)  # type: ignore[union-attr]
    models.plausibility._gradient = explanation(meter)  # type: ignore[union-attr]
    points = CountedPoints(meter)
    released = replace(released, points=points)
    tracker = replace(models.tracker, points=points)  # type: ignore[type-var]
    return speed.steered(replace(models, released=released, tracker=tracker), small=False), parts


def made_clip() -> Clip:
    """Return a clip in which :func:`benchmarks.vmbench_speed.there` sees all subjects throughout."""
    frames = np.random.default_rng(0).integers(0, 255, (SIZE[0], 60, 90, 3), dtype=np.uint8)
    frames = np.ascontiguousarray(frames.repeat(8, axis=1).repeat(8, axis=2))
    frames[:, : speed.MARK, : speed.MARK] = 0
    return Clip(frames, np.arange(SIZE[0]) / speed.FPS, float(speed.FPS), subject=Subject("horse", "a horse", "option"))


def count(metrics: list[str], protocol: Protocol, subjects: int, *, vanish: bool = False) -> Meter:
    """Count the metrics of a clip with one subject or two; ``vanish``: one of two goes half way."""
    meter, clip = Meter(), made_clip()
    if vanish:
        clip.frames[len(clip) // 2 :, : speed.MARK, : speed.MARK] = 255
    models, parts = counted_models(meter)
    measures = speed.measures(protocol)
    with (
        patch.object(speed, "BOXES", BOXES[:subjects]),
        patch.multiple(sam2_net, **parts),
        patch.object(qalign_network, "answer", lambda network, _, windows: network.answer(windows)),
    ):
        scene = Scene(clip, models)
        for meter.metric in metrics:
            result = measures[meter.metric](scene)
            assert result.score is not None, (meter.metric, result.missing)
    return meter


def count_explanation() -> float:
    """TFLOP of CAS's explanation of a clip, which comes on top where it scores below Fair."""
    meter = Meter("explanation")
    judge: Any = counted_models(meter)[0].plausibility
    judge.saliency(SimpleNamespace(clip=made_clip(), probabilities=np.full((30, 5), 0.2)))
    return meter.of("explanation")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metrics", nargs="+", choices=list(LIMITS), default=list(LIMITS))
    parser.add_argument("--protocol", choices=("vmbench", "vmmetrics"), default="vmbench")
    options = parser.parse_args()
    counted = [count(options.metrics, options.protocol, subjects) for subjects in (1, 2)]
    print(f"{'':8}{'TFLOP':>8}{'limit':>8}{'lean':>8}  of it, one subject and two")
    over = []
    for metric in options.metrics:
        flops = sum(meter.of(metric) for meter in counted) / 2
        names = dict.fromkeys(name for whose, name in counted[1].flops if whose == metric)
        parts = [f"{n} {'/'.join(f'{m.flops[metric, n] / TERA:.2f}' for m in counted)}" for n in names]
        print(f"{metric:8}{flops:8.2f}{LIMITS[metric]:8.2f}{LEAN[metric]:8.2f}  {', '.join(parts)}")
        if options.protocol == "vmbench" and flops > LIMITS[metric]:
            over.append(metric)
    total = sum(meter.of(metric) for meter in counted for metric in options.metrics) / 2
    limit, lean = (sum(table[metric] for metric in options.metrics) for table in (LIMITS, LEAN))
    print(f"{'all':8}{total:8.2f}{limit:8.2f}{lean:8.2f}")
    if "cas" in options.metrics:
        print(f"explanation of a clip that scores below Fair: {count_explanation():.2f}")
    if "tcs" in options.metrics:
        gone = count(["tcs"], options.protocol, 2, vanish=True)
        print(f"TCS of two subjects of which one vanishes: {gone.of('tcs'):.2f}, both stay: {counted[1].of('tcs'):.2f}")
    for metric in over:
        print(f"{metric} costs more than {LIMITS[metric]} TFLOP", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
