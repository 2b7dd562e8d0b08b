"""What columns are called in tables of scores and ratings, and which of them say nothing about quality."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

# The first that a table has counts. Compared without case, with "_" for whatever is no letter or digit.
CLIP = (
    "clip", "clip_name", "clip_path", "video", "video_name", "video_path", "file", "filename", "file_name", "path",
    "filepath", "file_path", "name", "video_file", "video_id", "clip_id", "id",
)  # fmt: skip
RATER = ("rater", "rater_id", "annotator", "annotator_id", "worker", "worker_id", "user", "user_id", "participant",
         "participant_id", "judge", "subject_id", "human")  # fmt: skip
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

# Numbers that describe a clip or a row and judge nothing; "average" and "amplitude" are made from the five metrics.
DESCRIPTION = frozenset(
    {
        "", "index", "unnamed_0", "level_0", "row", "id", "clip_id", "video_id", "internal_id", "prompt_id",
        "prompt_index", "sent_id", "frames", "num_frames", "frame_count", "n_frames", "fps", "width", "height",
        "resolution", "seconds", "duration", "length", "time", "timestamp", "seed", "split", "fold", "group",
        "category", "average", "amplitude", "missing", "error", "preset", "protocol", "notes", "subject", "sha256",
        "weight", "trial", "session", "order", "grid_view", "age", "time_spent", "response_time", "reaction_time",
    }
)  # fmt: skip


def normalised(name: str) -> str:
    """A name in lower case, with "_" for whatever is no letter or digit.

    >>> normalised(" Video-Path ")
    'video_path'
    """
    return re.sub(r"[^0-9a-z]+", "_", str(name).casefold()).strip("_")


def first_column(columns: Iterable[str], names: Collection[str]) -> str | None:
    """The column that bears the first of ``names`` that any bears, or None."""
    known: dict[str, str] = {}
    for column in columns:
        known.setdefault(normalised(column), column)
    return next((known[name] for name in names if name in known), None)


def is_text(cells: Iterable[Any]) -> bool:
    """Whether some cell is text that is no number."""
    for cell in cells:
        if isinstance(cell, str) and cell.strip():
            try:
                float(cell)
            except ValueError:
                return True
    return False


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose nested scores or ratings stand as columns beside the others; other nested values are left out."""
    plain: dict[str, Any] = {}
    for name, value in row.items():
        if not isinstance(value, Mapping):
            plain[str(name)] = value
        elif normalised(name) in _NESTED:
            plain.update({str(inner): cell for inner, cell in value.items() if str(inner) not in row})
    return plain


_NESTED = frozenset({"scores", "metrics", "ratings", "rating", "results", "annotation", "annotations"})
