"""Which option an answer chooses: as FAVOR-Bench's released runner judges it, and by letter."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Final

from vmmetrics.understanding.questions import LETTERS

_CLAIM: Final = re.compile(
    r"\b(?i:answer|option|choice)(?i:\s+(?:is|would\s+be|should\s+be))?\s*(?i:option\s+)?[:=]?\s*[*_(\[\"']*"
    r"([B-Z]|A(?!\s+(?!because|since|as\b|is\b)[a-z]))\b"
)
"""``the answer is (B)``, ``Option C``, ``Answer: **D**``; not the article of ``the answer is: A man walks``."""
_LEADING: Final = re.compile(r"^[\s*_(\[\"'`]*([A-Za-z])(?:[\s*_\"'`]*$|[*_\])\"'`]*[).:,\]*]|[\s*_\"'`]*\n)")
"""``B``, ``B.``, ``(B) ...``, ``**B**``, ``b)``; never the article of ``A man walks``."""
_BRACKETED: Final = re.compile(r"\(([A-Z])\)|\*\*([A-Z])\*\*|\\boxed\{([A-Z])\}")
_THOUGHT: Final = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)


def upstream_judge(correct: str, options: Sequence[str], output: str) -> bool:
    """Whether the released runner calls an answer right.

    The right option's text must occur in it, in any case, and no other option's that contains it; which options contain
    it is found with case. Nothing else counts against an answer.
    """
    said = output.lower()
    longer = [option for option in options if option != correct and correct in option]
    return correct.lower() in said and not any(option.lower() in said for option in longer)


def chosen_option(output: str, options: Sequence[str]) -> int | None:
    """Index of the option that an answer chooses; None where it chooses none, or several.

    Read in this order: the whole answer is an option's text; a letter at its beginning; a letter that it says is the
    answer, the last one; a letter in brackets, if there is one only; an option's text in it, if there is one only, not
    counting options within a longer option that is there too.
    """
    said = _THOUGHT.sub(" ", output).strip()
    plain = _plain(said)
    texts = [_plain(option) for option in options]
    for index, text in enumerate(texts):
        if plain and plain == text:
            return index
    letters = LETTERS[: len(options)]
    leading = _LEADING.match(said)
    if leading and leading[1].upper() in letters:
        return letters.index(leading[1].upper())
    claimed = [letter for letter in _CLAIM.findall(said) if letter in letters]
    if claimed:
        return letters.index(claimed[-1])
    bracketed = {letter for found in _BRACKETED.findall(said) for letter in found if letter and letter in letters}
    if len(bracketed) == 1:
        return letters.index(bracketed.pop())
    return _named_option(plain, texts)


def _named_option(plain: str, texts: Sequence[str]) -> int | None:
    padded = f" {plain} "
    there = [index for index, text in enumerate(texts) if text and f" {text} " in padded]
    alone = [i for i in there if not any(i != j and f" {texts[i]} " in f" {texts[j]} " for j in there)]
    return alone[0] if len(alone) == 1 else None


def _plain(text: str) -> str:
    """Lower case, single spaces, no punctuation at the ends of words: what must not decide."""
    return " ".join(bare for word in text.lower().split() if (bare := word.strip(string.punctuation)))
