"""What columns are called in tables of scores and ratings, and which of them say nothing about quality."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from vmmetrics.errors import SetupError
from vmmetrics.metrics.registry import find, registered
from vmmetrics.utils.schema import parse_json

# The first that a table has counts. Compared without case, with "_" for whatever is no letter or digit.
CLIP = (
    "clip", "clip_name", "clip_path", "video", "video_name", "video_path", "file", "filename", "file_name", "path",
    "filepath", "file_path", "name", "video_file", "video_id", "clip_id", "id",
)  # fmt: skip
RATER = ("rater", "rater_id", "annotator", "annotator_id", "worker", "worker_id", "user", "user_id", "participant",
         "participant_id", "judge", "subject_id", "human", "annotator_email", "completed_by")  # fmt: skip
DIMENSION = ("dimension", "aspect", "criterion", "attribute", "question")
RATING = ("rating", "score", "value", "mos", "answer", "vote")
PROMPT = ("prompt", "caption", "text_prompt", "prompt_en", "text", "prompt_id", "prompt_index", "sent_id")
MODEL = ("model", "generator", "model_name", "gen_model", "generator_name", "t2v_model", "system", "source")

LEFT = ("left", "left_clip", "left_video", "clip_left", "video_left", "a", "clip_a", "video_a", "path_a",
        "video_a_path", "video1", "video_1", "clip1", "clip_1", "video1_path", "video_path_1", "first")  # fmt: skip
RIGHT = ("right", "right_clip", "right_video", "clip_right", "video_right", "b", "clip_b", "video_b", "path_b",
         "video_b_path", "video2", "video_2", "clip2", "clip_2", "video2_path", "video_path_2", "second")  # fmt: skip
LEFT_MODEL = ("left_model", "model_left", "model_a", "a_model", "model1", "model_1")
RIGHT_MODEL = ("right_model", "model_right", "model_b", "b_model", "model2", "model_2")
OUTCOME = ("outcome", "preference", "preferred", "winner", "choice", "label", "result", "verdict", "standard_answer",
           "answer", "vote", "judgement", "judgment")  # fmt: skip

# Columns that describe a clip or a row and hold neither scores nor ratings; "average" and "amplitude" are made from the
# five metrics.
_OF_CLIPS = (
    "", "index", "unnamed_0", "level_0", "row", "id", "clip_id", "video_id", "internal_id", "prompt_id",
    "prompt_index", "sent_id", "frames", "num_frames", "frame_count", "n_frames", "fps", "width", "height",
    "resolution", "seconds", "length", "duration", "time", "timestamp", "time_spent", "response_time",
    "reaction_time", "seed", "split", "fold", "group", "category", "trial", "session", "order", "weight", "age",
    "grid_view", "average", "amplitude", "missing", "error", "preset", "protocol", "notes", "subject", "sha256",
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
    "number_of_similar_hits",
)  # fmt: skip


def normalised(name: str) -> str:
    """A name in lower case, with "_" for whatever is no letter or digit.

    >>> normalised(" Video-Path ")
    'video_path'
    """
    return re.sub(r"[\W_]+", "_", str(name).casefold()).strip("_")


def describes_clip(name: str) -> bool:
    """Return whether a column by its name describes a clip or a row: it holds neither scores nor ratings.

    >>> describes_clip("num_frames"), describes_clip("confidence"), describes_clip("质量")
    (True, False, False)
    """
    return _joined(name) in _JOINED_OF_CLIPS if _joined(name) else not str(name).strip()


def is_bookkeeping(name: str) -> bool:
    """Return whether a column by its name holds no ratings: it describes a clip, or how it was annotated.

    >>> is_bookkeeping("lead_time"), is_bookkeeping("AssignmentId"), is_bookkeeping("smoothness")
    (True, True, False)
    """
    return describes_clip(name) or _joined(name) in _JOINED_OF_ANNOTATION


def first_column(columns: Iterable[str], names: Collection[str]) -> str | None:
    """The column that bears the first of ``names`` that any bears, or None."""
    known: dict[str, str] = {}
    for column in columns:
        known.setdefault(_joined(column), column)
    return next((known[_joined(name)] for name in names if _joined(name) in known), None)


def metrics_called(name: str, metrics: Iterable[str]) -> list[str]:
    """Those of the metrics that bear the name, with or without the prefix of their source."""
    return [m for m in metrics if normalised(name) in {normalised(m), normalised(m.rpartition(":")[2])}]


def _joined(name: str) -> str:
    """The letters and digits of a name, so that ``WorkerId`` is ``worker_id``."""
    return normalised(name).replace("_", "")


_JOINED_OF_CLIPS, _JOINED_OF_ANNOTATION = (frozenset(map(_joined, names)) for names in (_OF_CLIPS, _OF_ANNOTATION))


def is_text(cells: Iterable[Any]) -> bool:
    """Whether some cell is text that is no number."""
    for cell in cells:
        if isinstance(cell, str) and cell.strip():
            try:
                float(cell)
            except ValueError:
                return True
    return False


# Which score is held against which dimension of judgement: as given, or guessed from their names.
#
# A dimension is about *other things than motion* (sharpness, beauty, what the prompt asked for), about *some* of the
# five aspects of motion, or about motion *in general*. A dimension whose name says nothing known counts as general.
#
# - One of the five metrics faces the dimensions of its aspect and those about motion in general; if there are none, all
#   about motion but those about its amount.
# - Any other metric faces all dimensions about motion.
# - A dimension about other things is faced by metrics of its own name, and by all if it is asked for.
# - Where only one dimension is left, everything faces it.

OTHER_THINGS = (
    "static", "aesthetic", "imaging", "image", "visual", "technical", "alignment", "align", "text", "prompt", "color",
    "colour", "scene", "object_class", "action", "composition", "focus", "lighting", "clear", "letters", "safety",
    "unsafe", "detail", "refinement", "semantic", "style", "sharpness", "resolution", "camera", "audio", "background",
)  # fmt: skip
"""Words in the names of dimensions that are not about how things move."""

Facing = Mapping[str, Sequence[str] | str]


def faces(
    metrics: Sequence[str], dimensions: Sequence[str], given: Facing | None = None, asked: Sequence[str] = ()
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Decide which metric is held against which dimensions.

    Args:
        metrics: Names of the metrics.
        dimensions: Names of the dimensions.
        given: Metric to one dimension or several; metrics that are not named are guessed.
        asked: Dimensions that were asked for by name; they count as being about motion.

    Returns:
        Metric to dimensions, and what was guessed, in words.

    Raises:
        SetupError: ``given`` names an unknown metric or dimension, or nothing faces anything.
    """
    stated = _stated(metrics, dimensions, given or {})
    wanted = set(map(normalised, asked))
    about = {d: None if normalised(d) in wanted else aspects_of(d) for d in dimensions}
    facing = {m: stated.get(m) or _guess(m, about) for m in metrics}
    if not any(facing.values()):
        raise SetupError(
            f"No score faces any of the dimensions {', '.join(dimensions)}, which are about other things than motion; "
            "say with --pair METRIC=DIMENSION or --dimension which to hold them against"
        )
    by_dimensions: dict[tuple[str, ...], list[str]] = {}
    for metric in metrics:
        if metric not in stated:
            by_dimensions.setdefault(facing[metric], []).append(metric)
    notes = [
        f"Guessed from names: {', '.join(alike)} held against {', '.join(faced) or 'nothing'}"
        for faced, alike in by_dimensions.items()
    ]
    if left := [d for d in dimensions if not any(d in faced for faced in facing.values())]:
        notes.append(f"Not about motion by its name, and so faced by no score: {', '.join(left)}")
    return {m: faced for m, faced in facing.items() if faced}, tuple(notes)


def aspects_of(dimension: str) -> frozenset[str] | None:
    """The metrics whose aspect of motion a dimension is about; empty: about other things; None: motion in general.

    >>> sorted(aspects_of("Motion Smoothness")), aspects_of("static_quality"), aspects_of("temporal_quality")
    (['mss'], frozenset(), None)
    """
    name = normalised(dimension)
    known = registered().items()
    found = frozenset(key for key, metric in known if any(_has(name, part) for part in metric.aspects))
    if found and not (_is_amount(found) and _has(name, "camera")):
        return found
    return frozenset() if any(_has(name, word) for word in OTHER_THINGS) else None


def _is_amount(aspects: frozenset[str] | None) -> bool:
    """Whether these are about an amount of motion and nothing else."""
    return bool(aspects) and all((metric := find(key)) is not None and metric.is_amount for key in aspects or ())


def measures_amount(name: str) -> bool:
    """Whether a metric or a dimension is by its name about an amount of motion, of which more is not better.

    >>> measures_amount("flow_magnitude"), measures_amount("ssim")
    (True, False)
    """
    metric = find(normalised(name.rpartition(":")[2]))
    return metric.is_amount if metric is not None else _is_amount(aspects_of(name))


def _has(name: str, part: str) -> bool:
    """Whether a word of ``name`` begins with ``part``; of short parts, is it."""
    return f"_{part}{'_' if len(part) <= 3 else ''}" in f"_{name}_"


def _stated(metrics: Sequence[str], dimensions: Sequence[str], given: Facing) -> dict[str, tuple[str, ...]]:
    by_name = {normalised(d): d for d in dimensions}
    found: dict[str, tuple[str, ...]] = {}
    for metric, wanted in given.items():
        named = metrics_called(metric, metrics)
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        unknown = [name for name in names if normalised(name) not in by_name]
        if not named:
            raise SetupError(f"No metric {metric!r} to face {', '.join(names)}; the scores have {', '.join(metrics)}")
        if unknown:
            raise SetupError(f"No dimension {unknown[0]!r} for {metric}; the ratings have {', '.join(dimensions)}")
        for name in named:
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), *(by_name[normalised(d)] for d in names))))
    return found


def _guess(metric: str, about: Mapping[str, frozenset[str] | None]) -> tuple[str, ...]:
    """The dimensions that a metric faces, by its name and by what they are about."""
    if len(about) == 1:
        return tuple(about)
    name = normalised(metric.rpartition(":")[2])
    words = set(name.split("_"))
    motion = {d for d, aspects in about.items() if aspects != frozenset()}
    chosen = motion
    if len(motion) != 1 and name in registered():
        own = {d for d in motion if name in (about[d] or (name,))}
        chosen = own or {d for d in motion if not _is_amount(about[d])} or motion
    namesakes = {d for d in about.keys() - motion if words <= (its := set(normalised(d).split("_"))) or its <= words}
    return tuple(d for d in about if d in chosen | namesakes)


# Exports of Label Studio 1.x: CSV, TSV and JSON-MIN, whose cells hold results; and the full JSON, which holds tasks.
#
# A rating is exported as ``[{"rating": 4}]``, a number as ``[{"number": 4}]``, one choice as its text and several as
# ``{"choices": [...]}``; in CSV and TSV these are JSON in a cell. In the full JSON they are the ``value`` of an entry
# of ``annotations[].result``, and the name of the control (``from_name``) is the dimension.

_KINDS = ("rating", "number", "choices", "selected")  # "selected" is the side that a pairwise control holds
_UPLOAD = re.compile(r"^(?:https?://\S+?)?/data/upload/(?:\d+/)?(?P<stored>[^/?#]+)$")
_PREFIX = re.compile(r"^[0-9a-f]{4,8}-(?=.)")  # put before the name of an uploaded file
_LOCAL = re.compile(r"^(?:https?://\S+?)?/data/local-files/?\?d=(?P<path>[^&#]+)")


def is_tasks(content: Any) -> bool:
    """Return whether JSON content is Label Studio's full export: a list of tasks with ``data`` and ``annotations``."""
    if not isinstance(content, list) or not content or not all(isinstance(task, Mapping) for task in content):
        return False
    return all(isinstance(t.get("data"), Mapping) and isinstance(t.get("annotations"), list) for t in content)


def rows_of_tasks(tasks: Sequence[Mapping[str, Any]], source: str) -> tuple[list[dict[str, Any]], str]:
    """Return a row per annotation, with its annotator, its answers and the task's data, and a note of what was read.

    Predictions and numbers among the data are no one's ratings and left out, as are annotations that were skipped.

    Raises:
        SetupError: No task is annotated.
    """
    cells: defaultdict[str, list[Any]] = defaultdict(list)
    for name, value in (item for task in tasks for item in task["data"].items()):
        cells[str(name)].append(value)
    # what says which clip it is and what it shows: texts, and what is so called
    described = {*CLIP, *MODEL, *PROMPT}
    kept = {name for name, values in cells.items() if normalised(name) in described or is_text(values)}
    rows, skipped = [], 0
    for task in tasks:
        data = {name: value for name, value in task["data"].items() if name in kept}
        for annotation in filter(lambda entry: isinstance(entry, Mapping), task["annotations"]):
            if annotation.get("was_cancelled") or annotation.get("skipped"):
                skipped += 1
                continue
            person = annotation.get("completed_by")
            if isinstance(person, Mapping):
                person = person.get("email") or person.get("id")
            annotator = {} if person is None else {"annotator": str(person)}
            results = annotation.get("result")
            answers: defaultdict[str, list[Any]] = defaultdict(list)
            for result in results if isinstance(results, list) else ():
                if isinstance(result, Mapping) and result.get("from_name"):
                    answers[str(result["from_name"])].append(result.get("value"))
            rows.append({**data, **annotator, **{name: answer(values) for name, values in answers.items()}})
    if not rows:
        raise SetupError(f"{source}: the Label Studio export holds no annotation; annotate its tasks and export again")
    note = f"Label Studio: {len(rows)} annotations of {len(tasks)} tasks"
    return rows, note + (f"; {skipped} skipped ones were left out" if skipped else "")


def answer(cell: Any) -> Any:
    """Return the answer that an exported result holds; any other cell as it is.

    >>> answer('[{"rating": 4}]'), answer({"choices": ["4"]}), answer("a cat")
    (4, '4', 'a cat')
    """
    value = cell
    if isinstance(cell, str):
        if not cell.startswith(("[{", '{"')):
            return cell
        try:
            value = parse_json(cell, gaps=True)
        except ValueError:
            return cell
    results = value if isinstance(value, list) else [value]
    answers = [_answer_of(result) for result in results]
    return answers[0] if answers and None not in answers and len(set(answers)) == 1 else cell


def plain_columns(columns: Mapping[str, Sequence[Any]]) -> tuple[dict[str, list[Any]], tuple[str, ...]]:
    """Return the columns with answers instead of results and paths instead of Label Studio's addresses, and notes."""
    read = {name: _file_names(name, [answer(cell) for cell in cells]) for name, cells in columns.items()}
    notes = tuple(note for _, told in read.values() for note in told)
    return {name: cells for name, (cells, _) in read.items()}, notes


def _answer_of(result: Any) -> int | float | str | None:
    """Return the answer of one result; None where it is none."""
    if not isinstance(result, Mapping):
        return None
    kinds = set(result) - {"type", "original_width", "original_height"}
    kind = kinds.pop() if len(kinds) == 1 else None
    value = result[kind] if kind in _KINDS else None
    if isinstance(value, list):
        return ", ".join(map(str, value)) or None
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else None


def _file_names(column: str, cells: list[Any]) -> tuple[list[Any], list[str]]:
    """Return cells with the path of a local file, and the name that an uploaded file had, instead of the address."""
    addresses = {cell for cell in cells if isinstance(cell, str) and "/data/" in cell}
    paths = {cell: unquote(match["path"]) for cell in addresses if (match := _LOCAL.match(cell))}
    uploads = {cell: unquote(match["stored"]) for cell in addresses if (match := _UPLOAD.match(cell))}
    names = {cell: _PREFIX.sub("", stored) for cell, stored in uploads.items()}
    repeated = {name for name, count in Counter(names.values()).items() if count > 1}
    paths |= {cell: uploads[cell] if name in repeated else name for cell, name in names.items()}
    notes = []
    if names != uploads:
        notes.append(f"{column}: uploads are called by their names without the prefix that Label Studio adds")
    if repeated:
        notes.append(
            f"{column}: several uploads are called {min(repeated)} and keep the prefix; have another column of the "
            "task name the clip, and name it with --clip-column"
        )
    return [paths.get(cell, cell) if isinstance(cell, str) else cell for cell in cells] if paths else cells, notes
