"""One case from clip to line: the clip is read, perturbed and scored, here or in a worker process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from vmmetrics.alignment.perturbations import NotApplicableError, Things, perturbation
from vmmetrics.alignment.perturbations.harmless import at_rate
from vmmetrics.alignment.probe.metrics import Source, score
from vmmetrics.alignment.probe.plan import CLEAN, LEAST_FRAMES_LEFT, RATE, Case, Plan, needs_things, window
from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError, SetupError, explain
from vmmetrics.scoring.settings import Settings, reading_options
from vmmetrics.scoring.work import Task
from vmmetrics.video import read_clip


@dataclass(frozen=True, slots=True)
class Work:
    """What a worker is told.

    Attributes:
        task: The clip.
        sha256: Of its content.
        case: What to do to it.
    """

    task: Task
    sha256: str
    case: Case

    @property
    def key(self) -> tuple[str, str, str, float]:
        """What its line is known by."""
        return self.task.clip, self.sha256, self.case.kind, self.case.strength


def head(work: Work) -> dict[str, Any]:
    """Return what a line begins with: clip, content and case."""
    return {
        "clip": work.task.clip,
        "sha256": work.sha256,
        "kind": work.case.kind,
        "strength": work.case.strength,
    }


def key_of(line: Mapping[str, Any]) -> tuple[str, str, str, float]:
    """Return the :attr:`Work.key` of the case of a line."""
    return line["clip"], line["sha256"], line["kind"], line["strength"]


def answer(work: Work, sources: Sequence[Source], plan: Plan) -> dict[str, Any]:
    """Do a case, and return its line; whatever goes wrong with clip, perturbation or metric stands in it.

    Raises:
        SetupError: A metric cannot run here at all.
    """
    start = time.perf_counter()
    line = head(work)
    try:
        clip, done = _made(work, plan)
        found = score(sources, clip)
        line |= {"fps": clip.fps, "frames": len(clip), **done}
        line |= {"scores": found.scores, "missing": found.missing, "errors": found.errors}
    except NotApplicableError as error:
        line["inapplicable"] = str(error)
    except SetupError:
        raise
    except Exception as error:  # a broken clip or perturbation ends in its line; the probe goes on
        line["error"] = explain(error)
    return {**line, "seconds": round(time.perf_counter() - start, 3)}


def _made(work: Work, plan: Plan) -> tuple[Clip, dict[str, Any]]:
    clip = _clip(work.task, work.sha256, plan)
    kind, strength = work.case.kind, work.case.strength
    if kind == CLEAN:
        return clip, {}
    if kind == RATE:
        fewer = at_rate(clip, clip.fps / strength)
        if len(fewer) < LEAST_FRAMES_LEFT:
            raise NotApplicableError(f"{len(fewer)} frames are left at {clip.fps / strength:.3g} a second")
        return fewer, {}
    things = _things(work.task, work.sha256, plan) if needs_things(kind) else None
    made = perturbation(kind)(clip, strength, plan.generator(work.task.clip, kind), things)
    if not made.done.frames:
        raise NotApplicableError(f"at strength {strength:.3g} nothing of this clip changes")
    return made.clip, {"changed": list(made.done.frames), "breaks": list(made.done.breaks)}


class _Key:
    """A task as the key of a cache: two of the same content are one."""

    def __init__(self, task: Task, sha256: str) -> None:
        self.task, self._name = task, (task.key, sha256)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._name == other._name

    def __hash__(self) -> int:
        return hash(self._name)


def _clip(task: Task, sha256: str, plan: Plan) -> Clip:
    return _read(_Key(task, sha256), plan)


def _things(task: Task, sha256: str, plan: Plan) -> Things:
    try:
        return _find(_Key(task, sha256), plan)
    except SetupError as error:  # whoever probes a function of his own may live without
        raise NotApplicableError(f"nobody can say where the things in the clip are: {error}") from error


@lru_cache(maxsize=1)  # the cases of a clip come one after another
def _read(key: _Key, plan: Plan) -> Clip:
    task = key.task
    if task.broken is not None:
        raise ClipError(task.broken)
    if task.frames is not None:
        return window(task.frames, plan)
    clip = read_clip(
        task.path, name=task.clip, prompt=task.prompt, subject=task.subject, root=task.root, **reading_options()
    )
    return window(clip, plan)


@lru_cache(maxsize=1)
def _find(key: _Key, plan: Plan) -> Things:
    """Where the embedded models see things and people in the untouched clip."""
    clip = _read(key, plan)
    scene = Settings(metrics=("ois", "tcs")).build().scene(clip)
    size = (clip.width, clip.height)
    labels = [cv2.resize(m, size, interpolation=cv2.INTER_NEAREST) for m in scene.objects.labels]
    return Things(np.stack(labels).astype(np.uint8), scene.poses.keypoints)
