"""Presets: a named choice of models, built before the first clip."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from vmmetrics.errors import SetupError, install
from vmmetrics.perception.scene import Models
from vmmetrics.types import Protocol
from vmmetrics.utils.weights.manifest import load_manifest, weight_path


@dataclass(frozen=True, slots=True)
class PresetOptions:
    """Options of a preset.

    Attributes:
        abilities: Abilities that are needed, of :data:`vmmetrics.metrics.registry.ABILITIES`; None for all.
        protocol: Definition of the metrics.
        threads: Threads of the neural models; None leaves it to them.
        tf32: True lets a GPU round the factors of float32 matrix products to TF32; scores differ a little.
    """

    abilities: Collection[str] | None = None
    protocol: Protocol = "vmmetrics"
    threads: int | None = None
    tf32: bool = False


@dataclass(frozen=True)
class Preset:
    """Models ready to use, with their description.

    Attributes:
        models: One model per ability.
        description: Ability to model name, for the run's provenance.
        weights: Weight name to SHA-256 of every file loaded.
        published_models: True for the models of the paper.
        side_by_side: True if abilities may run at the same time, to use all cores of a CPU.
        reads_ahead: True if the next clip is read meanwhile, which does not pay on a CPU.
        cas_weights: Names in :attr:`weights` that belong to the commonsense classifier.
        pose_weights: Names that belong to the pose estimator.
    """

    models: Models
    description: Mapping[str, str]
    weights: Mapping[str, str]
    published_models: bool
    side_by_side: bool = False
    reads_ahead: bool = False
    cas_weights: tuple[str, ...] = ()
    pose_weights: tuple[str, ...] = ()

    def unused(self, needs: Collection[str]) -> frozenset[str]:
        """Return the models and weights of poses and plausibility, used by OIS and CAS, that ``needs`` lack."""
        poses = () if "poses" in needs else ("pose", *self.pose_weights)
        plausibility = () if "plausibility" in needs else ("plausibility", *self.cas_weights)
        return frozenset((*poses, *plausibility))


EMBEDDED_FLOW = "DIS optical flow (OpenCV)"
_COSTS = {
    "flow": 0.16, "camera": 0.03, "objects": 0.19, "tracks": 0.09, "quality": 0.08, "poses": 0.2,
    "plausibility evidence": 0.17,
}  # fmt: skip
"""Shares of the CPU time of a clip, without the abilities that one uses; of three clips of footage."""
_USES = {
    "flow": ("flow",), "camera": ("flow", "camera"), "objects": ("flow", "camera", "objects"), "poses": ("poses",),
    "subject": ("flow", "camera", "objects", "tracks"), "quality": ("flow", "quality"),
    "plausibility": ("plausibility evidence",),
}  # fmt: skip
"""What an ability that a metric needs uses."""


def embedded_models(threads: int | None) -> Models:
    """Return the embedded models without the commonsense classifier; weights are read on first use."""
    from vmmetrics.perception.embedded.camera import GlobalMotion
    from vmmetrics.perception.embedded.flow import DISFlow
    from vmmetrics.perception.embedded.objects.segmenter import MotionSegmenter
    from vmmetrics.perception.embedded.pose.pose import BlazePose
    from vmmetrics.perception.embedded.quality.quality import TemporalQuality
    from vmmetrics.perception.embedded.tracker import GridTracker

    return Models(
        flow=DISFlow(),
        camera=GlobalMotion(),
        segmenter=MotionSegmenter(),
        tracker=GridTracker(),
        pose=BlazePose(threads=threads),
        quality=TemporalQuality(),
    )


def _embedded(options: PresetOptions) -> Preset:
    from vmmetrics.perception.embedded.plausibility.plausibility import OrdinalPlausibility

    names = (
        "blazepose-detector", "blazepose-landmarks-full", "efficientnet-lite0-stages", "efficientnet-lite0-head",
        "cas-ladder",
    )  # fmt: skip
    for name in names:
        weight_path(name)  # verified now, before the first clip
    classifier = OrdinalPlausibility(threads=options.threads)
    used = {name for need in (_USES if options.abilities is None else options.abilities) for name in _USES[need]}
    costs = {name: cost for name, cost in _COSTS.items() if name in used}
    models = replace(embedded_models(options.threads), plausibility=classifier, steadiness=classifier, costs=costs)
    description = {
        "flow": EMBEDDED_FLOW,
        "camera": "robust global motion",
        "segmenter": "camera-compensated moving objects",
        "tracker": "patch-anchored tracking on forward-backward-checked DIS flow",
        "pose": "BlazePose full",
        "quality": "motion-compensated frame quality",
        "plausibility": "deep features and flow, weighed by a ladder of made-up defects",
        "steadiness": "ImageNet classes followed along flow",
    }
    hashes = {name: load_manifest()[name].sha256 for name in names}
    return Preset(
        models, description, hashes, published_models=False, side_by_side=True, cas_weights=("cas-ladder",),
        pose_weights=tuple(name for name in names if name.startswith("blazepose")),
    )  # fmt: skip


def _vmbench(options: PresetOptions) -> Preset:
    try:
        import torch

        from vmmetrics.perception.vmbench import preset
        from vmmetrics.utils.tensors import default_device
    except ImportError as error:
        raise SetupError(f"The published models need packages ({error}): {install('vmbench')}") from error

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    if options.tf32:
        torch.set_float32_matmul_precision("high")  # of this process: a worker scores with one suite
    paths = preset.locate(options.abilities, options.protocol)
    cas = tuple(name for name in paths if name == preset.VIDEOMAE)
    hashes = preset.hashes(tuple(paths))
    return Preset(
        preset.build_models(paths),
        preset.DESCRIPTION,
        hashes,
        published_models=True,
        reads_ahead=default_device() != "cpu",
        cas_weights=tuple(file for file in hashes if file.startswith(cas)),
    )


_PRESETS: dict[str, Callable[[PresetOptions], Preset]] = {"embedded": _embedded, "vmbench": _vmbench}


def preset_names() -> tuple[str, ...]:
    """Return the names of the presets."""
    return tuple(_PRESETS)


def load_preset(name: str, options: PresetOptions | None = None) -> Preset:
    """Build a preset's models.

    Args:
        name: One of :func:`preset_names`.
        options: Its options; None for the defaults.

    Raises:
        ValueError: No such preset, or TF32 for ``embedded``.
        SetupError: A weight file or package is missing.
    """
    if name not in _PRESETS:
        raise ValueError(f"Expected preset to be one of {', '.join(preset_names())} but got {name!r}")
    if options is not None and options.tf32 and name == "embedded":
        raise ValueError("Expected tf32 with preset vmbench on a GPU but got preset embedded, which runs on the CPU")
    return _PRESETS[name](options or PresetOptions())


def with_cas_model(preset: Preset, path: Path) -> Preset:
    """Return ``preset`` with another commonsense classifier.

    Args:
        preset: Preset of the other models.
        path: Checkpoint in VideoMAE V2's layout: one that ``vmmetrics cas train`` wrote, or VMBench's.

    Raises:
        SetupError: torch is missing, or the file does not hold such a classifier.
    """
    if not path.is_file():
        raise SetupError(f"No such file: {path}")
    try:
        from vmmetrics.perception.vmbench.adapters.plausibility import VideoMAEPlausibility
        from vmmetrics.perception.vmbench.checkpoints import read_checkpoint
    except ImportError as error:
        raise SetupError(f"A custom CAS classifier needs torch ({error}): {install('cas')}") from error

    checkpoint = read_checkpoint(path)
    models = replace(preset.models, plausibility=VideoMAEPlausibility.of(checkpoint), costs={})
    weights = {name: sha256 for name, sha256 in preset.weights.items() if name not in preset.cas_weights}
    return replace(
        preset,
        models=models,
        description={**preset.description, "plausibility": "VideoMAE V2 classifier of the user's"},
        weights={**weights, path.name: checkpoint.sha256()},
        cas_weights=(path.name,),
        published_models=False,
    )
