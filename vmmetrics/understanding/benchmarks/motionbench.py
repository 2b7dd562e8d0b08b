"""MotionBench: six tasks about fine motion in short clips. Hong et al., CVPR 2025.

``protocol="upstream"``: an answer's letter and the accuracies as the released tools have them, of what was answered.
Ours: an answer is read as everywhere here, what is not read or missing is wrong, and accuracy is that of dev: of all
questions whose key is known. Test questions are asked too, for the file that is handed in.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import LETTERS, Answered, Question, answer_text
from vmmetrics.understanding.benchmarks import data_file
from vmmetrics.understanding.benchmarks.files import Row, count, fields_of, stem_of, videos_below
from vmmetrics.understanding.harness.benchmark import HIDDEN, Figure, QuestionFile, Scored, Scoring
from vmmetrics.understanding.harness.choices import MultipleChoice, chosen_option, score_choice
from vmmetrics.utils.endpoint.messages import Turn
from vmmetrics.utils.storage.opening import read_regular
from vmmetrics.utils.tables import read_rows, seconds

# The files in the forms users have: the released list of clips, the flat dev list, and videos.
#
# The released list has no field for options: they are lines of the question. It has no split either: test questions are
# those whose answer is ``NA``. Clips of other collections are cut by the user and named ``<source>_<start>_<end>``.

DATA: Final = data_file("motionbench")
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
    per_video: Counter[str] = Counter()
    for number, row in enumerate(rows):
        record = _record(row)
        name = str(record.get("video_path") or record.get("video") or "").replace("\\", "/").rsplit("/", 1)[-1].strip()
        if not name:
            problems["rows without a video name"] += 1
            continue
        asked = record.get("qa", record)
        asked = _value_in(asked) if isinstance(asked, str) else asked  # in a table
        for item in asked if isinstance(asked, list) else [asked]:
            if not isinstance(item, Mapping):
                problems["questions that are not objects"] += 1
                continue
            listed = item.get("uid", item.get("id"))
            uid = f"{stem_of(name)}_{per_video[name]}" if listed in (None, "") else str(listed)
            per_video[name] += 1
            question = _question(uid, name, number, record, item, _footage(files, sources, name), problems)
            if question is not None:
                yield question


def _record(row: Any) -> Row:
    lines = isinstance(row, Mapping) and set(row) == {"text"}  # that some loader did not take apart
    return fields_of(_value_in(str(row["text"])) if lines else row)


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
        "questions of an unknown task": task is None,
        "questions about clips that others could not read": stem_of(name) in DATA["broken"],
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


# MotionBench's scoring as released: how an answer becomes a letter, repeats are merged, and accuracies counted.
#
# Where the released script stops with an error, this goes on, and the note says so: nothing answered or nothing
# counted (it divides by zero: no accuracy), and a second answered question in one record with a known answer (it wraps
# the record's task in one more list for each: counted in the task it has).


def polish(text: str) -> str:
    """Return the first character of an answer, as the released tools parse it; often not a letter.

    They take the text before the first ``)``, in it the text after the first ``(``, in it the first word.

    >>> [polish(text) for text in ("(A) x", "The answer is B", "Answer: (C)", "b", ")A")]
    ['A', 'T', 'C', 'b', '']
    """
    letter = text.strip().partition(")")[0]
    if "(" in letter:
        letter = letter.split("(")[1].strip()
    return letter.split(" ")[0][:1]


def merge(old: str | None, text: str) -> str:
    """Merge two answers to a question as the released tools do: the old letter if A to D, else the new one."""
    return polish(old if old and any(letter in old for letter in "ABCD") else text)


_ANY_OPTIONS: Final = ("",) * 6
"""Stand-in options of an unknown question: letters are recognised, texts are not."""


class MotionBench(MultipleChoice):
    """The benchmark; see :class:`vmmetrics.understanding.harness.choices.MultipleChoice`."""

    name = "motionbench"
    title = "MotionBench"
    data = DATA
    groupings = ("task", "made from")
    order = tuple(DATA["tasks"])

    def questions(self, source: QuestionFile) -> Iterable[Question]:
        """Read the released list of clips, the flat dev list, or a table with the same fields."""
        return each_question(source.rows, source.folders[0], source_names(source.path.parent), source.problems)

    def turns(self, question: Question, protocol: Scoring) -> tuple[Turn, ...]:
        """Return the conversation: the question as released (upstream), or with one option a line."""
        ours = "\n".join(filter(None, [question.text, *question.lettered]))
        asked = question.reference["text"] if protocol == "upstream" else ours
        return (Turn("user", f"{asked}\n\n{DATA['instruction'].strip()}"),)

    def score_one(self, question: Question, answered: Answered | None, protocol: Scoring) -> Scored:
        """Compare letters; a missing answer scores 0, a hidden key None."""
        if protocol != "upstream":
            return score_choice(question, answered)
        has_answer, has_key = answered is not None and answered.error is None, question.reference["answer"] != HIDDEN
        letter = polish(answer_text(answered))
        chosen = LETTERS.index(letter) if letter and letter in LETTERS[: len(question.options)] else None
        value = float(has_answer and letter == question.reference["answer"]) if has_key else None
        return Scored(question.id, value, chosen, has_answer, detail={"letter": letter} if has_answer else {})

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """Return accuracy over all questions with a known key, and by task."""
        if protocol == "upstream":
            return released_figures(questions, scored)
        return super().figures(questions, scored, protocol)

    def read_answers(self, path: Path, protocol: Scoring = "vmmetrics") -> dict[str, Answered]:
        """Read answers in the released forms: an object {uid: letter}, or lines {uid: text}, uids may repeat.

        Of several texts for a question the released rule keeps one letter (:func:`merge`); ours
        takes the last that has a letter.

        Raises:
            SetupError: It cannot be read.
        """
        letters: dict[str, str] = {}
        rows = read_rows(path)
        if not all(
            isinstance(row, Mapping) and not any(isinstance(v, dict | list) for v in row.values()) for row in rows
        ):
            raise SetupError(f"{path}: expected objects of letters or texts by uid")
        for uid, value in chain.from_iterable(row.items() for row in rows):
            text = value if isinstance(value, str) else ""
            if protocol == "upstream":
                # the script that counts compares what a finished file has, without making it a letter first
                done = path.suffix != ".jsonl"
                letters[uid] = (text if polish(text) == text else "") if done else merge(letters.get(uid), text)
            elif uid not in letters or chosen_option(text, _ANY_OPTIONS) is not None:
                letters[uid] = text
        return {uid: Answered(uid, text) for uid, text in letters.items()}

    def submission(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], protocol: Scoring = "vmmetrics"
    ) -> str:
        """Return the leaderboard's file: one JSON object, letter by uid; empty where no option was recognised."""
        letters = {}
        for question in questions:
            text = answer_text(answers.get(question.id))
            chosen = None if protocol == "upstream" else chosen_option(text, question.options)
            letters[question.id] = polish(text) if protocol == "upstream" else "" if chosen is None else LETTERS[chosen]
        return json.dumps(letters, indent=2) + "\n"


def released_figures(questions: Sequence[Question], scored: Sequence[Scored]) -> list[Figure]:
    """Return the released script's figures; None with a note where it fails.

    Its total are all questions but answered ones with a hidden key; what is answered is so whatever the answer.

    Args:
        questions: In the order of the file.
        scored: Scores under ``protocol="upstream"``.
    """
    right: Counter[str] = Counter()  # by task
    keyed: Counter[str] = Counter()
    in_record: Counter[object] = Counter()
    several = 0
    for question, entry in zip(questions, scored, strict=True):
        if entry.answered:
            in_record[question.reference["record"]] += 1
            if question.reference["answer"] != HIDDEN:
                several += in_record[question.reference["record"]] > 1
                keyed[question.groups["task"][0]] += 1
                right[question.groups["task"][0]] += entry.value == 1
    answered, correct = in_record.total(), right.total()
    total = len(questions) - answered + keyed.total()
    stops = [f"a record has several answered questions ({several} beyond the first)"] if several else []
    if not answered or not total:
        stops.append("every answer is to a hidden key" if answered else "nothing is answered")
    note = "; ".join(f"the released script stops: {reason}" for reason in stops)
    hidden = "of all answers, including those to hidden keys, which cannot be right"
    tasks = [task for task in dict.fromkeys((*DATA["tasks"], *keyed)) if keyed[task]]
    return [
        Figure("all", "all", "accuracy", correct / total if total else None, n=total, note=note),
        Figure("all", "all", "answered_accuracy", correct / answered if answered else None, n=answered, note=hidden),
        *(Figure("task", task, "accuracy", right[task] / keyed[task], n=keyed[task]) for task in tasks),
    ]


BENCHMARK: Final = MotionBench()
