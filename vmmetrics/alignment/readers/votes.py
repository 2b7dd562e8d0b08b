"""Votes for one of two clips: words, signs, numbers and grades, to left, right or tie."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from vmmetrics.alignment.readers.source_table import SourceTable, numbers
from vmmetrics.utils.statistics.preferences import LEFT, RIGHT, TIE

Outcome = int | None

_SIDES: Mapping[str, int] = {
    **dict.fromkeys(("left", "l", "a", "first", "1", "1st", "one"), LEFT),
    **dict.fromkeys(("right", "r", "b", "second", "2", "2nd", "two"), RIGHT),
}
_TIES = frozenset({
    "tie", "ties", "tied", "t", "equal", "equally", "same", "both", "bothbad", "draw", "neither", "none", "no",
    "similar", "identical", "indifferent",
})  # fmt: skip
# Words that say nothing of the side: "video 1 is much better", "both good", "no preference", "tie (bothbad)".
_AROUND = frozenset({
    "video", "clip", "v", "model", "vote", "voted", "option", "side", "choice", "response", "is", "are", "the", "was",
    "and", "wins", "win", "won", "winner", "winning", "better", "best", "prefer", "preferred", "much", "slightly",
    "somewhat", "strongly", "clearly", "far", "little", "bit", "marginally",
})  # fmt: skip
_AROUND_TIES = frozenset({
    "good", "bad", "high", "low", "poor", "preference", "difference", "quality", "about", "of", "them", "equivalent",
    "roughly",
})  # fmt: skip
_LOSES = frozenset({"worse", "worst", "loses", "lose", "lost", "loser"})
# Grades of the second clip against the first.
_GRADES: Mapping[str, int] = {
    **dict.fromkeys(("better", "much better", "slightly better", "somewhat better", "a little better"), RIGHT),
    **dict.fromkeys(("worse", "much worse", "slightly worse", "somewhat worse", "a little worse"), LEFT),
    **dict.fromkeys(("the same", "same", "about the same", "equal", "tie", "no difference"), TIE),
}
_STRENGTHS = re.compile(r"\b(?:much|slightly|somewhat|strongly|clearly|far|little|bit|marginally)\b|[<>]{2}")
_SIGNS = re.compile(r"^(?P<first>[ab12]|)\s*(?P<sign><+|>+|=)\s*(?P<second>[ab12]|)(?:\s*=\s*(?:good|bad))?$")
# Numbers mean one thing or the other; a column is read by the one set that holds all of its values.
_NUMBERS: tuple[Mapping[str, int], ...] = (
    {"1": LEFT, "2": RIGHT, "0": TIE},
    {"1": LEFT, "-1": RIGHT, "0": TIE},
    {"1": LEFT, "0": RIGHT, "0.5": TIE},
)
_FROM_ZERO: Mapping[str, int] = {"0": LEFT, "1": RIGHT, "2": TIE}
_MOST_GRADE = 3  # of ITU-T P.910's comparison category rating


class VoteReading(NamedTuple):
    """Reading of a column of votes.

    Attributes:
        outcome: A cell's outcome; None where it is none.
        how: What had to be assumed, in words; "" where nothing.
    """

    outcome: Callable[[str], Outcome]
    how: str = ""


def reading_of(
    cells: Collection[str], scale: tuple[float, float] | None = None, *, graded: bool | None = False
) -> VoteReading | str:
    """Decide how a column of votes is to be read.

    Args:
        cells: What it holds, blanks left out.
        scale: Grades for left and for right at their strongest, where the votes are grades on such a scale.
        graded: Whether numbers are grades of the second clip against the first, be they but 1 and -1; None where
            nothing says so, and then 1 and -1 alone cannot be read.

    Returns:
        How to read it, or in words why its numbers cannot be read.
    """
    votes = {_short(cell) for cell in cells}
    if votes and all(map(is_number, votes)):
        return _of_numbers(sorted(votes, key=float), scale, graded)
    words = [_words(cell) for cell in cells]
    if all(word in _GRADES for word in words) and any(_GRADES[word] for word in words):
        return VoteReading(lambda cell: _GRADES.get(_words(cell)), f"{_SECOND}; the degree is not used")
    strong = any(_STRENGTHS.search(str(cell).casefold()) for cell in cells)
    return VoteReading(outcome_of, "the degree is not used" if strong else "")


def are_grades(cells: Collection[str]) -> bool:
    """Return True if these are numbers that can only be grades from -3 to 3.

    >>> are_grades(["-1", "2"]), are_grades(["-1", "1"]), are_grades(["1", "2"])
    (True, False, False)
    """
    values = [float(word) for word in map(_short, cells) if is_number(word)]
    graded = len(values) == len(cells) > 0 and -_MOST_GRADE <= min(values) < 0 and max(values) <= _MOST_GRADE
    return graded and not set(values) <= {-1, 0, 1}


_SECOND = "grades of the second clip against the first (ITU-T P.910): better counts for the second, worse for the first"


def outcome_of(cell: str) -> Outcome:
    """Return the outcome that a word or a phrase says; None where it says none.

    >>> outcome_of("leftvote"), outcome_of("video 2 is better"), outcome_of("tie (bothbad)"), outcome_of("a dog")
    (1, -1, 0, None)
    """
    text = str(cell).casefold().strip().strip("[]").strip()
    if (signs := _SIGNS.match(text)) is not None:
        return _of_signs(signs["first"], signs["sign"], signs["second"])
    words = _words(text).split()
    sides = {_SIDES[word] for word in words if word in _SIDES}
    rest = {word for word in words if word not in _SIDES}
    if rest & _TIES:
        return TIE if rest <= _TIES | _AROUND | _AROUND_TIES else None
    if len(sides) != 1 or not rest <= _AROUND | _LOSES:
        return None
    side = sides.pop()
    return -side if rest & _LOSES else side


def by_shares(table: SourceTable, first: str, second: str) -> list[str | None]:
    """Return the side with the larger share of votes in each row, "tie" where they are equal; None where one is blank.

    Args:
        table: The table.
        first: The column of the left side's shares.
        second: Of the right side's.

    Raises:
        SetupError: A share is no number.
    """
    shares = (numbers(table, column, required=True) for column in (first, second))
    return [
        "left" if one > other else "right" if one < other else "tie" if one == other else None
        for one, other in zip(*shares, strict=True)
    ]


def is_number(word: str) -> bool:
    """Return True if a cell is a plain number."""
    return re.fullmatch(r"[+-]?\d+(?:\.\d+)?", word) is not None


def _of_numbers(cells: Sequence[str], scale: tuple[float, float] | None, graded: bool | None) -> VoteReading | str:
    values = [float(word) for word in cells]
    if scale is not None:
        low, high = sorted(scale)
        middle = (low + high) / 2
        if values[0] < low or values[-1] > high:
            return f"expected grades from {low:g} to {high:g} (--scale)"
        toward = 1 if scale[0] < scale[1] else -1
        how = f"grades, {scale[0]:g} the first, {scale[1]:g} the second, {middle:g} a tie; the degree is not used"
        return VoteReading(lambda cell: _sign(toward * (middle - float(cell))), how)
    fitting = [] if graded else [words for words in _NUMBERS if set(cells) <= words.keys()]
    if are_grades(cells) or (graded and values[0] >= -_MOST_GRADE and values[-1] <= _MOST_GRADE):
        how = f"{_SECOND}; the degree is not used; --scale {_MOST_GRADE} -{_MOST_GRADE} if above 0 is for the first"
        return VoteReading(lambda cell: _sign(-float(cell)), how)
    if not fitting:
        return (
            "expected 1 and 2, or 1, -1 and 0, or grades from -3 to 3; grades on another scale are read with "
            "--scale FIRST SECOND, such as --scale 1 7 where 1 is for the first clip and 7 for the second"
        )
    if graded is None and "-1" in cells:
        return (
            f"it holds only {' and '.join(cells)}, and its name does not say which clip 1 is for: use "
            "--scale 1 -1 if 1 is for the first, --scale -1 1 if 1 is for the second (as in grades, ITU-T P.910)"
        )
    if "0" in cells and set(cells) <= _FROM_ZERO.keys():
        fitting.append(_FROM_ZERO)
    if len({tuple(words[word] for word in cells) for words in fitting}) > 1:
        listed = " and ".join(filter(None, (", ".join(cells[:-1]), cells[-1])))
        return (
            f"it holds only {listed}, where 0 may be a tie, the left or the right one; write left, right and tie, "
            "or use --scale 0 1 if 0 is for the first, --scale 1 0 if 1 is"
        )
    names: Mapping[int, str] = {LEFT: "the first", RIGHT: "the second", TIE: "a tie"}
    how = ", ".join(f"{word} {names[fitting[0][word]]}" for word in reversed(cells))
    return VoteReading(lambda cell: fitting[0].get(_short(cell)), how)


def _of_signs(first: str, sign: str, second: str) -> Outcome:
    if sign == "=":
        return TIE
    left, right = _SIDES.get(first, LEFT), _SIDES.get(second, RIGHT)
    if left == right:
        return None
    return left if sign.startswith(">") else right


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _words(cell: str) -> str:
    """Return lower-case words with letters and digits apart: "Video1_better" → "video 1 better"."""
    text = re.sub(r"(?<=[a-z])vote\b", " vote", str(cell).casefold().replace("_", " "))
    text = re.sub(r"(?<=[a-z])(?=[12]\b)", " ", text)
    return " ".join(re.findall(r"[^\W_]+", text))


def _short(cell: str) -> str:
    text = str(cell).casefold().strip().lstrip("+")
    return text.removesuffix(".0") if is_number(text) else text
