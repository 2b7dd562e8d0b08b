"""What the options alone tell about which is right: what a guesser who sees neither video nor question can use."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vmmetrics.models.questions import Question

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][a-z]+)?")
_EMPTY: Final = frozenset(
    ["a", "an", "the", "is", "are", "was", "were", "be", "been", "being", "his", "her", "its", "their"]
)
"""Words that change between two ways to say one thing. Prepositions do not: from the left is not to the left."""
_ENDINGS: Final = ("ing", "ed", "es", "s")
_SHORTEST_STEM: Final = 3
BETWEEN: Final = re.compile(
    r"\s*(?:-+>|=+>|\u2192|\u21d2|[,;/]|\b(?:and then|then|and|followed by|while)\b)\s*", re.IGNORECASE
)
"""What stands between the parts of an option."""
ARROW: Final = " \u2192 "
"""What we join the steps of a sequence with."""
_SHARED_PARTS: Final = 2
"""A part of the right option that so many options have may give it away: TUNA's rule, the most frequent one must not be
right."""
_SHARED_WORDS: Final = 3
"""Likewise for single words, of which two options often share some by chance."""

_ALIKE: Final = 2
"""Words that wrong options have in common and the right one has none of; one may be a unit: twice, three times."""


def stems(text: str) -> tuple[str, ...]:
    """Words of a text that carry meaning, without their endings, in order.

    >>> stems("The man is running to the left"), stems("A man runs to his left")
    (('man', 'run', 'to', 'left'), ('man', 'run', 'to', 'left'))
    """
    return tuple(_stem(word) for word in _WORD.findall(text.lower()) if word not in _EMPTY)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            word = word[: -len(ending)]
            break
    if len(word) > _SHORTEST_STEM and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] if len(word) > _SHORTEST_STEM and word[-1] == "e" else word


def parts(option: str) -> tuple[str, ...]:
    """Parts of an option: steps of a sequence, members of a list, in order.

    >>> parts("pans left, then zooms in")
    ('pan left', 'zoom in')
    """
    found = (" ".join(stems(part)) for part in BETWEEN.split(option))
    return tuple(part for part in found if part)


def are_orders(options: Sequence[str]) -> bool:
    """Whether the options are the same parts, two or more, in several orders."""
    sorts = [sorted(parts(option)) for option in options]
    return len(sorts[0]) > 1 and all(found == sorts[0] for found in sorts)


def consensus(options: Sequence[str], answer: int) -> str | None:
    """The part of the right option that gives it away by being in more options than any part of a wrong one.

    Parts are what stands between commas and arrows; of re-orderings, a part at its place; of options without parts, a
    word. The right option must also be the one that shares most: where a wrong one shares as much, nobody can tell.

    Args:
        options: Texts.
        answer: Index of the right one.

    Returns:
        The part in words; None where nothing is given away.
    """
    tokens, least = _tokens(options)
    counts = Counter(token for found in tokens for token in found)
    right = tokens[answer]
    if not right:
        return None
    scores = _shared(tokens)
    top = max(sorted(right, key=str), key=lambda token: counts[token])
    rival = max((count for token, count in counts.items() if token not in right), default=0)
    alone = all(score < scores[answer] for place, score in enumerate(scores) if place != answer)
    if counts[top] < least or counts[top] <= rival or not alone:
        return None
    return str(top[1]) if isinstance(top, tuple) else str(top)


def is_odd_one_out(options: Sequence[str], answer: int) -> bool:
    """Whether the wrong options have words in common, several and each with each, and the right one none with any."""
    words = [set(stems(option)) for option in options]
    wrong = [found for place, found in enumerate(words) if place != answer]
    if len(wrong) < 2 or any(found & words[answer] for found in wrong):
        return False
    return all(len(one & other) >= _ALIKE for place, one in enumerate(wrong) for other in wrong[:place])


def _tokens(options: Sequence[str]) -> tuple[list[set[Hashable]], int]:
    """What each option is made of but for what all have, and from how many options on it tells."""
    split = [parts(option) for option in options]
    tokens: list[set[Hashable]]
    least = _SHARED_PARTS
    if are_orders(options):
        tokens = [set(enumerate(found)) for found in split]
    elif any(len(found) > 1 for found in split):
        tokens = [set(found) for found in split]
    else:
        tokens, least = [set(stems(option)) for option in options], _SHARED_WORDS
    everywhere = set.intersection(*tokens)
    return [found - everywhere for found in tokens], least


def _shared(tokens: Sequence[set[Hashable]]) -> list[int]:
    """For each option, in how many others its parts are, all together."""
    counts = Counter(token for found in tokens for token in found)
    return [sum(counts[token] - 1 for token in found) for found in tokens]


@dataclass(frozen=True, slots=True)
class Guess:
    """How a guesser does over a set of questions.

    Attributes:
        right: Share it gets right; where it cannot decide between several, their share.
        chance: What guessing by chance gets.
        z: How far above chance, in standard deviations of guessing by chance.
        n: Questions.
    """

    right: float
    chance: float
    z: float
    n: int


def _length(question: Question) -> list[float]:
    return [len(option) for option in question.options]


def _in_common(question: Question) -> list[float]:
    return [float(score) for score in _shared(_tokens(question.options)[0])]


def _echo(question: Question) -> list[float]:
    said = set(stems(question.text))
    return [float(len(said & set(stems(option)))) for option in question.options]


GUESSERS: Final[Mapping[str, Callable[[Question], list[float]]]] = {
    "longest option": _length,
    "shortest option": lambda question: [-score for score in _length(question)],
    "shares most with the others": _in_common,
    "shares least with the others": lambda question: [-score for score in _in_common(question)],
    "shares most with the question": _echo,
}
"""Guessers that see no video, by name: each scores the options and takes the highest."""


def guesses(questions: Sequence[Question]) -> dict[str, Guess]:
    """How each of :data:`GUESSERS` does over the questions that have a key."""
    keyed = [question for question in questions if question.answer is not None]
    if not keyed:
        return {}
    chances = [1 / len(question.options) for question in keyed]
    chance = sum(chances) / len(keyed)
    spread = math.sqrt(sum(share * (1 - share) for share in chances)) / len(keyed)
    found = {}
    for name, score in GUESSERS.items():
        right = sum(_right_share(score(question), question.answer or 0) for question in keyed) / len(keyed)
        found[name] = Guess(right, chance, (right - chance) / spread if spread else 0.0, len(keyed))
    return found


def _right_share(scores: Sequence[float], answer: int) -> float:
    best = max(scores)
    return (scores[answer] == best) / scores.count(best)
