"""Noise, stills and slides are told from clips in which something moves, of any origin."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from vmmetrics import Suite
from vmmetrics.clip import Clip
from vmmetrics.perception.content import LEAST_FALL, find_unjudgeable, spectral_fall
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


def noise(seed: int, grain: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (HEIGHT // grain, WIDTH // grain, 3)).astype(np.float64)
    return np.kron(small, np.ones((grain, grain, 1)))


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


@pytest.mark.parametrize("grain", [1, 2, 4])
def test_noise_is_noise_still_moving_or_new_in_every_frame(grain: int) -> None:
    background, patch = noise(0, grain), noise(1, grain)[:60, :80]
    moving = []
    for t in range(24):
        frame = background.copy()
        frame[50:110, 4 * t : 4 * t + 80] = patch
        moving.append(frame)
    assert kind_of(moving) == kind_of([background] * 24) == "noise"
    assert kind_of([noise(t, grain) for t in range(24)]) == "noise"


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


def test_samples_and_rated_and_real_clips_are_judged() -> None:
    folders = (sorted((SHARED / name).glob("*.*")) for name in ("fetv-dev/clips", "real-clips", "real-clips-2"))
    shared = [path for files in folders for path in files[::8]]
    clips = [path for path in (*SAMPLES, *shared) if path.suffix in (".mp4", ".gif", ".webm")]
    assert len(clips) >= len(SAMPLES) >= 7
    assert [path.name for path in clips if find_unjudgeable(read_clip(path)) is not None] == []


def test_the_flattest_sample_is_far_from_noise() -> None:
    falls = [spectral_fall(cv2.cvtColor(read_clip(p).frames[0], cv2.COLOR_RGB2GRAY)) for p in SAMPLES]
    assert min(fall for fall in falls if fall is not None) > LEAST_FALL + 0.5


def test_a_suite_gives_the_reason_instead_of_scores(picture: np.ndarray) -> None:
    suite = Suite()
    still = suite.score_clip(clip_of([picture] * 12))
    assert still.scores == {"pas": 0.0} and not still.errors
    assert set(still.missing) == {"cas", "mss", "ois", "tcs"}
    assert all(reason.startswith(REASON) for reason in still.missing.values())
    of_noise = suite.score_clip(clip_of([noise(t) for t in range(8)]))
    assert not of_noise.scores and len(of_noise.missing) == 5


def test_the_released_protocol_scores_whatever_it_is_given(picture: np.ndarray) -> None:
    found = Suite(protocol="vmbench", metrics=("mss",)).score_clip(clip_of([picture] * 12))
    assert found.scores == {"mss": 1.0}
