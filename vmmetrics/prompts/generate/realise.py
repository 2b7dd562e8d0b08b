"""Acceptable English from metadata alone: sentences for a combination where no language model is at hand.

Several patterns of sentence, each a function from the parts to a text; a pattern that the parts do not allow, or that
comes out too short or too long, is passed over. Such sentences let the pipeline run anywhere; no library is made of
them unedited.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vmmetrics.prompts.checks import SHORTEST, form, length, repeats, words
from vmmetrics.prompts.generate.combine import Combination
from vmmetrics.prompts.generate.rules import conform
from vmmetrics.prompts.metadata import Action
from vmmetrics.utils.text.inflection import article, ing_form, third_person

_MANNERS = {
    "slow": ("slowly", "without haste", "little by little"),
    "moderate": ("steadily", "at an even pace", "without a pause"),
    "fast": ("quickly", "at full speed", "in rapid succession"),
}
_LIGHTS = {
    "indoor": ("in bright light", "under even light", "by the light of a window"),
    "outdoor": ("in clear daylight", "under an overcast sky", "in low sunlight"),
    "either": ("in bright light", "in full view"),
}
_CLOSINGS = (
    "The whole movement can be followed from beginning to end.",
    "Nothing hides the movement from view.",
    "Every stage of the motion is plain to see.",
)
_CAMERAS = {
    "static": "The camera does not move.",
    "pan": "The camera pans along with the motion.",
    "tilt": "The camera tilts slowly upward.",
    "track": "The camera moves along beside it.",
    "zoom": "The camera slowly moves closer.",
    "orbit": "The camera circles around it slowly.",
    "handheld": "The camera is held by hand and sways slightly.",
}


@dataclass(frozen=True)
class _Parts:
    """What sentences are built of.

    Attributes:
        subject: With article or number.
        verb: The finite verb with its complement.
        doing: The -ing form with its complement; empty where it cannot be told.
        be: "is" or "are".
        place: With its preposition.
        ending: What is to be seen at last, as a clause; empty where it does not fit.
    """

    subject: str
    verb: str
    doing: str
    be: str
    place: str
    ending: str


_Pattern = Callable[[_Parts], str]

_PATTERNS: tuple[_Pattern, ...] = (
    lambda p: f"{p.subject} {p.verb} {p.place}",
    lambda p: f"{p.place}, {p.subject} {p.verb}",
    lambda p: f"{p.subject} {p.place} {p.verb}" if len(p.place.split()) <= 5 else "",
    lambda p: f"{p.place}, {p.subject} {p.be} {p.doing}" if p.doing else "",
    lambda p: f"there {p.be} {p.subject} {p.place}, {p.doing}" if p.doing else "",
    lambda p: f"{p.subject} {p.be} {p.doing} {p.place}" if p.doing else "",
)
_ENDINGS: tuple[_Pattern, ...] = (
    lambda p: f" until {p.ending}.",
    lambda p: f". In the end, {p.ending}.",
    lambda p: f", and in the end {p.ending}.",
    lambda _: ".",
)


def realise(combination: Combination, seed: int) -> Iterator[str]:
    """Sentences for a combination, by chance but the same for the same seed, each of another pattern; few or none.

    Args:
        combination: What to write about.
        seed: Of the choice.

    Yields:
        Texts of 12 to 35 words that are not alike.
    """
    draw = random.Random(f"{seed} {combination.key}")  # noqa: S311  (chance, not secrets)
    parts = _parts(combination)
    for pattern in draw.sample(_PATTERNS, len(_PATTERNS)):
        clause = pattern(parts)
        if not clause:
            continue
        endings = draw.sample(_ENDINGS[:-1], 3) if parts.ending else []
        texts = (_finished(clause, ending(parts), combination, draw) for ending in (*endings, _ENDINGS[-1]))
        fitting = next((text for text in texts if not (length(text) or form(text) or repeats(text))), None)
        if fitting is not None:
            yield fitting


def _parts(combination: Combination) -> _Parts:
    action, place = combination.action, combination.place
    many = combination.quantity != "one"
    complement = action.complement
    finite = action.lemma if many else third_person(action.lemma)
    following = conform(complement, "base" if many else "third")
    doing = conform(complement, "ing")
    return _Parts(
        subject=combination.noun_phrase,
        verb=f"{finite} {complement if following is None else following}".strip(),
        doing="" if doing is None else f"{ing_form(action.lemma)} {doing}".strip(),
        be="are" if many else "is",
        place=place.phrase or f"in {article(place.name)} {place.name}",
        ending=_seen_at_last(action) if _ending_fits(combination) else "",
    )


def _seen_at_last(action: Action) -> str:
    """The outcome as a bare clause: what stands before a colon ("the jump succeeds:") says nothing to be seen."""
    return action.outcome.rpartition(": ")[2].rstrip(".")


def _ending_fits(combination: Combination) -> bool:
    """Whether what is to be seen at last speaks only of what was spoken of: the subject, or what it acts on."""
    outcome = _seen_at_last(combination.action)
    if not outcome or combination.quantity != "one" or _OF_A_PERSON.search(outcome):
        return False
    if "until" in combination.action.complement.split():  # it says so itself
        return False
    said = set(words(f"{combination.subject.noun} {combination.action.complement}".lower()))
    named = _FIRST_NAMED.match(outcome.lower())
    return named is not None and bool({named[1], named[2], f"{named[1]}s", named[1].removesuffix("s")} & said)


_OF_A_PERSON = re.compile(r"\b(?:his|her|he|she|their|they)\b")
_FIRST_NAMED = re.compile(
    r"(?:(?:the|both|all|each|every|a|an|one|two|three)(?: of)?(?: the)? )?([\w'-]+)(?: ([\w'-]+))?"
)


def _finished(clause: str, ending: str, combination: Combination, draw: random.Random) -> str:
    """The sentence with what lengthens a short one, and the camera's motion where one is asked for."""
    manner = draw.choice(_MANNERS[combination.action.speed])
    light = draw.choice(_LIGHTS[combination.place.setting])
    closing = draw.choice(_CLOSINGS)
    camera = _CAMERAS.get(combination.camera, "")
    plain = not set(combination.place.affords) & {"dark", "underwater"}
    longer = [clause, *([f"{clause} {light}"] if plain and combination.place.setting != "either" else [])]
    if not any(word.endswith("ly") for word in clause.split()):
        longer.append(f"{clause} {manner}")
    for body in longer:
        text = " ".join(part for part in (_sentence(body + ending), camera) if part)
        if len(words(text)) >= SHORTEST:
            return text
    return " ".join(part for part in (_sentence(longer[-1] + ending), closing, camera) if part)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
