"""FAVOR-Bench (Tu et al., 2025), and its files: nested or flat, names with or without suffix."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from vmmetrics.understanding.benchmarks.files import Row, stem_of, videos_below

THIRD: Final = "third-person"
EGO: Final = "first-person"

_VIDEO_FOLDERS: Final = ("", "FAVOR-Bench", "videos", "videos/FAVOR-Bench")
"""Folders of videos below the data folder, as the paper's runner and a third party's loader expect them."""


def perspective_of(stem: str) -> str:
    """Return the perspective of a video: names with a ``|`` are first-person sources."""
    return EGO if "|" in stem else THIRD


def videos_in(folder: Path) -> dict[str, Path]:
    """Return the video files below a folder, preferring the folders of the paper's runner and another loader."""
    return videos_below([folder / part for part in _VIDEO_FOLDERS])


def find_video(files: Mapping[str, Path], stem: str) -> Path | None:
    """Find the file of a video; ``_`` may replace a ``|`` that a file system forbids."""
    return files.get(stem) or files.get(stem.replace("|", "_"))


def by_video(rows: Sequence[Any]) -> list[Any]:
    """Return rows with their video's name, from rows that have it or from objects by name."""
    entries: list[Any] = []
    for row in rows:
        keyed = isinstance(row, dict) and row and "video_name" not in row
        if keyed and all(isinstance(v, dict | str) for v in row.values()):
            entries += [
                {**(v if isinstance(v, dict) else {"caption": v}), "video_name": name} for name, v in row.items()
            ]
        else:
            entries.append(row)
    return entries


def each_question(rows: Sequence[Any], problems: Counter[str]) -> Iterator[tuple[str, str, Row]]:
    """Yield id, video and fields of every question, from the nested list or its flat version.

    Args:
        rows: Of the file.
        problems: Receives counts of problems.
    """
    per_video: Counter[str] = Counter()
    for row in rows:
        if not isinstance(row, Mapping) or not row.get("video_name"):
            problems["rows without a video name"] += 1
            continue
        video = stem_of(row["video_name"])
        inner = row.get("questions")
        for item in inner if isinstance(inner, list) else [row]:
            if not isinstance(item, Mapping):
                problems["questions that are not objects"] += 1
                continue
            key = str(item.get("question_key") or f"{video}_{per_video[video]}")
            per_video[video] += 1
            yield key, video, item


def read_descriptions(rows: Sequence[Any]) -> dict[str, str]:
    """Read descriptions by video, from their file or the released first step's output.

    Takes a list of ``{stem: text}``, an object of them, rows with ``video_name`` and ``caption``, and the first step's
    output: ``{stem: {"motion_list": ..., ...}}``, which is given back as JSON.
    """
    descriptions: dict[str, str] = {}
    for row in by_video(rows):
        if isinstance(row, Mapping) and "video_name" in row:
            structured = isinstance(row.get("motion_list"), str) and "model_caption" in row
            text = json.dumps(dict(row)) if structured else row.get("caption") or row.get("model_caption")
            if isinstance(text, str):
                descriptions.setdefault(stem_of(row["video_name"]), text)
    return descriptions
