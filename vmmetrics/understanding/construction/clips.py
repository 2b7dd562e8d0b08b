"""What questions are made from: captions by video, annotations, people's answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Question
from vmmetrics.understanding.benchmarks.custom import find_video
from vmmetrics.utils.tables import read_rows, seconds


def read_clips(path: Path, videos: Path | None, annotated: bool) -> tuple[dict[str, Question], dict[str, int]]:
    """Read clips from JSON lines, JSON, CSV, TSV or Parquet, or from an object with a row for each video.

    Fields: ``video``, ``caption``, optionally ``path``, ``start``, ``end``. FAVOR-Bench's annotations come as an object
    with a row for each video.

    Args:
        path: The file.
        videos: Folder of the videos; None looks beside the file.
        annotated: Rows may have annotations in place of a caption.

    Returns:
        Clips by key in the file's order, the caption as text and the row as reference; and problems as text,
        with counts.

    Raises:
        SetupError: It cannot be read, or there are none in it.
    """
    if path.is_dir():
        raise SetupError(f"{path} is a folder; name the file with the captions or annotations")
    rows = read_rows(path)
    whole = rows[0] if path.suffix == ".json" and len(rows) == 1 and isinstance(rows[0], Mapping) else {}
    if whole and "video" not in whole and all(isinstance(row, Mapping) for row in whole.values()):
        rows = [{"video": name, **row} for name, row in whole.items()]
    problems: Counter[str] = Counter()
    clips: dict[str, Question] = {}
    for row in rows:
        fields = row if isinstance(row, Mapping) else {}
        key = str(fields.get("video") or fields.get("video_name") or "").strip()
        caption = " ".join(str(fields.get("caption") or "").split())
        if not key or not (caption or annotated):
            problems["rows without a video or a caption, left out"] += 1
        elif key in clips:
            problems["rows about a repeated video, left out"] += 1
        else:
            file = find_video(str(fields.get("path") or key), [videos, path.parent])
            start, end = seconds(fields.get("start")), seconds(fields.get("end"))
            clips[key] = Question(key, key, caption, path=file, start=start, end=end, reference=dict(fields))
            problems["videos that are missing"] += file is None
    if not clips:
        raise SetupError(f"{path}: nothing to make questions from; expected rows with video and caption")
    return clips, dict(+problems)


def read_people(path: Path) -> dict[str, dict[str, str]]:
    """Read people's answers: rows of ``id``, ``reviewer`` and ``answer``, a letter.

    Returns:
        Question's id to reviewer to letter; of two answers of one reviewer the last counts.

    Raises:
        SetupError: It cannot be read, or a row has another form.
    """
    letters: dict[str, dict[str, str]] = {}
    for number, row in enumerate(read_rows(path), start=1):
        fields = row if isinstance(row, Mapping) else {}
        question, reviewer, answer = (str(fields.get(name) or "").strip() for name in ("id", "reviewer", "answer"))
        if not (question and reviewer and answer):
            raise SetupError(f"{path}: entry {number}: expected id, reviewer and answer")
        letters.setdefault(question, {})[reviewer] = answer
    return letters
