"""Scoring of clips with a preset, a protocol and a set of metrics."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, Literal, get_args

from vmmetrics.clip import Clip, Subject
from vmmetrics.errors import ClipError, SetupError, explain, kind_and_text
from vmmetrics.functional.motion_index import VERSION as INDEX_VERSION
from vmmetrics.metrics import METRICS
from vmmetrics.metrics.registry import Metric, in_order, load_plugins, registered
from vmmetrics.perception.own_change import own_change
from vmmetrics.perception.presets import PresetOptions, load_preset, with_cas_model
from vmmetrics.perception.scene import Scene
from vmmetrics.scoring.anchors import Scale
from vmmetrics.scoring.clip_scores import ClipScores, indexes
from vmmetrics.scoring.filter_suite import FilterSuite
from vmmetrics.scoring.own_index import register_index
from vmmetrics.scoring.windows import Seen, score_windows
from vmmetrics.types import MetricResult, Protocol, Tags, lasts_enough, seconds_of
from vmmetrics.video import read_clip
from vmmetrics.video.windows import LongClip, long_clip, stream_windows


def attempt(
    key: str, measure: Callable[[], MetricResult], results: dict[str, MetricResult], errors: dict[str, str]
) -> None:
    """Store the result of ``measure`` under ``key``, or its error: one failed metric must not fail the others."""
    try:
        results[key] = measure()
    except (ClipError, SetupError) as error:
        errors[key] = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin's own, and its sys.exit
        errors[key] = kind_and_text(error)


def _with_earlier(available: Collection[Metric], keys: Collection[str]) -> tuple[Metric, ...]:
    """Return metrics and those whose results they read, in an order that can be."""
    needed = set(keys)
    for metric in reversed([*available]):  # a metric is registered after those whose results it reads
        if metric.key in needed:
            needed.update(metric.after)
    return tuple(metric for metric in available if metric.key in needed)


def _ask(scene: Scene, names: Sequence[str]) -> None:
    """Compute abilities of the scene; errors are raised again in the metric that uses one."""
    for name in names:
        with suppress(Exception):
            getattr(scene, name)


def too_short(tags: Tags, lasts: float, fps: float) -> list[str]:
    """Return a note on a clip that lasts for less seconds than the motion of its prompt is expected to take."""
    if lasts_enough(tags, lasts, fps):
        return []
    return [f"the clip lasts {lasts:.1f} s, and its prompt's motion is expected to take {seconds_of(tags):g} s"]


class Suite:
    """Scorer of clips with one preset, protocol and set of metrics.

    Args:
        preset: The models: ``"embedded"`` (needs no download) or ``"vmbench"`` (the published ones).
        protocol: The definition: ``"vmmetrics"``, or ``"vmbench"`` for the released code's.
        metrics: Keys of the metrics.
        cas_model: Checkpoint of a commonsense classifier to use instead of the preset's (see
            :func:`~vmmetrics.perception.presets.with_cas_model`).
        threads: Threads of the neural models; None leaves it to them.
        plugins: Python files that register custom metrics (:func:`vmmetrics.metrics.register`).
        tf32: True lets a GPU round the factors of float32 matrix products to TF32: faster, scores differ a little.
        index: File of ``vmmetrics calibrate``, whose index is among the metrics then.
        tier: ``"filter"`` returns a :class:`~vmmetrics.scoring.filter_suite.FilterSuite`, with its arguments instead.

    Raises:
        ValueError: Unknown protocol, metric or tier.
        SetupError: The preset cannot run here; the text says how to fix it.

    Example:
        >>> import numpy as np
        >>> still = np.full((8, 64, 64, 3), 128, np.uint8)
        >>> Suite(metrics=("pas",)).score_clip(still, fps=8).scores
        {'pas': 0.0}
    """

    whole_clips = False
    """True in subclasses that never score in windows."""

    def __new__(cls, *args: Any, tier: str = "scores", **options: Any) -> Any:
        """Return a suite of the tier."""
        if tier not in ("scores", "filter"):
            raise ValueError(f"Expected tier 'scores' or 'filter' but got {tier!r}")
        return FilterSuite(*args, **options) if tier == "filter" else super().__new__(cls)

    def __init__(
        self,
        preset: str = "embedded",
        protocol: Protocol = "vmmetrics",
        metrics: Sequence[str] = METRICS,
        *,
        cas_model: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        plugins: Sequence[str] = (),
        tf32: bool = False,
        index: str | os.PathLike[str] | None = None,
        tier: Literal["scores", "filter"] = "scores",  # noqa: ARG002  (__new__ reads it)
    ) -> None:
        if protocol not in get_args(Protocol):
            raise ValueError(f"Expected protocol to be one of {', '.join(get_args(Protocol))} but got {protocol!r}")
        load_plugins(plugins)
        own = None if index is None else register_index(index)
        metrics = metrics if own is None else (*metrics, own.name)
        available = registered()
        if not metrics or not available.keys() >= set(metrics):
            raise ValueError(f"Expected metrics among {in_order(available)} but got {tuple(metrics)}")
        self.preset = preset
        self.protocol: Protocol = protocol
        self.metrics = in_order(metrics)
        self._computed = _with_earlier(available.values(), self.metrics)
        needs = {need for metric in self._computed for need in metric.needs}
        if cas_model is not None:
            needs.discard("plausibility")
        self.tf32 = tf32
        self._preset = load_preset(preset, PresetOptions(frozenset(needs), protocol, threads, tf32))
        if cas_model is not None:
            self._preset = with_cas_model(self._preset, Path(cas_model))
        self.unused = self._preset.unused({need for metric in self._computed for need in metric.needs})
        """Models and weights of :meth:`describe` that these metrics do not use."""
        self._scale = Scale(self.describe())
        if own is not None:
            own.check(self.describe(), {key: (available[key].version,) for key in own.versions})

    def describe(self) -> dict[str, Any]:
        """Return the provenance of the scores as JSON types: models, weights, settings, comparability."""
        return {
            "preset": self.preset,
            "protocol": self.protocol,
            "metrics": list(self.metrics),
            "models": dict(self._preset.description),
            "weights": dict(self._preset.weights),
            "motion_index": INDEX_VERSION,
            "comparable": self._preset.published_models and self.protocol == "vmbench",
            "label": self.label,
            **({"tf32": True} if self.tf32 else {}),  # absent in runs without it, as in earlier versions
        }

    @property
    def label(self) -> str:
        """One-line description of the scores: preset, protocol and comparability."""
        text = f"preset {self.preset}, protocol {self.protocol}{', TF32' if self.tf32 else ''}"
        if self._preset.published_models and self.protocol == "vmbench":
            return text
        return f"{text}: not comparable with published VMBench numbers"

    @property
    def reads_ahead(self) -> bool:
        """True if reading the next clip while one is scored saves time."""
        return self._preset.reads_ahead

    def scene(self, clip: Clip) -> Scene:
        """Return the shared perception of a clip, for drawing or custom metrics."""
        return Scene(clip, self._preset.models)

    def score_clip(
        self,
        clip: Any,
        *,
        fps: float | None = None,
        prompt: str | None = None,
        subject: Subject | str | None = None,
        tags: Tags | None = None,
        layout: str | None = None,
        name: str | None = None,
    ) -> ClipScores:
        """Score one clip.

        Args:
            clip: A :class:`Clip`, a path, or frames as a numpy array or torch tensor.
            fps: Frames per second of an array.
            prompt: Text the clip was generated from.
            subject: The subject of the clip.
            tags: Tags of the prompt's motion (``{"skeleton": "none"}``: no body, so OIS does not apply).
            layout: Axes of an array, ``"THWC"``, ``"TCHW"``, ``"CTHW"``; None infers them where unambiguous.
            name: Name of the clip in results.

        Returns:
            Scores, missing scores with reasons, and failures with reasons.

        Raises:
            ClipError: The clip cannot be read.
        """
        start = time.perf_counter()
        if isinstance(clip, str | os.PathLike) and fps is None and layout is None and self.takes_windows:
            long = long_clip(clip, {"name": name, "prompt": prompt, "subject": subject, "tags": tags})
            if long is not None:
                with closing(long):
                    return self.score_long(long)
        if not isinstance(clip, Clip):
            clip = read_clip(clip, fps=fps, layout=layout, name=name, prompt=prompt, subject=subject, tags=tags)
        scores = self.score_scene(self.scene(clip))
        return replace(scores, seconds=time.perf_counter() - start)

    @property
    def takes_windows(self) -> bool:
        """True if clips that do not fit the memory can be scored in windows; VMBench's code sees whole clips."""
        return not self.whole_clips and self.protocol == "vmmetrics" and not self._preset.published_models

    def score_long(self, clip: LongClip, seen: Seen | None = None) -> ClipScores:
        """Score a clip window by window; ``seen`` receives each window while its perception is in memory."""
        *_, whole = score_windows(self, clip.windows(), len(clip.lengths), seen)
        notes = (*clip.notes, *whole.notes, *too_short(clip.about["tags"], whole.windows[-1].end, clip.fps))
        return replace(whole, notes=tuple(dict.fromkeys(notes)))

    def stream(
        self,
        frames: Iterable[Any],
        *,
        fps: float,
        layout: str | None = None,
        value_range: tuple[float, float] | None = None,
        max_memory: int | None = None,
        prompt: str | None = None,
        subject: Subject | str | None = None,
        tags: Tags | None = None,
        name: str = "clip",
    ) -> Iterator[ClipScores]:
        """Score a clip while its frames arrive, in windows that begin at multiples of 5 s.

        Args:
            frames: Frames (H, W, 3), or arrays of several (T, H, W, 3), as they come; uint8, or floats with
                ``value_range``. A window is scored once a second has passed after it.
            fps: Frames per second.
            layout: Axes of each item, such as ``"CHW"`` or ``"TCHW"``; None guesses where one reading makes sense.
            value_range: What black and white are in floats.
            max_memory: Bytes that a window may take while it is scored; its frames are downscaled to fit.
            prompt: Text the clip was generated from.
            subject: The subject of the clip.
            tags: Tags of the prompt's motion.
            name: Name of the clip in results.

        Yields:
            The scores of each window as of its frames alone, then those of the whole clip, combined as
            :mod:`vmmetrics.scoring.windows` says; :attr:`ClipScores.windows` has the seconds.

        Raises:
            ValueError: Protocol or preset is ``vmbench``, whose code sees whole clips; or there is no frame.
            ClipError: Frames cannot be read, or change their size.
        """
        if not self.takes_windows:
            raise ValueError("Only preset embedded with protocol vmmetrics scores in windows; use score_clip")
        about = {"name": name, "prompt": prompt, "subject": subject, "tags": tags}
        windows = stream_windows(
            frames, about, fps=fps, layout=layout, value_range=value_range, max_memory=max_memory
        )  # fmt: skip

        def noted(scores: ClipScores) -> ClipScores:
            whole = scores.name == name  # windows have their seconds in it
            note = too_short(tags or {}, scores.windows[-1].end, fps) if whole else ()
            return replace(scores, notes=(*scores.notes, *note))

        return map(noted, score_windows(self, windows))

    def _own_change(self, scene: Scene) -> tuple[float | None, tuple[str, ...]]:
        """Return the own change where the index needs it, none without CAS, and a note where it failed."""
        judged = any(metric.key == "cas" for metric in self._computed)
        if self.protocol != "vmmetrics" or not judged or len(scene.clip) < 2 or scene.unjudgeable:
            return None, ()
        try:  # rounded here, so that the index is the same from this suite and from a stored record
            changed = scene.once("own change", lambda: own_change(scene.clip))
            return None if changed is None else round(changed, 6), ()
        except Exception as error:  # as of a metric: the scores stay
            return None, (f"own change failed, so no factor is in INDEX: {explain(error)}",)

    def score_scene(self, scene: Scene, metrics: Collection[str] | None = None) -> ClipScores:
        """Score a clip with the abilities already computed in ``scene``; missing ones are computed.

        Args:
            scene: The clip.
            metrics: Some of the metrics, and no index; None for all.
        """
        start = time.perf_counter()
        results: dict[str, MetricResult] = {}
        errors: dict[str, str] = {}
        content = scene.unjudgeable if self.protocol == "vmmetrics" else None
        computed = self._computed if metrics is None else _with_earlier(self._computed, metrics)
        computed = tuple(metric for metric in computed if not metric.is_index)
        judging = [m for m in computed if content is None or content.kind not in m.not_of]
        if content is not None:
            results.update({m.key: MetricResult(None, content.reason) for m in computed if m not in judging})
        finished = {metric.key: Event() for metric in judging}

        def compute(metrics: deque[Metric], abilities: Sequence[str] = ()) -> None:
            """Compute ``abilities`` of the scene, then one metric after the other until none is left."""
            _ask(scene, abilities)
            with suppress(IndexError):
                while True:
                    metric = metrics.popleft()
                    for key in finished.keys() & set(metric.after):
                        finished[key].wait()
                    try:
                        earlier = {key: results.get(key) for key in metric.after}
                        attempt(metric.key, partial(metric.compute, scene, self.protocol, **earlier), results, errors)
                    finally:
                        finished[metric.key].set()

        if self._preset.side_by_side:
            beside = {m.key: m.beside_others(scene.clip, self.protocol) for m in judging}
            # Metrics with abilities in ``beside`` come last, so that none waits for those. In any order, a metric comes
            # after those whose results it reads. Custom metrics run in the caller's thread.
            shared = deque(sorted((m for m in judging if not m.source), key=lambda m: bool(m.after or beside[m.key])))
            with ThreadPoolExecutor(max_workers=1) as pool:
                pool.submit(compute, shared, [name for names in reversed(beside.values()) for name in names])
                compute(shared)
            judging = [m for m in judging if m.source]
        compute(deque(judging))
        changed, problems = self._own_change(scene) if metrics is None else (None, ())
        results |= indexes(self.metrics, results, changed) if metrics is None else {}
        notes, clip = [*scene.clip.notes, *scene.models.notes], scene.clip
        notes += too_short(clip.tags, float(clip.timestamps[-1]) + 1 / clip.fps, clip.fps)
        return ClipScores(
            name=scene.clip.name,
            results={k: results[k] for k in self.metrics if k in results and (metrics is None or k in metrics)},
            errors={k: errors[k] for k in self.metrics if k in errors},
            seconds=time.perf_counter() - start,
            own_change=changed,
            notes=(*notes, *problems),
            protocol=self.protocol,
            scale=self._scale,
        )
