"""OIS, object integrity: asks for the people of the clip, and whether their bodies keep their shape."""

from __future__ import annotations

from vmmetrics.functional import object_integrity_score
from vmmetrics.perception.scene import Scene
from vmmetrics.types import MetricResult, Protocol


def measure(scene: Scene, protocol: Protocol) -> MetricResult:
    """Score the integrity of the people in a clip.

    Args:
        scene: The clip.
        protocol: ``"vmmetrics"`` or ``"vmbench"`` (first person only, as the released code).
    """
    if len(scene.clip) == 1:
        return MetricResult(None, "one frame: no change of shape to judge")
    poses = scene.poses
    if poses.keypoints.shape[1] == 0:
        return MetricResult(None, "no person")
    if protocol == "vmbench":
        return object_integrity_score(poses.keypoints[:, 0], poses.scores[:, 0], protocol=protocol)
    return object_integrity_score(poses.keypoints, poses.scores, protocol=protocol)
