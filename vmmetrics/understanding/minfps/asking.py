"""Annotators of minFPS: a person, a model or the frame reader says if a question is answerable at a rate."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import ClipError, SetupError, cannot
from vmmetrics.models.frames import MOST, NO_FRAMES, SIDE, FramePolicy, Frames, frames_shown
from vmmetrics.models.protocol import Model
from vmmetrics.models.questions import Question
from vmmetrics.types import FloatArray
from vmmetrics.understanding.construction.options import shuffles
from vmmetrics.understanding.harness.benchmark import Benchmark
from vmmetrics.understanding.harness.choices import chosen_option
from vmmetrics.understanding.minfps import QuestionRate, annotated_min_fps, search
from vmmetrics.understanding.synthetic.reader import look_up, seconds_of
from vmmetrics.utils.endpoint.messages import RejectedError
from vmmetrics.utils.storage.journal import Journal, iterate_lines
from vmmetrics.utils.storage.lock import ByteLocks, Locked
from vmmetrics.video import sample_clip
from vmmetrics.video.encoding import write_h264

_UNEVEN: Final = 1.1
"""Ratio of usual to mean frame rate from which a file has gaps, and the usual rate counts as its own."""
_SHOWN_FPS: Final = 24  # frames a second of what a person is shown, at least: players stumble over very slow files
_CODING: Final = {"crf": "18", "preset": "veryfast"}  # of x264: somebody looks at it once
_FOLDER: Final = "asked"


@dataclass(frozen=True, slots=True)
class Annotator:
    """Decides if a question is answerable at a rate.

    Attributes:
        name: Name in journal and tables.
        identity: What its answers depend on, as JSON values.
        answerable: Returns True if the frames of the policy ``<rate> fps`` suffice; raises ``ClipError`` if the video
            cannot be shown, or there is no verdict.
    """

    name: str
    identity: Mapping[str, Any]
    answerable: Callable[[Question, float], bool]


def reader_annotator(phases: int = 8) -> Annotator:
    """Return the frame reader of the synthetic suite as annotator; it must be right at every sampling phase.

    Args:
        phases: Moments, spread over the time between two frames, at which sampling begins: a short event that frames
            from the clip's beginning happen to show is not taken for one that the rate shows.
    """

    def answerable(question: Question, rate: float) -> bool:
        between = min(1 / rate, seconds_of(question))
        begun = (phase / phases * between for phase in range(phases))
        return all(look_up(question, frames_at(question, rate, at), at) == question.answer for at in begun)

    return Annotator("frame-reader", {"frame-reader": 1, "phases": phases}, answerable)


def model_annotator(model: Model, benchmark: Benchmark, asks: int) -> Annotator:
    """Return a model as annotator: a question is answerable if it is right under every order of the options.

    A model that does not answer tells nothing about the rate; a question without a key is a ``SetupError``.

    Args:
        model: The model.
        benchmark: Whose words it is asked in.
        asks: How many times; the first wrong answer ends them.
    """

    def answerable(question: Question, rate: float) -> bool:
        if question.answer is None:
            raise SetupError(f"Question {question.id!r} has no key, so answers to it cannot be judged")
        frames = frames_at(question, rate) if model.sees else NO_FRAMES
        for asked in shuffles(question, asks, "minfps"):
            try:
                reply = model.answer(asked, benchmark.turns(asked, "vmmetrics"), frames)
            except RejectedError as error:
                raise ClipError(f"at {rate:g} fps: {error}") from error
            if reply.error is not None:
                raise ClipError(f"at {rate:g} fps: {reply.error}")
            if chosen_option(reply.text, asked.options) != asked.answer:
                return False
        return True

    return Annotator(model.name, {"model": model.name, "asks": asks, **model.identity}, answerable)


def person_annotator(name: str, folder: Path, ask: Callable[[Question, Path, float], bool]) -> Annotator:
    """Return a person as annotator, who sees the clip at the rate.

    Args:
        name: Name of the annotator.
        folder: Where clips are put, each until they have answered.
        ask: From the question, the clip at the rate and the rate to what they say.
    """

    def answerable(question: Question, rate: float) -> bool:
        folder.mkdir(parents=True, exist_ok=True)
        key = hashlib.sha256(question.id.encode("utf-8", "backslashreplace")).hexdigest()[:8]
        path = folder / f"{_slug(question.id)}-{key}-{rate:g}fps.mp4"
        frames = frames_at(question, rate)
        # a film as long as the clip, in which each frame stays until the next
        shown = frames.pictures[_on_screen(np.array(frames.times), rate, extent_of(question)[1])]
        times = math.ceil(_SHOWN_FPS / rate)
        write_h264(path, (picture for picture in shown for _ in range(times)), rate * times, _CODING)
        try:
            return ask(question, path, rate)
        finally:
            path.unlink(missing_ok=True)

    return Annotator(name, {"person": name}, answerable)


def frames_at(question: Question, rate: float, begun: float = 0.0) -> Frames:
    """Return the frames of a question's clip at a rate.

    Args:
        question: The question.
        rate: Frames per second.
        begun: Second of the clip at which they begin to be taken.

    Raises:
        ClipError: The video is missing or cannot be read, or has more frames at that rate than are shown: fewer would
            be another rate.
    """
    if question.path is None:
        raise ClipError("The video is missing")
    policy = FramePolicy("fps", rate, most=MOST + 1)
    frames = frames_shown(question.path, policy, (question.start or 0.0) + begun, question.end, SIDE)
    if len(frames.pictures) > MOST:
        raise ClipError(f"at {rate:g} fps it has more than {MOST} frames")
    return frames


def _on_screen(times: FloatArray, rate: float, seconds: float) -> NDArray[np.intp]:
    """Return the index of the frame on screen at each moment of a rate; every frame appears at least once.

    Args:
        times: (T,) seconds of the frames, each the nearest to one of the moments.
        rate: Moments a second.
        seconds: Length of the clip.

    >>> _on_screen(np.array([0, 0.3, 2.3, 2.5]), 2.0, 2.6)
    array([0, 1, 1, 1, 2, 3])
    """
    moments = np.arange(max(1, math.ceil(seconds * rate - 1e-6))) / rate
    nearest = np.argmin(np.abs(moments[:, None] - times).round(6), axis=1)  # of two as near the earlier, as chosen
    early = times[nearest] - moments > 0.5 / rate + 1e-6  # the nearest is still to come, behind a gap
    last = np.append(np.diff(nearest) > 0, True)
    shown: NDArray[np.intp] = np.where(early & ~last, np.maximum(nearest - 1, 0), nearest)
    return shown


def extent_of(question: Question) -> tuple[float, float]:
    """Return the usual frame rate of a question's file, in frames per second, and its clip's length in seconds.

    Raises:
        ClipError: The video is missing or cannot be read.
    """
    if question.path is None:
        raise ClipError("The video is missing")
    read: list[tuple[FloatArray, float]] = []

    def first(times: FloatArray, end: float) -> Sequence[int]:
        read.append((times, end))
        return [0]

    fps = sample_clip(question.path, first, side=32).fps
    times, file_end = read[0]
    usual = 1 / float(np.median(np.diff(times))) if len(times) > 1 else fps
    fps = usual if usual > _UNEVEN * fps else fps
    end = file_end if question.end is None else min(question.end, file_end)
    return fps, max(end - (question.start or 0.0), 1 / fps)


class Asked(Locked):
    """Answers of one annotator, in a journal of their own that one process locks, so that several can work at once.

    Args:
        folder: Of all annotators.
        annotator: The annotator.
        about: Source of the questions: benchmark and hashes of its files.

    Attributes:
        verdicts: True or False by (question, rate).

    Raises:
        SetupError: A journal there is about other questions, or by somebody else of that name; or another process has
            them asked.
    """

    def __init__(self, folder: Path, annotator: Annotator, about: Mapping[str, Any]) -> None:
        own = folder / _FOLDER / f"{_slug(annotator.name)}.jsonl"
        self._annotator = annotator
        head = {"annotator": annotator.name, "identity": dict(annotator.identity), "about": dict(about)}
        try:
            own.parent.mkdir(parents=True, exist_ok=True)
            self._locks = ByteLocks(own.with_suffix(".lock"))
        except OSError as error:
            raise cannot("write", folder, error) from error
        try:
            if not self._locks.try_acquire(0):
                raise SetupError(f"{annotator.name} is in use by another process")
            for path in sorted(own.parent.glob("*.jsonl")):
                other = next(iterate_lines(path), head)
                if other.get("about") != head["about"] or (path == own and other != head):  # ids may be the same
                    raise SetupError(f"{path} is about other questions or from another annotator; choose another --out")
        except BaseException:
            self.close()
            raise
        self._journal = Journal(own)
        lines = self._journal.read_as(_Line)
        if not lines:
            self._journal.append([head])
        self._finished = {line.question for line in lines if line.found}
        self.verdicts = {(line.question, line.rate): line.answerable for line in lines if line.rate is not None}

    def _answerable(self, question: Question, rate: float) -> bool:
        """Return the annotator's verdict, from the journal if it is there."""
        if (question.id, rate) not in self.verdicts:
            answerable = self._annotator.answerable(question, rate)
            self._journal.append([{"question": question.id, "rate": rate, "answerable": answerable}])
            self.verdicts[question.id, rate] = answerable
        return self.verdicts[question.id, rate]

    def work_through(self, questions: Sequence[Question]) -> Iterator[tuple[Question, float | None, str | None]]:
        """Find minFPS of each question by this annotator; questions already asked are not repeated.

        Yields:
            Question, minFPS (None where nothing was enough), and why it could not be looked for, or None.
        """
        for question in questions:
            try:
                native, seconds = extent_of(question)
                min_fps = search(partial(self._answerable, question), native, seconds).min_fps
            except ClipError as error:
                yield question, None, str(error)
                continue
            if question.id not in self._finished:
                self._journal.append([{"question": question.id, "found": True, "min_fps": min_fps}])
                self._finished.add(question.id)
            yield question, min_fps, None


@dataclass(frozen=True, slots=True)
class _Line:
    """Fields of a journal line: of its head, of a verdict, or of a result."""

    annotator: str = ""
    question: str = ""
    rate: float | None = None
    answerable: bool = False
    found: bool = False
    min_fps: float | None = None


def rates_found(folder: Path, questions: Sequence[Question]) -> list[QuestionRate]:
    """Return the minFPS of every finished question, from the journals of all annotators."""
    by: dict[str, dict[str, float | None]] = {}
    for path in sorted((folder / _FOLDER).glob("*.jsonl")):
        name, *lines = Journal(path).read_as(_Line) or [_Line()]
        for line in lines:
            if line.found:
                by.setdefault(line.question, {})[name.annotator or path.stem] = line.min_fps
    return [QuestionRate(q.id, by[q.id], q.groups, annotated_min_fps(q.reference)) for q in questions if q.id in by]


def _slug(text: str) -> str:
    """Return a file name for an annotator.

    >>> _slug("org/model 7B")
    'org-model-7B'
    """
    return re.sub(r"[^\w.]+", "-", text).strip("-.")[-60:] or "nameless"
