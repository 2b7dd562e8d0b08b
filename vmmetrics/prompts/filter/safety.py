"""Whether a prompt asks for what must not be shown: a lexicon of our own that minds the sense of words.

What it can do: find plain words for sex, gore, self-harm, hate, terror, drugs and cruelty, and violence done *to
someone* ("stabs a guard", "is shot"), while "shoots a basketball", "kills the engine" and "breast stroke" pass. Weapons
and blood by themselves, and what may be sport or nature, are marked for a person to look at.

What it cannot: it reads English only, and knows words, not meanings. It finds no innuendo, misspelling, code word, real
person, private detail or trade mark, and no harm told in harmless words. It is the cheap first look before a model's
verdict and people's review, and no substitute for either.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from vmmetrics.prompts.filter import safety_words as lexicon
from vmmetrics.utils.text.inflection import ing_form, plural, third_person, verb_forms

VIOLENCE: Final = "violence"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in a prompt that must not be shown, or may not.

    Attributes:
        kind: Of what ("gore").
        words: Where it was found, in small letters.
        certain: Whether it drops the prompt; else a person should look.
    """

    kind: str
    words: str
    certain: bool


def find_unsafe(text: str) -> list[Finding]:
    """Everything the lexicon finds in a text, what is certain first; each wording once.

    >>> find_unsafe("A player shoots a basketball past two men.")
    []
    >>> find_unsafe("A man in black shoots a fleeing guard.")
    [Finding(kind='violence', words='shoots a fleeing guard', certain=True)]
    """
    lowered = " ".join(text.lower().replace("’", "'").split())
    masked = _HARMLESS.sub(lambda match: " ".join("~" * match[0].count(" ")) + "~", lowered)
    tokens = _TOKEN.findall(masked)
    found = [
        *(Finding(kind, match[0], True) for kind, words in _NEVER.items() for match in words.finditer(masked)),
        *(Finding("hate", "a slur", True) for token in tokens if _is_slur(token)),
        *_violence(tokens, playing=not _SPORT.isdisjoint(tokens) or _TOYS.search(lowered) is not None),
        *(Finding(kind, match[0], False) for kind, words in _LOOK.items() for match in words.finditer(masked)),
    ]
    if any(finding.kind == "sexual" for finding in found) and _MINORS.intersection(tokens):
        found.insert(0, Finding("sexual, with a minor", "sexual words beside those for a minor", True))
    return sorted(dict.fromkeys(found), key=lambda finding: not finding.certain)


def _violence(tokens: list[str], playing: bool) -> Iterator[Finding]:
    armed = any(_WEAPON.fullmatch(token) for token in tokens)
    for place, token in enumerate(tokens):
        rest = tokens[place + 1 : place + 1 + _LONGEST_AIM + _LONGEST_PHRASE]
        if token in _TO_ONESELF and rest and rest[0] in _ONESELF and not _BENEFIT.intersection(rest[1:2]):
            yield Finding("self-harm", f"{token} {rest[0]}", True)
        for (form, particle), grave in _VERBS.items():
            if token != form:
                continue
            words = _object_of(_behind(rest, particle, armed, (token, particle) in _NEED_ARMS))
            if _head_of(words) in _VICTIMS and not (playing and (not grave or token in _PLAYED)):
                shown = " ".join([token, *([particle] if particle else []), *words])
                yield Finding(VIOLENCE, shown, grave and _head_of(words) in _PERSONS)
        if token in _SUFFERED and not (playing and (not _SUFFERED[token] or token in _PLAYED)):
            subject = _sufferer(tokens[max(0, place - _LONGEST_PHRASE) : place])
            if subject in _VICTIMS:
                yield Finding(VIOLENCE, f"{subject} … {token}", _SUFFERED[token] and subject in _PERSONS)
    for match in _HELD_TO.finditer(" ".join(tokens)):
        yield Finding(VIOLENCE, match[0], True)


def _behind(rest: list[str], particle: str, armed: bool, needs_arms: bool) -> list[str]:
    """What follows a verb and its particle, which may be apart where a weapon stands between: "shoots a gun at him"."""
    if not particle:
        return rest
    near = rest[:_LONGEST_AIM] if armed and particle == "at" else rest[:1]
    if particle not in near or (needs_arms and not armed):
        return []
    return rest[near.index(particle) + 1 :]


def _object_of(rest: list[str]) -> list[str]:
    """What stands behind a verb up to the end of a noun phrase: "a fleeing guard" of "a fleeing guard in the back"."""
    words: list[str] = []
    for token in rest[:_LONGEST_PHRASE]:
        if token in _BREAKS or not token[0].isalnum():
            break
        words.append(token)
    return words


def _head_of(words: list[str]) -> str:
    """The noun an object is about, its last word but for adverbs; a pronoun only where it stands alone."""
    head = next((word for word in reversed(words) if not word.endswith("ly")), "")
    return head if head not in _PRONOUNS or words[0] == head else ""


def _sufferer(before: list[str]) -> str:
    """Subject of a passive whose participle stands behind ``before``; empty where there is none."""
    words = [token for token in before if not token.endswith("ly")]
    length = len(words)
    while words and words[-1] in _PASSIVE:
        words.pop()
    return words[-1] if words and len(words) < length else ""


def _is_slur(token: str) -> bool:
    forms = (token, token.removesuffix("s"))
    return any(hashlib.sha256(form.encode()).hexdigest()[:16] in lexicon.SLURS for form in forms)


def _compiled(parts: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'-])(?:{'|'.join(parts)})(?![\w'-])")


def _with_plurals(nouns: Iterable[str]) -> frozenset[str]:
    return frozenset(form for noun in nouns for form in (noun, plural(noun)))


def _forms(verbs: Iterable[str], grave: bool) -> dict[tuple[str, str], bool]:
    split = [verb.partition(" ") for verb in verbs]
    return {(form, particle): grave for verb, _, particle in split for form in verb_forms(verb)}


def _participles(verbs: Iterable[str], grave: bool) -> dict[str, bool]:
    """Forms that may be a passive's: all but those in -s and -ing; the base is one of them for "hit" and "beat"."""
    forms = {
        form for verb in verbs if " " not in verb for form in verb_forms(verb) - {ing_form(verb), third_person(verb)}
    }
    return dict.fromkeys(forms, grave)


_TOKEN = re.compile(r"[\w~]+(?:['-][\w~]+)*|[^\w\s]")
_HARMLESS = _compiled(lexicon.HARMLESS)
_NEVER = {kind: _compiled(parts) for kind, parts in lexicon.NEVER.items()}
_LOOK = {kind: _compiled(parts) for kind, parts in lexicon.LOOK.items()}
_WEAPON = _compiled(lexicon.LOOK["weapon"])
_HELD_TO = re.compile(
    r"\b(?:knife|dagger|machete|gun|pistol|rifle|razor) (?:to|at|against|into|through) (?:[\w']+ ){0,2}?"
    r"(?:throat|neck|head|temple|face|back|stomach)\b"
)
_NEED_ARMS = _forms(lexicon.ARMED, grave=True)
_TOYS = _compiled(lexicon.TOYS)
_VERBS = {
    **_forms(lexicon.ROUGH, grave=False),
    **_forms(lexicon.GRAVE, grave=True),
    **_NEED_ARMS,
}
_SUFFERED = {**_participles(lexicon.ROUGH, grave=False), **_participles(lexicon.GRAVE, grave=True)}
_TO_ONESELF = frozenset(form for verb in lexicon.TO_ONESELF for form in verb_forms(verb))
_PLAYED = frozenset(form for verb in lexicon.PLAYED for form in verb_forms(verb))
_ONESELF = frozenset(("himself", "herself", "themselves", "themself", "oneself"))
_PRONOUNS = frozenset(("him", "them", "someone", "somebody"))
_BENEFIT = frozenset((
    "a", "an", "some", "another", "two", "free", "loose", "upside", "out", "into", "through", "over", "off", "up",
    "onto",
))  # fmt: skip
"""What follows where something is done for oneself, not to oneself: "cuts himself a slice"."""
_PERSONS = _with_plurals(lexicon.PERSONS)
_VICTIMS = _PERSONS | _with_plurals(lexicon.ANIMALS)
_MINORS = _with_plurals(lexicon.MINORS)
_SPORT = _with_plurals(lexicon.SPORT)
_PASSIVE = frozenset(("is", "are", "was", "were", "gets", "get", "being", "been", "lies", "lie"))
_BREAKS = frozenset((
    "up", "out", "off", "down", "past", "over", "across", "into", "onto", "toward", "towards", "through", "from",
    "with", "for", "to", "in", "on", "around", "away", "at", "of", "near", "beside", "behind", "between", "above",
    "below", "under", "along", "against", "and", "or", "but", "while", "as", "when", "before", "after", "like", "until",
    "then", "that", "who", "which", "is", "are",
))  # fmt: skip
"""What ends a verb's object."""
_LONGEST_AIM = 5
"""Words from a verb to its "at" with a weapon between."""
_LONGEST_PHRASE = 6
"""Words of an object: article, number, three adjectives, noun."""
