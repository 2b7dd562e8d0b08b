"""Scoring of one clip from file to outcome, in this process or in a worker."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError, explain
from vmmetrics.functional.tripwires import TRIPWIRES, Tripwires, tripwires
from vmmetrics.metrics.registry import version_of
from vmmetrics.scoring.pictures import Pictures
from vmmetrics.scoring.record import Record, result_to_json, uneven_times
from vmmetrics.scoring.settings import Scoring, Settings
from vmmetrics.scoring.show.capture import Album, pictures_of
from vmmetrics.scoring.tasks import Task, identify
from vmmetrics.utils.storage.scratch import Fetched, Scratch, ScratchError
from vmmetrics.utils.storage.state import FileState
from vmmetrics.video import read_clip
from vmmetrics.video.content import file_state, is_settled, state
from vmmetrics.video.shards import temporary_file
from vmmetrics.video.windows import LongClip, long_clip

if TYPE_CHECKING:
    from vmmetrics.scoring.clip_scores import ClipScores
    from vmmetrics.scoring.suite import Suite

_SAME_RATE = 0.01  # share by which the rates of a file and of its caller may differ

AnyClip = Clip | LongClip
ClipAndFile = tuple[AnyClip | None, Fetched | None]


class ClipReader:
    """Reads clips; one at an address is downloaded into a scratch folder, and removed once it is read.

    Args:
        scratch: The folder.
        read: Reads the clip of a task, from the downloaded file or from the task's own path.
    """

    def __init__(self, scratch: Scratch, read: Callable[[Task, Path | None], AnyClip]) -> None:
        self._scratch, self._read = scratch, read
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="read ahead")
        self._lock = Lock()  # of what is ahead: a worker on a cluster hears of it in another thread
        self._ahead: tuple[Task, object, Future[ClipAndFile]] | None = None

    def clip(self, task: Task, seen: object = None) -> tuple[AnyClip, Fetched | None]:
        """Return the clip of a task, and the download of its address, which a long clip keeps until it is closed.

        Args:
            task: The task.
            seen: State of its file; what was read ahead is used if the file had the same state then.

        Raises:
            ClipError: It cannot be fetched, changed, or cannot be read.
            ScratchError: Nothing can be fetched here.
        """
        with self._lock:
            ahead, self._ahead = self._ahead, None
        clip, fetched = self._prefetched(task, seen, ahead) or self._fetch_clip(task, decode=False)
        with contextlib.ExitStack() as stack:
            if fetched is not None:
                stack.callback(fetched.remove)
            clip = clip or self._read(task, fetched.path if fetched else None)
            if isinstance(clip, LongClip):
                clip.resources.push(stack.pop_all())
            return clip, fetched

    def ahead(self, task: Task, decode: bool) -> None:
        """Begin to fetch a clip, unless another is being fetched; errors are raised by :meth:`clip`.

        Args:
            task: Its task.
            decode: Read it, too; otherwise it is downloaded at most.
        """
        if task.broken is not None or (task.uri is None and (task.path is None or not decode)):
            return
        with self._lock, contextlib.suppress(OSError):
            if self._ahead is None:
                seen = None if task.path is None else state(task.path)
                self._ahead = task, seen, self._thread.submit(self._fetch_clip, task, decode)

    def _prefetched(
        self, task: Task, seen: object, ahead: tuple[Task, object, Future[ClipAndFile]] | None
    ) -> ClipAndFile | None:
        """Return the clip fetched ahead if it is this one and unchanged, else None."""
        if ahead is None:
            return None
        expected, expected_state, future = ahead
        if expected.only(task.metrics) != task or expected_state != seen:
            if not future.cancel():
                future.add_done_callback(_remove)
            return None
        try:
            return future.result()
        except Exception:
            if task.uri is not None:
                raise
            return None  # reading it again tells why

    def _fetch_clip(self, task: Task, decode: bool) -> ClipAndFile:
        fetched = None if task.uri is None else self._scratch.fetch(task.uri, task.listed or FileState())
        if not decode:
            return None, fetched
        try:
            return self._read(task, fetched.path if fetched else None), fetched
        except BaseException:
            if fetched is not None:
                fetched.remove()
            raise


def _remove(coming: Future[ClipAndFile]) -> None:
    """Remove the download of a clip that another process scores."""
    if coming.exception() is None and (fetched := coming.result()[1]) is not None:
        fetched.remove()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a task.

    Attributes:
        task: The task.
        record: Its record.
        events: Metric to events and series.
        pictures: Poster and overlay of the clip.
    """

    task: Task
    record: Record
    events: Mapping[str, Any] = field(default_factory=dict)
    pictures: Pictures = field(default_factory=Pictures)


class Scorer:
    """Scores tasks with one configuration; models are loaded once per set of metrics."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._suite = lru_cache(maxsize=None)(settings.build)
        self._reader = ClipReader(settings.scratch, self._read)

    def with_settings(self, settings: Settings) -> Scorer:
        """Return a scorer with the same models and other settings, which must not change a score."""
        other = copy(self)
        other._settings = settings
        return other

    def suite(self, metrics: tuple[str, ...]) -> Scoring:
        """Return the suite for these metrics.

        Raises:
            SetupError: Something it needs is missing here.
        """
        return self._suite(metrics)

    def score(
        self, task: Task, following: Task | None = None, identified: Callable[[str], None] | None = None
    ) -> Outcome:
        """Score one clip; faults of the clip go into its record and raise nothing.

        Args:
            task: The clip.
            following: Clip to read ahead, most likely the next; None reads nothing ahead.
            identified: Called with the SHA-256 of the clip as soon as that is known.

        Raises:
            ScratchError: Nothing can be fetched on this machine, this clip or another.
        """
        start = time.perf_counter()
        sha256: str | None = None
        resources = contextlib.ExitStack()
        try:
            if task.broken is not None:
                raise ClipError(task.broken)
            unreadable: OSError | None = None
            before: tuple[tuple[str, int, int], ...] | None = None
            file_stamp = task.listed and task.listed.to_record()  # what the next start compares
            try:
                if task.path is not None:
                    before = state(task.path)
                    file_stamp = file_state(before) if file_stamp is None and is_settled(before) else file_stamp
            except OSError as error:  # the reader knows better words for most of these
                unreadable = error
            clip, fetched = self._reader.clip(task, before)
            if isinstance(clip, LongClip):
                resources.enter_context(contextlib.closing(clip))
            if unreadable is not None:
                raise unreadable
            # Of a clip alone: the record of a symlink to another file must not tell its hash.
            sha256 = fetched.sha256 if fetched else identify(task)
            if identified is not None:
                identified(sha256)
            if following is not None:
                self.read_ahead(following)
            scores, pictures, problems, wires = self._scored(task, clip)
            if task.path is not None and state(task.path) != before:
                raise ClipError("The file changed while it was scored; run again once it is complete")
            record = task.record(
                self._settings,
                sha256=sha256,
                frames=len(clip),
                fps=float(clip.fps),
                size=(int(clip.size[0]), int(clip.size[1])),
                notes=tuple(dict.fromkeys((*clip.notes, *scores.notes, *problems))),
                seconds=round(time.perf_counter() - start, 3),
                scores={metric: float(score) for metric, score in scores.scores.items()},
                missing=scores.missing,
                not_applicable=tuple(metric for metric, result in scores.results.items() if not result.applicable),
                errors=dict(scores.errors),
                amplitude=scores.amplitude,
                own_change=scores.own_change,
                score_version={metric: version_of(metric) for metric in (*scores.scores, *scores.missing)},
                state=file_stamp or (fetched and fetched.state.to_record()),
                timestamps=uneven_times(clip.timestamps, clip.fps),
                codec=clip.codec,
                windows=scores.windows,
            )
            events = {metric: result_to_json(result) for metric, result in scores.results.items()}
            if wires is not None:
                events[TRIPWIRES] = asdict(wires)
            return Outcome(task, record, events, pictures)
        except ScratchError:
            raise
        except Exception as error:  # the run goes on whatever a clip does to a decoder
            seconds = round(time.perf_counter() - start, 3)
            return Outcome(task, task.record(self._settings, sha256=sha256, error=explain(error), seconds=seconds))
        finally:
            resources.close()

    def _scored(self, task: Task, clip: AnyClip) -> tuple[ClipScores, Pictures, tuple[str, ...], Tripwires | None]:
        """Return the scores of a clip, its pictures, the reasons of missing ones, and its tripwires if asked for."""
        suite, settings = self.suite(task.metrics), self._settings
        if isinstance(clip, LongClip):
            album = Album(len(clip), float(clip.fps), settings.keep_overlays, settings.tripwires)
            scores = cast("Suite", suite).score_long(clip, album.add)  # it takes windows
            return scores, *album.close()
        scene = suite.scene(clip) if settings.keep_overlays else None
        scores = suite.score_clip(clip) if scene is None else suite.score_scene(scene)
        wires = tripwires(clip.frames, float(clip.fps)) if settings.tripwires and len(clip) > 1 else None
        return scores, *pictures_of(clip, scene, scores.results), wires

    def read_ahead(self, task: Task) -> None:
        """Begin to fetch a clip, and to read it if the suite leaves time for that; thread-safe."""
        self._reader.ahead(task, self.suite(task.metrics).reads_ahead)

    def _read(self, task: Task, fetched: Path | None) -> AnyClip:
        in_memory = task.in_memory
        if isinstance(in_memory, Clip):
            return in_memory
        about: dict[str, Any] = {"name": task.clip}
        about |= {"prompt": task.prompt, "subject": task.subject, "tags": task.tags}
        options: dict[str, Any] = {"root": task.root, **dict(self._settings.reading)}
        if task.fps is not None:
            options["assume_fps"] = task.fps
        with contextlib.ExitStack() as stack:
            source = fetched or task.path
            if in_memory is not None:
                source = stack.enter_context(temporary_file(in_memory.content))
            clip: AnyClip | None = None
            if source is not None and getattr(self.suite(task.metrics), "takes_windows", False):
                clip = long_clip(source, about, **options)
            if clip is None:
                clip = read_clip(source, sampling=self._settings.sampling, **about, **options)
            if isinstance(clip, LongClip):
                clip.resources.push(stack.pop_all())
            if task.fps is not None and abs(clip.fps - task.fps) > _SAME_RATE * task.fps:  # every speed would be wrong
                if isinstance(clip, LongClip):
                    clip.close()
                stated = f"the file states {clip.fps:g} frames per second but fps is {task.fps:g}"
                raise ClipError(f"{stated}; pass None to take what files state")
            return clip
