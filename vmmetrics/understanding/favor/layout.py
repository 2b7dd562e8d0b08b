"""A description as running text: without Markdown, bullets, numbers and times before lines; labels made subjects.

Video models like to answer in lists under headings ("2. **Player in white:** runs forward"). Marks and numbers say
nothing of motion; a label can say who acts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from vmmetrics.understanding.favor.clauses import CAMERA_NOUNS, read_clause
from vmmetrics.understanding.favor.lexicon import PLURALS, SUBJECTS

_MOST_IN_LABEL: Final = 8
"""Words before a colon that can be a label."""
_HEADING: Final = re.compile(r"#|\*\*[^*]{1,80}\*\*:?$")
_BULLET: Final = re.compile(r"[>*•·–—+\-\s]*(?:\(?\d{1,3}[.)]\s)?[\s*_]*")
_MARKUP: Final = re.compile(r"[*`#{}\[\]\"“”]+|(?<!\w)_+|_+(?!\w)")
_MOMENT: Final = r"(?:\d{1,2}(?::\d{2}){1,2}(?:\.\d{1,3})?|\d{1,4}(?:\.\d{1,3})?\s?s(?:ec(?:ond)?s?)?)(?!\w)"
_TIME: Final = re.compile(
    rf"(?:\b(?:at|from|between|around|by|until)\s)?[(\[]?"
    rf"(?:(?:{_MOMENT}|\b\d{{1,4}}(?:\.\d{{1,3}})?)\s?(?:[-–—~]|to|and)\s?{_MOMENT}|\b\d{{1,2}}(?::\d{{2}}){{1,2}}\b)[)\]]?",
    re.IGNORECASE,
)
"""A moment as on a clock, or a span of time; "for 3 seconds" stays."""
_LEADING: Final = " \t:,.;–—-"


def plain_lines(text: str) -> Iterator[str]:
    r"""Lines of a description without what is no part of its sentences.

    >>> list(plain_lines("## Events\n1. **0:02-0:04** - He *sits* down.\n- Camera: pans left"))
    ['He sits down.', 'the camera pans left']
    """
    for raw in text.splitlines():
        line = " ".join(raw.split())
        if _HEADING.match(line):
            continue
        line = _MARKUP.sub("", line[_bullet_end(line) :])
        line = _TIME.sub("", line).lstrip(_LEADING) if _TIME.match(line) else _TIME.sub("", line)
        label, colon, rest = line.partition(":")
        words = label.replace("(", " ").replace(")", " ").split()
        if colon and len(words) <= _MOST_IN_LABEL and read_clause("", words or ["-"]).verb is None:
            line = f"{_subject(words, rest)} {rest.lstrip(_LEADING)}".strip()
        if line:
            yield line


def _bullet_end(line: str) -> int:
    found = _BULLET.match(line)
    return found.end() if found else 0


def _subject(label: list[str], rest: str) -> str:
    """Whom a label makes the subject of what follows; nothing where it names none, or what follows has its own."""
    words = [word.lower() for word in label]
    if CAMERA_NOUNS & set(words):
        return "" if CAMERA_NOUNS & set(rest.lower().split()[:4]) else "the camera"
    head = [word for word in _before_links(words) if not word.isdigit()][-1:]
    return " ".join(label) if head and head[0] in SUBJECTS and head[0] not in PLURALS else ""


def _before_links(words: list[str]) -> list[str]:
    end = next((place for place, word in enumerate(words) if word in ("in", "on", "with", "wearing", "at")), len(words))
    return words[:end]
