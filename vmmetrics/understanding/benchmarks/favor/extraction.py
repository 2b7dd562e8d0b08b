"""Extraction of subjects and actions from a description, split at punctuation and linking words.

No model, no chance, no state: the same text gives the same structure everywhere, in linear time. Chosen among a parser
of English, this and a dependency parse (docs/measurements.md): it separated right from wrong descriptions as well as
the others, and is the smallest. A sentence without a listed verb is an action too, found by place and ending.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from vmmetrics.understanding.benchmarks.favor.lexicon import FORMS, FUNCTION_WORDS, STATES, word_set
from vmmetrics.understanding.benchmarks.favor.scores import ActingSubject, Structure
from vmmetrics.understanding.benchmarks.favor.similarity import camera_motion
from vmmetrics.utils.text.words import ADVERBS, DETERMINERS, PREPOSITIONS

EXTRACTION: Final = "split 2"
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
_CAMERA: Final = frozenset(_SCENES.split("|")) | {"camera", "lens", "videographer", "viewpoint"}
_PICTURE: Final = frozenset(("frame", "picture", "image"))
"""Words for what the camera shows after "the" alone; "a picture frame" is a thing."""
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
_BEFORE_PHRASE: Final = PREPOSITIONS | ADVERBS
"""Words that begin no noun phrase: "on a wall", "below"."""
_AFTER_NOUN: Final = word_set("in on at of with wearing holding near behind from by dressed sitting standing carrying")
"""Words that end a noun phrase's name and begin its description."""
_HE: Final = word_set("he his man boy guy lad male gentleman father")
_SHE: Final = word_set("she her woman girl lady female mother")
_PRONOUNS: Final = word_set("he she it they i his her its their")
_SEVERAL: Final = word_set("men women people children they both you we i")
_PEOPLE: Final = _HE | _SHE | word_set("person child kid toddler individual figure someone somebody")
_KINDS: Final = (_PEOPLE, *map(word_set, ("dog puppy pup hound", "cat kitten kitty", "horse mare pony stallion foal")))
"""Words for the same: "the kid" is the girl where she is the only person."""
_OTHERS: Final = frozenset().union(*_KINDS) - _PRONOUNS | word_set("partner friend owner companion opponent teammate")
"""Who is somebody else where they are somebody's: "her partner", not "her hands"."""
_PARTS: Final = word_set(
    "hand hands arm arms finger fingers thumb thumbs foot feet leg legs head eyes paw paws tail wing wings"
)
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
        pieces = [_led(_WORD.findall(piece)) for piece in _BREAK.split(sentence)]
        verbs = [_verb([word.lower() for word in words]) for words in pieces]
        if all(verb is None for verb in verbs):  # none that is listed: the sentence is one action all the same
            whole = _led(_WORD.findall(sentence))
            if (unlisted := _unlisted_verb([word.lower() for word in whole])) is not None:
                pieces, verbs = [whole], [unlisted]
        for words, verb in zip(pieces, verbs, strict=True):
            lower = [word.lower() for word in words]
            if _is_filming(lower, verb, filming):
                filming = True
                motion_words = [word for word in words[verb or 0 :] if word.lower() not in ("the", "camera")]
                motion = " ".join(motion_words[:_LONGEST_MOTION])
                if camera_motion(motion).kind:
                    camera.append(motion)
            elif verb is None and words:  # "takes plates, cups"; or whoever does what comes next
                if len(done) > begun:
                    done[-1][0].extend(["and", *words])
                elif lower[0] not in _BEFORE_PHRASE:
                    who, _ = _subject(words, subjects)
            elif verb is not None:
                part: Sequence[str] = ()
                if verb and done and _is_passive(lower, verb):  # "the lid is lifted": by whoever acted last
                    words = [words[verb + 1], *words[:verb], *words[verb + 2 :]]
                    lower, verb = [word.lower() for word in words], 0
                elif verb:
                    filming = False
                    who, part = _subject(words[:verb], subjects)
                elif not subjects:
                    who, part = _subject(["person"], subjects)
                while verb < len(words) and lower[verb] in _BE:
                    verb += 1
                if verb < len(words) and _acts(lower, verb):
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
    if words and words[0] not in _CAMERA and (words[0] in FORMS or _leads(words)):
        return 0
    forms = [
        index
        for index in range(1, len(words))
        if words[index] not in _AFTER_NOUN
        and words[index - 1] not in _BEFORE_NOUN
        and (words[index] in _BE or FORMS.get(words[index], words[index]) != words[index] or _several(words[index - 1]))
        and (words[index] in _BE or words[index] in FORMS)
    ]
    present = (index for index in forms if words[index] in _BE or words[index].endswith(("s", "ing")))
    return next(present, next(iter(forms), None))


def _led(words: list[str]) -> list[str]:
    """Return the words of a clause without those before its subject or verb."""
    while words and (words[0].lower() in _BEFORE or words[0].lower().endswith("ly")):
        words = words[1:]
    return words


def _unlisted_verb(words: Sequence[str]) -> int | None:
    """Return the index of the verb of a sentence without a listed one, by its place and ending; or None.

    >>> [_unlisted_verb(text.split()) for text in ("at last she doubles it over", "the mare halts", "a red car")]
    [3, 2, None]
    """
    if not _WRITERS.isdisjoint(words):
        return None
    no_verbs = _BEFORE_PHRASE | FUNCTION_WORDS | _MARKS | _AFTER_NOUN
    places = [k for k in range(1, len(words)) if words[k] not in no_verbs]
    after_pronoun = (k for k in places if words[k - 1] in ("he", "she", "it", "they"))
    by_form = (
        k
        for k in places
        if words[k - 1] not in _BEFORE_NOUN | _MARKS
        and (words[0] in DETERMINERS | _PEOPLE | _BEFORE_PHRASE or _several(words[0]))
        and (k < 2 or words[k - 2] not in PREPOSITIONS)  # "with warm lights"
        and (words[k] in FORMS or _several(words[k - 1]) or (words[k].endswith(("s", "ed")) and words[k][-2:] != "ss"))
    )
    verb = next(after_pronoun, next(by_form, None))
    return verb if _CAMERA.isdisjoint(words[:verb]) else None


_WRITERS: Final = word_set("i you i'm i’m")
"""Words of who writes of the answer itself."""


def _is_passive(words: Sequence[str], verb: int) -> bool:
    """Return True for "is" and a participle of an action done to a thing, with nobody named who does it."""
    if words[verb] not in _BE or verb + 1 == len(words) or "by" in words or words[0] in _PRONOUNS:
        return False
    subject, participle = set(words[:verb]), words[verb + 1]
    living = any(subject & kind for kind in _KINDS)
    return not living and not participle.endswith(("s", "ing")) and _acts(words, verb + 1)


def _acts(words: Sequence[str], verb: int) -> bool:
    """Return True if a verb, after any "is", is an action and no state: "is added", not "is blurry"."""
    word = words[verb]
    if verb and words[verb - 1] in _BE:
        return word.endswith(("ing", "ed")) and word not in _LOOKS if word not in FORMS else FORMS[word] not in STATES
    return FORMS.get(word, word) not in STATES


_LOOKS: Final = word_set("dressed seated located situated crowded furnished decorated blurred striped colored animated")
"""Participles of a state."""


def _leads(words: Sequence[str]) -> bool:
    """Return True if an unlisted word begins a clause as a verb does: "swirls the water", not "cups and plates"."""
    after = words[1] if len(words) > 1 else ""
    return (
        words[0].endswith("s")
        and words[0] not in _BEFORE_NOUN | _PRONOUNS | FUNCTION_WORDS
        and (after in ("it", "him", "them", "to") or after in _BEFORE_NOUN - PREPOSITIONS)
    )


def _several(word: str) -> bool:
    return word in _SEVERAL or word.endswith("s")


def _is_filming(words: Sequence[str], verb: int | None, filming: bool) -> bool:
    """Return True if a clause is about the camera: by its subject, its verb, or as a continuation."""
    subject = words if verb is None else words[:verb]
    if not (_CAMERA - _PICTURE).isdisjoint(subject) and "wearer" not in subject:
        return True
    shown = subject[1:] if subject[:1] == ["the"] else subject
    if shown and shown[0] in _PICTURE and (len(shown) == 1 or shown[1] == "stays"):
        return True
    alone = (
        (verb == 0 and (FORMS.get(words[0]) in _FILMED or words[0] == "filmed"))
        or words[-1:] == ["shot"]
        or subject == ["we"]
    )
    by_it = "by" in words and not _CAMERA.isdisjoint(words[words.index("by") :])
    return alone or by_it or (filming and not verb and bool(words))


def _subject(phrase: Sequence[str], subjects: list[_Subject]) -> tuple[int, Sequence[str]]:
    """Return the index of the subject of a phrase, added if new, and the acting part of an owner ("hands")."""
    words = [word.lower() for word in phrase]
    if words[-1] in ("he", "she", "it", "they"):  # "in the end he"
        phrase, words = phrase[-1:], words[-1:]
    elif words[0] in _BEFORE_PHRASE:  # "at the edge the vehicle"
        begin = next((k for k in range(len(words) - 1, 1, -1) if words[k] in _BEFORE_NOUN - PREPOSITIONS), 0)
        phrase, words = phrase[begin:], words[begin:]
    owner = next((index for index, word in enumerate(words) if word.endswith(("'s", "’s"))), None)
    recent = range(len(subjects) - 1, max(-1, len(subjects) - 1 - _REMEMBERED), -1)
    pronoun = words[0]
    if pronoun in _PRONOUNS and not (len(words) > 1 and words[-1] in _OTHERS):
        own = _HE if pronoun in _HE else _SHE if pronoun in _SHE else frozenset()
        others = (_HE | _SHE) - own if own else frozenset()
        fits = [index for index in recent if subjects[index].words.isdisjoint(others)]
        if fits:  # whoever was called so before, else the latest
            who = next((index for index in fits if subjects[index].words & own), fits[0])
            subjects[who].words |= {pronoun} & own
            return who, phrase[1:]
    if owner is not None:
        index, _ = _subject([*phrase[:owner], phrase[owner][:-2]], subjects)
        return index, phrase[owner + 1 :]
    end = next((index for index, word in enumerate(words) if index and word in _AFTER_NOUN), len(words))
    if words[end - 1] in _PARTS and subjects:
        return recent[0], phrase
    looks = {part for word in words for part in word.split("-")}
    for index in recent:
        earlier = subjects[index]
        shared = earlier.words & looks & _MARKS
        different = (earlier.words & _MARKS and looks & _MARKS) or words[0] in ("a", "an", "another")
        if (shared and words[end - 1] == "one") or (earlier.head == words[end - 1] and (shared or not different)):
            earlier.words |= looks
            return index, ()
    same = _same_kind(words[end - 1], looks, subjects, recent, described=end < len(words))
    if same is not None and words[0] not in ("a", "an", "another"):
        subjects[same].words |= looks
        return same, ()
    named = phrase[1:] if words[0] in _ARTICLES and len(phrase) > 1 else phrase
    subjects.append(_Subject(" ".join(named), words[end - 1], looks))
    return len(subjects) - 1, ()


def _same_kind(
    head: str, looks: set[str], subjects: Sequence[_Subject], recent: Iterable[int], described: bool
) -> int | None:
    """Return the index of the only earlier subject that another word can mean; None if there is none or several.

    One that is described, "the woman in the sweater", is no other earlier one than who was "she" until then.
    """
    kind = next((kind for kind in _KINDS if head in kind), None)
    if kind is None:
        return None
    others = _SHE if head in _HE else _HE if head in _SHE else frozenset()
    fits = [
        index
        for index in recent
        if subjects[index].head in kind
        and subjects[index].words.isdisjoint(others)
        and (not described or subjects[index].head in _PRONOUNS)
        and not (subjects[index].words & _MARKS and looks & _MARKS and not subjects[index].words & looks & _MARKS)
    ]
    return fits[0] if len(fits) == 1 else None
