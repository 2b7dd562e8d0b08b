from __future__ import annotations

import cv2
import numpy as np
import pytest

from vmmetrics.functional.curation import (
    CAMERA_KINDS,
    border_share,
    camera_kind,
    camera_speeds,
    card_frames,
    find_cuts,
    find_fades,
)

SIZE = (256, 144)


def scene(seed: int, shift: float = 0.0) -> np.ndarray:
    """A frame (144, 256) of smooth random shapes, shifted by pixels."""
    wide = np.random.default_rng(seed).normal(0, 1, (144, 400)).astype(np.float32)
    smooth = cv2.GaussianBlur(wide, (0, 0), 9)
    smooth = 128 + 45 * smooth / smooth.std()
    moved = cv2.warpAffine(smooth, np.float32([[1, 0, -shift], [0, 1, 0]]), SIZE)
    return np.clip(moved, 0, 255).astype(np.uint8)


def shot(seed: int, count: int, speed: float = 2.0) -> np.ndarray:
    return np.stack([scene(seed, speed * n) for n in range(count)])


def lit(frames: np.ndarray, light: np.ndarray, to: float = 0.0) -> np.ndarray:
    mixed = frames * light[:, None, None] + to * (1 - light[:, None, None])
    return np.clip(np.rint(mixed), 0, 255).astype(np.uint8)


def seconds(count: int, fps: float = 25.0) -> np.ndarray:
    return np.arange(count) / fps


def test_cuts_are_where_shots_are_joined() -> None:
    joined = np.concatenate([shot(1, 12), shot(2, 9), shot(3, 7)])
    assert find_cuts(joined).tolist() == [12, 21]


@pytest.mark.parametrize("speed", [0.0, 2.0, 8.0])
def test_motion_is_no_cut(speed: float) -> None:
    assert len(find_cuts(shot(1, 15, speed))) == 0


def test_neither_flash_nor_fade_nor_dissolve_is_a_cut() -> None:
    frames = shot(1, 40)
    flash = frames.copy()
    flash[20] = np.clip(frames[20].astype(int) + 60, 0, 255)
    assert len(find_cuts(flash)) == 0
    assert len(find_cuts(lit(frames, np.linspace(1, 0, 40)))) == 0
    share = np.clip(np.linspace(-0.5, 1.5, 40), 0, 1)[:, None, None]
    assert len(find_cuts(np.rint(frames * (1 - share) + shot(2, 40) * share).astype(np.uint8))) == 0


def test_one_frame_has_no_cut() -> None:
    assert len(find_cuts(shot(1, 1))) == 0


@pytest.mark.parametrize("level", [0.0, 255.0])
def test_a_fade_ends_at_the_first_plain_frame(level: float) -> None:
    frames, light = shot(1, 60), np.ones(60)
    light[40:55], light[55:] = np.linspace(1, 0, 15), 0
    assert find_fades(lit(frames, light, level), seconds(60)).tolist() == [53]
    assert find_fades(lit(frames, light, level)[::-1], seconds(60)).tolist() == [6]


def test_a_fade_out_and_in_are_two() -> None:
    light = np.abs(np.linspace(-1, 1, 41))
    frames = lit(shot(1, 61), np.concatenate([np.ones(10), light, np.ones(10)]))
    assert len(find_fades(frames, seconds(61))) == 2


def test_a_cut_to_black_or_a_change_of_light_is_no_fade() -> None:
    frames, black = shot(1, 40), np.ones(40)
    black[25:] = 0
    assert len(find_fades(lit(frames, black), seconds(40))) == 0
    assert len(find_fades(lit(frames, np.linspace(1, 0.5, 40)), seconds(40))) == 0
    assert len(find_fades(frames, seconds(40))) == 0


def test_letterbox_and_pillarbox_are_measured_to_the_row() -> None:
    frames = shot(1, 10)
    wide, tall = frames.copy(), frames.copy()
    wide[:, :18] = wide[:, -18:] = 0
    tall[:, :, :32] = tall[:, :, -32:] = 255
    assert border_share(wide) == pytest.approx(36 / 144)
    assert border_share(tall) == pytest.approx(64 / 256)
    assert border_share(frames) == 0
    tall[:, :18] = tall[:, -18:] = 255
    assert border_share(tall) == pytest.approx(1 - (192 * 108) / (256 * 144))


def test_sky_and_night_are_no_borders() -> None:
    sky, ridge = shot(1, 10), 30 + (10 * np.sin(np.arange(256) / 9)).astype(int)
    for column, height in enumerate(ridge):
        sky[:, :height, column] = 235
    assert border_share(sky) == 0
    assert border_share(np.zeros((5, 144, 256), np.uint8)) is None


def card(lines: list[str], ink: int = 255, ground: int = 10) -> np.ndarray:
    frame = np.full((720, 1280), ground, np.uint8)
    for row, line in enumerate(lines):
        cv2.putText(frame, line, (160, 260 + 110 * row), cv2.FONT_HERSHEY_SIMPLEX, 2.0, ink, 5, cv2.LINE_AA)
    return cv2.resize(frame, SIZE, interpolation=cv2.INTER_AREA)


def test_text_on_a_plain_ground_is_a_card_and_a_picture_is_none() -> None:
    cards = np.stack([card(["A film by nobody", "in two parts"]), card(["Chapter twelve: home"], 20, 240)])
    assert card_frames(cards).all()
    disc = np.full((144, 256), 40, np.uint8)
    cv2.circle(disc, (128, 72), 40, 220, -1)
    assert not card_frames(np.stack([scene(1), disc, np.full((144, 256), 40, np.uint8)])).any()


# The camera by hand: translations, sizes and turns that are known.


def homography(dx: float = 0.0, dy: float = 0.0, size: float = 1.0, turn: float = 0.0) -> np.ndarray:
    """A motion about the frame's centre: a turn in degrees and a change of size, then a shift."""
    cx, cy = (SIZE[0] - 1) / 2, (SIZE[1] - 1) / 2
    c, s = size * np.cos(np.radians(turn)), size * np.sin(np.radians(turn))
    return np.array([[c, -s, cx + dx - c * cx + s * cy], [s, c, cy + dy - s * cx - c * cy], [0, 0, 1]])


def speeds(*models: np.ndarray, step: float = 0.2) -> dict[str, float]:
    return dict(camera_speeds(np.stack(models), np.full(len(models), step), SIZE))


@pytest.mark.parametrize(
    ("model", "kind", "speed"),
    [
        (homography(dx=-5.12), "pan", 0.1),  # 0.02 widths in 0.2 s
        (homography(dy=2.88), "tilt", 0.1),
        (homography(size=1.02), "zoom", np.expm1(np.log(1.02) * 5)),
        (homography(size=1 / 1.02), "zoom", np.expm1(np.log(1.02) * 5)),
        (homography(turn=-1.5), "roll", 7.5),
    ],
)
def test_each_kind_of_camera_motion_has_its_speed(model: np.ndarray, kind: str, speed: float) -> None:
    found = speeds(*[model] * 10)
    assert found[kind] == pytest.approx(speed, rel=1e-6)
    assert all(value == pytest.approx(0, abs=1e-6) for name, value in found.items() if name != kind)
    assert camera_kind(found, SIZE) == kind


def test_a_camera_that_trembles_shakes_and_one_that_rests_is_still() -> None:
    found = speeds(*[homography(dx=3 * (-1) ** n) for n in range(20)])
    assert camera_kind(found, SIZE) == "shake"
    assert camera_kind(speeds(*[homography()] * 5), SIZE) == "still"
    assert set(found) | {"still"} == set(CAMERA_KINDS)


def test_there_and_back_is_a_pan() -> None:
    found = speeds(*[homography(dx=6 if n < 20 else -6) for n in range(40)])
    assert camera_kind(found, SIZE) == "pan"
