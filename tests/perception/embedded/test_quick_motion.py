from __future__ import annotations

import cv2
import numpy as np
import pytest

from vmmetrics.functional.curation import camera_speeds
from vmmetrics.perception.embedded.quick_motion import STEP_SECONDS, quick_motion

SIZE = (256, 144)
FPS = 25.0


def ground(seed: int = 0) -> np.ndarray:
    """A textured picture (300, 500) that a camera moves over."""
    rng = np.random.default_rng(seed)
    layers = [cv2.GaussianBlur(rng.normal(0, 1, (300, 500)).astype(np.float32), (0, 0), s) for s in (1.5, 4, 12)]
    return np.clip(128 + sum(28 * layer / layer.std() for layer in layers), 0, 255).astype(np.float32)


GROUND, SUBJECT = ground(0), ground(1)[:56, :56]


def film(count: int = 51, pan: float = 0.0, zoom: float = 0.0, subject: float = 0.0) -> np.ndarray:
    """Frames: pan in pixels a frame, zoom as a factor a frame, a square that moves by pixels a frame."""
    frames = []
    for n in range(count):
        size = (1 + zoom) ** n
        view = np.float32([[1 / size, 0, 122 - 128 / size + 128 - 64 + pan * n], [0, 1 / size, 78 - 72 / size + 72]])
        frame = cv2.warpAffine(GROUND, view, SIZE, flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)
        if subject:
            x = int(60 + subject * n)
            frame[36:92, x : x + 56] = SUBJECT
        frames.append(frame)
    return np.clip(np.rint(np.stack(frames)), 0, 255).astype(np.uint8)


def times(count: int = 51) -> np.ndarray:
    return np.arange(count) / FPS


def speed(pixels: float) -> float:
    """Pixels a frame as frame diagonals per second."""
    return pixels * FPS / float(np.hypot(*SIZE))


def test_a_subject_moves_at_its_speed_before_a_still_camera() -> None:
    motion = quick_motion(film(subject=2.0), times())
    assert motion.subject.mean() == pytest.approx(speed(2.0), rel=0.2)
    assert len(motion.subject) == motion.pairs == 10
    np.testing.assert_allclose(motion.seconds, STEP_SECONDS)


@pytest.mark.parametrize("camera", [{"pan": 1.5}, {"zoom": 0.004}])
def test_a_camera_alone_moves_no_subject(camera: dict[str, float]) -> None:
    motion = quick_motion(film(**camera), times())
    assert motion.subject.mean() < 0.1 * speed(1.0)
    speeds = camera_speeds(motion.homographies, motion.seconds, SIZE)
    if "pan" in camera:
        assert speeds["pan"] == pytest.approx(1.5 * FPS / SIZE[0], rel=0.05)
    else:
        assert speeds["zoom"] == pytest.approx(1.004**FPS - 1, rel=0.05)


def test_the_camera_is_taken_out_of_the_subject() -> None:
    motion = quick_motion(film(pan=1.5, subject=0.5), times())
    assert motion.subject.mean() == pytest.approx(speed(2.0), rel=0.25)  # against the ground, which goes the other way


def test_no_pair_spans_a_cut_and_a_held_frame_is_still() -> None:
    joined = np.concatenate([film(25), film(26, pan=1.0)[:, ::-1]])
    whole, parted = quick_motion(joined, times()), quick_motion(joined, times(), [25])
    assert parted.pairs < whole.pairs
    assert parted.subject.mean() < 0.1 * speed(1.0)
    held = quick_motion(np.repeat(film(1), 30, 0), times(30))
    assert held.subject.tolist() == [0.0] * held.pairs


def test_nothing_to_follow_is_counted_and_not_made_up() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (30, 144, 256), dtype=np.uint8)
    motion = quick_motion(noise, times(30))
    assert motion.pairs > 0
    assert len(motion.subject) < motion.pairs
