"""Noise, stills and slides are told from clips in which something moves, of any origin."""

import tracemalloc
from pathlib import Path

import cv2
import numpy as np
import pytest

from benchmarks.footage import FOOTAGE, recordings
from tests.perception.textures import ALIVE, STILL, fresh_noise, moving
from vmmetrics import Suite
from vmmetrics.clip import Clip
from vmmetrics.perception.content import correspondence, find_unjudgeable, spectral_fall
from vmmetrics.video import read_clip
from vmmetrics.video.encoding import write_h264

HEIGHT, WIDTH = 160, 256
SAMPLES = sorted((Path(__file__).parents[1] / "data/samples").rglob("*.mp4"))
SHARED = Path(__file__).parents[2].parent / "shared"
REASON = "nothing moves"


def clip_of(frames: list[np.ndarray], fps: float = 24.0) -> Clip:
    return read_clip(np.stack([np.clip(frame, 0, 255).astype(np.uint8) for frame in frames]), fps=fps)


def kind_of(frames: list[np.ndarray], fps: float = 24.0) -> str | None:
    found = find_unjudgeable(clip_of(frames, fps))
    return None if found is None else found.kind


def coded(frames: list[np.ndarray], path: Path, crf: int) -> Clip:
    write_h264(path, list(clip_of(frames).frames), 12, {"crf": str(crf)})
    return read_clip(path)


@pytest.fixture(scope="module")
def picture() -> np.ndarray:
    return cv2.resize(read_clip(SAMPLES[0]).frames[2], (WIDTH, HEIGHT)).astype(np.float64)


@pytest.fixture(scope="module")
def another() -> np.ndarray:
    return cv2.resize(read_clip(SAMPLES[-1]).frames[2], (WIDTH, HEIGHT)).astype(np.float64)


def fade(first: np.ndarray, last: np.ndarray, frames: int = 12) -> list[np.ndarray]:
    return [first + (last - first) * k / frames for k in range(1, frames)]


def drawn(background: np.ndarray, left: int, side: int = 40) -> np.ndarray:
    frame = background.copy()
    frame[60 : 60 + side, left : left + side] = 255 - frame[60 : 60 + side, 20 : 20 + side]
    return frame


@pytest.mark.parametrize("grain", [1, 2, 4, 8])
@pytest.mark.parametrize("colour", ["rgb", "grey", "binary", "normal", "soft", "pink"])
def test_noise_that_is_new_in_every_frame_is_refused(grain: int, colour: str) -> None:
    assert kind_of(fresh_noise(grain, grain=grain, colour=colour)) == "noise"
    assert kind_of(fresh_noise(grain, size=(320, 180), grain=grain, colour=colour, contrast=0.4)) == "noise"


@pytest.mark.slow
@pytest.mark.parametrize("over", ["logo", "border", "drift"])
@pytest.mark.parametrize("crf", [0, 23, 32])
def test_a_logo_a_border_a_drift_of_light_and_coding_leave_noise_noise(over: str, crf: int, tmp_path: Path) -> None:
    for grain, contrast in ((1, 1.0), (2, 0.6), (4, 0.4), (8, 1.0)):
        frames = fresh_noise(grain, size=(320, 240), grain=grain, contrast=contrast, over=over)
        found = find_unjudgeable(coded(frames, tmp_path / "noise.mp4", crf) if crf else clip_of(frames))
        assert found is not None and found.kind == "noise"


@pytest.mark.parametrize("slope", [0.5, 1.0, 1.5])
def test_noise_of_any_spectrum_is_refused(slope: float) -> None:
    rng = np.random.default_rng(3)
    waves = np.hypot(np.fft.fftfreq(120)[:, None], np.fft.fftfreq(160))
    waves[0, 0] = 1
    white = rng.normal(size=(16, 120, 160))
    frames = np.fft.ifft2(np.fft.fft2(white) / waves**slope).real
    frames = 128 + 45 * (frames - frames.mean()) / frames.std()
    assert kind_of([np.repeat(frame[..., None], 3, 2) for frame in frames]) == "noise"


@pytest.mark.parametrize("colour", ["grey", "soft", "pink", "binary"])
def test_noise_of_coarse_grain_is_refused(colour: str) -> None:
    assert kind_of(fresh_noise(12, size=(160, 120), frames=16, grain=12, colour=colour)) == "noise"


def test_noise_in_a_wide_frame_and_between_black_frames_is_refused() -> None:
    rng = np.random.default_rng(0)
    assert kind_of([rng.normal(128, 50, (16, 200, 3)) for _ in range(12)]) == "noise"
    assert kind_of([rng.normal(128, 50, (120, 160, 3)) * (t % 2) for t in range(16)]) == "noise"


def test_noise_of_which_each_frame_is_shown_twice_is_refused() -> None:
    assert kind_of([frame for frame in fresh_noise(0, grain=2) for _ in range(2)]) == "noise"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["pan", "zoom", "mover"])
@pytest.mark.parametrize("texture", STILL)
def test_a_texture_that_moves_is_judged(texture: str, how: str) -> None:
    for seed, (scale, share) in enumerate(((5, 0.02), (5, 0.2), (10, 0.05), (10, 0.1), (20, 0.01), (20, 0.2))):
        share = min(share, 0.1) if how == "zoom" else share
        frames = moving(texture, seed, scale=scale, share=share, how=how, size=(320, 240) if seed % 2 else (256, 256))
        assert kind_of(frames) is None, (scale, share)


@pytest.mark.slow
@pytest.mark.parametrize("texture", STILL)
def test_a_texture_that_moves_farther_than_blocks_are_matched_is_judged(texture: str) -> None:
    for share in (0.3, 0.5):
        assert kind_of(moving(texture, 3, scale=10, share=share, how="pan", size=(320, 240))) is None, share
    large = STILL[texture](np.random.default_rng(1), 480, 640, 10.0)
    for angle, zoom in ((10, 1.0), (20, 1.0), (40, 1.0), (0, 1.3)):
        views = [cv2.getRotationMatrix2D((320, 240), angle * t, zoom ** (t - 2)) for t in range(5)]
        frames = [cv2.warpAffine(large, view, (640, 480), borderMode=cv2.BORDER_REFLECT) for view in views]
        assert kind_of([frame[120:360, 160:480] for frame in frames]) is None, (angle, zoom)


@pytest.mark.slow
@pytest.mark.parametrize("texture", ALIVE)
def test_a_texture_that_deforms_or_consists_of_many_things_is_judged(texture: str) -> None:
    for seed, (scale, share) in enumerate(((5, 0.005), (5, 0.01), (10, 0.01), (20, 0.01), (20, 0.025))):
        share *= 4 if texture in ("waves", "rain") else 1
        assert kind_of(moving(texture, seed, scale=scale, share=share)) is None, (scale, share)


@pytest.mark.slow
@pytest.mark.parametrize("texture", [*STILL, *ALIVE])
def test_a_coded_texture_is_judged(texture: str, tmp_path: Path) -> None:
    frames = moving(texture, 7, scale=8, share=0.01, size=(640, 360))
    assert find_unjudgeable(coded(frames, tmp_path / "texture.mp4", 32)) is None


def test_correspondence_is_1_where_all_moves_alike_and_0_by_chance() -> None:
    rng = np.random.default_rng(0)
    for grain in (1, 4, 8):
        first, second = (np.kron(rng.integers(0, 256, (144 // grain, 256 // grain)), np.ones((grain, grain)))
                         .astype(np.uint8) for _ in range(2))  # fmt: skip
        assert correspondence(first, np.roll(first, (4, 6), (0, 1))) == pytest.approx(1, abs=0.1)
        assert correspondence(first, second) == pytest.approx(0, abs=0.15)
    assert correspondence(first * 0, second) is None


def test_a_single_frame_is_judged() -> None:
    assert kind_of(fresh_noise(0, frames=1)) is None


def test_the_power_of_white_noise_is_even_and_of_a_brownian_picture_falls_with_the_square() -> None:
    rng = np.random.default_rng(3)
    falls = {0: [], 1: []}
    waves = np.hypot(np.fft.fftfreq(256)[:, None], np.fft.fftfreq(256))
    waves[0, 0] = 1
    for exponent, found in falls.items():
        for _ in range(8):
            values = np.fft.ifft2(np.fft.fft2(rng.standard_normal((256, 256))) / waves**exponent).real
            values = 255 * (values - values.min()) / np.ptp(values)
            found.append(spectral_fall(values.astype(np.uint8)))
    assert np.mean(falls[0]) == pytest.approx(0, abs=0.5)
    assert np.mean(falls[1]) == pytest.approx(6, abs=0.8)  # three octaves of 1/f²; the window spreads the lowest waves


@pytest.mark.parametrize("crf", [18, 35])
def test_a_still_stays_one_under_a_codec_and_sensor_noise(picture: np.ndarray, crf: int, tmp_path: Path) -> None:
    write_h264(tmp_path / "still.mp4", [picture.astype(np.uint8)] * 30, 24, {"crf": str(crf)})
    found = find_unjudgeable(read_clip(tmp_path / "still.mp4"))
    assert found is not None and found.kind == "still" and "all 30 frames" in found.reason
    rng = np.random.default_rng(0)
    assert kind_of([picture + rng.normal(0, 5, picture.shape) for _ in range(30)]) == "still"


def test_slides_change_by_cuts_and_fades_of_the_whole_picture(picture: np.ndarray, another: np.ndarray) -> None:
    assert kind_of([picture] * 15 + [another] * 15) == "slides"
    assert kind_of([picture] * 15 + fade(picture, another) + [another] * 15) == "slides"
    assert kind_of([*fade(0 * picture, picture), *[picture] * 15]) == "slides"


def test_a_text_card_that_fades_in_is_a_slide() -> None:
    plain = np.full((HEIGHT, WIDTH, 3), 20, np.uint8)
    card = cv2.putText(plain.copy(), "THE END", (40, 90), cv2.FONT_HERSHEY_SIMPLEX, 1.2, (240, 240, 240), 3)
    plain, card = plain.astype(np.float64), card.astype(np.float64)
    assert kind_of([card] * 24) == "still"
    assert kind_of([plain] * 12 + fade(plain, card) + [card] * 15) == "slides"


def test_what_moves_jumps_vanishes_or_stutters_is_judged(picture: np.ndarray) -> None:
    assert kind_of([drawn(picture, 20 + 2 * t) for t in range(30)]) is None
    assert kind_of([picture] * 15 + [drawn(picture, 20 + 2 * t) for t in range(10)] + [picture] * 15) is None
    assert kind_of([drawn(picture, 20)] * 15 + [drawn(picture, 150)] * 15) is None  # jumps in a picture that stays
    assert kind_of([drawn(picture, 150)] * 15 + [picture] * 15) is None
    assert kind_of([np.roll(picture, 24 * (t // 6), axis=1) for t in range(36)]) is None  # new picture every 0.25 s


def test_a_camera_over_a_still_is_judged(picture: np.ndarray) -> None:
    assert kind_of([np.roll(picture, 2 * t, axis=1) for t in range(24)]) is None


@pytest.mark.slow
def test_samples_and_footage_are_judged_at_every_speed() -> None:
    shared = [FOOTAGE / item.file for item in recordings("train", "validation")[::27]] if FOOTAGE.is_dir() else []
    rated = sorted((SHARED / "fetv-dev/clips").glob("*.*"))[::24]
    clips = [path for path in (*SAMPLES, *shared, *rated) if path.suffix in (".mp4", ".gif", ".webm", ".mkv", ".avi")]
    assert len(clips) >= len(SAMPLES) >= 7
    refused = []
    for path in clips:
        clip = read_clip(path)
        for speed in (1, 6):
            found = find_unjudgeable(read_clip(clip.frames[::speed], fps=clip.fps))
            refused += [(path.name, speed, found.kind)] if found else []
    assert refused == []


def test_a_suite_gives_the_reason_instead_of_scores(picture: np.ndarray) -> None:
    suite = Suite()
    still = suite.score_clip(clip_of([picture] * 12))
    assert still.scores == {"pas": 0.0} and not still.errors
    assert set(still.missing) == {"cas", "mss", "ois", "tcs"}
    assert all(reason.startswith(REASON) for reason in still.missing.values())
    of_noise = suite.score_clip(clip_of(fresh_noise(0)))
    assert not of_noise.scores and len(of_noise.missing) == 5


def test_the_released_protocol_scores_whatever_it_is_given(picture: np.ndarray) -> None:
    found = Suite(protocol="vmbench", metrics=("mss",)).score_clip(clip_of([picture] * 12))
    assert found.scores == {"mss": 1.0}


@pytest.mark.slow
def test_a_clip_one_pixel_wide_takes_little_memory() -> None:
    frames = np.random.default_rng(0).integers(0, 255, (3, 4000, 1, 3), np.uint8)
    tracemalloc.start()
    try:
        find_unjudgeable(Clip(frames, timestamps=np.arange(3) / 8, fps=8.0))
        assert tracemalloc.get_traced_memory()[1] < 300e6
    finally:
        tracemalloc.stop()
