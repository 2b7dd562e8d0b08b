"""One case of a probe: read, perturb and score a clip, here or in a worker process."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib import import_module
from itertools import product
from typing import Any, cast

import cv2
import numpy as np

from vmmetrics.alignment.baselines.suite import PRESET as BASELINES_PRESET
from vmmetrics.alignment.perturbations.frames import at_rate, scaled
from vmmetrics.alignment.perturbations.library import DEFECTS, INVARIANCES, PERTURBATIONS, names
from vmmetrics.alignment.perturbations.objects import OBJECT_DEFECTS, ClipObjects, NotApplicableError
from vmmetrics.alignment.perturbations.traps import TRAPS
from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError, SetupError, explain
from vmmetrics.perception.scene import Scene
from vmmetrics.scoring.clip_scores import ClipScores
from vmmetrics.scoring.settings import Scoring, Settings, reading_options
from vmmetrics.scoring.tasks import Task
from vmmetrics.video import read_clip

# What can be probed: our metrics, the baselines, and any function of a clip.

Function = Callable[[Clip], Mapping[str, float | None] | float | None]
"""User-defined metric: returns a score, or several by name; None where undefined."""


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A metric given as a function.

    Attributes:
        function: The function, or ``module:name`` of one.
    """

    function: Function | str

    @property
    def label(self) -> str:
        """Return the name of its scores; a function that returns several names them itself."""
        function = self.function
        name = function.rpartition(":")[2] if isinstance(function, str) else getattr(function, "__name__", "metric")
        return "metric" if name == "<lambda>" else name

    def load(self) -> Function:
        """Return the function itself.

        Raises:
            SetupError: There is none of that name.
        """
        if not isinstance(self.function, str):
            return self.function
        module, _, name = self.function.partition(":")
        try:
            function = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise SetupError(f"No function {self.function!r} (expected module:name): {error}") from error
        if not callable(function):
            raise SetupError(f"{self.function} is no function but a {type(function).__name__}")
        return cast("Function", function)


Source = Settings | FunctionSource


def describe(source: Source) -> dict[str, Any]:
    """Return what the scores of a source depend on, ready for JSON.

    Raises:
        SetupError: Something it needs is missing here.
    """
    if isinstance(source, FunctionSource):
        loaded, named = source.load(), source.function
        function = named if isinstance(named, str) else getattr(loaded, "__qualname__", source.label)
        return {"function": function, "label": source.label}
    suite = built(source)
    return {**source.configuration(suite), "metrics": list(source.metrics), "parts": dict(source.parts(suite))}


def load(source: Source) -> None:
    """Load the models of a source, or its function.

    Raises:
        SetupError: Something it needs is missing here.
    """
    if isinstance(source, FunctionSource):
        source.load()
    else:
        built(source)


def score(sources: Iterable[Source], clip: Clip) -> dict[str, dict[str, Any]]:
    """Return ``scores``, ``missing`` and ``errors`` by metric; what one source does wrong is its error alone."""
    outcome: dict[str, dict[str, Any]] = {"scores": {}, "missing": {}, "errors": {}}
    scenes = dict[str, Scene]()
    for source in sources:
        try:
            if isinstance(source, FunctionSource):
                part = _by_function(source, clip)
            else:
                result = scored(source, clip, scenes)
                part = {"scores": result.scores, "missing": result.missing, "errors": result.errors}
        except SetupError:
            raise
        except Exception as error:  # one metric's fault must not cost the others their answer
            names = (source.label,) if isinstance(source, FunctionSource) else source.metrics
            part = {"errors": dict.fromkeys(names, explain(error))}
        for name, values in part.items():
            outcome[name].update(values)
    return outcome


@cache  # models are loaded once in each process
def built(source: Settings) -> Scoring:
    """Return the loaded suite of settings, one in each process."""
    return source.build()


def scored(source: Settings, clip: Clip, scenes: dict[str, Scene]) -> ClipScores:
    """Return the scores of a clip by a source; baselines take the perception of the embedded preset, if at hand.

    Args:
        source: Our metrics, or baselines.
        clip: The clip.
        scenes: Its perception by preset; receives that of this source where it is its own.
    """
    suite = built(source)
    if source.preset == BASELINES_PRESET and "embedded" in scenes:  # whose flow is theirs
        return suite.score_scene(scenes["embedded"])
    scenes[source.preset] = suite.scene(clip)
    return suite.score_scene(scenes[source.preset])


def _by_function(source: FunctionSource, clip: Clip) -> dict[str, Mapping[str, Any]]:
    returned = source.load()(clip)
    named = returned if isinstance(returned, Mapping) else {source.label: returned}
    values = {str(name): None if value is None else float(value) for name, value in named.items()}
    scores = {name: value for name, value in values.items() if value is not None and math.isfinite(value)}
    lost = {name: value for name, value in values.items() if name not in scores}
    missing = {name: "no score" if value is None else f"the score is {value}" for name, value in lost.items()}
    return {"scores": scores, "missing": missing}


# What is done to which clip: the cases of a probe.

CLEAN = "clean"
RATE = "rate"
STRENGTHS = (0.25, 0.5, 1.0)
"""Default strengths of defects: severity levels 1, 2 and 4."""
HARMLESS_STRENGTHS = (1 / 3, 2 / 3, 1.0)
"""Default strengths of harmless changes: x264 at CRF 18, 23 and 28."""
STRIDES = (2, 3, 4, 6, 8, 12, 16)
"""Frame rates tried for minFPS, as divisors of the clip's own rate; whole divisors keep frame times regular."""
LEAST_FRAMES_LEFT = 6
"""Minimum frames of a clip at a reduced rate."""
LIBRARY = 1
"""Version of the perturbations; a probe resumes only with the same one."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a probe: what is done to every clip.

    Attributes:
        defects: Names of defects; None takes all.
        strengths: At which defects are injected, in (0, 1].
        invariances: Names of harmless changes; None takes all.
        harmless_strengths: At which they are made.
        rates: Whether minFPS is looked for.
        seconds: Taken from the middle of every clip; None takes all of it.
        short_side: Clips are made smaller to this short side, pixels; None leaves them.
        most_fps: Of clips with more frames a second every second, third, ... is taken; None takes all.
        seed: Everything random.
        traps: Names of traps; None takes all.

    Raises:
        ValueError: An unknown name, or a strength out of (0, 1].
    """

    defects: tuple[str, ...] | None = None
    strengths: tuple[float, ...] = STRENGTHS
    invariances: tuple[str, ...] | None = None
    harmless_strengths: tuple[float, ...] = HARMLESS_STRENGTHS
    rates: bool = True
    seconds: float | None = None
    short_side: int | None = None
    most_fps: float | None = None
    seed: int = 0
    traps: tuple[str, ...] | None = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "defects", names(self.defects, DEFECTS))
        object.__setattr__(self, "invariances", names(self.invariances, INVARIANCES))
        object.__setattr__(self, "traps", names(self.traps, TRAPS))
        for which in ("strengths", "harmless_strengths"):
            value = tuple(sorted({float(s) for s in getattr(self, which)}))
            if not value or not all(0 < s <= 1 for s in value):
                raise ValueError(f"Expected strengths in (0, 1] but got {list(value)}")
            object.__setattr__(self, which, value)
        for which in ("seconds", "most_fps"):
            value = getattr(self, which)
            if value is not None and not value > 0:
                raise ValueError(f"Expected {which} above 0 but got {value}")
        if self.short_side is not None and self.short_side < 32:
            raise ValueError(f"Expected a short side of 32 pixels or more but got {self.short_side}")

    def cases(self) -> Iterator[tuple[str, float]]:
        """Yield kind and strength of the cases of a clip, the clean one first."""
        yield CLEAN, 0.0
        for name in self.invariances or ():
            strengths = self.harmless_strengths if INVARIANCES[name].graded else (1.0,)
            yield from product((name,), strengths)
        yield from product(self.defects or (), self.strengths)
        yield from product(self.traps or (), (1.0,))
        if self.rates:
            yield from product((RATE,), map(float, STRIDES))

    def configuration(self, metrics: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return what every score depends on besides clip and case."""
        own = {name: getattr(self, name) for name in ("seed", "seconds", "short_side", "most_fps")}
        return {"metrics": list(metrics), **own, "perturbations": LIBRARY}

    def generator(self, clip: str, kind: str) -> np.random.Generator:
        """Return the generator of a perturbation of a clip: the same at every strength, whatever else is probed."""
        return np.random.default_rng(
            [self.seed, *(zlib.crc32(s.encode("utf-8", "surrogatepass")) for s in (clip, kind))]
        )


def window(clip: Clip, plan: Plan) -> Clip:
    """Return the part of ``clip`` that is probed, in the size that is."""
    if plan.seconds is not None and len(clip) > 1:
        middle = float(clip.timestamps[-1]) / 2
        first, last = np.searchsorted(clip.timestamps, (middle - plan.seconds / 2, middle + plan.seconds / 2))
        selected = slice(int(first), max(int(last), int(first) + 1))
        times = clip.timestamps[selected] - clip.timestamps[selected.start]
        clip = replace(clip, frames=clip.frames[selected], timestamps=times)
    if plan.most_fps is not None and clip.fps > plan.most_fps:
        clip = at_rate(clip, clip.fps / math.ceil(clip.fps / plan.most_fps))
    if plan.short_side is not None and min(clip.width, clip.height) > plan.short_side:
        clip = scaled(clip, plan.short_side / min(clip.width, clip.height))
    return clip


@dataclass(frozen=True, slots=True)
class Work:
    """One case to be computed by a worker.

    Attributes:
        task: The clip.
        sha256: Of its content.
        kind: What to do to it: :data:`CLEAN`, a perturbation, a trap, or :data:`RATE`.
        strength: Of the perturbation; 0 for clean; 1 for a trap; for a rate the stride.
    """

    task: Task
    sha256: str
    kind: str
    strength: float

    @property
    def head(self) -> dict[str, Any]:
        """Return the identifying fields of its line in the journal."""
        return {"clip": self.task.clip, "sha256": self.sha256, "kind": self.kind, "strength": self.strength}


def key_of(line: Mapping[str, Any]) -> tuple[str, str, str, float]:
    """Return what a case is known by, from its line or the head of it."""
    return line["clip"], line["sha256"], line["kind"], line["strength"]


def answer(work: Work, sources: Sequence[Source], plan: Plan) -> dict[str, Any]:
    """Compute a case and return its line; errors of clip, perturbation or metric are recorded in it.

    Raises:
        SetupError: A metric cannot run here at all.
    """
    start = time.perf_counter()
    line = work.head
    try:
        clip, done = made(work, plan)
        line |= {"fps": clip.fps, "frames": len(clip), **done, **score(sources, clip)}
    except NotApplicableError as error:
        line["inapplicable"] = str(error)
    except SetupError:
        raise
    except Exception as error:  # a broken clip or perturbation ends in its line; the probe goes on
        line["error"] = explain(error)
    return {**line, "seconds": round(time.perf_counter() - start, 3)}


def made(work: Work, plan: Plan) -> tuple[Clip, dict[str, Any]]:
    """Return the clip of a case, and the truth of what was done to it.

    Raises:
        NotApplicableError: It cannot be done to this clip.
        ClipError: The clip cannot be read.
    """
    key, kind, strength = _Key(work.task.key, work.sha256, work.task), work.kind, work.strength
    clip = _read(key, plan)
    if kind == CLEAN:
        return clip, {}
    if kind == RATE:
        fewer = at_rate(clip, clip.fps / strength)
        if len(fewer) < LEAST_FRAMES_LEFT:
            raise NotApplicableError(f"{len(fewer)} frames are left at {clip.fps / strength:.3g} a second")
        return fewer, {}
    if kind in TRAPS:
        trap = TRAPS[kind](clip, plan.generator(work.task.clip, kind))
        if np.array_equal(trap.frames, clip.frames):
            raise NotApplicableError("nothing of this clip changes")
        return trap, {}
    change, objects = PERTURBATIONS[kind], None
    if kind in OBJECT_DEFECTS:
        try:
            objects = _find(key, plan)
        except SetupError as error:  # whoever probes a function of his own may live without
            raise NotApplicableError(f"objects of the clip cannot be detected: {error}") from error
    made = change(clip, strength, plan.generator(work.task.clip, kind), objects)
    if not made.frames:
        raise NotApplicableError(f"at strength {strength:.3g} nothing of this clip changes")
    return made.clip, {"changed": list(made.frames), "breaks": list(made.breaks)}


@dataclass(frozen=True, slots=True)
class _Key:
    """Cache key of a task: tasks of equal content are equal."""

    name: str
    sha256: str
    task: Task = field(compare=False)


@lru_cache(maxsize=1)  # the cases of a clip come one after another
def _read(key: _Key, plan: Plan) -> Clip:
    task = key.task
    if task.broken is not None:
        raise ClipError(task.broken)
    if isinstance(task.in_memory, Clip):
        return window(task.in_memory, plan)
    clip = read_clip(
        task.path, name=task.clip, prompt=task.prompt, subject=task.subject, root=task.root, **dict(reading_options())
    )
    return window(clip, plan)


@lru_cache(maxsize=1)
def _find(key: _Key, plan: Plan) -> ClipObjects:
    """Return the objects and people that the embedded models detect in the unperturbed clip."""
    return objects_of(Settings(metrics=("ois", "tcs")).build().scene(_read(key, plan)))


def objects_of(scene: Scene) -> ClipObjects:
    """Return the objects and people of a scene, in pixels of its clip."""
    size = (scene.clip.width, scene.clip.height)
    labels = [cv2.resize(m, size, interpolation=cv2.INTER_NEAREST) for m in scene.objects.labels]
    return ClipObjects(np.stack(labels).astype(np.uint8), scene.poses.keypoints)
