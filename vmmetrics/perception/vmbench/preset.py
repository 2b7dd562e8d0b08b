"""The ``vmbench`` preset: the published models, from checkpoints that are there and whole before the first clip."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from vmmetrics.perception.embedded.flow import DISFlow
from vmmetrics.perception.scene import Models
from vmmetrics.perception.vmbench.adapters.cotracker import BackgroundCamera, CoTracker, SharedPoints, find_cotracker
from vmmetrics.perception.vmbench.adapters.grounding import GroundingDINO
from vmmetrics.perception.vmbench.adapters.objects import GroundedObjects
from vmmetrics.perception.vmbench.adapters.people import FollowedPeople
from vmmetrics.perception.vmbench.adapters.plausibility import VideoMAEPlausibility
from vmmetrics.perception.vmbench.adapters.qalign import QAlignRater
from vmmetrics.perception.vmbench.adapters.rtm import RTMDetPersons, RTMPoseKeypoints
from vmmetrics.perception.vmbench.adapters.sam import Sam
from vmmetrics.perception.vmbench.adapters.sam2 import Sam2
from vmmetrics.perception.vmbench.released import Released
from vmmetrics.perception.vmbench.runtime import cache_on
from vmmetrics.types import Protocol
from vmmetrics.utils.tables import sha256_of
from vmmetrics.utils.weights.folder import inspect, read_lock, resolve
from vmmetrics.utils.weights.manifest import published

DINO, SAM, SAM2, COTRACKER = "grounding-dino-base", "sam-vit-huge", "sam2.1-hiera-large", "cotracker3-offline"
RTMDET, RTMPOSE = "rtmdet-m-person", "rtmpose-m-body7"
QALIGN, VIDEOMAE = "one-align", "videomae-vmbench"

NEEDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "subject": {"vmbench": (DINO, SAM, COTRACKER), "vmmetrics": (DINO, SAM2, COTRACKER)},
    "quality": dict.fromkeys(("vmbench", "vmmetrics"), (QALIGN,)),
    "poses": dict.fromkeys(("vmbench", "vmmetrics"), (RTMDET, RTMPOSE)),
    "objects": dict.fromkeys(("vmbench", "vmmetrics"), (DINO, SAM2, COTRACKER)),
    "plausibility": dict.fromkeys(("vmbench", "vmmetrics"), (VIDEOMAE,)),
}
"""Checkpoints that an ability of the scene cannot do without, by protocol."""

DESCRIPTION = {
    "flow": "DIS optical flow (OpenCV), for pictures only",
    "camera": "robust homography of CoTracker3's background points",
    "segmenter": "Grounding DINO Swin-B, SAM 2.1 Hiera-L (protocol vmbench: and SAM ViT-H)",
    "tracker": "CoTracker3 offline (CC-BY-NC 4.0: non-commercial use only)",
    "pose": "RTMDet-m person, RTMPose-m body7",
    "quality": "Q-Align one-align",
    "plausibility": "VideoMAE V2 ViT-giant, fine-tuned by VMBench",
}


def needed(abilities: Collection[str] | None, protocol: Protocol) -> list[str]:
    """Return the checkpoints that these abilities need, each once; None is all abilities."""
    name_lists = [names[protocol] for ability, names in NEEDS.items() if abilities is None or ability in abilities]
    return list(dict.fromkeys(name for names in name_lists for name in names))


def locate(abilities: Collection[str] | None, protocol: Protocol) -> dict[str, Path]:
    """Return where the checkpoints lie that these abilities need, all of them checked.

    Raises:
        SetupError: One is missing or damaged, or CoTracker is not installed; the text has the command that mends it.
    """
    names = needed(abilities, protocol)
    if COTRACKER in names:
        find_cotracker()
    return resolve(names)


def hashes(names: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of every file of these checkpoints, by ``"checkpoint/file"``."""
    digests = {}
    for name in names:
        checkpoint = inspect(published(name))
        recorded, _ = read_lock(checkpoint.folder)
        for file, path in checkpoint.files.items():
            digests[f"{name}/{file}"] = recorded[file]["sha256"] if file in recorded else sha256_of(path)
    return digests


def build_models(checkpoints: Mapping[str, Path], device: str | None = None) -> Models:
    """Build the models; each loads when it is first asked.

    Args:
        checkpoints: Checkpoints from :func:`locate`; a model whose checkpoint is not among them is never asked.
        device: Where they run; None takes a GPU where there is one.
    """
    cache = cache_on(device)
    names = needed(None, "vmbench") + needed(None, "vmmetrics")
    paths = {name: checkpoints.get(name, Path(name)) for name in names}
    grounder, sam2 = GroundingDINO(paths[DINO], cache), Sam2(paths[SAM2], cache)
    points = CoTracker(paths[COTRACKER], cache)
    people, keypoints = RTMDetPersons(paths[RTMDET], cache), RTMPoseKeypoints(paths[RTMPOSE], cache)
    return Models(
        flow=DISFlow(),
        camera=BackgroundCamera(),
        segmenter=GroundedObjects(grounder, sam2),
        tracker=SharedPoints(points),
        pose=FollowedPeople(people, keypoints),
        quality=QAlignRater(paths[QALIGN], cache),
        plausibility=VideoMAEPlausibility.published(paths[VIDEOMAE], cache),
        notes=cache.notes,
        released=Released(grounder, Sam(paths[SAM], cache), sam2, points, people, keypoints),
    )
