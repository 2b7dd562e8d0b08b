"""OIS, object integrity: shape and motion of bodies; without people, constancy of the surfaces of objects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vmmetrics.clip import Clip
from vmmetrics.functional import object_integrity_score
from vmmetrics.functional.body_motion import body_motion
from vmmetrics.functional.limbs import OUTLINE_REASONS as REASONS
from vmmetrics.functional.limbs import silhouette_deviations
from vmmetrics.functional.shapes import shape_constancy_score
from vmmetrics.perception.content import too_small
from vmmetrics.perception.scene import Poses, Scene
from vmmetrics.perception.surfaces import follow_surfaces, owners
from vmmetrics.types import BoolArray, FloatArray, MetricResult, Protocol
from vmmetrics.utils.text.words import words_of

SHOULDERS, HIPS = (5, 6), (11, 12)
SKELETON = "skeleton"
"""Tag of the skeleton that the prompt implies: ``"person"``, ``"animal"`` or ``"none"``."""
SMALLEST_TORSO = 45.0
"""Least torso length, pixels. Below, the embedded model's landmarks err by more than 0.1 torso lengths in every fifth
joint (benchmarks/pose_truth.py), and its errors cannot be separated from the clip's."""


def measure(scene: Scene, protocol: Protocol) -> MetricResult:
    """Score the integrity of the people in a clip; where no person can be judged, that of its objects.

    Not applicable where the prompt's tags expect no body: a pose model's detections there are false. The released code
    has no such case. Objects are judged with the embedded models only.

    Args:
        scene: The clip.
        protocol: ``"vmmetrics"``, or ``"vmbench"``: the first person only, by landmarks only, as the released code;
            with the published models the first instance of each frame, which may change.

    Returns:
        Score in 0..1, 1 best; missing for one frame, under ``"vmmetrics"`` for frames under 32 pixels, without a person
        or object to judge, or where it does not apply.
    """
    if protocol == "vmmetrics" and not expects_body(scene.clip):
        return MetricResult(None, "the prompt's tags expect no body", applicable=False)
    if len(scene.clip) == 1:
        return MetricResult(None, "one frame: no change of shape to judge")
    if protocol == "vmmetrics" and (why := too_small(scene.clip)) is not None:
        return MetricResult(None, why)
    released = scene.models.released
    if released is not None and protocol == "vmbench":
        keypoints, scores = scene.once("released person", lambda: released.person(scene))
        return object_integrity_score(keypoints, scores, protocol=protocol)
    poses = scene.poses
    if poses.keypoints.shape[1] == 0:
        return _without_people(scene, protocol, "no person")
    if protocol == "vmbench":
        return object_integrity_score(poses.keypoints[:, 0], poses.scores[:, 0], protocol=protocol)
    large = large_enough(poses.keypoints)
    if not large.any():
        why = f"people are too small to judge (torso under {SMALLEST_TORSO:.0f} pixels)"
        return _without_people(scene, protocol, why)
    evidence = limb_evidence(poses)
    selected = {reason: deviations[:, large] for reason, deviations in evidence.items()}
    keypoints, scores = poses.keypoints[:, large], poses.scores[:, large]
    selected |= body_motion(keypoints, scores, scene.clip.fps, camera_motion(scene))
    return object_integrity_score(keypoints, scores, evidence=selected)


def beside(clip: Clip, protocol: Protocol) -> tuple[str, ...]:
    """Return the properties of the scene that can be computed while other metrics are."""
    return ("poses",) if protocol == "vmbench" or expects_body(clip) else ()


def expects_body(clip: Clip) -> bool:
    """Return False if the clip's tags rule out a body, else True."""
    return clip.tags.get(SKELETON) != "none"


def large_enough(keypoints: FloatArray) -> BoolArray:
    """Return (P,) bool, True where the trunk in the median frame is at least :data:`SMALLEST_TORSO` long or wide.

    Args:
        keypoints: (T, P, 17, 2) pixels.
    """
    ends = [keypoints[:, :, list(pair)] for pair in (SHOULDERS, HIPS)]
    upright = np.linalg.norm(ends[0].mean(axis=2) - ends[1].mean(axis=2), axis=-1)
    across = np.linalg.norm(ends[0][:, :, 0] - ends[0][:, :, 1], axis=-1)
    return np.asarray(np.nanmedian(np.maximum(upright, across), axis=0) >= SMALLEST_TORSO)


def camera_motion(scene: Scene) -> FloatArray:
    """Return the (T-1, 3, 3) motion of the camera, NaN where unknown.

    NaN throughout with the published models, which would need the subject's noun to estimate it.
    """
    if scene.models.released is not None:
        return np.full((len(scene.clip) - 1, 3, 3), np.nan)
    camera = scene.camera
    has_camera = np.array(camera.kinds) != "unknown"
    return np.where(has_camera[:, None, None], camera.homographies, np.nan)


def limb_evidence(poses: Poses) -> dict[str, FloatArray]:
    """Return the evidence from silhouettes: reason to (T, P, 12) deviations; empty without silhouettes."""
    if poses.silhouettes is None:
        return {}
    people = [
        silhouette_deviations(poses.keypoints[:, p], poses.scores[:, p], *np.moveaxis(poses.silhouettes[:, p], -1, 0))
        for p in range(poses.keypoints.shape[1])
    ]
    return {reason: np.stack([person[reason] for person in people], axis=1) for reason in REASONS}


def _without_people(scene: Scene, protocol: Protocol, reason: str) -> MetricResult:
    """Score the objects of a clip in which people cannot be judged for ``reason``."""
    if protocol == "vmbench" or scene.models.released is not None:
        return MetricResult(None, reason)
    result = measure_things(scene)
    return result if result.missing is None else replace(result, missing=f"{reason}; {result.missing}")


# Clips without people: constancy of the surfaces of objects.

SHAPELESS = words_of(
    "avalanche avalanches blaze blizzard bonfire bonfires bubbles campfire campfires clouds cloud explosion explosions "
    "fire fires firework fireworks flame flames flood floods foam fog fountain fountains geyser geysers hurricane lava "
    "lightning mist ocean rain rainfall rapids river rivers sea smoke snow snowfall sparks spray steam storm storms "
    "stream streams surf tornado tornadoes vapor vapour water waterfall waterfalls wave waves whirlpool wildfire "
    "wildfires"
)
"""Subjects without a constant shape, which look like an object repainted in every frame; only the prompt separates
them."""


def measure_things(scene: Scene) -> MetricResult:
    """Score the integrity of the objects in a clip in which no person can be judged: animals, hands, vehicles, objects.

    Returns:
        The score and its events, with targets ``"object i"`` or ``"scene"``; missing where the prompt is about fire,
        water and the like, with fewer than three moments, or with too little texture.
    """
    clip = scene.clip
    if clip.subject is not None and clip.subject.noun in SHAPELESS:
        return MetricResult(None, f"the prompt is about {clip.subject.noun}, which has no shape of its own")
    surfaces = follow_surfaces(scene.flow, clip.fps)
    return shape_constancy_score(
        surfaces.lost, surfaces.textured, surfaces.motion, owners(scene.objects, surfaces), surfaces.frames,
        num_frames=len(clip), tile=surfaces.tile,
    )  # fmt: skip
