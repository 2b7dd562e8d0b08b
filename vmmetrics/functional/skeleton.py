"""The body as OIS sees it: COCO-17 keypoints, the 12 parts between them and the 8 joints where parts meet."""

from __future__ import annotations

NOSE = 0
LEFT_SHOULDER, RIGHT_SHOULDER = 5, 6
LEFT_ELBOW, RIGHT_ELBOW = 7, 8
LEFT_WRIST, RIGHT_WRIST = 9, 10
LEFT_HIP, RIGHT_HIP = 11, 12
LEFT_KNEE, RIGHT_KNEE = 13, 14
LEFT_ANKLE, RIGHT_ANKLE = 15, 16
NUM_KEYPOINTS = 17

PARTS: dict[str, tuple[int, int]] = {
    "torso": (LEFT_SHOULDER, LEFT_HIP),
    "left upper arm": (LEFT_SHOULDER, LEFT_ELBOW),
    "left forearm": (LEFT_ELBOW, LEFT_WRIST),
    "right upper arm": (RIGHT_SHOULDER, RIGHT_ELBOW),
    "right forearm": (RIGHT_ELBOW, RIGHT_WRIST),
    "left thigh": (LEFT_HIP, LEFT_KNEE),
    "left calf": (LEFT_KNEE, LEFT_ANKLE),
    "right thigh": (RIGHT_HIP, RIGHT_KNEE),
    "right calf": (RIGHT_KNEE, RIGHT_ANKLE),
    "shoulders": (LEFT_SHOULDER, RIGHT_SHOULDER),
    "hips": (LEFT_HIP, RIGHT_HIP),
    "neck": (NOSE, LEFT_SHOULDER),
}
"""End points of each part; VMBench's twelve."""

JOINTS: dict[str, tuple[int, int, int]] = {
    "left elbow": (LEFT_SHOULDER, LEFT_ELBOW, LEFT_WRIST),
    "right elbow": (RIGHT_SHOULDER, RIGHT_ELBOW, RIGHT_WRIST),
    "left shoulder": (LEFT_ELBOW, LEFT_SHOULDER, LEFT_HIP),
    "right shoulder": (RIGHT_ELBOW, RIGHT_SHOULDER, RIGHT_HIP),
    "left hip": (LEFT_SHOULDER, LEFT_HIP, LEFT_KNEE),
    "right hip": (RIGHT_SHOULDER, RIGHT_HIP, RIGHT_KNEE),
    "left knee": (LEFT_HIP, LEFT_KNEE, LEFT_ANKLE),
    "right knee": (RIGHT_HIP, RIGHT_KNEE, RIGHT_ANKLE),
}
"""The angle of a joint is at its middle point; VMBench's eight."""
