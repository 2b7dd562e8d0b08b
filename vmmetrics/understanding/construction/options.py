"""Options of questions: in other orders, and what they alone reveal of the right one."""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from vmmetrics.models.questions import Question

# Shuffled, with letters balanced, and steps of a sequence as lettered items.

ARROW: Final = " \u2192 "
"""Separator of the steps of a sequence in our options."""


def generator(*parts: object) -> random.Random:
    """Return a random generator seeded by texts and numbers alone."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return random.Random(digest)  # noqa: S311 - not for secrets


def arranged(question: Question, order: Sequence[int]) -> Question:
    """Return the question with its options in another order.

    Args:
        question: It.
        order: Index in ``question.options`` of each option to come.
    """
    options = tuple(question.options[index] for index in order)
    answer = None if question.answer is None else list(order).index(question.answer)
    return replace(question, options=options, answer=answer)


def shuffled(question: Question, *seed: object) -> Question:
    """Return the question with options shuffled by seed and id; "None of the above" stays last."""
    return arranged(question, _drawn(question, *seed))


def shuffles(question: Question, count: int, *seed: object) -> list[Question]:
    """Return the question with its options in several orders, distinct if there are enough.

    Args:
        question: It.
        count: How many.
        seed: Of the draw.
    """
    orders: list[list[int]] = []
    repeats: list[list[int]] = []
    for attempt in range(50 * count):
        order = _drawn(question, *seed, attempt)
        (repeats if order in orders else orders).append(order)
        if len(orders) == count:
            break
    return [arranged(question, order) for order in [*orders, *repeats][:count]]


def _drawn(question: Question, *seed: object) -> list[int]:
    order = _movable(question)
    generator(*seed, question.id).shuffle(order)
    return [*order, *range(len(order), len(question.options))]


def without_none_of_the_above(question: Question) -> Question | None:
    """Return the question without that option; None if it is right, or too few options remain."""
    order = _movable(question)
    if len(order) == len(question.options):
        return question
    if question.answer not in order or len(order) < 2:
        return None
    return arranged(question, order)


def balanced(questions: Sequence[Question], seed: int) -> list[Question]:
    """Return the questions with options ordered so that every letter is right equally often, within one.

    Questions with equally many movable options are balanced among themselves. Letters and the order of wrong options
    are drawn by seed.

    Args:
        questions: Each with a right option; one whose right option is "None of the above" stays as it is.
        seed: Of the draw.
    """
    groups: dict[int, list[int]] = {}
    for index, question in enumerate(questions):
        movable = _movable(question)
        if question.answer in movable:
            groups.setdefault(len(movable), []).append(index)
    rearranged = list(questions)
    for size, indices in groups.items():
        drawn = generator("letters", seed, size)
        letters = list(range(size))
        drawn.shuffle(letters)  # which letters get one more
        targets = [letters[number % size] for number in range(len(indices))]
        drawn.shuffle(targets)
        for index, target in zip(indices, targets, strict=True):
            question = rearranged[index]
            order = [option for option in range(size) if option != question.answer]
            generator("options", seed, question.id).shuffle(order)
            order.insert(target, question.answer or 0)
            rearranged[index] = arranged(question, [*order, *range(size, len(question.options))])
    return rearranged


def _movable(question: Question) -> list[int]:
    """Return the options that may change position: all but a last "None of the above"."""
    fixed = bool(question.options) and is_none_of_the_above(question.options[-1])
    return list(range(len(question.options) - fixed))


FEWEST_STEPS: Final = 3
"""Fewest steps of a sequence: two have only one other order."""
_ITEMS: Final = "PQRSTUVW"
"""Letters of items in the question; the options' own begin at A."""


def with_items(question: Question, *seed: object) -> Question:
    """Return a question whose options order three or more items, with the items lettered in its text.

    Options of four long steps are hard to read and compare. Any other question is returned unchanged.

    Args:
        question: With its right option.
        seed: Of the order in which the things are listed.
    """
    if not are_orders(question.options) or len(parts(question.options[0])) < FEWEST_STEPS:
        return question
    first = [piece for piece in _BETWEEN.split(question.options[0]) if parts(piece)]
    names = {parts(piece)[0]: piece for piece in first if len(parts(piece)) == 1}
    if len(names) != len(first) or len(first) > len(_ITEMS):
        return question
    listed = sorted(names)
    generator("items", *seed, question.id).shuffle(listed)
    letters = dict(zip(listed, _ITEMS, strict=False))
    options = tuple(ARROW.join(letters[part] for part in parts(option)) for option in question.options)
    items = "; ".join(f"({letters[name]}) {names[name]}" for name in listed)
    return replace(question, text=f"{items}. {question.text}", options=options)


# What options alone reveal of the right one: their parts, words and lengths, and how far guessers get by them.

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][a-z]+)?")
_EMPTY: Final = frozenset(
    ["a", "an", "the", "is", "are", "was", "were", "be", "been", "being", "his", "her", "its", "their"]
)
"""Words that paraphrases change freely. Prepositions are not: "from the left" is not "to the left"."""
_ENDINGS: Final = ("ing", "ed", "es", "s")
_SHORTEST_STEM: Final = 3
_BETWEEN: Final = re.compile(r"(?i)\s*(?:-+>|=+>|\u2192|\u21d2|[,;/]|\b(?:and then|then|and|followed by|while)\b)\s*")
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
    stemmed = (" ".join(stems(part)) for part in _BETWEEN.split(option))
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
