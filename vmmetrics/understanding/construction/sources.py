"""What questions are made from: captions by video, annotations, questions that exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Question
from vmmetrics.understanding.benchmarks.custom import find_video
from vmmetrics.utils.rows import read_rows, seconds, sha256_of


@dataclass(frozen=True, slots=True)
class Clip:
    """A video and what a person wrote about it.

    Attributes:
        key: Of the video.
        caption: What happens in it, in words.
        path: Its file; None where it is not there.
        start: Where in the file it begins, seconds; None is its beginning.
        end: Where it ends.
        fields: Everything else the row says.
    """

    key: str
    caption: str
    path: Path | None = None
    start: float | None = None
    end: float | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def question(self, key: str, text: str, options: tuple[str, ...], **groups: str) -> Question:
        """A question about it whose first option is right.

        Args:
            key: What tells it from the video's other questions.
            text: The question.
            options: The right one first.
            groups: Its value in each grouping.
        """
        grouped = {name: (value,) for name, value in groups.items()}
        return Question(f"{self.key}-{key}", self.key, text, options, 0, grouped, self.path, self.start, self.end)


@dataclass(frozen=True, slots=True)
class Clips:
    """Clips as they were found.

    Attributes:
        clips: In the file's order.
        problems: What was wrong, in words, to how often.
        sha256: Of the file.
    """

    clips: tuple[Clip, ...]
    problems: Mapping[str, int]
    sha256: str


def read_clips(path: Path, videos: Path | None = None, annotated: bool = False) -> Clips:
    """Read clips from JSON lines, JSON, CSV, TSV or Parquet: ``video``, ``caption``, and if wanted ``path``, ``start``,
    ``end``; or from one JSON object with a row for each video, as FAVOR-Bench's annotations come.

    Args:
        path: The file.
        videos: Folder of the videos; None looks beside the file.
        annotated: Rows may have annotations in place of a caption.

    Raises:
        SetupError: It cannot be read, or there are none in it.
    """  # noqa: D205 - the forms in one list
    if path.is_dir():
        raise SetupError(f"{path} is a folder; name the file with the captions or annotations")
    rows = read_rows(path)
    if path.suffix == ".json" and len(rows) == 1 and isinstance(rows[0], Mapping) and _by_name(rows[0]):
        rows = [{"video": name, **row} for name, row in rows[0].items()]
    problems: Counter[str] = Counter()
    found: dict[str, Clip] = {}
    for row in rows:
        clip = _clip(row, [videos, path.parent]) if isinstance(row, Mapping) else None
        if clip is None or not (clip.caption or annotated):
            problems["rows without a video or a caption, left out"] += 1
        elif clip.key in found:
            problems["rows about a video that one before is about, left out"] += 1
        else:
            found[clip.key] = clip
            problems["videos that are missing"] += clip.path is None
    if not found:
        raise SetupError(f"{path}: nothing to make questions from; expected rows with video and caption")
    return Clips(tuple(found.values()), dict(+problems), sha256_of(path))


def read_people(path: Path) -> dict[str, dict[str, str]]:
    """Answers of people who saw the videos: rows of ``id``, ``reviewer`` and ``answer``, a letter.

    Returns:
        Question's id to reviewer to letter; of two answers of one reviewer the last counts.

    Raises:
        SetupError: It cannot be read, or a row has another form.
    """
    found: dict[str, dict[str, str]] = {}
    for number, row in enumerate(read_rows(path), start=1):
        known = row if isinstance(row, Mapping) else {}
        values = [str(known.get(name) or "").strip() for name in ("id", "reviewer", "answer")]
        if not all(values):
            raise SetupError(f"{path}: entry {number}: expected id, reviewer and answer")
        found.setdefault(values[0], {})[values[1]] = values[2]
    return found


def _by_name(row: Mapping[str, Any]) -> bool:
    return "video" not in row and bool(row) and all(isinstance(value, Mapping) for value in row.values())


def _clip(row: Mapping[str, Any], folders: list[Path | None]) -> Clip | None:
    key = str(row.get("video") or row.get("video_name") or "").strip()
    if not key:
        return None
    path = find_video(str(row.get("path") or key), folders)
    caption = " ".join(str(row.get("caption") or "").split())
    return Clip(key, caption, path, seconds(row.get("start")), seconds(row.get("end")), dict(row))
