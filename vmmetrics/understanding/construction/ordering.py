"""Questions about an order: options that are re-orderings, made by us, none of which its place gives away."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from vmmetrics.models.questions import Question
from vmmetrics.understanding.construction.option_statistics import ARROW, BETWEEN, are_orders, consensus, parts, stems
from vmmetrics.understanding.construction.shuffling import generator

FEWEST_STEPS: Final = 3
"""Two steps have one other order."""
MOST_STEPS: Final = 7
"""More than people can compare five orders of."""
_TRIES: Final = 200
_ITEMS: Final = "PQRSTUVW"
"""Letters of items in the stem; the options' own begin at A."""


def reorderings(steps: Sequence[str], wrong: int, *seed: object) -> tuple[str, ...] | None:
    """The steps joined by arrows, in their order and in others.

    The other orders are drawn evenly, and drawn again until no option, the right one or another, stands out by what it
    shares with the rest: so the right one is among them like any other, and whoever sees the options alone has no more
    than chance. (To ask it of the right one alone would tell which it is not.)

    Args:
        steps: What happens, in order.
        wrong: How many other orders.
        seed: Of the draw.

    Returns:
        The right one first. None where there are too few or too many steps, two say the same, or no draw will do.
    """
    if not FEWEST_STEPS <= len(steps) <= MOST_STEPS or len({stems(step) for step in steps}) < len(steps):
        return None
    if math.factorial(len(steps)) <= wrong:
        return None
    drawn = generator("orders", *seed, *steps)
    right = tuple(range(len(steps)))
    for _ in range(_TRIES):
        orders = {right: None}
        while len(orders) <= wrong:
            orders[tuple(drawn.sample(right, len(right)))] = None
        # numbers in place of the steps, which may have commas of their own
        bare = [ARROW.join(f"n{place}" for place in order) for order in orders]
        if all(consensus(bare, place) is None for place in range(len(bare))):
            return tuple(ARROW.join(steps[place] for place in order) for order in orders)
    return None


def with_items(question: Question, *seed: object) -> Question:
    """A question whose options are orders of three things or more, with the things in the stem under letters.

    "Which order?" with options of four steps each is long to read, and its options differ in little. Any other
    question is returned as it is.

    Args:
        question: With its right option.
        seed: Of the order in which the things are listed.
    """
    if not are_orders(question.options) or len(parts(question.options[0])) < FEWEST_STEPS:
        return question
    first = _pieces(question.options[0])
    names = {parts(piece)[0]: piece for piece in first if len(parts(piece)) == 1}
    if len(names) != len(first) or len(first) > len(_ITEMS):
        return question
    listed = sorted(names)
    generator("items", *seed, question.id).shuffle(listed)
    letters = dict(zip(listed, _ITEMS, strict=False))
    options = tuple(ARROW.join(letters[part] for part in parts(option)) for option in question.options)
    items = "; ".join(f"({letters[name]}) {names[name]}" for name in listed)
    return replace(question, text=f"{items}. {question.text}", options=options)


def _pieces(option: str) -> list[str]:
    """The option's parts as they are written."""
    return [piece for piece in BETWEEN.split(option) if parts(piece)]
