"""MotionBench's files in the forms users have: the released list of clips, the flat dev list, and videos.

The released list has no field for options: they are lines of the question. It has no split either: test questions are
those whose answer is ``NA``. Clips of other collections are cut by the user and named ``<source>_<start>_<end>``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from vmmetrics.models.questions import LETTERS, Question
from vmmetrics.understanding.benchmarks import data_file
from vmmetrics.understanding.benchmarks.files import Row, count, fields_of, stem_of, videos_below
from vmmetrics.utils.storage.opening import read_regular
from vmmetrics.utils.tables import seconds

DATA: Final = data_file("motionbench")
HIDDEN: Final = "NA"
"""Answer in the released list where the key is hidden (test)."""
DEV: Final = "dev"
TEST: Final = "test"

_MOST_OPTIONS: Final = 6  # A to F, as those who read the released list before us found
_OPTION: Final = re.compile(rf"\s*\(?([A-{LETTERS[_MOST_OPTIONS - 1]}])[.):\uff1a]\s*(.*)")
_KEY: Final = re.compile(rf"\s*\(?([A-{LETTERS[_MOST_OPTIONS - 1]}])(?:[.):\s].*)?", re.DOTALL)
_CUT: Final = re.compile(r"(.+)_(\d{1,6})_(\d{1,6})")
_FROM_CAPTION: Final = re.compile(r".+_\d")
_SLACK: Final = 0.5  # seconds by which a cut may pass the end: durations are rounded, and cuts are whole seconds

_TASKS: Final = {re.sub(r"\W", "", name).lower(): code for code, name in DATA["tasks"].items()}


def split_options(text: str) -> tuple[str, tuple[str, ...]]:
    r"""Split the released text into question and options.

    Options are the lines ``A. ...``, ``B. ...`` in order (also ``A)``, ``(A)``, ``A:``), from the last ``A`` on; a line
    that is not the next option goes on with the one before.

    >>> split_options("What moves?\nA. a cat\nB. a\ndog")
    ('What moves?', ('a cat', 'a dog'))
    """
    stem: list[str] = []
    options: list[list[str]] = []
    for line in text.splitlines():
        match = _OPTION.fullmatch(line)
        if match and match[1] == "A":
            stem += [" ".join([LETTERS[index] + ".", *words]) for index, words in enumerate(options)]
            options = [[match[2]]]
        elif match and options and match[1] == LETTERS[len(options)]:
            options.append([match[2]])
        else:
            (options[-1] if options else stem).append(line)
    return "\n".join(stem).strip(), tuple(" ".join(" ".join(words).split()) for words in options)


Footage = tuple[Path | None, float | None, float | None]
"""A video file, with start and end of the clip in it (seconds; None for its own start or end)."""


def _footage(files: Mapping[str, Path], sources: Mapping[str, str], name: str) -> Footage:
    """Return the footage of a clip: its own file, or a part of the source video."""
    stem = stem_of(name)
    if stem in files:
        return files[stem], None, None
    cut = _CUT.fullmatch(stem)
    path = None
    if cut and int(cut[2]) < int(cut[3]):
        path = files.get(cut[1]) or files.get(stem_of(sources.get(cut[1], "")))
    return (path, float(cut[2]), float(cut[3])) if cut and path else (None, None, None)


def source_names(data: Path) -> dict[str, str]:
    """Read the released ``mapping.json`` next to the data, inverted; empty if it is missing or invalid."""
    candidates = (folder / "mapping.json" for folder in (data, data / "data", data.parent))
    path = next((path for path in candidates if path.is_file()), None)
    try:
        mapping = fields_of(_value_in(read_regular(path).decode())) if path else {}
    except (OSError, ValueError):
        mapping = {}
    return {str(key): str(name) for name, key in mapping.items()}


def each_question(
    rows: Sequence[Any], folder: Path, sources: Mapping[str, str], problems: Counter[str]
) -> Iterator[Question]:
    """Yield the questions of the released list, of the flat one, or of tables with the same fields.

    Args:
        rows: Of the file.
        folder: Where videos are: ready clips, or the videos that they are to be cut from.
        sources: File names of collections by the name that the benchmark has for them.
        problems: Receives counts of problems.
    """
    files = videos_below([folder])
    seen: set[str] = set()
    per_video: Counter[str] = Counter()
    for number, row in enumerate(rows):
        record = _record(row)
        name = str(record.get("video_path") or record.get("video") or "").replace("\\", "/").rsplit("/", 1)[-1].strip()
        if not name:
            problems["rows without a video name"] += 1
            continue
        for item in _items(record):
            if not isinstance(item, Mapping):
                problems["questions that are not objects"] += 1
                continue
            listed = item.get("uid", item.get("id"))
            uid = f"{stem_of(name)}_{per_video[name]}" if listed in (None, "") else str(listed)
            per_video[name] += 1
            if uid in seen:
                problems["questions with a repeated uid, left out"] += 1
                continue
            question = _question(uid, name, number, record, item, _footage(files, sources, name), problems)
            if question is not None:
                seen.add(uid)
                yield question


def _record(row: Any) -> Row:
    lines = isinstance(row, Mapping) and set(row) == {"text"}  # that some loader did not take apart
    return fields_of(_value_in(str(row["text"])) if lines else row)


def _items(record: Row) -> list[Any]:
    value = record.get("qa", record)
    if isinstance(value, str):  # in a table
        value = _value_in(value)
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _value_in(text: str) -> Any:
    """Return the value of a JSON text; other text unchanged."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _question(
    uid: str, name: str, number: int, record: Row, item: Row, footage: Footage, problems: Counter[str]
) -> Question | None:
    whole = str(item.get("question") or "").strip()
    stem, options = split_options(whole)
    if len(options) < 2:
        problems["questions without options, left out"] += 1
        return None
    kind = item.get("question_type") or record.get("question_type")
    task = _TASKS.get(re.sub(r"\W", "", str(kind)).lower())
    key = str(item.get("answer") or HIDDEN).strip()
    key = HIDDEN if key.upper() == HIDDEN else key
    match = _KEY.fullmatch(key.upper())
    index = LETTERS.index(match[1]) if match and key != HIDDEN else None
    answer = index if index is not None and index < len(options) else None
    cut = _CUT.fullmatch(stem_of(name))
    checks = {
        "questions with options but no text": not stem,
        f"questions with other than {DATA['options']} options": len(options) != DATA["options"],
        "questions of an unknown task": task is None,
        "questions whose video is missing": footage[0] is None,
        "questions about clips that others could not read": stem_of(name) in DATA["broken"],
        "hidden answers": key == HIDDEN,
        "right answers that match no option": key != HIDDEN and answer is None,
    }
    count(problems, checks)
    info = fields_of(record.get("video_info"))
    minutes = seconds(info.get("duration_minutes"))  # as the released tool that measures clips writes it
    duration = seconds(info.get("duration")) or (minutes and minutes * 60) or None
    start, end = _bounds(item, cut, footage, duration, problems)
    groups = {"task": (task or str(kind or "?"),), "split": (TEST if key == HIDDEN else DEV,)}
    if item.get("uid"):  # others are ours, and tell nothing
        groups["made from"] = ("captions" if _FROM_CAPTION.fullmatch(uid) else "videos",)
    reference = {"answer": key, "record": number, "text": whole, "duration": duration}
    video = cut[1] if cut else stem_of(name)  # cuts of one video are alike
    return Question(uid, video, stem, options, answer, groups, footage[0], start, end, reference)


def _bounds(
    item: Row, cut: re.Match[str] | None, footage: Footage, duration: float | None, problems: Counter[str]
) -> tuple[float | None, float | None]:
    """Return start and end of the question's part of the file, seconds.

    ``start`` and ``end`` of a question are taken as seconds of the clip. Where they are the cut that the clip's name
    tells, or lie beyond its end, they are those of the video it was cut from, and the clip is that part.
    """
    _, first, last = footage
    start, end = seconds(item.get("start")), seconds(item.get("end"))
    if start is None or end is None or (cut and (start, end) == (float(cut[2]), float(cut[3]))):
        return first, last
    if first is not None and last is not None:
        duration = last - first
    if end <= start or (duration is not None and end > duration + _SLACK):
        problems["invalid parts of clips, not cut out"] += 1
        return first, last
    return (first or 0.0) + start, (first or 0.0) + end
