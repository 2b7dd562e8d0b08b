"""What columns are called in tables of scores and ratings, and which of them say nothing about quality."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

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
