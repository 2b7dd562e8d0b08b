"""The suite: which questions there are, and the check that each is as hard as it says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from vmmetrics.errors import SetupError, cannot
from vmmetrics.understanding.synthetic import questions, ways
from vmmetrics.understanding.synthetic.oracle import answer
from vmmetrics.understanding.synthetic.scenes import Draft, Dwell, sampled, too_low
from vmmetrics.utils.storage.atomic import write_atomically
from vmmetrics.video.encoding import write_h264

Ask = Callable[[np.random.Generator, np.random.Generator, Dwell, int], Draft]
"""From what the answer is drawn from, what all else is, the dwell and the place of the right option to a question.

Answers are drawn apart because questions are drawn again until no rate too low answers them: some answers survive that
more easily, and would be right more often than a guesser may expect."""
_DRAWS: Final = 500


def dwell_of(min_fps: int) -> Dwell:
    """The dwell that gives a minFPS, of clips with 30 or, where it does not divide these, 60 frames per second."""
    fps = 60 if 30 % min_fps else 30
    return Dwell(fps, fps // min_fps)


@dataclass(frozen=True, slots=True)
class SuiteTask:
    """A kind of question.

    Attributes:
        ask: Makes one.
        rates: minFPS that it is asked at.
        options: How many there are.
    """

    ask: Ask
    rates: tuple[int, ...]
    options: int = 5


TASKS: Final[Mapping[str, SuiteTask]] = {
    "repetition count": SuiteTask(questions.repetitions, (2, 3, 4, 5, 6, 10, 12)),
    "instance count": SuiteTask(questions.instances, (2, 3, 4, 5, 6, 10, 12)),
    "order": SuiteTask(questions.order, (1, 2, 3, 4, 5, 6, 10, 15), options=4),
    "direction": SuiteTask(ways.direction, (2, 3, 4, 5, 6, 10, 12), options=4),
    "speed": SuiteTask(questions.speed, (4, 5, 6, 10, 12), options=4),
    "flash": SuiteTask(questions.flash, (6, 10, 15, 20, 30, 60)),
    "synchrony": SuiteTask(questions.synchrony, (1, 2, 3, 4, 5, 6, 10, 15)),
    "camera motion": SuiteTask(ways.camera, (1, 3, 1, 5, 1, 10, 15)),
}
"""By the name that figures are given under. The camera's 1 stands for its slow clips, whose minFPS is 0.5."""
BUCKETS: Final = ((0.0, 2.0, "up to 2"), (2.0, 5.0, "3 to 5"), (5.0, 10.0, "6 to 10"), (10.0, 20.0, "12 to 20"),
                  (20.0, 60.0, "30 to 60"))  # fmt: skip
"""minFPS above the first number and up to the second, and what they are called."""


def bucket_of(min_fps: float) -> str:
    """Name of the bucket that a minFPS is in.

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
    """Make questions, tasks and rates in turn, right options in every place alike.

    The same count and seed give the same questions; a larger count begins with those of a smaller one.

    Args:
        count: How many.
        seed: Of everything random.
    """
    for index in range(count):
        round_of, number = divmod(index, len(TASKS))
        name, task = list(TASKS.items())[number]
        rate = task.rates[round_of % len(task.rates)]
        block, within = divmod(round_of, task.options)  # of so many questions of a task one is right in each place
        place = int(np.random.default_rng((seed, 1, number, block)).permutation(task.options)[within])
        yield Item(f"{name.replace(' ', '-')}-{round_of:03d}", name, _draw(task, dwell_of(rate), place, (seed, index)))


def _draw(task: SuiteTask, dwell: Dwell, place: int, key: tuple[int, int]) -> Draft:
    for attempt in range(_DRAWS):
        draft = task.ask(np.random.default_rng(key), np.random.default_rng((*key, attempt)), dwell, place)
        if not any(read_draft(draft, rate) == draft.right for rate in too_low(draft.min_fps)):
            return draft
    raise RuntimeError(f"No question in {_DRAWS} draws for {task.ask.__name__} at minFPS {dwell.min_fps:g}")


def read_draft(draft: Draft, rate: float, phase: float = 0.0) -> int | None:
    """What the oracle answers to a question, without pictures.

    Args:
        draft: The question.
        rate: Frames per second shown.
        phase: Seconds by which all moments are put off.
    """
    frames = sampled(draft.scene.frames, draft.scene.fps, rate, phase)
    times = [frame / draft.scene.fps for frame in frames]
    return answer(draft.reading, draft.scene.tracks(frames), draft.scene.seconds, times)


# The suite on disk: a folder of clips, and ``questions.jsonl`` about them.

QUESTIONS: Final = "questions.jsonl"
CLIPS: Final = "clips"
FORMAT: Final = 1
"""Version of the lines; another suite than this one's is not read as if it were."""
_CODING: Final = {"crf": "20", "preset": "veryfast", "g": "60", "bf": "0"}
"""x264: flat shapes keep their colours to a few steps of 255, and a clip takes some tens of kilobytes."""


def write_suite(folder: Path, count: int, seed: int = 0) -> Iterator[Item]:
    """Render a suite into a folder; the questions are written when all clips are there.

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
        lines = []
        for item in make(count, seed):
            path, scene = folder / CLIPS / f"{item.id}.mp4", item.draft.scene
            write_h264(path, map(scene.picture, range(scene.frames)), scene.fps, _CODING, threads=1)
            lines.append(json.dumps(_line(item, seed), ensure_ascii=False))
            yield item
        write_atomically(folder / QUESTIONS, ("\n".join(lines) + "\n").encode())
    except OSError as error:
        raise cannot("write", folder, error) from error


def _line(item: Item, seed: int) -> dict[str, Any]:
    draft, scene = item.draft, item.draft.scene
    return {
        "format": FORMAT,
        "id": item.id,
        "seed": seed,
        "video": f"{CLIPS}/{item.id}.mp4",
        "task": item.task,
        "variant": draft.variant,
        "question": draft.text,
        "options": list(draft.options),
        "answer": draft.right,
        "min_fps": draft.min_fps,
        "bucket": bucket_of(draft.min_fps),
        "fps": scene.fps,
        "frames": scene.frames,
        "reading": {"kind": draft.reading.kind, "markers": draft.reading.markers, "values": draft.reading.values},
    }
