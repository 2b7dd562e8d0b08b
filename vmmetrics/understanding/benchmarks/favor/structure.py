"""What happens in a video, as FAVOR-Bench writes it down: camera, who does what, and in which order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

NOBODY: Final = 0
"""Number of whoever does what no subject does (the scene, the light, subtitles)."""

_HEAD: Final = re.compile(
    r"\b(?:subject|character)\s*(?P<named>\d{0,6})\s*:|(?:^|[\],;\n])\s*(?:subject|character)\s*(?P<bare>\d{1,6})\s*(?=\[)",
    re.IGNORECASE,
)
"""``Subject 1:``, or ``Subject 1 [`` where a subject can begin: "Green anime character [" ends a description."""
_BRACKET: Final = re.compile(r"\[([^\]]*)\]?")
_BY: Final = re.compile(r"\(([^()]*)\)")
_LED: Final = re.compile(r"(?<![^,;\n])\s*(?:subject|character)\s*(\d{1,6})\s*\([^()]*\)([^,;()]+)", re.IGNORECASE)
"""``Character 1 (in red) opens the door``, for ``opens the door (Subject 1)``."""
_NUMBER: Final = re.compile(r"\b(?:subject|character)s?\s*(\d{1,6})", re.IGNORECASE)
_CAMERA_LISTED: Final = re.compile(
    r"[,.;\n]|\bthen\b|\band\b(?!\s+(?:to\b|(?:left|right|up|down|in|out|for|back)(?:wards?)?\b))", re.IGNORECASE
)
"""Between motions; "down and to the left" is one."""
_MARKS: Final = " \t\n,.;:!?-→"


@dataclass(frozen=True, slots=True)
class Subject:
    """Somebody, or something, that acts.

    Attributes:
        description: What it is ("Man", "woman in a red coat").
        actions: What it does, in order.
    """

    description: str
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Structure:
    """What happens.

    Attributes:
        camera: Motions of the camera, in order.
        subjects: Who acts, by number from 1 (:data:`NOBODY` is never among them).
        chronology: Everything that is done, in order, each with its subject's number.
    """

    camera: tuple[str, ...] = ()
    subjects: Mapping[int, Subject] = field(default_factory=dict)
    chronology: tuple[tuple[str, int], ...] = ()

    def to_released(self) -> dict[str, str]:
        """The strings that the released first step puts out."""
        parts = [
            f"Subject {number}: {subject.description} [{', '.join(subject.actions)}]"
            for number, subject in self.subjects.items()
        ]
        count = len(self.subjects)
        return {
            "camera_motion": ", ".join(self.camera),
            "num_subjects": "Single subject" if count == 1 else f"Multiple subjects ({count})" if count else "",
            "motion_list": " ".join(parts),
            "chronological_motion_list": ", ".join(f"{action} (Subject {who})" for action, who in self.chronology),
        }


def read_structure(fields: Mapping[str, Any]) -> Structure:
    """Read an annotation, or what a first step put out, as it is meant.

    ``Subject1:``, ``(subject 1)``, ``Character 1``, several brackets of one subject and a subject named again at each
    action are all in the released annotations. Where only one of the two lists can be read the other is made from it.
    """
    subjects = _subjects(_text(fields, "motion_list"))
    chronology = _chronology(_text(fields, "chronological_motion_list"))
    if not chronology:
        chronology = [(action, number) for number, subject in subjects.items() for action in subject.actions]
    if not any(subject.actions for subject in subjects.values()):
        known = dict(subjects)
        for number in dict.fromkeys(number for _, number in chronology if number != NOBODY):
            done = tuple(action for action, who in chronology if who == number)
            subjects[number] = Subject(known[number].description if number in known else f"Subject {number}", done)
    return Structure(tuple(read_camera(_text(fields, "camera_motion"))), subjects, tuple(chronology))


def read_camera(text: str) -> list[str]:
    """Motions of a camera list; an empty text has none."""
    return [part for piece in _CAMERA_LISTED.split(text) if piece and (part := piece.strip(_MARKS))]


def _text(fields: Mapping[str, Any], name: str) -> str:
    """A field, its lines without spaces that mean nothing: patterns meet one at most, so that time stays linear."""
    value = fields.get(name)
    lines = value.splitlines() if isinstance(value, str) else ()
    return "\n".join(line for line in (" ".join(line.split()) for line in lines) if line)


def _subjects(text: str) -> dict[int, Subject]:
    heads = list(_HEAD.finditer(text))
    if not heads and "[" in text:
        return {1: Subject("Subject 1", tuple(_bracketed(text)))}
    found: dict[int, Subject] = {}
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        part = text[head.end() : end]
        number = int(head["named"] or head["bare"] or 1)
        if "[" not in part:
            continue
        description = part.split("[", 1)[0].strip(_MARKS)
        actions = _bracketed(part, first_may_describe=not description)
        before = found.get(number)
        found[number] = Subject(
            (before.description if before else "") or description or f"Subject {number}",
            (*(before.actions if before else ()), *actions),
        )
    return found


def _bracketed(text: str, first_may_describe: bool = False) -> list[str]:
    """Actions in all brackets; of a subject without a name, the first of several brackets is its looks."""
    brackets = _BRACKET.findall(text)
    if first_may_describe and len(brackets) > 1:
        brackets = brackets[1:]
    return [action for bracket in brackets for part in _commas(bracket) if (action := part.strip(_MARKS))]


def _chronology(text: str) -> list[tuple[str, int]]:
    text = _LED.sub(r"\2 (Subject \1)", text)
    found: list[tuple[str, int]] = []
    waiting: list[str] = []  # actions without a bracket of their own: whoever the next bracket names does them
    at = 0
    for by in _BY.finditer(text):
        waiting += [part for piece in _commas(text[at : by.start()]) if (part := piece.strip(_MARKS))]
        at = by.end()
        number = _NUMBER.search(by[1])
        who = int(number[1]) if number else 1 if by[1].strip().lower() == "subject" else NOBODY
        found += [(action, who) for action in waiting]
        waiting = []
    waiting += [part for piece in _commas(text[at:]) if (part := piece.strip(_MARKS))]
    for action in waiting:
        number = _NUMBER.match(action)
        found.append((action, int(number[1]) if number else NOBODY))
    return found


def _commas(text: str) -> Sequence[str]:
    return re.split(r"[,;\n]", text)
