"""Our first step: a description to its structure, by rules and word lists of our own, in one pass over its words.

No model, no chance, no state: the same text gives the same structure everywhere. Time grows linearly with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from vmmetrics.understanding.benchmarks.favor.cast import Actor, Cast, head_of
from vmmetrics.understanding.benchmarks.favor.clauses import (
    CAMERA_NOUNS,
    SCENE_NOUNS,
    SHOWING,
    CaptionClause,
    clauses,
    finite_forms,
    is_state,
    read_clause,
    sentences,
)
from vmmetrics.understanding.benchmarks.favor.lexicon import (
    ADVERBS,
    BODY,
    DETERMINERS,
    PEOPLE,
    PLURALS,
    PRONOUNS,
    SUBJECTS,
    word_set,
)
from vmmetrics.understanding.benchmarks.favor.scores import ActingSubject, Structure, read_camera
from vmmetrics.understanding.benchmarks.favor.similarity import camera_motion, camera_phrases

# A description as running text: without Markdown, bullets, numbers and times before lines; labels made subjects.
#
# Video models like to answer in lists under headings ("2. **Player in white:** runs forward"). Marks and numbers say
# nothing of motion; a label can say who acts.

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
        line = _MARKUP.sub("", _BULLET.sub("", line, count=1))
        line = _TIME.sub("", line).lstrip(_LEADING) if _TIME.match(line) else _TIME.sub("", line)
        label, colon, rest = line.partition(":")
        words = label.replace("(", " ").replace(")", " ").split()
        if colon and len(words) <= _MOST_IN_LABEL and read_clause("", words or ["-"]).verb is None:
            line = f"{_subject(words, rest)} {rest.lstrip(_LEADING)}".strip()
        if line:
            yield line


def _subject(label: list[str], rest: str) -> str:
    """Whom a label makes the subject of what follows; nothing where it names none, or what follows has its own."""
    words = [word.lower() for word in label]
    if CAMERA_NOUNS & set(words):
        return "" if CAMERA_NOUNS & set(rest.lower().split()[:4]) else "the camera"
    end = next((place for place, word in enumerate(words) if word in ("in", "on", "with", "wearing", "at")), len(words))
    head = [word for word in words[:end] if not word.isdigit()][-1:]
    return " ".join(label) if head and head[0] in SUBJECTS and head[0] not in PLURALS else ""


_FILLING: Final = frozenset(("with", "of", "on", "the", "a", "an", "to", "by", "in", "that"))
_TRAILING: Final = ADVERBS | {"and", "as", "while", "then", "but", "to", "with", "by", "followed"}
_CUT: Final = word_set("transition cut change switch shift fade")
_CAMERA_VERBS: Final = frozenset(("pan", "zoom", "dolly"))
"""What nothing but a camera does."""
_CAMERA_ALONE: Final = frozenset(("zoom", "dolly"))
"""Nouns of a camera's motions that are nothing else."""
_LONGEST_MOTION: Final = 12
"""Words of a motion of the camera that are kept."""
_POSSESSIVES: Final = frozenset(("his", "her", "their", "its"))
_EGO: Final = frozenset(("first-person", "egocentric", "pov"))


def extract(text: str) -> Structure:
    """Structure of a description; of an empty one, an empty structure."""
    told = [tokens for line in plain_lines(text) for tokens in sentences(line)]
    finite = finite_forms(told)
    reader = _Reader(finite)
    for tokens in told:
        reader.read(tokens)
    return reader.structure()


class _Reader:
    """Goes through the clauses, keeping in mind who acted last."""

    def __init__(self, finite: frozenset[str]) -> None:
        self._finite = finite
        self._cast = Cast()
        self._camera: list[str] = []
        self._kind: str | None = None  # of the camera's latest motion
        self._done: list[tuple[list[str], list[Actor]]] = []
        self._acting: list[Actor] = []
        self._about: list[Actor] = []  # whom the latest action is about
        self._filming = False  # whether what has no subject is the camera's
        self._filmed_before = False  # whether the sentence before ended with it
        self._waiting: list[CaptionClause] = []  # subjects, or objects, whose verb did not come yet

    def read(self, sentence: Sequence[str]) -> None:
        """Read the words of a sentence."""
        self._filmed_before, self._filming = self._filming, False
        begun = len(self._done)
        motions, rest = camera_phrases(sentence)
        for motion in motions:
            self._filmed(motion)
        for clause in clauses(rest, self._finite):
            if _EGO & {word.lower() for word in clause.words} and "first-person perspective" not in self._camera:
                self._camera.append("first-person perspective")
            self._take(clause, begun)
        self._put_back(begun)

    def structure(self) -> Structure:
        """What was read."""
        chronology = []
        for words, actors in self._done:
            action = _cleaned(words)
            if action:
                for actor in actors:
                    actor.actions.append(action)
                    chronology.append((action, actor.number))
        acting = [actor for actor in self._cast.actors if actor.actions]
        numbers = {actor.number: place for place, actor in enumerate(acting, 1)}
        subjects = {numbers[a.number]: ActingSubject(a.description, tuple(a.actions)) for a in acting}
        return Structure(tuple(self._camera), subjects, tuple((action, numbers[who]) for action, who in chronology))

    def _take(self, clause: CaptionClause, begun: int) -> None:
        head = _head(clause.subject)
        shown = _shown(clause.words) if head in SCENE_NOUNS else clause.words
        if len(shown) < len(clause.words) and _head(shown) in SUBJECTS:
            clause = read_clause(clause.link, shown, self._finite)
            head = _head(clause.subject)
        again = head == "it" and (self._filming or self._filmed_before)
        if head in CAMERA_NOUNS or again or (head in SCENE_NOUNS and clause.verb):
            self._put_back(begun)
            self._film(clause, begun)
        elif clause.verb is None:
            self._without_verb(clause)
        elif not clause.subject and clause.link in ("who", "which") and not (self._filming and clause.link == "which"):
            waiting = [one for one in self._waiting if _may_act(one)]  # the man, who ...
            self._waiting = []
            self._about = self._cast.mention(waiting[-1].subject) if waiting else self._about
            self._filming, self._acting = False, self._about or self._cast.anybody()
            self._act(clause, begun)
        elif not clause.subject and (clause.verb in _CAMERA_VERBS or (self._filming and clause.link != "as")):
            self._film(clause, begun)
        else:
            self._act(clause, begun)

    def _film(self, clause: CaptionClause, begun: int) -> None:
        """The camera does something; or a scene shows somebody, which is read as a clause of its own."""
        self._filming = True
        rest = list(clause.action[1:])
        scene = _head(clause.subject) in SCENE_NOUNS
        if clause.verb in SHOWING or (clause.action and clause.action[0].lower() in ("shows", "showing")):
            while rest and rest[0].lower() in _FILLING | ADVERBS:
                rest = rest[1:]
            inner = read_clause(clause.link, _shown(rest), self._finite)
            if _head(inner.subject) not in CAMERA_NOUNS | SCENE_NOUNS:
                self._filming = False
                self._act(inner, begun) if inner.verb and inner.subject else self._without_verb(inner)
            return
        words = clause.action or _full(clause.words)
        motion = camera_motion(" ".join(words[:_LONGEST_MOTION]))
        if scene and motion.kind not in ("cut", "shake", "rotate", "zoom", "follow") and clause.verb not in _CUT:
            self._filming = False
            return
        self._filmed(words)
        self._about = self._cast.overhear(clause.action, [])

    def _filmed(self, words: Sequence[str], further: bool = False) -> None:
        """A motion of the camera, where it is one, or a further direction of one; still not moving is none."""
        said = " ".join(words[:_LONGEST_MOTION])
        if further and self._kind and len(read_camera(f"{self._camera[-1]} and {said}")) == 1:
            self._camera[-1] += f" and {said}"  # down, and to the left
            return
        for motion in read_camera(said):
            kind = camera_motion(motion).kind
            if kind and not (kind == self._kind == "static"):
                self._camera.append(motion)
                self._kind = kind

    def _without_verb(self, clause: CaptionClause) -> None:
        lower = [word.lower() for word in clause.words]
        filmed = self._filming or CAMERA_NOUNS & set(lower[:3]) or _CAMERA_ALONE & set(lower)
        if filmed and camera_motion(" ".join(lower)).kind:
            words = clause.subject if clause.link == "and" else _full(clause.subject)
            self._filmed(words, further=clause.link == "and")
        elif not filmed:
            self._waiting.append(clause)

    def _act(self, clause: CaptionClause, begun: int) -> None:
        if clause.subject:
            self._filming = False
            who = [
                actor for waiting in self._waiting if _may_act(waiting) for actor in self._cast.mention(waiting.subject)
            ]
            if not who:
                self._put_back(begun)
            self._waiting = []
            mentioned = self._mentioned(clause.subject)
            self._acting = [*who, *(actor for actor in mentioned if actor not in who)]
        else:
            self._put_back(begun)
            if not self._acting:
                self._acting = self._cast.anybody()
        if is_state(clause):
            return
        words = list(clause.action)
        if clause.subject and _head(clause.subject) in BODY:  # his hands clap
            words = [*(w for w in clause.subject if w.lower() in BODY or w.lower().removesuffix("s") in BODY), *words]
        entry = (words, list(self._acting))
        self._about = self._cast.overhear(words, self._acting)
        if clause.link == "after" and len(self._done) > begun:
            self._done.insert(len(self._done) - 1, entry)
        else:
            self._done.append(entry)

    def _mentioned(self, phrase: Sequence[str]) -> list[Actor]:
        words = [word.lower() for word in phrase]
        owned = _head(phrase) in BODY
        named = words[0] in PRONOUNS or words[0] in _POSSESSIVES or any(word.endswith(("'s", "’s")) for word in words)
        if owned and not named:  # a hand appears
            return self._acting or self._cast.anybody()
        return self._cast.mention(phrase)

    def _put_back(self, begun: int) -> None:
        """What waited for a verb in vain belongs to the action before it ("takes plates, cups and glasses")."""
        for clause in self._waiting:
            if len(self._done) > begun:
                self._done[-1][0].extend([*([clause.link] if clause.link.isalpha() else ["and"]), *clause.words])
            elif _may_act(clause):
                self._acting = self._cast.mention(clause.subject)
        self._waiting = []


def _head(phrase: Sequence[str]) -> str:
    words = [word.lower() for word in phrase]
    if not words:
        return ""
    head, at = head_of(words)
    if head in PEOPLE and head not in CAMERA_NOUNS:  # the camera wearer
        return head
    if head in SUBJECTS or head in CAMERA_NOUNS | SCENE_NOUNS:
        return next((word for word in words[:2] if word in CAMERA_NOUNS), head)
    for word in (words[0], words[min(1, len(words) - 1)], words[at]):
        if word in CAMERA_NOUNS | SCENE_NOUNS:
            return word
    return head.removesuffix("s") if head.removesuffix("s") in BODY else head


def _full(words: Sequence[str]) -> list[str]:
    return [word for word in words if word.lower() not in _FILLING]


def _shown(words: Sequence[str]) -> Sequence[str]:
    """What a shot or view that is shown is of: "a wide shot of a man walking" is of a man walking."""
    for place, word in enumerate(words[:6]):
        if word.lower() in SCENE_NOUNS and [w.lower() for w in words[place + 1 : place + 2]] == ["of"]:
            return words[place + 2 :]
    return words


def _may_act(clause: CaptionClause) -> bool:
    """Whether a clause without a verb is a noun phrase that can be the subject of the next."""
    words = [word.lower() for word in clause.subject]
    if not words or not (words[0] in DETERMINERS or words[0] in SUBJECTS or words[0] in PRONOUNS):
        return False
    return words[0] in PRONOUNS or head_of(words)[0] in SUBJECTS.values()


def _cleaned(words: Sequence[str]) -> str:
    """An action as text, without linking words and adverbs at its ends."""
    kept = list(words)
    while kept and (kept[0].lower() in ADVERBS or kept[0].lower() in ("and", "to")):
        kept = kept[1:]
    while kept and kept[-1].lower() in _TRAILING:
        kept = kept[:-1]
    return " ".join(kept).replace(",", "")
