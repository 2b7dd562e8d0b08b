"""Which option an answer to one of TUNA's questions chooses, as the released scorer reads it."""

from __future__ import annotations

import re
from typing import Final

from vmmetrics.models.questions import LETTERS

_BEST_OR_CORRECT: Final = ("The best answer is", "The correct answer is", "The answer is", "The answer")
_GLUED: Final = ("The best option isThe correct option is", "Best answer:Best option:")
"""Two pairs that the released list runs together for want of a comma: neither is ever there to be removed."""
RELEASED_PREFIXES: Final = (*_BEST_OR_CORRECT, *_GLUED, "Answer:", "Option:")
"""What the released scorer deletes wherever it is, in this order."""
UNREAD: Final = "Z"
"""The released scorer's letter for an answer that it cannot read; never right."""

_REJECTIONS: Final = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
"""Answers that the released scorer knows for refusals, before it looks for an option's text."""
_FAILED: Final = "Failed to obtain answer via API"
_MARKS: Final = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
"""Marks that the released scorer takes for spaces."""


def upstream_letter(prediction: str, question: str) -> str:
    """The letter that the released scorer reads, without a judge: the first of A to D anywhere, or :data:`UNREAD`.

    Where there is none it looks for the text of an option, and takes the lines of the question for the options: after
    the first, each that has its letter and a full stop in it. So questions with lettered items in them can be answered
    by an item's text.

    Args:
        prediction: What the model said; nothing said reads ``"nan"``, as the scorer's table has it.
        question: The question, without the options.
    """
    left = prediction.strip()
    for prefix in RELEASED_PREFIXES:
        left = left.replace(prefix, "")
    found = re.search("[ABCD]", left)
    return found[0] if found else _by_text(prediction, question)


def _by_text(prediction: str, question: str) -> str:
    items = {}
    for letter, line in zip(LETTERS, question.split("\n")[1:], strict=False):
        _, mark, text = line.partition(f"{letter}.")
        if mark:
            items[letter] = text.strip(". \n")
    if _FAILED not in prediction:
        words = prediction.translate(_MARKS).split()
        if any(refusal in prediction for refusal in _REJECTIONS):
            return UNREAD
        there = [letter for letter in items if letter in words]
        if len(there) == 1:
            return there[0]
        if not there and UNREAD in words:
            return UNREAD
    named = [letter for letter, text in items.items() if text.lower() in prediction.lower()]
    return named[0] if len(named) == 1 else UNREAD
