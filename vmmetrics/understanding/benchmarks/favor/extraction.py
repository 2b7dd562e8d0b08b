"""Extraction of subjects and actions from a description, split at punctuation and linking words.

No model, no chance, no state: the same text gives the same structure everywhere, in linear time. Chosen among a parser
of English, this and a dependency parse (docs/measurements.md): it separated right from wrong descriptions as well as
the others, and is the smallest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vmmetrics.understanding.benchmarks.favor.lexicon import FORMS, STATES, word_set
from vmmetrics.understanding.benchmarks.favor.scores import ActingSubject, Structure
from vmmetrics.understanding.benchmarks.favor.similarity import camera_motion

EXTRACTION: Final = "split 1"
"""Version of the extraction; results of two versions are not comparable."""

_HEADING: Final = re.compile(r"^[ \t]*(?:#.*|\*\*[^*\n]{1,80}\*\*:?[ \t]*)$", re.MULTILINE)
_MARKUP: Final = re.compile(r"[*`#_\"“”()\[\]{}]+|^[ \t>•·–—+-]*(?:\d{1,3}[.)]\s)?", re.MULTILINE)
_TIME: Final = re.compile(r"\b\d{1,2}:\d\d(?:\.\d{1,3})?\b|\b\d{1,4}(?:\.\d{1,3})?\s?s\b")
_SCENES: Final = "shot|view|video|clip|footage|scene|frame|close-up|perspective"
_SHOWS: Final = re.compile(
    rf"\b({_SCENES})s?\s(?:of|(?:then\s)?(?:shows?|showing|(?:begin|start|open|end)s?\swith|depicts?|captures?))\b",
    re.IGNORECASE,
)
"""Phrases whose continuation describes the scene like a sentence of its own."""
_SENTENCE: Final = re.compile(r"[.!?;](?=\s|$)|\n")
_BREAK: Final = re.compile(
    r"[,:]|\b(?:and|then|while|as|before|after|when|but|until|where|which|who|followed by)\b", re.IGNORECASE
)
_WORD: Final = re.compile(r"\w+(?:['’-]\w+)*")
_CAMERA: Final = frozenset(_SCENES.split("|")) | {"camera", "lens", "videographer"}
_FILMED: Final = frozenset(("pan", "zoom", "dolly"))
"""Verbs of cameras only."""
_LONGEST_MOTION: Final = 12  # words of a motion of the camera that are kept
_REMEMBERED: Final = 24  # subjects that a mention can still mean

_ARTICLES: Final = frozenset(("a", "an", "the"))
_BE: Final = word_set("is are was were be been being am")
_BEFORE: Final = word_set("with in of by to that then also finally again afterwards subsequently next meanwhile")
"""Words that may precede a subject or a verb."""
_BEFORE_NOUN: Final = _ARTICLES | word_set(
    "his her its their my your our of with in on at from to by for into onto two three four some several another"
)
_AFTER_NOUN: Final = word_set("in on at of with wearing holding near behind from by dressed sitting standing carrying")
"""Words that end a noun phrase's name and begin its description."""
_HE: Final = word_set("he his man boy guy male gentleman father")
_SHE: Final = word_set("she her woman girl lady female mother")
_PRONOUNS: Final = word_set("he she it they i his her its their")
_SEVERAL: Final = word_set("men women people children they both you we i")
_MARKS: Final = word_set(
    "black white red blue green yellow brown grey gray orange purple pink beige golden dark light khaki striped plaid "
    "left right first second third another other young old tall short bald"
)
"""Distinguishing words: subjects with different ones are different."""


@dataclass(slots=True)
class _Subject:
    description: str
    head: str
    words: set[str]


def extract(text: str) -> Structure:
    """Return the structure of a description; empty for an empty one."""
    camera: list[str] = []
    subjects: list[_Subject] = []
    done: list[tuple[list[str], int]] = []
    who = 0
    for pattern in (_HEADING, _MARKUP, _TIME):
        text = pattern.sub("", text)
    for sentence in _SENTENCE.split(_SHOWS.sub(r"\1.\n", text)):
        filming, begun = False, len(done)
        for piece in _BREAK.split(sentence):
            words = _WORD.findall(piece)
            while words and (words[0].lower() in _BEFORE or words[0].lower().endswith("ly")):
                words = words[1:]
            lower = [word.lower() for word in words]
            verb = _verb(lower)
            if _is_filming(lower, verb, filming):
                filming = True
                motion_words = [word for word in words[verb or 0 :] if word.lower() not in ("the", "camera")]
                motion = " ".join(motion_words[:_LONGEST_MOTION])
                if camera_motion(motion).kind:
                    camera.append(motion)
            elif verb is None and words:  # "takes plates, cups"; or whoever does what comes next
                if len(done) > begun:
                    done[-1][0].extend(["and", *words])
                else:
                    who, _ = _subject(words, subjects)
            elif verb is not None:
                part: Sequence[str] = ()
                if verb:
                    filming = False
                    who, part = _subject(words[:verb], subjects)
                elif not subjects:
                    who, part = _subject(["person"], subjects)
                while verb < len(words) and lower[verb] in _BE:
                    verb += 1
                if verb < len(words) and FORMS.get(lower[verb], "be") not in STATES:  # "is blurry" is a state
                    done.append(([*part, *words[verb:]], who))
    numbers = {who: number for number, who in enumerate(dict.fromkeys(who for _, who in done), 1)}
    chronology = tuple((" ".join(action), numbers[who]) for action, who in done)
    acting = {
        number: ActingSubject(subjects[who].description, tuple(action for action, n in chronology if n == number))
        for who, number in numbers.items()
    }
    return Structure(tuple(camera), acting, chronology)


def _verb(words: Sequence[str]) -> int | None:
    """Return the index of the verb: the first word if it is one, else a present form, else another form; or None."""
    if words and words[0] in FORMS and words[0] not in _CAMERA:
        return 0
    forms = [
        index
        for index in range(1, len(words))
        if words[index] not in _AFTER_NOUN
        and words[index - 1] not in _BEFORE_NOUN
        and (words[index] in _BE or FORMS.get(words[index], words[index]) != words[index] or _several(words[index - 1]))
    ]
    present = (index for index in forms if words[index] in _BE or words[index].endswith(("s", "ing")))
    return next(present, next(iter(forms), None))


def _several(word: str) -> bool:
    return word in _SEVERAL or word.endswith("s")


def _is_filming(words: Sequence[str], verb: int | None, filming: bool) -> bool:
    """Return True if a clause is about the camera: by its subject, its verb, or as a continuation."""
    subject = words if verb is None else words[:verb]
    if not _CAMERA.isdisjoint(subject) and "wearer" not in subject:
        return True
    alone = (verb == 0 and FORMS[words[0]] in _FILMED) or words[-1:] == ["shot"]
    by_it = "by" in words and not _CAMERA.isdisjoint(words[words.index("by") :])
    return alone or by_it or (filming and not verb and bool(words))


def _subject(phrase: Sequence[str], subjects: list[_Subject]) -> tuple[int, Sequence[str]]:
    """Return the index of the subject of a phrase, added if new, and the acting part of an owner ("hands")."""
    words = [word.lower() for word in phrase]
    owner = next((index for index, word in enumerate(words) if word.endswith(("'s", "’s"))), None)
    recent = range(len(subjects) - 1, max(-1, len(subjects) - 1 - _REMEMBERED), -1)
    pronoun = words[0] if words[0] in _PRONOUNS else words[-1]  # "in the end he"
    if pronoun in _PRONOUNS:
        others = _SHE if pronoun in _HE else _HE if pronoun in _SHE else frozenset()
        fits = next((index for index in recent if subjects[index].words.isdisjoint(others)), None)
        if fits is not None:
            return fits, phrase[1:] if pronoun == words[0] else ()
    if owner is not None:
        index, _ = _subject([*phrase[:owner], phrase[owner][:-2]], subjects)
        return index, phrase[owner + 1 :]
    end = next((index for index, word in enumerate(words) if index and word in _AFTER_NOUN), len(words))
    looks = {part for word in words for part in word.split("-")}
    for index in recent:
        earlier = subjects[index]
        shared = earlier.words & looks & _MARKS
        different = (earlier.words & _MARKS and looks & _MARKS) or words[0] in ("a", "an", "another")
        if earlier.head == words[end - 1] and (shared or not different):
            earlier.words |= looks
            return index, ()
    named = phrase[1:] if words[0] in _ARTICLES and len(phrase) > 1 else phrase
    subjects.append(_Subject(" ".join(named), words[end - 1], looks))
    return len(subjects) - 1, ()
