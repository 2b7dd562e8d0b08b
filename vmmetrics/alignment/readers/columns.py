"""Column names in tables of scores and ratings, and which of them say nothing about quality."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.metrics.registry import METRICS, find, registered
from vmmetrics.scoring.summary import INDEX
from vmmetrics.scoring.table import COLUMNS
from vmmetrics.video.discover import CLIP_SUFFIXES

# The first that a table has counts. Compared without case, with "_" for whatever is no letter or digit.
CLIP = (
    "clip", "clip_name", "clip_path", "video", "video_name", "video_path", "file", "filename", "file_name", "path",
    "filepath", "file_path", "name", "video_file", "video_id", "clip_id", "id",
    "video_url", "clip_url", "video_link", "stimulus", "pvs", "url", "clips", "videos",
)  # fmt: skip
RATER = ("rater", "rater_id", "annotator", "annotator_id", "worker", "worker_id", "user", "user_id", "participant",
         "participant_id", "judge", "subject_id", "human", "annotator_email", "completed_by", "email", "email_address",
         "e_mail", "username", "prolific_id", "prolific_pid", "observer", "observer_id", "evaluator", "voter",
         "respondent", "viewer", "labeler", "expert")  # fmt: skip
DIMENSION = ("dimension", "aspect", "subaspect", "criterion", "attribute", "question")
RATING = ("rating", "score", "value", "mos", "answer", "vote")
PROMPT = ("prompt", "caption", "text_prompt", "prompt_en", "text", "prompt_id", "prompt_index", "sent_id")
AMPLITUDE = "amplitude"
"""Column of the amount of motion: no score, but what agreement is held constant at."""
MODEL = ("model", "generator", "model_name", "gen_model", "generator_name", "t2v_model", "system", "source")

# Columns that describe a clip or a row and hold neither scores nor ratings; of ours all without a role.
_OF_CLIPS = (
    "", "index", "unnamed_0", "level_0", "row", "id", "clip_id", "video_id", "internal_id", "prompt_id",
    "prompt_index", "sent_id", "num_frames", "frame_count", "n_frames", "resolution", "length", "duration", "time",
    "timestamp", "time_spent", "response_time",
    "reaction_time", "seed", "split", "fold", "group", "category", "trial", "session", "order", "weight", "age",
    "grid_view", *sorted({*COLUMNS}.difference(METRICS, (INDEX,), CLIP, MODEL, PROMPT)),
)  # fmt: skip
# Columns of how a clip was annotated. A rank is better the lower it is, so it is read only where it is asked for.
_OF_ANNOTATION = (
    "number", "no", "sample_id", "item_id", "question_id", "task_id", "inner_id", "annotation_id", "project_id",
    "response_id", "session_id", "batch_id", "hit_id", "hit_type_id", "assignment_id", "worker_id", "rater_id",
    "annotator_id", "user_id", "participant_id", "job_id", "run_id", "frame_rate", "bytes", "file_size", "duration_s",
    "duration_ms", "duration_sec", "duration_seconds", "duration_in_seconds", "timestamp_ms", "unix_time", "date",
    "created", "created_at", "updated_at", "submitted_at", "completed_at", "started_at", "start_time", "end_time",
    "accept_time", "submit_time", "lead_time", "annotation_time", "rating_time", "task_time", "work_time",
    "work_time_in_seconds", "elapsed", "elapsed_time", "time_taken", "watch_time", "rt", "random_seed", "batch",
    "trial_index", "position", "page", "rank", "ranking", "confidence", "agreement", "max_assignments",
    "assignment_duration_in_seconds", "auto_approval_delay_in_seconds", "lifetime_in_seconds",
    "number_of_similar_hits", "tstamp", "turn", "case_id", "idx",
)  # fmt: skip
# Words of columns of which a part tells that they hold no ratings: "trials.thisN", "slider.rt", "CI95", "n_ratings".
_ANNOTATION_WORDS = frozenset({
    "rt", "ms", "trial", "trials", "attention", "sd", "std", "stdev", "stddev", "stderr", "sem", "ci", "ci95",
    "var", "variance", "iqr",
})  # fmt: skip
_COUNTS = re.compile(
    r"no|(?:n|num|number|count)(?:_(?:of_)?(?:ratings?|raters?|votes?|observers?|subjects?|people|annotat\w+|participants?|"
    r"responses?|answers?))?|(?:[^\W_]+_)?(?:counts?|votes|replays|deviation|interval|time|latency|id|second|sos)"
)
# Columns of free text: "good" there is no rating.
_REMARKS = frozenset({
    "comment", "comments", "remark", "remarks", "note", "notes", "feedback", "reason", "reasons", "explanation",
    "justification", "rationale", "free_text", "any_comments", "additional_comments", "other_comments",
})  # fmt: skip


def normalised(name: str) -> str:
    """Return a name in lower case, with "_" for whatever is no letter or digit.

    >>> normalised(" Video-Path ")
    'video_path'
    """
    return re.sub(r"[\W_]+", "_", str(name).casefold()).strip("_")


def describes_clip(name: str) -> bool:
    """Return True if a column by its name describes a clip or a row: it holds neither scores nor ratings.

    >>> describes_clip("num_frames"), describes_clip("confidence"), describes_clip("质量")
    (True, False, False)
    """
    return _joined(name) in _JOINED_OF_CLIPS if _joined(name) else not str(name).strip()


def is_bookkeeping(name: str) -> bool:
    """Return True if a column by its name holds no ratings: it describes a clip, or how it was annotated.

    >>> is_bookkeeping("lead_time"), is_bookkeeping("AssignmentId"), is_bookkeeping("smoothness")
    (True, True, False)
    """
    plain = normalised(name)
    by_word = bool(_ANNOTATION_WORDS & set(plain.split("_"))) or _COUNTS.fullmatch(plain) is not None
    return by_word or describes_clip(name) or _joined(name) in _JOINED_OF_ANNOTATION


def is_remark(name: str) -> bool:
    """Return True if a column by its name holds free text.

    >>> is_remark("Any comments?"), is_remark("smoothness")
    (True, False)
    """
    return normalised(name) in _REMARKS


def first_column(columns: Iterable[str], names: Collection[str]) -> str | None:
    """Return the column that bears the first of ``names`` that any bears, or None."""
    by_name: dict[str, str] = {}
    for column in columns:
        by_name.setdefault(_joined(column), column)
    return next((by_name[_joined(name)] for name in names if _joined(name) in by_name), None)


def metrics_called(name: str, metrics: Iterable[str]) -> list[str]:
    """Return the metrics of this name, with or without the prefix of their source."""
    return [m for m in metrics if normalised(name) in {normalised(m), normalised(m.rpartition(":")[2])}]


def _joined(name: str) -> str:
    """Return the letters and digits of a name, so that ``WorkerId`` is ``worker_id``."""
    return normalised(name).replace("_", "")


_JOINED_OF_CLIPS, _JOINED_OF_ANNOTATION = (frozenset(map(_joined, names)) for names in (_OF_CLIPS, _OF_ANNOTATION))


def is_clip_file(cell: Any) -> bool:
    """Return True if a cell is the path or the address of a clip, by its suffix."""
    return isinstance(cell, str) and PurePosixPath(cell.partition("?")[0]).suffix.lower() in CLIP_SUFFIXES


def is_text(cells: Iterable[Any]) -> bool:
    """Return True if some cell is text that is not a number."""
    for cell in cells:
        if isinstance(cell, str) and cell.strip():
            try:
                float(cell)
            except ValueError:
                return True
    return False


# Which score is compared with which dimension of judgement: as stated, or guessed from their names.
#
# A dimension is about *other things than motion* (sharpness, beauty, what the prompt asked for), about *some* of the
# five aspects of motion, or about motion *in general*. A dimension whose name says nothing known counts as general.
#
# - One of the five metrics is compared with the dimensions of its aspect and those about motion in general; if
#   there are none, with all about motion but those about its amount.
# - Any other metric is compared with all dimensions about motion.
# - A dimension about other things is compared with metrics of its own name, and with all if it is asked for.
# - Where only one dimension is left, everything is compared with it.

OTHER_THINGS = (
    "static", "spatial", "aesthetic", "imaging", "image", "visual", "technical", "alignment", "align", "text", "prompt",
    "color", "colour", "scene", "object_class", "action", "composition", "focus", "lighting", "clear", "letters",
    "safety", "unsafe", "detail", "refinement", "semantic", "style", "sharpness", "resolution", "camera", "audio",
    "background",
)  # fmt: skip
"""Words in the names of dimensions that are not about how things move."""

Pairing = Mapping[str, Sequence[str] | str]


def pair_dimensions(
    metrics: Sequence[str], dimensions: Sequence[str], pairing: Pairing | None = None, asked: Sequence[str] = ()
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Pair metrics with the dimensions they are compared with.

    Args:
        metrics: Names of the metrics.
        dimensions: Names of the dimensions.
        pairing: Metric to one dimension or several; metrics that are not named are guessed.
        asked: Dimensions that were asked for by name; they count as being about motion.

    Returns:
        Metric to dimensions, and what was guessed, in words.

    Raises:
        SetupError: ``pairing`` names an unknown metric or dimension, or nothing can be compared.
    """
    stated = _stated(metrics, dimensions, pairing or {})
    requested = set(map(normalised, asked))
    aspects = {d: None if normalised(d) in requested else aspects_of(d) for d in dimensions}
    paired = {m: stated.get(m) or _guess(m, aspects) for m in metrics}
    if not any(paired.values()):
        raise SetupError(
            f"No dimension of the ratings is about motion by its name ({', '.join(dimensions)}): choose one with "
            "--pair METRIC=DIMENSION or --dimension NAME"
        )
    by_dimensions: dict[tuple[str, ...], list[str]] = {}
    for metric in metrics:
        if metric not in stated:
            by_dimensions.setdefault(paired[metric], []).append(metric)
    notes = [
        f"Paired by names: {', '.join(alike)} compared with {', '.join(targets) or 'nothing'}"
        for targets, alike in by_dimensions.items()
    ]
    left = [d for d in dimensions if not any(d in targets for targets in paired.values())]
    others = [d for d in left if aspects[d] == frozenset()]
    if others:
        notes.append(f"Not compared, as its name is not about motion: {', '.join(others)}")
    if unmeasured := [d for d in left if d not in others]:
        notes.append(f"No score measures {', '.join(unmeasured)}: not compared (use --pair METRIC=DIMENSION)")
    return {m: targets for m, targets in paired.items() if targets}, tuple(notes)


def aspects_of(dimension: str) -> frozenset[str] | None:
    """Return the metrics whose aspect of motion a dimension is about; empty: other aspects; None: motion in general.

    >>> sorted(aspects_of("Motion Smoothness")), aspects_of("static_quality"), aspects_of("temporal_quality")
    (['mss'], frozenset(), None)
    """
    name = normalised(dimension)
    metrics = registered().items()
    matches = frozenset(key for key, metric in metrics if any(_has(name, part) for part in metric.aspects))
    if matches and not (_is_amount(matches) and _has(name, "camera")):
        return matches
    return frozenset() if any(_has(name, word) for word in OTHER_THINGS) else None


def _is_amount(aspects: frozenset[str] | None) -> bool:
    """Return True if these are about an amount of motion and nothing else."""
    return bool(aspects) and all((metric := find(key)) is not None and metric.is_amount for key in aspects or ())


def measures_amount(name: str) -> bool:
    """Return True if a metric or dimension is by its name about an amount of motion, of which more is not better.

    >>> measures_amount("flow_magnitude"), measures_amount("ssim")
    (True, False)
    """
    metric = find(normalised(name.rpartition(":")[2]))
    return metric.is_amount if metric is not None else _is_amount(aspects_of(name))


def _has(name: str, part: str) -> bool:
    """Return True if a word of ``name`` begins with ``part``, or equals it if ``part`` is short."""
    return f"_{part}{'_' if len(part) <= 3 else ''}" in f"_{name}_"


def _stated(metrics: Sequence[str], dimensions: Sequence[str], pairing: Pairing) -> dict[str, tuple[str, ...]]:
    by_name = {normalised(d): d for d in dimensions}
    stated: dict[str, tuple[str, ...]] = {}
    for metric, value in pairing.items():
        named = metrics_called(metric, metrics)
        names = [value] if isinstance(value, str) else list(value)
        unknown = [name for name in names if normalised(name) not in by_name]
        if not named:
            raise SetupError(
                f"No metric {metric!r} to compare with {', '.join(names)}; the scores have {', '.join(metrics)}"
            )
        if unknown:
            raise SetupError(f"No dimension {unknown[0]!r} for {metric}; the ratings have {', '.join(dimensions)}")
        for name in named:
            stated[name] = tuple(dict.fromkeys((*stated.get(name, ()), *(by_name[normalised(d)] for d in names))))
    return stated


def _guess(metric: str, aspects: Mapping[str, frozenset[str] | None]) -> tuple[str, ...]:
    """Return the dimensions to compare a metric with, by its name and by their aspects."""
    if len(aspects) == 1:
        return tuple(aspects)
    name = normalised(metric.rpartition(":")[2])
    words = set(name.split("_"))
    motion = {d for d in aspects if aspects[d] != frozenset()}
    chosen = motion
    if len(motion) != 1 and name in registered():
        own = {d for d in motion if name in (aspects[d] or (name,))}
        chosen = own or {d for d in motion if not _is_amount(aspects[d])} or motion
    namesakes = {d for d in aspects.keys() - motion if words <= (its := set(normalised(d).split("_"))) or its <= words}
    return tuple(d for d in aspects if d in chosen | namesakes)
