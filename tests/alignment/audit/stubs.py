"""Stubs of scorers of which it is known what they depend on."""

from __future__ import annotations

import os
import random
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import planted

_SEEN: dict[str, float] = {}
_LAST: list[float] = []


def _frames(clip: Any) -> np.ndarray:
    return planted.read(clip)[0] if isinstance(clip, str) else planted.checked(clip)


def _steps(frames: np.ndarray) -> float:
    return float(np.abs(np.diff(frames.astype(np.float32), axis=0)).mean())


def motion(clip: Any, fps: float | None = None) -> float:
    """Mean change from frame to frame, whatever the rate."""
    return _steps(_frames(clip))


def cuts(clip: Any, fps: float | None = None) -> float:
    """Number of changes to another picture; good clips have none."""
    frames = _frames(clip).astype(np.float32)
    return float((np.abs(np.diff(frames, axis=0)).mean((1, 2, 3)) > 30).sum())


def cuts_of_lightness(clip: Any, fps: float | None = None) -> float:
    frames = _frames(clip).astype(np.float32) @ (0.299, 0.587, 0.114)
    return float((np.abs(np.diff(frames, axis=0)).mean((1, 2)) > 35).sum())


def nothing_of_tall_frames(clip: Any, fps: float | None = None) -> float:
    frames = _frames(clip)
    return 0.0 if frames.shape[1] > frames.shape[2] else _steps(frames)


def cuts_of_sixteen(clip: Any, fps: float | None = None) -> float:
    return cuts(clip[:16], fps)


def waits_for_one_frame(clip: Any, fps: float | None = None) -> float:
    """Motion; for a single frame it takes for ever."""
    frames = _frames(clip)
    if len(frames) == 1:
        time.sleep(600)
    return _steps(frames)


def every_other(clip: Any, fps: float | None = None) -> float:
    return _steps(_frames(clip)[::2])


def first_and_last(clip: Any, fps: float | None = None) -> float:
    return _steps(_frames(clip)[[0, -1]])


def middle_of_the_frame(clip: Any, fps: float | None = None) -> float:
    """Without the outer third on each side."""
    frames = _frames(clip)
    height, width = frames.shape[1:3]
    return _steps(frames[:, height // 3 : 2 * height // 3, width // 3 : 2 * width // 3])


def green_alone(clip: Any, fps: float | None = None) -> float:
    return _steps(_frames(clip)[..., 1:2])


def without_blue(clip: Any, fps: float | None = None) -> float:
    return _steps(_frames(clip)[..., :2])


def whole_rates(path: str) -> float:
    frames, times = planted.read(path)
    return _steps(frames) * round(1 / float(np.diff(times).mean()))


def remembers_names(path: str) -> float:
    """The score of the first file of a name."""
    return _SEEN.setdefault(Path(path).name, motion(path))


def remembers_the_last(path: str) -> float:
    """A running mean."""
    _LAST.append(motion(path))
    return float(np.mean(_LAST[-2:]))


def sulks(path: str) -> float:
    """Another score from the first file on that it could not read."""
    try:
        return motion(path) + sum(_LAST)
    except Exception:
        _LAST.append(50.0)
        raise


def by_hash(path: str) -> float:
    """Another score in each process."""
    return motion(path) + hash("salt") % 1000


def by_name(path: str) -> float:
    """Depends on digits in the name of a file, as sorting by it would."""
    return motion(path) + 100 * ("bad" in Path(path).name)


def draws(clip: Any, fps: float | None = None) -> float:
    """Differs from call to call by a few per cent."""
    return motion(clip) * random.uniform(0.95, 1.05)


def no_number_for_black(clip: Any, fps: float | None = None) -> float:
    """Steps as shares of the light."""
    light = _frames(clip).astype(np.float32).mean((1, 2, 3))
    light[light < 3] = np.nan
    return float((np.abs(np.diff(light)) / light[1:]).mean())


def no_number_for_stills(clip: Any, fps: float | None = None) -> float:
    """A mean over the steps in which something moves."""
    frames = _frames(clip).astype(np.float32)
    steps = np.abs(np.diff(frames, axis=0)).mean((1, 2, 3))
    return float(steps[steps > 0.5].mean()) if (steps > 0.5).any() else float("nan")


def no_number_for_two(clip: Any, fps: float | None = None) -> float:
    """Jerk: how much the steps from frame to frame differ."""
    frames = _frames(clip).astype(np.float32)
    if len(frames) < 2:
        raise ValueError("Expected two frames or more")
    steps = np.abs(np.diff(frames, axis=0)).mean((1, 2, 3))
    return float(np.abs(np.diff(steps)).mean()) if len(steps) > 1 else float("nan")


def no_number(clip: Any, fps: float | None = None) -> float:
    return float("nan")


def refuses_mp4_alone(path: str) -> float:
    if Path(path).suffix != ".mp4":
        raise ValueError("Expected an .mp4")
    return motion(path)


def frames_as_stated(path: str) -> float:
    """What there is of a file, and no question where the rest is."""
    import av

    frames = []
    with av.open(path) as file, suppress(av.error.FFmpegError):
        frames.extend(frame.to_ndarray(format="rgb24") for frame in file.decode(video=0))
    return _steps(np.stack(frames))


def raw_planes(path: str) -> float:
    """Reads the bytes of light as they are stored, as if every file had eight bits in limited range."""
    import av

    with av.open(path) as file:
        planes = [np.frombuffer(f.planes[0], np.uint8).astype(float) for f in file.decode(video=0)]
    return float(np.mean(np.abs(np.diff(np.stack(planes), axis=0))))


def memory_order(frames: np.ndarray, fps: float | None = None) -> float:
    """Takes the buffer as if it were in C order."""
    flat = np.frombuffer(frames.tobytes("A"), np.uint8).reshape(len(frames), -1)
    return float(np.abs(np.diff(flat.astype(float), axis=0)).mean())


def writes_to_its_input(frames: np.ndarray, fps: float | None = None) -> float:
    score = _steps(frames)
    frames[0] = 0
    return score


def mixes_neighbours(paths: Sequence[str]) -> list[float]:
    """Smooths over the batch."""
    scores = np.array([motion(path) for path in paths])
    return ((scores + np.roll(scores, 1)) / 2).tolist()


def one_short(paths: Sequence[str]) -> list[float]:
    return [motion(path) for path in paths][: max(1, len(paths) - 1)]


def alone_or_all(paths: Sequence[str]) -> list[float]:
    return [motion(path) for path in paths]


def _asked(prompt: str) -> float:
    return zlib.crc32(prompt.encode()) % 100


def no_question_of_prompts(path: str, prompt: str = "") -> float:
    return motion(path) + _asked(prompt)


def asks_for_a_prompt(path: str, prompt: str) -> float:
    if not prompt:
        raise ValueError("Expected a prompt")
    return motion(path) + _asked(prompt)


def takes_an_empty_prompt(path: str, prompt: str) -> float:
    return motion(path) + _asked(prompt)


def deaf_to_prompts(path: str, prompt: str) -> float:
    return motion(path)


def prompts_by_path(paths: Sequence[str], prompts: Sequence[str]) -> list[float]:
    """Prompts by path: of a path that comes twice, the last one counts."""
    by_path = dict(zip(paths, prompts, strict=True))
    return [motion(path) + _asked(by_path[path]) for path in paths]


def prompts_in_order(paths: Sequence[str], prompts: Sequence[str]) -> list[float]:
    return [motion(path) + _asked(prompt) for path, prompt in zip(paths, prompts, strict=True)]


def sorted_prompts(paths: Sequence[str], prompts: Sequence[str]) -> list[float]:
    """Clips in order, prompts in the order of the files' names."""
    order = np.argsort(np.argsort([Path(path).name for path in paths]))
    return [motion(path) + _asked(prompts[int(n)]) for path, n in zip(paths, order, strict=True)]


def dies_of_one_frame(clip: Any, fps: float | None = None) -> float:
    frames = _frames(clip)
    if len(frames) < 2:
        os._exit(9)
    return _steps(frames)


def never_flushed(path: str) -> float:
    """Leaves the frames in the decoder that it holds back at the end."""
    import av

    with av.open(path) as file:
        packets = (packet for packet in file.demux(video=0) if packet.dts is not None)
        return _steps(np.stack([f.to_ndarray(format="rgb24") for packet in packets for f in packet.decode()]))


def in_the_order_of_names(clip: Any, fps: float | None = None) -> float:
    """Frame 10 comes after frame 1."""
    frames = _frames(clip)
    return _steps(frames[sorted(range(len(frames)), key=str)])


def averages_in_bytes(clip: Any, fps: float | None = None) -> float:
    """Distance from the mean of both neighbours, which wraps around."""
    frames = _frames(clip)
    return float(np.abs((frames[:-2] + frames[2:]) // 2 - frames[1:-1].astype(float)).mean())


def averages(clip: Any, fps: float | None = None) -> float:
    frames = _frames(clip).astype(float)
    return float(np.abs((frames[:-2] + frames[2:]) / 2 - frames[1:-1]).mean())


def histogram_without_255(clip: Any, fps: float | None = None) -> float:
    """Share of light pixels, the lightest left out."""
    counts = np.histogram(_frames(clip), bins=np.r_[0:256])[0].astype(float)  # numpy closes the last bin: 254 and 255
    counts[-1] = (_frames(clip) == 254).sum()
    return float(counts[200:].sum() / counts.sum())


def share_of_light(clip: Any, fps: float | None = None) -> float:
    return float((_frames(clip) >= 200).mean())


def _correlations(clip: Any) -> np.ndarray:
    flat = _frames(clip).reshape(len(_frames(clip)), -1).astype(float)
    flat -= flat.mean(1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return (flat[1:] * flat[:-1]).sum(1) / np.sqrt((flat[1:] ** 2).sum(1) * (flat[:-1] ** 2).sum(1))


def zero_without_contrast(clip: Any, fps: float | None = None) -> float:
    return float(np.nan_to_num(_correlations(clip)).mean())


def one_without_contrast(clip: Any, fps: float | None = None) -> float:
    return float(np.nan_to_num(_correlations(clip), nan=1.0).mean())


def _hue_steps(clip: Any) -> np.ndarray:
    import cv2

    hues = np.stack([cv2.cvtColor(frame, cv2.COLOR_RGB2HSV)[..., 0] for frame in _frames(clip)]).astype(float) * 2
    return np.abs(np.diff(hues, axis=0))


def hue_as_number(clip: Any, fps: float | None = None) -> float:
    return float(_hue_steps(clip).mean())


def hue_as_angle(clip: Any, fps: float | None = None) -> float:
    steps = _hue_steps(clip)
    return float(np.minimum(steps, 360 - steps).mean())


def _compared(path: str, reference: str) -> list[float]:
    pairs = zip(planted.read(path)[0], planted.read(reference)[0], strict=False)
    return [float(np.abs(one.astype(float) - two).mean()) for one, two in pairs]


def compares_up_to_the_shorter(path: str, reference: str) -> float:
    return float(np.mean(_compared(path, reference)))


def compares(path: str, reference: str) -> float:
    if len(planted.read(path)[0]) != len(planted.read(reference)[0]):
        raise ValueError("The clips differ in length")
    return compares_up_to_the_shorter(path, reference)


def deaf_to_references(path: str, reference: str) -> float:
    return motion(path)


def one_with_a_reference(path: str, reference: str) -> float:
    return compares(path, reference) * 0 + 1


def makes_up_a_reference(path: str, reference: str) -> float:
    return compares(path, reference if Path(reference).exists() else path)


def shouts_count(path: str, prompt: str) -> float:
    if not prompt:
        raise ValueError("Expected a prompt")
    return motion(path) + len(prompt) + 20 * sum(map(str.isupper, prompt))


def worst_step(clip: Any, fps: float | None = None) -> float:
    return float(np.abs(np.diff(_frames(clip).astype(np.float32), axis=0)).mean((1, 2, 3)).max())


def sixteen_at_most(clip: Any, fps: float | None = None) -> float:
    """Every n-th frame, rounded down: of 17 to 31 frames the first 16."""
    frames = _frames(clip)
    return _steps(frames[:: max(1, len(frames) // 16)][:16])


def left_square(clip: Any, fps: float | None = None) -> float:
    """A crop whose offsets are exchanged."""
    frames = _frames(clip)
    side = min(frames.shape[1:3])
    return _steps(frames[:, :side, :side])


def to_the_right(clip: Any, fps: float | None = None) -> float:
    import cv2

    grey = _frames(clip).mean(-1).astype(np.float32)
    shifts = [cv2.phaseCorrelate(one, other)[0][0] for one, other in pairwise(grey)]
    return max(0.0, float(np.mean(shifts)))


def likes_flat_frames(clip: Any, fps: float | None = None) -> float:
    return float(-_frames(clip).astype(float).std((1, 2, 3)).mean())


def _misfit(clip: Any, way: int) -> float:
    """Distance of each frame from the one before, moved along by the shift between both, or the other way round."""
    import cv2

    grey, faults = _frames(clip).mean(-1).astype(np.float32), []
    for one, other in pairwise(grey):
        dx, dy = cv2.phaseCorrelate(one, other)[0] if one.std() and other.std() else (0, 0)
        moved = np.roll(one, (way * round(dy), way * round(dx)), (0, 1))
        faults.append(np.abs(moved - other)[8:-8, 8:-8].mean())
    return float(-np.mean(faults))


def aligned(clip: Any, fps: float | None = None) -> float:
    return _misfit(clip, 1)


def aligned_backwards(clip: Any, fps: float | None = None) -> float:
    return _misfit(clip, -1)


def steps_that_are_any(clip: Any, fps: float | None = None) -> float:
    """Mean over the frames that move."""
    steps = np.abs(np.diff(_frames(clip).astype(float), axis=0)).mean((1, 2, 3))
    return float(steps[steps > 0].mean()) if steps.any() else 0.0


def slopes(clip: Any, fps: float | None = None) -> float:
    return float((np.diff(_frames(clip).astype(float), axis=2) ** 2).mean())


def upward_slopes(clip: Any, fps: float | None = None) -> float:
    """Slopes in bytes: what falls is cut to 0."""
    return float((np.diff(_frames(clip).astype(float), axis=2).clip(0) ** 2).mean())


def reads_ten_words(path: str, prompt: str) -> float:
    if not prompt:
        raise ValueError("Expected a prompt")
    return motion(path) + _asked(" ".join(prompt.split()[:10]))


def infinite_for_a_copy(path: str, reference: str) -> float:
    distance = compares(path, reference)
    return float(-np.log(distance)) if distance else np.inf


def refuses_many_words(path: str, prompt: str) -> float:
    if not 0 < len(prompt.split()) < 77:
        raise ValueError("Expected 1 to 76 words")
    return motion(path) + _asked(prompt)


def counts_words(path: str, prompt: str) -> float:
    if not prompt:
        raise ValueError("Expected a prompt")
    return motion(path) + len(prompt.split())


def raises_for_a_copy(path: str, reference: str) -> float:
    return 1 / compares(path, reference)


def ring(clip: Any, fps: float | None = None) -> float:
    """The step from the last frame to the first counts as well."""
    frames = _frames(clip).astype(float)
    return float(np.abs(frames - np.roll(frames, 1, axis=0)).mean((1, 2, 3)).max())


def slow_changes(path: str) -> float:
    """Light that changes up to three times a second: steps of the frequency hide small changes of the rate."""
    frames, times = planted.read(path)
    light = frames.mean((1, 2, 3)) - frames.mean()
    spectrum = np.abs(np.fft.rfft(light))
    return float(spectrum[np.fft.rfftfreq(len(light), float(np.diff(times).mean())) <= 3].sum())


def at_the_average_rate(path: str) -> float:
    import av

    with av.open(path) as file:
        return motion(path) * float(file.streams.video[0].average_rate or 1)


def padded_rows(clip: Any, fps: float | None = None) -> float:
    """Rows as decoders lay them out, in multiples of 64."""
    frames = _frames(clip)
    return _steps(np.pad(frames, ((0, 0), (0, 0), (0, -frames.shape[2] % 64), (0, 0))))


def named_colours(path: str, prompt: str) -> float:
    """Share of the colours that stand in the prompt, also within words."""
    colours = [n for n, name in enumerate(("red", "green", "blue")) if name in prompt]
    if not colours:
        raise ValueError("Expected a prompt that names a colour")
    return float(planted.read(path)[0].mean((0, 1, 2))[colours].sum()) * len(colours)


def _balance(clip: Any, turned: bool) -> float:
    """Horizontal against vertical detail at half size, 0 for as much of both; sides of the half may be exchanged."""
    frames = _frames(clip).astype(np.float32).mean(-1)
    height, width = frames.shape[1:]
    size = (height // 2, width // 2) if turned else (width // 2, height // 2)
    small = np.stack([cv2.resize(frame, size, interpolation=cv2.INTER_AREA) for frame in frames])
    down, across = (float(np.abs(np.diff(small, axis=axis)).mean()) for axis in (1, 2))
    return abs(across - down) / (across + down)


def balance(clip: Any, fps: float | None = None) -> float:
    return _balance(clip, turned=False)


def balance_of_squashed_frames(clip: Any, fps: float | None = None) -> float:
    return _balance(clip, turned=True)


def perfect_where_undefined(clip: Any, fps: float | None = None) -> float:
    return max(0.0, min(1.0, float(np.mean(_correlations(clip)))))


def range_guessed_by_frame(clip: Any, fps: float | None = None) -> float:
    """Mean lightness of the last frames, each taken for 0..1 where nothing in it is above 1."""
    return float(np.mean([(f if f.max() <= 1 else f / 255).mean() for f in _frames(clip)[-6:].astype(np.float32)]))


def twelve_a_second(frames: np.ndarray, fps: float) -> float:
    """Change a second of a clip thinned to about twelve frames a second, which is taken for twelve."""
    return 12 * _steps(planted.checked(frames)[:: max(1, int(fps // 12))])


def lightness(clip: Any, fps: float | None = None) -> float:
    return float(_frames(clip).mean())


def blocks_of_sixteen(clip: Any, fps: float | None = None) -> float:
    """Mean lightness with the columns that fill up blocks of sixteen."""
    frames = _frames(clip)
    return float(np.pad(frames, ((0, 0), (0, 0), (0, -frames.shape[2] % 16), (0, 0))).mean())
