from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import cache
from types import SimpleNamespace
from typing import Any

import av
import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.bad_inputs import moving_frames
from vmmetrics.clip import Clip
from vmmetrics.functional import motion_smoothness_score
from vmmetrics.metrics.mss import DROP
from vmmetrics.perception.embedded.flow import DISFlow
from vmmetrics.perception.embedded.quality.features import _is_cadence, combs, neighbour_quantile, without_camera
from vmmetrics.perception.embedded.quality.quality import TemporalQuality, appearance, level, ramp, without
from vmmetrics.perception.scene import Models, Scene

Frames = NDArray[np.uint8]
LENGTH, BAD = 18, 9


class Remembered:
    """DIS flow that is computed once a pair of pictures: most clips here share most of their frames."""

    def __init__(self, dis: Any) -> None:
        self.dis, self.known = dis, {}

    def calc(self, one: Frames, other: Frames, _: None) -> NDArray[np.float32]:
        pair = one.shape, one.tobytes(), other.tobytes()
        if pair not in self.known:
            self.known[pair] = self.dis.calc(one, other, None)
        return self.known[pair]


@pytest.fixture(scope="module", autouse=True)
def remembered() -> Iterator[None]:
    flow = Remembered(cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cv2, "DISOpticalFlow", SimpleNamespace(create=lambda preset: flow))
        yield


def scene_with(frames: Frames, fps: float = 16.0) -> Scene:
    unused = None
    models = Models(DISFlow(), unused, unused, unused, unused, TemporalQuality())  # type: ignore[arg-type]
    return Scene(Clip(np.ascontiguousarray(frames), np.arange(len(frames)) / fps, fps), models)


def flagged(frames: Frames) -> list[int]:
    quality = scene_with(frames).quality
    result = motion_smoothness_score(quality, threshold=DROP * float(np.median(quality)))
    return [event.frames[0] for event in result.events]


def picture(seed: int = 0, height: int = 420, width: int = 560) -> NDArray[np.float32]:
    """Flat shapes with hard edges over a soft ground: detail of every size, as photographs have."""
    rng = np.random.default_rng(seed)
    ground = cv2.resize(
        rng.uniform(60, 200, (9, 12, 3)).astype(np.float32), (width, height), interpolation=cv2.INTER_CUBIC
    )
    for _ in range(220):
        centre = tuple(int(c) for c in rng.integers(0, (width, height)))
        cv2.circle(ground, centre, int(rng.integers(3, 22)), rng.uniform(0, 255, 3).tolist(), -1, cv2.LINE_AA)
    return cv2.GaussianBlur(ground, (0, 0), 0.8)


@cache
def filmed(where: Callable[[int], tuple[float, float]], length: int = LENGTH, seed: int = 0) -> Frames:
    """A camera over a picture: frame t shows the 320 x 240 window at ``where(t)``, with sensor noise."""
    rng = np.random.default_rng(seed + 1)
    image = picture(seed)
    views = []
    for t in range(length):
        x, y = where(t)
        view = cv2.warpAffine(image, np.array([[1, 0, -x], [0, 1, -y]]), (320, 240), flags=cv2.INTER_CUBIC)
        views.append(np.clip(view + rng.standard_normal(view.shape, np.float32), 0, 255).astype(np.uint8))
    frames = np.stack(views)
    frames.flags.writeable = False
    return frames


def pan(t: int) -> tuple[float, float]:
    return 20 + 4.0 * t, 40 + 1.5 * t


def rest(t: int) -> tuple[float, float]:
    return 60.0, 60.0


def melt(image: Frames, pixels: float) -> Frames:
    y, x = np.mgrid[:240, :320].astype(np.float32)
    dx, dy = pixels * np.sin(y / 9), pixels * np.sin(x / 11)
    return cv2.remap(image, x + dx.astype(np.float32), y + dy.astype(np.float32), cv2.INTER_LINEAR)


def jpeg(image: Frames, quality: int) -> Frames:
    return cv2.imdecode(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_COLOR)


def noisy(image: Frames, sigma: float) -> Frames:
    return np.clip(image + np.random.default_rng(5).normal(0, sigma, image.shape), 0, 255).astype(np.uint8)


DEFECTS: dict[str, Callable[[Frames, int], Frames]] = {
    "blur": lambda f, t: cv2.GaussianBlur(f[t], (0, 0), 1.5),
    "noise": lambda f, t: noisy(f[t], 12),
    "blocking": lambda f, t: jpeg(f[t], 8),
    "ghost": lambda f, t: cv2.addWeighted(f[t], 0.65, f[t - 4], 0.35, 0),
    "warp": lambda f, t: melt(f[t], 3.0),
}


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_spoilt_frame_is_flagged_and_no_other(defect, length):
    clean = filmed(pan)
    frames = clean.copy()
    for t in range(BAD, BAD + length):
        frames[t] = DEFECTS[defect](clean, t)
    assert flagged(frames) == [BAD]


@pytest.mark.slow
def test_clean_motion_is_steady():
    rng = np.random.default_rng(3)
    jolts = rng.normal(0, 2.0, (LENGTH, 2))
    paths = {
        "still": rest,
        "pan": pan,
        "fast pan": lambda t: (10 + 11.0 * t, 60.0),
        "shake": lambda t: (60 + jolts[t, 0], 60 + jolts[t, 1]),
        "turns back": lambda t: (60 + 5.0 * abs(t - BAD), 60.0),
        "stops": lambda t: (60 + 5.0 * min(t, BAD), 60.0),
        "kicked off": lambda t: (60 + 6.0 * max(t - BAD, 0), 60.0),
    }
    assert {name: flagged(filmed(path)) for name, path in paths.items()} == {name: [] for name in paths}


def test_a_bouncing_ball_is_steady():
    frames = filmed(rest).copy()
    for t, frame in enumerate(frames):
        cv2.circle(frame, (40 + 12 * t, 200 - abs(18 * ((t - 4) % 9) - 81)), 22, (230, 40, 40), -1, cv2.LINE_AA)
    assert flagged(frames) == []


@pytest.mark.slow
def test_light_motion_blur_and_cuts_are_steady():
    drift = (filmed(pan) * np.linspace(1, 0.6, LENGTH)[:, None, None, None]).astype(np.uint8)
    assert flagged(drift) == []
    widths = [1 + 2 * min(3, max(0, 5 - abs(t - 8))) for t in range(LENGTH)]  # 1, 3, 5, 7, ... 7, 5, 3, 1 pixels
    speeding = np.stack([cv2.blur(f, (width, 1)) for f, width in zip(filmed(pan), widths, strict=True)])
    assert flagged(speeding) == []
    cut = np.concatenate([filmed(pan)[:BAD], filmed(pan, seed=7)[BAD:]])
    assert flagged(cut) == []


@pytest.mark.slow
def test_a_coded_clip_is_steady():
    frames = filmed(pan, 30)
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=16, options={"crf": "26", "g": "8"})
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, "rgb24")))
        container.mux(stream.encode())
    file.seek(0)
    with av.open(file) as container:
        decoded = np.stack([f.to_ndarray(format="rgb24") for f in container.decode(video=0)])
    assert flagged(decoded) == []


def test_a_repeated_frame_is_flagged_amid_motion_only():
    moving, still = filmed(pan), filmed(rest)
    for frames, expected in ((moving, [BAD]), (still, [])):
        frames = frames.copy()
        frames[BAD] = frames[BAD - 1]
        assert flagged(frames) == expected


def test_a_jump_after_a_freeze_is_flagged():
    frames = filmed(pan).copy()
    frames[6:BAD] = frames[5]
    assert flagged(frames) == [BAD]


def test_animation_on_twos_is_a_style():
    assert flagged(np.repeat(filmed(pan, 12), 2, axis=0)) == []


def test_a_frame_rate_conversion_is_a_cadence_and_scattered_repeats_are_not():
    assert _is_cadence([4, 9, 14, 19, 24, 29], 33)
    assert _is_cadence([2, 10, 16, 30, 37, 43], 49)  # period 7, rounded, one lost
    assert not _is_cadence([3, 5, 14, 29], 33)
    assert not _is_cadence([4, 9, 14], 33)


@pytest.mark.slow
def test_the_level_follows_lasting_quality():
    clean = filmed(pan)
    worse = {
        "noise": np.stack([noisy(f, 20) for f in clean]),
        "blocking": np.stack([jpeg(f, 5) for f in clean]),
    }
    best = scene_with(clean).quality.mean()
    assert all(scene_with(frames).quality.mean() < 0.9 * best for frames in worse.values())


@pytest.mark.slow
def test_mirroring_and_enlarging_change_little():
    frames = filmed(pan).copy()
    frames[BAD] = cv2.GaussianBlur(frames[BAD], (0, 0), 2.0)
    assert flagged(frames[:, :, ::-1]) == [BAD]
    assert flagged(np.stack([cv2.resize(f, (640, 480), interpolation=cv2.INTER_CUBIC) for f in frames])) == [BAD]


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [(8, 8), (24, 200), (160, 120)])
def test_short_and_small_clips_have_a_quality(length, size):
    frames = filmed(pan, length)[:, : size[1], : size[0]]
    quality = scene_with(frames).quality
    assert quality.shape == (length,)
    assert quality.dtype == np.float64
    assert ((quality >= 0) & (quality <= 1)).all()


def test_plain_frames_have_a_quality():
    assert np.isfinite(scene_with(np.full((5, 64, 64, 3), 128, np.uint8)).quality).all()


def test_the_thread_count_does_not_matter():
    frames, threads = filmed(pan), cv2.getNumThreads()
    results = []
    try:
        for count in (1, 3):
            cv2.setNumThreads(count)
            results.append(scene_with(frames).quality)
    finally:
        cv2.setNumThreads(threads)
    np.testing.assert_array_equal(*results)


def test_affine_motion_is_taken_out_and_a_local_one_stays():
    y, x = np.mgrid[-1:1:20j, -1:1:30j]
    field = np.stack([3 + 2 * x - y, -1 + 0.5 * x + y], -1).astype(np.float32)
    np.testing.assert_allclose(without_camera(field), 0, atol=1e-3)
    field[8:12, 12:18] += 2.0
    rest = np.linalg.norm(without_camera(field), axis=-1)
    assert np.median(rest) < 0.05
    assert rest[8:12, 12:18].min() > 2.5


def test_block_borders_stand_out_at_any_size():
    plain = cv2.cvtColor(filmed(pan, 1)[0], cv2.COLOR_RGB2GRAY)
    for block in (6, 8, 16):
        small = cv2.resize(plain, (320 // block, 240 // block), interpolation=cv2.INTER_AREA)
        assert (combs(cv2.resize(small, (320, 240), interpolation=cv2.INTER_NEAREST)) > combs(plain) + 0.5).all()


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(1, 5), st.floats(0, 1), st.integers(0, 99))
def test_neighbour_quantile_leaves_the_frame_out(length, reach, quantile, seed):
    values = np.random.default_rng(seed).normal(size=(length, 2))
    for t, row in enumerate(neighbour_quantile(values, quantile, reach)):
        others = np.delete(values, t, axis=0)[max(0, t - reach) : t + reach]
        np.testing.assert_allclose(row, np.quantile(others, quantile, axis=0) if len(others) else values[t])


def test_a_step_in_level_is_kept_and_a_spike_is_not():
    scene = scene_with(filmed(pan))
    detail, block_borders = appearance(scene)
    spike, step = block_borders.copy(), block_borders.copy()
    spike[BAD : BAD + 3] += 3
    step[BAD:] += 3
    usual = level(detail, block_borders)
    np.testing.assert_allclose(level(detail, spike), usual, atol=0.02)
    assert level(detail, step)[BAD + 1] < 0.5 * usual[BAD + 1]


def test_ramp_by_hand():
    np.testing.assert_allclose(ramp(np.array([0, 1, 1.5, 2, 3.0]), 1, 2), [0, 0, 0.5, 1, 1])


def test_flow_without_held_frames_has_a_map_for_each_pair() -> None:
    frames = moving_frames(4)
    held = np.array([False, False, True, False, False])
    rest, flow = without(scene_with(frames[[0, 1, 1, 2, 3]]).flow, held), scene_with(frames).flow
    for field in ("images", "forward", "backward", "forward_valid", "backward_valid"):
        np.testing.assert_array_equal(getattr(rest, field), getattr(flow, field))
