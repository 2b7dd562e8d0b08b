"""FPS-Bench's annotations, nested (JSON lines) or flat (CSV), with the released loader's checks; and its videos."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from vmmetrics.models.questions import LETTERS, Question
from vmmetrics.understanding.benchmarks import data_file
from vmmetrics.understanding.benchmarks.files import Row, count, fields_of, videos_below
from vmmetrics.utils.tables import seconds

# The clocks of FPS-Bench, kept apart: seconds of the source video, of the clip, of the certificate, and slowed ones.
#
# Every time in the release is a second of the source video. A file at hand may be the source, the clip or the
# certificate, and its own seconds begin where it does.

Clock = Literal["source", "clip", "certificate"]

Span = tuple[float, float]
"""Start and end, seconds."""


@dataclass(frozen=True, slots=True)
class Times:
    """Start and end of a question's clip and of its certificate (the part that suffices to answer), seconds.

    Raises:
        ValueError: One of them ends before it begins, or as it does.
    """

    clip: Span
    certificate: Span

    def __post_init__(self) -> None:
        if not (0 <= self.clip[0] < self.clip[1] and 0 <= self.certificate[0] < self.certificate[1]):
            raise ValueError("Expected the clip and its certificate to begin before they end")

    @property
    def contained(self) -> bool:
        """True if the certificate lies within the clip."""
        return self.clip[0] <= self.certificate[0] and self.certificate[1] <= self.clip[1]

    @property
    def shown(self) -> Span | None:
        """The part of the certificate within the clip, seconds of the source; None if there is none."""
        start, end = max(self.certificate[0], self.clip[0]), min(self.certificate[1], self.clip[1])
        return (start, end) if start < end else None

    def convert(self, second: float, of: Clock, to: Clock) -> float:
        """Convert a time from one clock to another, in seconds.

        >>> Times((100, 106), (102, 104)).convert(1.5, "certificate", "clip")
        3.5
        """
        begins = {"source": 0.0, "clip": self.clip[0], "certificate": self.certificate[0]}
        return second + begins[of] - begins[to]

    def span(self, span: Span, to: Clock) -> Span:
        """Convert a span of the source to another clock, in seconds."""
        return self.convert(span[0], "source", to), self.convert(span[1], "source", to)


def prepared_name(key: str, span: Span) -> str:
    """Return the released preparation's name of a clip, which contains its seconds of the source.

    >>> prepared_name("fpsbench_000000", (100.0, 106.5))
    'fpsbench_000000_100-106.5'
    """
    return f"{key}_{span[0]:g}-{span[1]:g}"


def part_of(clock: Clock, times: Times, certificate: bool) -> tuple[float | None, float | None]:
    """Return start and end of a question's clip or certificate in a file; None for the file's own start or end.

    Units: seconds of the file's clock.

    A certificate that lies beside its clip leaves the clip.
    """
    span = (times.shown if certificate else None) or times.clip
    whole = {"clip": times.clip, "certificate": times.certificate}.get(clock)
    return (None, None) if span == whole else times.span(span, clock)


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


def _footage(
    files: Mapping[str, Path], key: str, video: str, times: Times | None, certificate: bool
) -> tuple[Path, Clock] | tuple[None, None]:
    """Return the file that shows a question's clip or certificate, preferring the prepared one.

    A file goes by the name that the released preparation gives it, by its YouTube key or by the question's.
    """
    names: list[tuple[str, Clock]] = [(key, "clip")]
    if times is not None:
        names = [(prepared_name(key, times.clip), "clip"), *names, (video, "source")]
        if certificate and times.shown is not None:
            names.insert(0, (prepared_name(key, times.certificate), "certificate"))
    return next(((files[name], clock) for name, clock in names if name in files), (None, None))


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
    seen: set[str] = set()
    for row in rows:
        record = nested(fields_of(row))
        key = str(record.get("id") or "")
        again = {"rows without an id": not key, "questions with a repeated id, left out": key in seen}
        count(problems, again)
        question = None if any(again.values()) else _question(key, record, files, certificate, problems)
        if question is not None:
            seen.add(key)
            yield question


def nested(row: Row) -> dict[str, Any]:
    """Return a row of the flat table as a released record; a record is returned as is."""
    if "question_text" not in row:
        return dict(row)
    filled = {name: value for name, value in row.items() if value not in (None, "")}
    letters = {letter: filled[name] for letter in _LETTERS if (name := f"choice_{letter.lower()}") in filled}
    question = {"text": filled.get("question_text"), "type": filled.get("question_type"), "choices": letters}
    question |= {name: filled[name] for name in ("answer", "answer_text") if name in filled}
    return {
        "id": filled.get("id"),
        "source": {"video_id": filled.get("source_video_id")},
        "time": {name: filled.get(name) for name in _TIMES},
        "question": question,
        "temporal_requirements": {"min_fps": filled.get("min_fps")},
        "categories": {
            name: filled.get(name) for name in ("task_category", "visual_domain", "visual_subdomain")
        },
    }  # fmt: skip


def _question(
    key: str, record: Row, files: Mapping[str, Path], certificate: bool, problems: Counter[str]
) -> Question | None:
    asked = fields_of(record.get("question"))
    choices = {letter: fields_of(asked.get("choices")).get(letter) for letter in _LETTERS}
    letters = "".join(letter for letter, text in choices.items() if text is not None and str(text).strip())
    text = str(asked.get("text") or "").strip()
    if not text or len(letters) < 2:
        problems["questions without text or options, left out"] += 1
        return None
    options = tuple(str(choices[letter]) for letter in letters)
    key_letter = asked.get("answer")
    right = "" if key_letter is None else str(key_letter)
    answer = letters.index(right) if len(right) == 1 and right in letters else None
    other = answer is not None and asked.get("answer_text") != options[answer]
    usual = letters == _LETTERS[: len(letters)] and len(letters) >= len(_LETTERS) - 1
    checks = {
        "questions whose options are not A to D, or A to E": not usual,
        f"questions whose E is not {NONE!r}": letters.endswith(_LETTERS[-1]) and options[-1] != NONE,
        "questions with two equal options": len(set(options)) < len(options),
        "hidden answers": not right.strip(),
        "right answers that match no option": right.strip() and answer is None,
        "right answers whose text is not that of their option": other,
    }
    count(problems, checks)
    video = str(fields_of(record.get("source")).get("video_id") or key)
    times = _times(fields_of(record.get("time")), problems)
    rate = seconds(fields_of(record.get("temporal_requirements")).get("min_fps"))
    path, clock = _footage(files, key, video, times, certificate)
    start, end = part_of(clock, times, certificate) if clock and times else (None, None)
    named = fields_of(record.get("categories"))
    category = str(named.get("task_category") or asked.get("type") or "?")
    beside = certificate and times is not None and times.shown is None
    checks = {
        f"minFPS missing, or below {DATA['lowest']}": rate is None or rate < DATA["lowest"],
        "certificates outside their clip: the whole clip is shown": beside,
        "questions whose video is missing": path is None,
        "questions of an unknown category": category not in DATA["categories"],
    }
    count(problems, checks)
    groups = {
        "category": (category,),
        "domain": (str(named.get("visual_domain") or "?"),),
        "subdomain": (str(named.get("visual_subdomain") or "?"),),
        "minFPS": (bucket(DATA["buckets"], rate),),
        "clip duration": (bucket(DATA["durations"], times.clip[1] - times.clip[0] if times else None),),
    }
    reference = {
        "letters": letters,
        "answer": key_letter,
        "min_fps": rate,
        "clip": times and times.clip,
        "certificate": times and times.certificate,
        "file": clock,
    }
    return Question(key, video, text, options, answer, groups, path, start, end, reference)


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
    problems.update(["certificates not within their clip"] * (not times.contained))
    return times
