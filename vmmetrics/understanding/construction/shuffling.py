"""Options in another order: for one question by a seed, for a set so that right letters come equally often."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import replace

from vmmetrics.models.questions import Question
from vmmetrics.understanding.construction.question_checks import is_none_of_the_above


def generator(*parts: object) -> random.Random:
    """Randomness that depends on some texts and numbers alone, not on what was drawn before."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return random.Random(digest)  # noqa: S311 - not for secrets


def arranged(question: Question, order: Sequence[int]) -> Question:
    """The question with its options in another order.

    Args:
        question: It.
        order: Index in ``question.options`` of each option to come.
    """
    options = tuple(question.options[place] for place in order)
    answer = None if question.answer is None else list(order).index(question.answer)
    return replace(question, options=options, answer=answer)


def shuffled(question: Question, *seed: object) -> tuple[Question, list[int]]:
    """The question with its options in an order drawn by the seed and its id; "None of the above" stays last.

    Returns:
        It, and the index before of each option now.
    """
    order = _movable(question)
    generator(*seed, question.id).shuffle(order)
    order += [place for place in range(len(question.options)) if place not in order]
    return arranged(question, order), order


def shuffles(question: Question, count: int, *seed: object) -> list[tuple[Question, list[int]]]:
    """Several orders of the options, no two alike where there are as many.

    Args:
        question: It.
        count: How many.
        seed: Of the draw.
    """
    found: dict[tuple[int, ...], tuple[Question, list[int]]] = {}
    repeats = []
    for attempt in range(50 * count):
        one = shuffled(question, *seed, attempt)
        if tuple(one[1]) in found:
            repeats.append(one)
        found.setdefault(tuple(one[1]), one)
        if len(found) == count:
            break
    return [*found.values(), *repeats][:count]


def without_none_of_the_above(question: Question) -> Question | None:
    """The question without that option; None where it is the right one, or nothing to choose from is left."""
    order = _movable(question)
    if len(order) == len(question.options):
        return question
    if question.answer not in order or len(order) < 2:
        return None
    return arranged(question, order)


def balanced(questions: Sequence[Question], seed: int) -> list[Question]:
    """The questions with options so ordered that every letter is right equally often, to within one.

    Questions with as many options that can change place are balanced among themselves. Which gets which letter, and the
    order of the wrong options, is drawn by the seed.

    Args:
        questions: Each with a right option; one whose right option is "None of the above" stays as it is.
        seed: Of the draw.
    """
    groups: dict[int, list[int]] = {}
    for place, question in enumerate(questions):
        movable = _movable(question)
        if question.answer in movable:
            groups.setdefault(len(movable), []).append(place)
    found = list(questions)
    for size, places in groups.items():
        drawn = generator("letters", seed, size)
        letters = list(range(size))
        drawn.shuffle(letters)  # which letters get one more
        targets = [letters[number % size] for number in range(len(places))]
        drawn.shuffle(targets)
        for place, target in zip(places, targets, strict=True):
            found[place] = _with_answer_at(found[place], target, seed)
    return found


def _with_answer_at(question: Question, target: int, seed: int) -> Question:
    order = [place for place in _movable(question) if place != question.answer]
    generator("options", seed, question.id).shuffle(order)
    order.insert(target, question.answer or 0)
    order += [place for place in range(len(question.options)) if place not in order]
    return arranged(question, order)


def _movable(question: Question) -> list[int]:
    """Options that may change place: all but a last "None of the above"."""
    last = len(question.options) - 1
    return [p for p, text in enumerate(question.options) if not (p == last and is_none_of_the_above(text))]
