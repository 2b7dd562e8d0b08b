"""FPS-Bench's annotations, nested (JSON lines) or flat (CSV), with the released loader's checks; and its videos."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from vmmetrics.models.questions import LETTERS, Question
from vmmetrics.understanding.benchmarks import data_file
from vmmetrics.understanding.benchmarks.files import Row, count, fields_of, videos_below
from vmmetrics.utils.tables import seconds

# Every time in the release is a second of the source video. A file at hand may be the source, the clip or the
# certificate, and its own seconds begin where it does.

Span = tuple[float, float]
"""Start and end, seconds of the source video."""


@dataclass(frozen=True, slots=True)
class Times:
    """Start and end of a question's clip and of its certificate (the part that suffices to answer).

    Raises:
        ValueError: One of them ends before it begins, or as it does.
    """

    clip: Span
    certificate: Span

    def __post_init__(self) -> None:
        if not (0 <= self.clip[0] < self.clip[1] and 0 <= self.certificate[0] < self.certificate[1]):
            raise ValueError("Expected the clip and its certificate to begin before they end")

    @property
    def shown(self) -> Span | None:
        """The part of the certificate within the clip; None if there is none."""
        start, end = max(self.certificate[0], self.clip[0]), min(self.certificate[1], self.clip[1])
        return (start, end) if start < end else None


DATA: Final = data_file("fpsbench")
NONE: Final[str] = DATA["none"]

_LETTERS: Final = LETTERS[:5]
_TIMES: Final = (
    "clip_start_sec", "clip_end_sec", "temporal_certificate_start_sec", "temporal_certificate_end_sec",
)  # fmt: skip


def bucket(groups: Sequence[Row], value: float | None) -> str:
    """Return the name of the first group whose bound is not exceeded; "unknown" for None.

    >>> bucket(DATA["buckets"], 7.5), bucket(DATA["durations"], 2)
    ('8-10', '0-2')
    """
    return "unknown" if value is None else next(str(group["name"]) for group in groups if value <= group["most"])


class Footage(NamedTuple):
    """A part of a file; ``start`` and ``end`` are seconds of the file, None for its own start or end."""

    path: Path | None = None
    of: str | None = None
    """What the file is: ``source``, ``clip`` or ``certificate``."""
    start: float | None = None
    end: float | None = None


def footage(files: Mapping[str, Path], key: str, video: str, times: Times | None, certificate: bool) -> Footage:
    """Return the footage of a question's clip or certificate, from the file that is closest to it.

    A file goes by the name that the released preparation gives it, with its seconds of the source
    ("fpsbench_000000_100-106.5"), by the question's or by its YouTube key. A certificate that lies beside its clip
    leaves the clip.

    >>> files = {"tube": Path("tube.mp4"), "q_10-16": Path("q_10-16.mp4")}
    >>> footage(files, "q", "tube", Times((10, 16), (12, 14)), True)[1:]
    ('clip', 2, 4)
    """
    if times is None:
        return Footage(files[key], "clip") if key in files else Footage()
    shown = (times.shown if certificate else None) or times.clip
    named = [("clip", f"{key}_{times.clip[0]:g}-{times.clip[1]:g}", times.clip), ("clip", key, times.clip)]
    if certificate and times.shown is not None:
        first, last = times.certificate
        named.insert(0, ("certificate", f"{key}_{first:g}-{last:g}", times.certificate))
    for of, name, whole in [*named, ("source", video, (0.0, float("inf")))]:
        if name in files:
            part = (None, None) if shown == whole else (shown[0] - whole[0], shown[1] - whole[0])
            return Footage(files[name], of, *part)
    return Footage()


def cache_folder() -> Path:
    """Return the default clip folder of the released preparation: ``$FPSBENCH_CACHE`` or ``~/.cache/fpsbench``."""
    named = os.environ.get("FPSBENCH_CACHE")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "fpsbench"


def each_question(
    rows: Sequence[Any], folders: Sequence[Path], certificate: bool, problems: Counter[str]
) -> Iterator[Question]:
    """Yield the questions of the released annotations.

    Args:
        rows: Of the file, nested or flat.
        folders: In which, however deep, videos are.
        certificate: True to show the certificate instead of the clip.
        problems: Receives counts of problems.
    """
    files = videos_below(folders)
    for row in rows:
        record = flat(fields_of(row))
        if not record.get("id"):
            problems["rows without an id"] += 1
        elif (question := _question(record, files, certificate, problems)) is not None:
            yield question


def flat(row: Row) -> dict[str, Any]:
    """Return a released record with the fields of the flat table; a row of the table without its empty cells."""
    if "question_text" in row:
        return {name: value for name, value in row.items() if value not in (None, "")}
    parts = ("source", "time", "question", "temporal_requirements", "categories")
    source, time, asked, needs, categories = (fields_of(row.get(name)) for name in parts)
    choices = {f"choice_{letter.lower()}": text for letter, text in fields_of(asked.get("choices")).items()}
    named = {"question_text": asked.get("text"), "question_type": asked.get("type"), **choices}
    named |= {name: asked[name] for name in ("answer", "answer_text") if name in asked}
    return {"id": row.get("id"), "source_video_id": source.get("video_id"), **time, **named, **needs, **categories}


def _question(record: Row, files: Mapping[str, Path], certificate: bool, problems: Counter[str]) -> Question | None:
    choices = {letter: record.get(f"choice_{letter.lower()}") for letter in _LETTERS}
    letters = "".join(letter for letter, text in choices.items() if text is not None and str(text).strip())
    text = str(record.get("question_text") or "").strip()
    if not text or len(letters) < 2:
        problems["questions without text or options, left out"] += 1
        return None
    options = tuple(str(choices[letter]) for letter in letters)
    key_letter = record.get("answer")
    right = "" if key_letter is None else str(key_letter)
    answer = letters.index(right) if len(right) == 1 and right in letters else None
    other = answer is not None and record.get("answer_text") != options[answer]
    usual = letters == _LETTERS[: len(letters)] and len(letters) >= len(_LETTERS) - 1
    checks = {
        "questions whose options are not A to D, or A to E": not usual,
        f"questions whose E is not {NONE!r}": letters.endswith(_LETTERS[-1]) and options[-1] != NONE,
        "questions with two equal options": len(set(options)) < len(options),
        "right answers whose text is not that of their option": other,
    }
    key = str(record["id"])
    video = str(record.get("source_video_id") or key)
    times = _times(record, problems)
    rate = seconds(record.get("min_fps"))
    part = footage(files, key, video, times, certificate)
    category = str(record.get("task_category") or record.get("question_type") or "?")
    beside = certificate and times is not None and times.shown is None
    checks |= {
        f"minFPS missing, or below {DATA['lowest']}": rate is None or rate < DATA["lowest"],
        "certificates outside their clip: the whole clip is shown": beside,
        "questions of an unknown category": category not in DATA["categories"],
    }
    count(problems, checks)
    groups = {
        "category": (category,),
        "domain": (str(record.get("visual_domain") or "?"),),
        "subdomain": (str(record.get("visual_subdomain") or "?"),),
        "minFPS": (bucket(DATA["buckets"], rate),),
        "clip duration": (bucket(DATA["durations"], times.clip[1] - times.clip[0] if times else None),),
    }
    reference = {
        "letters": letters,
        "answer": key_letter,
        "min_fps": rate,
        "clip": times and times.clip,
        "certificate": times and times.certificate,
        "file": part.of,
    }
    return Question(key, video, text, options, answer, groups, part.path, part.start, part.end, reference)


def _times(record: Row, problems: Counter[str]) -> Times | None:
    start, end, first, last = (seconds(record.get(name)) for name in _TIMES)
    if start is None or end is None or first is None or last is None:
        problems["questions without times"] += 1
        return None
    try:
        times = Times((start, end), (first, last))
    except ValueError:
        problems["clips or certificates that end before they begin"] += 1
        return None
    problems["certificates not within their clip"] += times.shown != times.certificate
    return times
