"""FAVOR-Bench's annotation strings into lists, exactly as the released second step reads them, with what it misreads.

``Subject 1: Man [a, b] Subject 2: ...``, ``a (Subject 1), b (Subject 2)`` and ``pan left, stationary``. A text that
does not fit (one in 75 of the released annotations) gives nothing, a repeated subject keeps its last bracket, and
every item of a chronological list but the first keeps the comma before it; :mod:`.structure` reads them as they are
meant.
"""

from __future__ import annotations

import re
from typing import Final

Subjects = dict[int, tuple[str, list[str]]]
"""Number of a subject to its description and its actions."""

_DESCRIBED: Final = re.compile(r"Subject (\d+):?\s+(.*?)\s*\[(.*?)\]")
_BARE: Final = re.compile(r"Subject (\d+)\s*\[(.*?)\]")
_IN_LINE: Final = re.compile(r"subject\s+(\d+)")
_LINE_DESCRIPTION: Final = re.compile(r"subject\s+\d+:\s*(.*?)\s*\[")
_BRACKET: Final = re.compile(r"\[(.*?)\]")
_DONE_BY: Final = re.compile(r"(.*?)\s*\(Subject (\d+)\)")
_LAST_MARK: Final = re.compile(r"[,.;!?]$")
_LISTED: Final = re.compile(r"[,;]|\s+and\s+")
_CAMERA: Final = re.compile(r"(camera\s+)")
_CAMERA_LISTED: Final = re.compile(r"[;]|\s+then\s+|\s+and\s+")


def parse_subjects(text: object) -> Subjects:
    """Subjects of a motion list; what is no text has none."""
    if not isinstance(text, str):
        return {}
    found: Subjects = {}
    described = _DESCRIBED.findall(text)
    for number, description, actions in described:
        found[int(number)] = (description.strip(), _actions(actions.strip()))
    if not described:
        bare = _BARE.findall(text)
        for number, actions in bare:
            found[int(number)] = (f"Subject {int(number)}", _actions(actions.strip()))
        if not bare:
            found = _by_line(text)
    bracket = _BRACKET.search(text)
    if not found and bracket:
        found[1] = ("Subject 1", _actions(bracket[1].strip()))
    return found


def _by_line(text: str) -> Subjects:
    found: Subjects = {}
    for line in text.split("\n"):
        number, actions = _IN_LINE.search(line.lower()), _BRACKET.search(line)
        if number and actions:
            description = _LINE_DESCRIPTION.search(line.lower())
            named = description[1].strip() if description else f"Subject {int(number[1])}"
            found[int(number[1])] = (named, _actions(actions[1].strip()))
    return found


def _actions(text: str) -> list[str]:
    parts = text.split(",") if "," in text else _LISTED.split(text)
    cleaned = (_LAST_MARK.sub("", part.strip()).strip() for part in parts if part.strip())
    return [action for action in cleaned if action]


def parse_chronology(text: object) -> list[tuple[str, int]]:
    """Actions of a chronological list with the numbers of their subjects; what is no text has none."""
    if not isinstance(text, str):
        return []
    matches = _DONE_BY.findall(text)
    found = [(action.strip(), int(number)) for action, number in matches if action.strip()]
    if not matches:
        found = [item for part in re.split(r",\s*", text) if (item := _item(part.strip())) is not None]
    return [(_LAST_MARK.sub("", action).strip(), number) for action, number in found]


def _item(part: str) -> tuple[str, int] | None:
    if "(" not in part or ")" not in part:
        return None
    opened = part.rfind("(")
    action, subject = part[:opened].strip(), part[opened + 1 : part.rfind(")")].strip()
    words = subject.split()
    if not action or not subject.lower().startswith("subject") or len(words) < 2:
        return None
    try:
        return action, int(words[1])
    except ValueError:
        return None


def parse_camera(text: object) -> list[str]:
    """Camera motions of a list, each with the word camera in it; an empty text is one motion, ``"Camera "``."""
    if not isinstance(text, str):
        return []
    text = re.sub(r"\s+", " ", text.strip())
    if "," in text:
        segments = [part.strip() for part in text.split(",")]
    elif "." in text:
        segments = [part.strip() for part in text.split(".") if part.strip()]
    elif "camera" in text.lower():
        segments = _at_camera(text.lower())
    else:
        segments = [part.strip() for part in _CAMERA_LISTED.split(text) if part.strip()]
    return [part if "camera" in part.lower() else f"Camera {part}" for part in segments or [text]]


def _at_camera(text: str) -> list[str]:
    segments, current = [], ""
    for part in _CAMERA.split(text):
        if _CAMERA.match(part):
            if current:
                segments.append(current.strip())
            current = part
        else:
            current += part
    return [*segments, current.strip()] if current else segments
