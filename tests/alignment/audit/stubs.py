"""Stubs of scorers of which it is known what they depend on."""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

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
