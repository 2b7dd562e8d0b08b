"""What options alone reveal of the right one: their parts, words and lengths, and how far guessers get by them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from vmmetrics.models.questions import Question

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][a-z]+)?")
_EMPTY: Final = frozenset(
    ["a", "an", "the", "is", "are", "was", "were", "be", "been", "being", "his", "her", "its", "their"]
)
"""Words that paraphrases change freely. Prepositions are not: "from the left" is not "to the left"."""
_ENDINGS: Final = ("ing", "ed", "es", "s")
_SHORTEST_STEM: Final = 3
BETWEEN: Final = re.compile(r"(?i)\s*(?:-+>|=+>|\u2192|\u21d2|[,;/]|\b(?:and then|then|and|followed by|while)\b)\s*")
"""Separators of the parts of an option."""
_SHARED_PARTS: Final = 2
"""Number of options that must share a part for it to be telling: TUNA's rule against the most frequent part."""
_SHARED_WORDS: Final = 3
"""The same for single words, which two options often share by chance."""

NONE_OF_THE_ABOVE: Final = "None of the above"
"""FPS-Bench's last option, verbatim."""
_ALIKE: Final = 2
"""Fewest words that the wrong options share and the right one lacks; one may be a unit: twice, three times."""


def is_none_of_the_above(option: str) -> bool:
    """Return True if an option is FPS-Bench's last one, whatever its spelling."""
    return " ".join(re.findall(r"[a-z]+", option.lower())) == NONE_OF_THE_ABOVE.lower()


def stems(text: str) -> tuple[str, ...]:
    """Return the stems of a text's content words, in order.

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
    """Return the parts of an option: steps of a sequence, members of a list, in order.

    >>> parts("pans left, then zooms in")
    ('pan left', 'zoom in')
    """
    stemmed = (" ".join(stems(part)) for part in BETWEEN.split(option))
    return tuple(part for part in stemmed if part)


def are_orders(options: Sequence[str]) -> bool:
    """Return True if the options are the same two or more parts in different orders."""
    sorts = [sorted(parts(option)) for option in options]
    return len(sorts[0]) > 1 and all(one == sorts[0] for one in sorts)


def consensus(options: Sequence[str], answer: int) -> str | None:
    """Return the part that reveals the right option: it occurs in more options than any part of a wrong one.

    Parts are separated by commas and arrows; in re-orderings a part counts with its position; options without parts
    are compared by word. The right option must also share more parts in total than every wrong one.

    Args:
        options: Texts.
        answer: Index of the right one.

    Returns:
        The part as text; None if nothing is revealed.
    """
    tokens, least = _tokens(options)
    counts = Counter(token for own in tokens for token in own)
    right = tokens[answer]
    if not right:
        return None
    scores = _shared(tokens)
    top = max(sorted(right, key=str), key=lambda token: counts[token])
    rival = max((count for token, count in counts.items() if token not in right), default=0)
    alone = all(score < scores[answer] for index, score in enumerate(scores) if index != answer)
    if counts[top] < least or counts[top] <= rival or not alone:
        return None
    return str(top[1]) if isinstance(top, tuple) else str(top)


def is_odd_one_out(options: Sequence[str], answer: int) -> bool:
    """Return True if all wrong options share several words, and the right one shares none with them."""
    words = [set(stems(option)) for option in options]
    wrong = [own for index, own in enumerate(words) if index != answer]
    if len(wrong) < 2 or any(own & words[answer] for own in wrong):
        return False
    return all(len(one & other) >= _ALIKE for index, one in enumerate(wrong) for other in wrong[:index])


def _tokens(options: Sequence[str]) -> tuple[list[set[Hashable]], int]:
    """Return each option's parts that not all have, and the least number of options that makes a part telling."""
    split = [parts(option) for option in options]
    tokens: list[set[Hashable]] = [set(stems(option)) for option in options]
    least = _SHARED_WORDS
    if any(len(pieces) > 1 for pieces in split):
        least, ordered = _SHARED_PARTS, are_orders(options)
        tokens = [set(enumerate(pieces) if ordered else pieces) for pieces in split]
    everywhere = set.intersection(*tokens)
    return [pieces - everywhere for pieces in tokens], least


def _shared(tokens: Sequence[set[Hashable]]) -> list[int]:
    """Return for each option the number of other options that share its parts, summed over parts."""
    counts = Counter(token for own in tokens for token in own)
    return [sum(counts[token] - 1 for token in own) for own in tokens]


@dataclass(frozen=True, slots=True)
class Guess:
    """Result of a guessing strategy over a set of questions.

    Attributes:
        right: Share it gets right; where it cannot decide between several, their share.
        chance: Expected share of random guessing.
        z: How far above chance, in standard deviations of guessing by chance.
        n: Questions.
    """

    right: float
    chance: float
    z: float
    n: int


def _scores(question: Question) -> dict[str, list[int]]:
    """Return the scores of each option by guessing strategy; a strategy picks the highest."""
    lengths = [len(option) for option in question.options]
    common = _shared(_tokens(question.options)[0])
    question_stems = set(stems(question.text))
    return {
        "longest option": lengths,
        "shortest option": [-length for length in lengths],
        "shares most with the others": common,
        "shares least with the others": [-score for score in common],
        "shares most with the question": [len(question_stems & set(stems(option))) for option in question.options],
    }


def guesses(questions: Sequence[Question]) -> dict[str, Guess]:
    """Score the guessing strategies that see no video, over the questions with a key."""
    keyed = [question for question in questions if question.answer is not None]
    if not keyed:
        return {}
    chances = [1 / len(question.options) for question in keyed]
    chance = sum(chances) / len(keyed)
    spread = math.sqrt(sum(share * (1 - share) for share in chances)) / len(keyed)
    scored = [(_scores(question), question.answer or 0) for question in keyed]
    by_guesser = {}
    for name in scored[0][0]:
        of_it = ((scores[name], answer) for scores, answer in scored)
        shares = ((scores[answer] == max(scores)) / scores.count(max(scores)) for scores, answer in of_it)
        right = sum(shares) / len(keyed)
        by_guesser[name] = Guess(right, chance, (right - chance) / spread if spread else 0.0, len(keyed))
    return by_guesser
