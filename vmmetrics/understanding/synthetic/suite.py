"""The suite: its questions, the check of their difficulty, and its files."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from vmmetrics.errors import SetupError, cannot
from vmmetrics.understanding.synthetic import questions, ways
from vmmetrics.understanding.synthetic.questions import QuestionSlot
from vmmetrics.understanding.synthetic.reader import answer
from vmmetrics.understanding.synthetic.scenes import Draft, Dwell, Tracks, sampled, too_low
from vmmetrics.understanding.synthetic.textures import Textures
from vmmetrics.utils.storage.atomic import write_atomically
from vmmetrics.video.encoding import write_h264

Ask = Callable[[np.random.Generator, Dwell, QuestionSlot], Draft]
"""Function from a random generator, the dwell and the slot to a question. The slot fixes the answer and its position
because questions are redrawn until no too low rate answers them: some answers survive that more easily and would be
right more often than chance."""
_DRAWS: Final = 500
_RATES: Final = (24, 30, 60)
"""Frame rates of clips, frames per second."""


def dwell_of(min_fps: int) -> Dwell:
    """Return the dwell of a minFPS, at the lowest frame rate divisible by it."""
    fps = next(rate for rate in _RATES if rate % min_fps == 0)
    return Dwell(fps, fps // min_fps)


@dataclass(frozen=True, slots=True)
class SuiteTask:
    """A task of the suite.

    Attributes:
        ask: Makes one.
        rates: minFPS that it is asked at.
        options: How many there are.
        answers: How many answers can be right, each as often as the others.
    """

    ask: Ask
    rates: tuple[int, ...]
    options: int = 5
    answers: int = 5


TASKS: Final[Mapping[str, SuiteTask]] = {
    "repetition count": SuiteTask(questions.repetitions, (2, 3, 4, 5, 6, 10, 12)),
    "instance count": SuiteTask(questions.instances, (2, 3, 4, 5, 6, 10, 12)),
    "order": SuiteTask(questions.order, (1, 2, 3, 4, 5, 6, 10, 15), options=4, answers=4),
    "direction": SuiteTask(ways.direction, (2, 3, 4, 5, 6, 10, 12), options=4, answers=4),
    "speed": SuiteTask(questions.speed, (4, 5, 6, 10, 12), options=4, answers=4),
    "flash": SuiteTask(questions.flash, (6, 10, 15, 20, 30, 60)),
    "synchrony": SuiteTask(questions.synchrony, (1, 2, 3, 4, 5, 6, 10, 15)),
    "camera motion": SuiteTask(ways.camera, (1,), answers=6),
    "camera jolt": SuiteTask(ways.jolt, (3, 5, 10, 15)),
}
"""Tasks by name; the minFPS of camera motion is 0.5."""
BUCKETS: Final = ((0.0, 2.0, "up to 2"), (2.0, 5.0, "3 to 5"), (5.0, 10.0, "6 to 10"), (10.0, 20.0, "12 to 20"),
                  (20.0, 60.0, "30 to 60"))  # fmt: skip
"""minFPS buckets: above the first number, up to the second, and their names."""


def bucket_of(min_fps: float) -> str:
    """Return the bucket of a minFPS.

    >>> bucket_of(0.5), bucket_of(2), bucket_of(60)
    ('up to 2', 'up to 2', '30 to 60')
    """
    return next(name for low, high, name in BUCKETS if low < min_fps <= high)


@dataclass(frozen=True, slots=True)
class Item:
    """A question of the suite.

    Attributes:
        id: Its key, and the name of its clip.
        task: Of TASKS.
        draft: The question with its clip.
    """

    id: str
    task: str
    draft: Draft


def make(count: int, seed: int = 0) -> Iterator[Item]:
    """Generate questions, tasks in turn, balanced over positions, answers, rates and textures.

    The same count and seed give the same questions; a larger count begins with those of a smaller one.

    Args:
        count: How many.
        seed: Of everything random.
    """
    for index in range(count):
        round_of, number = divmod(index, len(TASKS))
        name, task = list(TASKS.items())[number]
        rate = task.rates[_shuffled(len(task.rates), round_of, (seed, 2, number))]
        draft = _draw(task, dwell_of(rate), _turn(task, round_of, (seed, 1, number)), (seed, index))
        if _shuffled(2, round_of, (seed, 3, number)):
            look = Textures.draw(np.random.default_rng((seed, 4, index)))
            draft = replace(draft, scene=draft.scene.textured(look))
        yield Item(f"{name.replace(' ', '-')}-{round_of:03d}-s{seed}", name, draft)


def _shuffled(count: int, step: int, key: tuple[int, ...]) -> int:
    """Return one of 0 to count - 1; each block of ``count`` steps is a permutation of its own."""
    block, within = divmod(step, count)
    return int(np.random.default_rng((*key, block)).permutation(count)[within])


def _turn(task: SuiteTask, number: int, key: tuple[int, ...]) -> QuestionSlot:
    """Return position and answer: each equally often, and each pair once per block of all pairs."""
    block, within = divmod(number, task.options * task.answers)
    rng = np.random.default_rng((*key, block))
    positions, answers = rng.permutation(task.options), rng.permutation(task.answers)
    shifted = within + within // math.lcm(task.options, task.answers)
    return QuestionSlot(int(positions[within % task.options]), int(answers[shifted % task.answers]), number)


def _draw(task: SuiteTask, dwell: Dwell, turn: QuestionSlot, key: tuple[int, int]) -> Draft:
    for attempt in range(_DRAWS):
        draft = task.ask(np.random.default_rng((*key, attempt)), dwell, turn)
        if not any(read == draft.right for read in read_draft(draft, too_low(draft.min_fps))):
            return draft
    raise RuntimeError(f"No question in {_DRAWS} draws for {task.ask.__name__} at minFPS {dwell.min_fps:g}")


def read_draft(draft: Draft, rates: Sequence[float], phase: float = 0.0) -> Iterator[int | None]:
    """Yield the frame reader's answer to a question at each rate, without rendering.

    Args:
        draft: The question.
        rates: Frames per second shown, highest first.
        phase: Seconds added to all sampling times.
    """
    scene, seen = draft.scene, dict[int, Tracks]()
    for rate in rates:
        frames = sampled(scene.frames, scene.fps, rate, phase)
        seen |= {frame: scene.tracks([frame]) for frame in frames if frame not in seen}
        missing = np.full((1, 2), np.nan)
        tracks = {name: np.concatenate([seen[frame].get(name, missing) for frame in frames])
                  for name in draft.reading.markers} if frames else {}  # fmt: skip
        yield answer(draft.reading, tracks, scene.seconds, [frame / scene.fps for frame in frames])


# The suite on disk: a folder of clips, and ``questions.jsonl`` about them.

QUESTIONS: Final = "questions.jsonl"
CLIPS: Final = "clips"
FLAT, TEXTURED = "flat", "textured"
FORMAT: Final = 2
"""Version of the suite, in each line. Version 1 had no textures, no balanced answers, and clip lengths that revealed
counts; its files are read, but results are not comparable."""
_CODING: Final = {"crf": "24", "preset": "ultrafast", "g": "300", "bf": "0"}
"""x264 settings: flat shapes keep their colours to a few steps of 255."""


def write_suite(folder: Path, count: int, seed: int = 0) -> Iterator[Item]:
    """Render a suite into a folder; the questions are written after all clips.

    Args:
        folder: Where to; made where it is missing.
        count: How many questions.
        seed: Of everything random. The same count, seed and version of x264 give the same bytes.

    Yields:
        Each question, once its clip is there.

    Raises:
        SetupError: The folder holds something else, or cannot be written.
    """
    try:
        (folder / CLIPS).mkdir(parents=True, exist_ok=True)
        foreign = [path.name for path in folder.iterdir() if path.name not in (CLIPS, QUESTIONS)]
        if foreign:
            raise SetupError(f"{folder} holds other files ({foreign[0]}, ...); choose an empty or new folder for --out")
        (folder / QUESTIONS).unlink(missing_ok=True)  # an interrupted suite is none
        lines, groups = [], defaultdict[tuple[Any, ...], list[Path]](list)
        for item in make(count, seed):
            path, scene = folder / CLIPS / f"{item.id}.mp4", item.draft.scene
            write_h264(path, scene.pictures(), scene.fps, _CODING, threads=1)
            lines.append(json.dumps(_line(item, seed), ensure_ascii=False))
            groups[item.task, item.draft.min_fps, scene.look is None].append(path)
            yield item
        for paths in groups.values():
            _level(paths)
        write_atomically(folder / QUESTIONS, ("\n".join(lines) + "\n").encode())
    except OSError as error:
        raise cannot("write", folder, error) from error


def _level(paths: Sequence[Path]) -> None:
    """Pad files to one size with a box of zeros, as more movement takes more bytes."""
    sizes = [path.stat().st_size for path in paths]
    largest = max(sizes) + 8  # a box has a head of eight bytes
    for path, size in zip(paths, sizes, strict=True):
        with path.open("ab") as file:
            file.write((largest - size).to_bytes(4, "big") + b"free" + bytes(largest - size - 8))


def _line(item: Item, seed: int) -> dict[str, Any]:
    draft, scene = item.draft, item.draft.scene
    return {
        "format": FORMAT,
        "id": item.id,
        "seed": seed,
        "video": f"{CLIPS}/{item.id}.mp4",
        "task": item.task,
        "variant": draft.variant,
        "look": FLAT if scene.look is None else TEXTURED,
        "question": draft.text,
        "options": list(draft.options),
        "answer": draft.right,
        "min_fps": draft.min_fps,
        "bucket": bucket_of(draft.min_fps),
        "fps": scene.fps,
        "frames": scene.frames,
        "reading": {"kind": draft.reading.kind, "markers": draft.reading.markers, "values": draft.reading.values},
    }
