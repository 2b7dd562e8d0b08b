"""Card of an audit: its JSON, its schema, and what differs between two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from vmmetrics.alignment.audit.lines import GRADES, PARTS, Grade, Line, NotTried, finite, sign_of
from vmmetrics.alignment.perturbations.library import DEFECTS
from vmmetrics.alignment.perturbations.traps import TRAPS
from vmmetrics.errors import SetupError
from vmmetrics.utils.display.tables import NONE, DisplayTable, heads
from vmmetrics.utils.schema import check, plain, read_json

FORMAT = 1
"""Version of ``card.json``."""

WRONG = "Wrong in any score: mend"
"""Title of the bad lines of *breaks*."""
AGAINST = "Against it, unless a score of its kind is meant so"
"""Title of those of the other parts."""
_UNMOVED = "not told apart from its noise"
_LESS_MOVES = {
    *(trap.name for trap in TRAPS.values() if trap.motion == "lower"),
    *(defect.name for defect in DEFECTS.values() if defect.owner == "pas"),
}
_SEEN_FIRST: tuple[Grade, ...] = ("bad", "good", "note", "open")


@dataclass(frozen=True, slots=True)
class ScoreCard:
    """What an audit says of one score.

    Attributes:
        name: Its name.
        higher_is_better: Direction, None where it was not said.
        range: Least and greatest value, where stated.
        noise: Root mean square of its changes by harmless changes; None where none was made.
        scale: Range of its scores of the audit's clips.
        lines: Lines in the order of parts.
    """

    name: str
    higher_is_better: bool | None
    range: tuple[float, float] | None
    noise: float | None
    scale: float | None
    lines: Sequence[Line]

    def failing(self) -> list[Line]:
        """Return the lines graded bad, and those that could not be run."""
        return [line for line in self.lines if line.grade in ("bad", "error")]

    def causes(self) -> list[tuple[Line, list[str]]]:
        """Return bad lines of *breaks*, and those that could not be run, with the other checks of the same cause."""
        found: dict[tuple[str, ...], tuple[Line, list[str]]] = {}
        for line in self.failing():
            if line.grade == "error" or line.part == "breaks":
                cause = (line.grade, line.text if line.verdict == "could not be run" else line.verdict)
                first, also = found.setdefault(cause, (line, []))
                if line.check not in (first.check, *also):
                    also.append(line.check)
        return list(found.values())

    def seen(self) -> dict[tuple[str, str], list[str]]:
        """Return checks of all parts but *breaks* by grade and verdict: what is bad, sees, and traps it leans to."""
        checks: dict[tuple[str, str], list[str]] = {}
        noise, sign = self.noise or 0.0, sign_of(self.higher_is_better)
        for line in (line for line in self.lines if line.part != "breaks"):
            change = line.effect or 0.0
            large = abs(change) > noise
            toward = "better" if sign * change > 0 else "worse"
            so_far = f"{toward} so far" + ", and should not" * (toward == "better")
            should = line.expected in ("worse", "lower", "not higher")
            moved = f"{so_far if sign and should else 'another score so far'}; clips differ too much to tell"
            verdict = line.verdict.removeprefix("fooled: ").partition(" from ")[0]
            if line.grade == "bad":
                verdict += " where less moves" if verdict == "better" and line.check in _LESS_MOVES else ""
            elif line.part == "sees" and line.effect is not None:
                if line.grade == "open":
                    verdict = moved if large else _UNMOVED
            elif line.part == "fooled" and line.grade == "open" and large and should and toward == "better":
                verdict = moved
            else:
                continue
            times = f" {abs(change) / noise:.1f}" if noise and large and line.part != "people" else ""
            checks.setdefault((line.grade, verdict), []).append(f"{line.check}{times}")

        def place(case: tuple[str, str]) -> tuple[bool, bool, int, str]:
            grade, verdict = case  # first what speaks against it, settled or not
            return grade != "bad", not verdict.startswith("better"), _SEEN_FIRST.index(grade), verdict

        return {case: checks[case] for case in sorted(checks, key=place)}

    def to_json(self) -> dict[str, Any]:
        """Return it as ``card.json`` has it."""
        fields = {
            name: plain(getattr(self, name), finite) for name in ("name", "higher_is_better", "range", "noise", "scale")
        }
        return {**fields, "lines": [plain(line.to_json(), finite) for line in self.lines]}


@dataclass(frozen=True, slots=True)
class Card:
    """Card of an audit.

    Attributes:
        format: Version of the layout.
        target: What was audited.
        produced_by: Versions of packages.
        settings: What every line depends on.
        seconds: Time of the last run.
        clips: Clips.
        scores: A part for each score.
        not_tried: What was not done, and why.
    """

    format: int
    target: Mapping[str, Any]
    produced_by: Mapping[str, Any]
    settings: Mapping[str, Any]
    seconds: float
    clips: Sequence[Mapping[str, Any]]
    scores: Sequence[ScoreCard]
    not_tried: Sequence[NotTried]

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``card.json``."""
        return {
            "format": self.format, "target": plain(self.target), "produced_by": plain(self.produced_by),
            "settings": plain(self.settings), "seconds": self.seconds, "clips": plain(list(self.clips)),
            "scores": [score.to_json() for score in self.scores],
            "not_tried": plain(list(self.not_tried)),
        }  # fmt: skip


# The layout of card.json, for readers elsewhere.

_LOOK = {
    "file": "string", "label": "string", "score": ["number", "null"], "beside": ["string", "null"],
    "beside_label": "string", "beside_score": ["number", "null"],
}  # fmt: skip
_LINE = {
    "part": {"enum": list(PARTS)}, "check": "string", "title": "string", "grade": {"enum": list(GRADES)},
    "verdict": "string", "text": "string", "effect": ["number", "null"], "low": ["number", "null"],
    "high": ["number", "null"], "clips": ["integer", "null"], "expected": ["string", "null"], "repeat": "string",
}  # fmt: skip


def _object(fields: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    typed = {name: kind if isinstance(kind, dict) else {"type": kind} for name, kind in fields.items()}
    return {"type": "object", "properties": {**typed, **more}, "required": [*typed, *more]}


def _list(of: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


_TEXTS = _list({"type": "string"})
SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Card of vmmetrics audit",
    **_object(
        {"format": {"const": FORMAT}, "produced_by": "object", "settings": "object", "seconds": "number"},
        target=_object({"kind": "string", "text": "string", "takes": _TEXTS, "notes": _TEXTS}),
        clips=_list(_object({"name": "string", "file": ["string", "null"], "frames": "integer", "fps": "number",
                             "width": "integer", "height": "integer", "source": "string"})),
        scores=_list(_object({"name": "string", "higher_is_better": ["boolean", "null"], "range": ["array", "null"],
                              "noise": ["number", "null"], "scale": ["number", "null"]},
                             lines=_list(_object(_LINE, looks=_list(_object(_LOOK)))))),
        not_tried=_list(_object({"part": "string", "check": "string", "why": "string"})),
    ),
}  # fmt: skip
"""JSON Schema of ``card.json``."""


def read_card(path: Path) -> dict[str, Any]:
    """Return the content of a card.

    Args:
        path: Its folder, or ``card.json``.

    Raises:
        SetupError: It is none, or of another version.
    """
    file = path / "card.json" if path.is_dir() else path
    card = check(dict[str, Any], read_json(file), file)
    if card.get("format") != FORMAT or not isinstance(card.get("scores"), list):
        raise SetupError(f"{file} is no card of this version (format {FORMAT} expected)")
    return card


# Tables for the terminal.


class Beside(NamedTuple):
    """A score of another card beside ours.

    Attributes:
        before: Its line of the same check for each of ours, or None.
        changed: Numbers of our lines that have another grade or verdict there.
        gone: Titles and verdicts of its lines that ours lacks.
    """

    before: Sequence[Mapping[str, Any] | None]
    changed: Sequence[int]
    gone: Sequence[str]


def beside(card: Mapping[str, Any], other: Mapping[str, Any] | None) -> dict[str, Beside]:
    """Return the scores of another card by the name of ours, without lines of checks that ours was not asked for.

    Of two cards of one score each, those are compared whatever their names.
    """
    scores = {score["name"]: score for score in (other["scores"] if other else ())}
    if len(scores) == len(card["scores"]) == 1:
        scores = {card["scores"][0]["name"]: scores.popitem()[1]}
    asked, parts = card["settings"].get("checks"), (*card["settings"].get("parts", PARTS), "people")
    found = {}
    for score in card["scores"]:
        if score["name"] not in scores:
            continue
        theirs = [line for line in scores[score["name"]]["lines"]
                  if line["part"] in parts and (asked is None or line["check"] in asked)]  # fmt: skip
        before: list[Mapping[str, Any] | None] = [None] * len(score["lines"])
        for alike in (("title", "verdict"), ("title",), ()):  # a check may have several lines
            for n, line in enumerate(score["lines"]):
                of = ("part", "check", *alike)
                match = [was for was in theirs if all(line[key] == was[key] for key in of)]
                if before[n] is None and match and (alike or line["part"] != "people"):
                    before[n] = match[0]
                    theirs.remove(match[0])
        pairs = enumerate(zip(score["lines"], before, strict=True))
        changed = [n for n, (line, was) in pairs if was is not None and any(line[of] != was[of] for of in _VERDICT)]
        found[score["name"]] = Beside(before, changed, [f"{line['title']}: {line['verdict']}" for line in theirs])
    return found


_VERDICT = ("grade", "verdict")


def compared(card: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return how many lines of a card are mended, bad where they were not, and so on, against another card."""
    counts = Counter[str]()
    theirs = beside(card, other)
    for score in (score for score in card["scores"] if score["name"] in theirs):
        before, changed, gone = theirs[score["name"]]
        counts["only there"] += len(gone)
        for n, (line, was) in enumerate(zip(score["lines"], before, strict=True)):
            failed, failing = (of is not None and of["grade"] in ("bad", "error") for of in (was, line))
            if failed == failing or was is None:
                counts["only here" if was is None else "otherwise changed" if n in changed else "the same"] += 1
            else:
                counts["no longer bad" if failed else "newly bad"] += 1
    order = ("no longer bad", "newly bad", "otherwise changed", "the same", "only here", "only there")
    stated = [f"{counts[what]} {what}" for what in order if counts[what] or what in order[:2]]
    return f"lines: {', '.join(stated)}" if theirs else "no score of the same name"


def summary(card: Card, other: Mapping[str, Any] | None = None) -> list[DisplayTable]:
    """Return the tables of a card: faults, what was not run, what it sees, notes, what changed, lines of each grade."""
    changed = DisplayTable(
        "changed", "Changed since the other card", "", heads("score", "part", "check", "before", "now", texts=5)
    )
    theirs = beside(card.to_json(), other)
    counts = DisplayTable(
        "grades", "Lines by grade",
        "open: not told apart; note: a fault unless it is meant; 'vmmetrics audit checks' says what each does",
        heads("score", "part", *GRADES, texts=2),
    )  # fmt: skip
    faults, failed, notes = (
        DisplayTable(key, title, "", heads("score", "check", "verdict", "figures", texts=4))
        for key, title in (
            ("faults", WRONG), ("failed", "Could not be run, or crashed"), ("notes", "A fault, unless it is meant")
        )
    )  # fmt: skip
    noise = f" ({card.scores[0].noise:.3g})" if len(card.scores) == 1 and card.scores[0].noise else ""
    seen = DisplayTable(
        "seen", f"What it sees, and where it leans, in multiples of its noise{noise}: of what harmless changes do",
        "bad: against it, unless a score of its kind is meant so; figures are on the page; --clips settles what is not "
        "told apart",
        heads("score", "grade", "verdict", "checks", texts=4),
    )  # fmt: skip
    for score in card.scores:
        for part in PARTS:
            of_part = Counter(line.grade for line in score.lines if line.part == part)
            if of_part:
                counts.add(score.name, part, *(str(of_part[grade]) if of_part[grade] else NONE for grade in GRADES))
        for line, also in score.causes():
            table = failed if line.grade == "error" else faults
            figures = f"{line.check}: {line.text}" if also else line.text
            table.add(score.name, ", ".join([line.check, *also]), line.verdict, figures)
        for (grade, verdict), checks in score.seen().items():
            named = f"{len(checks)}, among the open ones of the page" if verdict == _UNMOVED else ", ".join(checks)
            seen.add(score.name, grade, verdict, named)
        for line in score.lines:
            if (line.grade, line.part) == ("note", "breaks"):
                notes.add(score.name, line.check, line.verdict, line.text)
        numbers = theirs[score.name].changed if score.name in theirs else ()
        for n in sorted(numbers, key=lambda n: (score.lines[n].part != "breaks", score.lines[n].grade != "bad")):
            line, was = score.lines[n], theirs[score.name].before[n] or {}
            now = f"{line.grade}: {line.verdict}"
            changed.add(score.name, line.part, line.check, f"{was['grade']}: {was['verdict']}", now)
    return [table for table in (faults, failed, seen, notes, changed, counts) if table.rows]
