"""Structured annotations of motion, in a form of ours or as FAVOR-Bench releases them.

Ours, one JSON object a line (or a list of them)::

    {"video": "v1", "path": "v1.mp4", "seconds": 12.0, "caption": "A man in a red coat ...",
     "camera": [{"motion": "pans left", "focus": "the dog", "start": 0, "end": 4}],
     "subjects": [{"name": "man", "attributes": ["red coat", "short hair"],
                   "actions": [{"action": "sits down", "start": 0, "end": 2}]}],
     "others": [{"name": "cars", "motion": "drive past"}]}

Everything but ``video`` and ``subjects`` may be left out; a camera motion and an action may be plain text. The
released form: one object by video name, with the strings ``caption``, ``camera_motion``, ``subject_attributes``,
``motion_list``, ``chronological_motion_list``, which have no seconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vmmetrics.understanding.construction.option_statistics import stems
from vmmetrics.understanding.construction.sources import Clip
from vmmetrics.utils.rows import seconds

MOST_SUBJECTS: Final = 3
"""With four that move, FAVOR's annotators left a clip out."""
LEAST_MOVING: Final = 0.5
"""Likewise one with motion in less than half of its time."""
_SHOWN_ATTRIBUTES: Final = 2
_SUBJECT: Final = re.compile(r"(?:subject|character)\s*(\d*)\s*:\s*([^\[\]:]*?)\s*\[([^\[\]]*)\]", re.IGNORECASE)
_WHOSE: Final = re.compile(r"\(\s*(?:subject|character)\s*(\d+)\s*\)", re.IGNORECASE)
_ARTICLE: Final = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens.

    Attributes:
        text: What.
        start: From when, seconds; None where nobody said.
        end: Until when.
        focus: What the camera focuses on meanwhile; empty where nobody said, or it is no camera's.
    """

    text: str
    start: float | None = None
    end: float | None = None
    focus: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """Who moves.

    Attributes:
        name: In a word or two, without article.
        attributes: How they look.
        actions: What they do, in order of time.
    """

    name: str
    attributes: tuple[str, ...]
    actions: tuple[Step, ...]

    @property
    def seen(self) -> str:
        """What to call them.

        >>> Subject("man", ("red coat", "short hair", "beard"), ()).seen
        'the man (red coat, short hair)'
        """
        shown = ", ".join(self.attributes[:_SHOWN_ATTRIBUTES])
        return f"the {self.name} ({shown})" if shown else f"the {self.name}"


@dataclass(frozen=True, slots=True)
class Annotation:
    """What people annotated of a video.

    Attributes:
        subjects: Who moves.
        camera: Its motions, in order.
        others: What else moves: "cars drive past".
        seconds: How long the video is; None where nobody said.
    """

    subjects: tuple[Subject, ...]
    camera: tuple[Step, ...] = ()
    others: tuple[str, ...] = ()
    seconds: float | None = None

    @property
    def camera_motions(self) -> int:
        """How many different motions of the camera there are; a first person's view is none."""
        return len({stems(step.text) for step in self.camera if not step.text.lower().startswith("first-person")})

    @property
    def has_focus(self) -> bool:
        """Whether anybody annotated what the camera focuses on."""
        return any(step.focus for step in self.camera)

    def unfit(self) -> str | None:
        """Why no questions should be made of the video; None where they may."""
        moving = [subject for subject in self.subjects if subject.actions]
        if not moving:
            return "nobody moves in the annotation"
        if len(moving) > MOST_SUBJECTS:
            return f"{len(moving)} subjects move, more than {MOST_SUBJECTS}"
        names = [stems(subject.seen) for subject in moving]
        if len(set(names)) < len(names):
            return "two subjects cannot be told apart by what is annotated of them"
        share = self._moving_share(moving)
        if share is not None and share < LEAST_MOVING:
            return f"motion in {share:.0%} of the time, less than {LEAST_MOVING:.0%}"
        return None

    def _moving_share(self, moving: Sequence[Subject]) -> float | None:
        """Share of the time in which somebody moves; None where not every action has its seconds."""
        steps = [(step.start, step.end) for subject in moving for step in subject.actions]
        spans = sorted((start, end) for start, end in steps if start is not None and end is not None)
        if self.seconds is None or not self.seconds or len(spans) < len(steps):
            return None
        covered = reached = 0.0
        for start, end in spans:
            covered += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        return min(1.0, covered / self.seconds)


def annotation_of(clip: Clip) -> Annotation:
    """Read the annotation of a clip, in either form; what is not there or cannot be read is left out."""
    fields = clip.fields
    if isinstance(fields.get("subjects"), list):
        subjects = [_subject(row) for row in fields["subjects"] if isinstance(row, Mapping)]
        others = [_other(row) for row in _listed(fields.get("others"))]
        camera = [_step(row, "motion") for row in _listed(fields.get("camera"))]
        return Annotation(
            tuple(subject for subject in subjects if subject.name),
            tuple(step for step in camera if step.text),
            tuple(other for other in others if other),
            seconds(fields.get("seconds")),
        )
    return _released(fields)


def _released(fields: Mapping[str, Any]) -> Annotation:
    """The strings of FAVOR-Bench's release."""
    attributes = {number: listed for number, _, listed in _groups(fields.get("subject_attributes"))}
    named: dict[str, tuple[str, tuple[Step, ...]]] = {}
    for number, name, listed in _groups(fields.get("motion_list")):
        before = named.get(number, (name, ()))[1]  # some rows repeat a subject for each action
        named[number] = (name, (*before, *(Step(text) for text in listed)))
    timed = _timed(str(fields.get("chronological_motion_list") or ""))
    named |= {number: (name, timed.get(number, steps)) for number, (name, steps) in named.items()}
    subjects = [Subject(name, tuple(attributes.get(n, ())), steps) for n, (name, steps) in named.items() if name]
    camera = [Step(text) for text in _split(str(fields.get("camera_motion") or ""))]
    return Annotation(tuple(subjects), tuple(camera))


def _groups(value: Any) -> list[tuple[str, str, list[str]]]:
    """Number, name and members of ``Subject 1: Man [a, b]``, one after another."""
    found = _SUBJECT.findall(str(value or ""))
    return [(number or "1", _named(name), _split(members)) for number, name, members in found]


def _timed(text: str) -> dict[str, tuple[Step, ...]]:
    """Actions of each number in ``a (Subject 1), b (Subject 2)``."""
    pieces = _WHOSE.split(text)
    found: dict[str, tuple[Step, ...]] = {}
    for action, number in zip(pieces[0::2], pieces[1::2], strict=False):
        said = " ".join(action.split()).strip(" ,;")
        if said:
            found[number] = (*found.get(number, ()), Step(said))
    return found


def _split(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split(",") if part.strip()]


def _named(text: str) -> str:
    return _ARTICLE.sub("", " ".join(text.split())).lower()


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _subject(row: Mapping[str, Any]) -> Subject:
    steps = [_step(action, "action") for action in _listed(row.get("actions"))]
    timed = all(step.start is not None for step in steps)
    ordered = sorted(steps, key=lambda step: step.start or 0.0) if timed else steps
    attributes = tuple(" ".join(str(text).split()) for text in _listed(row.get("attributes")) if str(text).strip())
    return Subject(_named(str(row.get("name") or "")), attributes, tuple(step for step in ordered if step.text))


def _step(row: Any, name: str) -> Step:
    if not isinstance(row, Mapping):
        return Step(" ".join(str(row).split()))
    text, focus = (" ".join(str(row.get(field) or "").split()) for field in (name, "focus"))
    return Step(text, seconds(row.get("start")), seconds(row.get("end")), focus)


def _other(row: Any) -> str:
    if not isinstance(row, Mapping):
        return " ".join(str(row).split())
    return " ".join(f"{row.get('name') or ''} {row.get('motion') or ''}".split())
