"""Options of questions in other orders: shuffled, with letters balanced, and steps of a sequence as lettered items."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from vmmetrics.models.questions import Question
from vmmetrics.understanding.construction import guessing
from vmmetrics.understanding.construction.guessing import is_none_of_the_above, parts

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
    if not guessing.are_orders(question.options) or len(parts(question.options[0])) < FEWEST_STEPS:
        return question
    first = [piece for piece in guessing.BETWEEN.split(question.options[0]) if parts(piece)]
    names = {parts(piece)[0]: piece for piece in first if len(parts(piece)) == 1}
    if len(names) != len(first) or len(first) > len(_ITEMS):
        return question
    listed = sorted(names)
    generator("items", *seed, question.id).shuffle(listed)
    letters = dict(zip(listed, _ITEMS, strict=False))
    options = tuple(ARROW.join(letters[part] for part in parts(option)) for option in question.options)
    items = "; ".join(f"({letters[name]}) {names[name]}" for name in listed)
    return replace(question, text=f"{items}. {question.text}", options=options)
