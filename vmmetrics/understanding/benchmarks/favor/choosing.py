"""Which answers FAVOR-Bench's released runner calls right."""

from __future__ import annotations

from collections.abc import Sequence


def upstream_judge(correct: str, options: Sequence[str], output: str) -> bool:
    """Whether the released runner calls an answer right.

    The right option's text must occur in it, in any case, and no other option's that contains it; which options contain
    it is found with case. Nothing else counts against an answer.
    """
    said = output.lower()
    longer = [option for option in options if option != correct and correct in option]
    return correct.lower() in said and not any(option.lower() in said for option in longer)
