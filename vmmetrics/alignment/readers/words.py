"""Ratings in words, Bad to Excellent, and in labels with a number, "4 - Good", to numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vmmetrics.alignment.readers.source_table import SourceTable, is_blank, to_number
from vmmetrics.errors import SetupError
from vmmetrics.types import FloatArray

_MIDDLE = "fair/average/neutral/ok/okay/acceptable/moderate/medium/so so"
_NEITHER = "neutral/neither agree nor disagree/neither/undecided/not sure"
# From the lowest to the highest, / between words of one level. The first scale that has all words of a column is taken.
SCALES: Mapping[str, Sequence[Sequence[str]]] = {
    name: [level.split("/") for level in levels.split(", ")]
    for name, levels in {
        "ITU-T P.910 ACR": "bad, poor, fair, good, excellent",
        "poor to excellent": f"poor, {_MIDDLE}, good, very good, excellent",
        "quality": f"very poor, poor, {_MIDDLE}, good, very good",
        "quality to excellent": f"very poor, poor, {_MIDDLE}, good, excellent",
        "quality in 6 steps": f"very poor, poor, {_MIDDLE}, good, very good, excellent",
        "goodness": f"very bad, bad, {_MIDDLE}, good, very good",
        "goodness to excellent": f"very bad, bad, {_MIDDLE}, good, excellent",
        "ITU-T P.910 DCR": "very annoying, annoying, slightly annoying, "
        "perceptible but not annoying/perceptible not annoying/not annoying, imperceptible",
        "agreement": f"strongly disagree, disagree, {_NEITHER}, agree, strongly agree",
        "agreement in 5 steps": "strongly disagree, somewhat disagree/slightly disagree, "
        f"{_NEITHER}, somewhat agree/slightly agree, strongly agree",
        "agreement in 7 steps": "strongly disagree, disagree, somewhat disagree/slightly disagree, "
        f"{_NEITHER}, somewhat agree/slightly agree, agree, strongly agree",
        "satisfaction": f"very dissatisfied, dissatisfied, {_NEITHER}, satisfied, very satisfied",
        "height": "very low, low, medium/moderate/average, high, very high",
    }.items()
}
_NUMBER_FIRST = re.compile(r"^\(?(?P<number>[+-]?\d+(?:\.\d+)?)\)?\s*[-–—:.=)]?\s*\(?(?P<label>[^\W\d][^()]*)\)?$")
_NUMBER_LAST = re.compile(r"^(?P<label>[^\W\d][^()\d]*?)\s*[-–—:=]?\s*\(?\s*(?P<number>[+-]?\d+(?:\.\d+)?)\s*\)?$")
_OUT_OF = re.compile(
    r"^(?P<number>\d+(?:\.\d+)?)\s*\(?(?P<unit>/\s*\d+|(?:out )?of \d+|stars?|points?|%)\)?$", re.IGNORECASE
)
_STARS = re.compile(r"^(?P<full>[★⭐]+)[☆✩]*$")
_OPEN = frozenset({"height", "agreement", "agreement in 5 steps", "agreement in 7 steps"})
_MOST_LEVELS = 11  # of a scale with labels: 0 to 10
_LONGEST = 100  # letters of a label


class WordRatings(NamedTuple):
    """A column of words as numbers.

    Attributes:
        values: (N,) float64, NaN where a cell is blank.
        how: Which word became which number.
    """

    values: FloatArray
    how: str
    directed: bool = False


def word_ratings(table: SourceTable, columns: Iterable[str]) -> dict[str, WordRatings]:
    """Read columns of words as ratings; a column of anything else is left out.

    Columns that share a scale are read by the same one, so that "disagree" is one number throughout a table.

    Raises:
        SetupError: Most cells of a column are words of a scale, but not all.
    """
    ratings: dict[str, WordRatings] = {}
    words: dict[str, list[str]] = {}
    labelled: dict[str, _Labelled] = {}
    for column in columns:
        cells = table.columns[column]
        if (plain := _out_of(cells)) is not None:
            ratings[column] = plain
        elif (labels := _labelled(cells)) is not None:
            labelled[column] = labels
        elif all(isinstance(cell, str) or is_blank(cell) for cell in cells):
            words[column] = ["" if is_blank(cell) else _plain(cell) for cell in cells]
    shared = _shared_labels(labelled.values())
    for column, read in labelled.items():
        ratings[column] = _of_labels(read.values, shared if shared and _scale(set(read.numbers)) else read.numbers)
    understood = {column: texts for column, texts in words.items() if _scale(set(texts)) is not None}
    all_words = {word for texts in understood.values() for word in texts}
    together = _scale(all_words)
    for column, texts in words.items():
        name = together if column in understood and together else _scale(set(texts))
        if name is None:
            _refuse_mixed(table, column, texts)
            continue
        levels = _levels(name)
        values = np.array([levels.get(word, math.nan) for word in texts])
        occurring = all_words if name == together else set(texts)
        shown = ", ".join(
            f"{'/'.join(word for word in level if word in occurring) or level[0]} {number}"
            for number, level in enumerate(SCALES[name], 1)
        )
        way = "; higher counts as better: write numbers where it is not" if name == "height" else ""
        ratings[column] = WordRatings(values, f"words read as {shown}{way}", name not in _OPEN)
    return ratings


def _levels(scale: str) -> dict[str, int]:
    return {word: number for number, level in enumerate(SCALES[scale], 1) for word in level}


def _scale(labels: set[str]) -> str | None:
    """Return the first scale that has all of these words, blanks aside."""
    labels = labels - {""}
    return next((name for name in SCALES if labels and labels <= _levels(name).keys()), None)


def _refuse_mixed(table: SourceTable, column: str, labels: Sequence[str]) -> None:
    """Refuse a column of which most cells are words of one scale: the others would be dropped in silence."""
    rows = [row for row, word in enumerate(labels) if word]
    name = max(SCALES, key=lambda scale: sum(labels[row] in _levels(scale) for row in rows))
    odd = [row for row in rows if labels[row] not in _levels(name)]
    if rows and 2 * len(odd) < len(rows):
        words = sorted({str(table.columns[column][row])[:40] for row in odd})
        raise SetupError(
            f"{table.source}, row {odd[0] + 1}: {column} mixes {', '.join(map(repr, words[:5]))} with the scale "
            f"{', '.join(level[0] for level in SCALES[name])}: write numbers, or say --map {column}=ignore"
        )


def _out_of(cells: Sequence[Any]) -> WordRatings | None:
    """Return a column of "4/5", "4 out of 5", "4 stars", "80 %" or "★★★★☆", all of one kind."""
    values, units = list[float](), set[str]()
    for cell in cells:
        text = "" if is_blank(cell) else " ".join(str(cell).split())
        if (stars := _STARS.match(text)) is not None:
            values.append(len(stars["full"]))
            units.add("stars")
        elif (match := _OUT_OF.match(text)) is not None:
            values.append(float(match["number"]))
            units.add(match["unit"].casefold().replace(" ", "").removesuffix("s"))
        elif text:
            return None
        else:
            values.append(math.nan)
    return WordRatings(np.array(values), f"numbers in front of {units.pop()}") if len(units) == 1 else None


class _Labelled(NamedTuple):
    """A column of labels with numbers: its numbers, and label to number."""

    values: list[float]
    numbers: Mapping[str, float]


def _labelled(cells: Sequence[Any]) -> _Labelled | None:
    """Return a column of labels with numbers: each number has one label throughout, and a label one number."""
    numbers: dict[str, float] = {}
    values: list[float] = []
    for cell in cells:
        plain = to_number(cell)
        if plain is not None:
            values.append(plain)
            continue
        text = " ".join(cell.split()) if isinstance(cell, str) and len(cell) <= _LONGEST else ""
        match = _NUMBER_FIRST.match(text) or _NUMBER_LAST.match(text)
        if match is None:
            return None
        number = float(match["number"])
        if numbers.setdefault(_plain(match["label"]), number) != number:
            return None
        values.append(number)
    if not numbers or len(set(numbers.values())) < len(numbers) or len(numbers) > _MOST_LEVELS:
        return None
    return _Labelled(values, numbers)


def _shared_labels(columns: Iterable[_Labelled]) -> dict[str, float]:
    """Return the labels of all columns that are words of one scale; empty where they are of several, or contradict."""
    shared: dict[str, float] = {}
    for _, numbers in columns:
        for label, number in numbers.items() if _scale(set(numbers)) else ():
            if shared.setdefault(label, number) != number:
                return {}
    return shared if _scale(set(shared)) and len(set(shared.values())) == len(shared) else {}


def _of_labels(values: Sequence[float], numbers: Mapping[str, float]) -> WordRatings:
    """Return the numbers of labels, turned where the words fall as the numbers rise."""
    how = ", ".join(f"{label} {number:g}" for label, number in sorted(numbers.items(), key=lambda item: item[1]))
    turned, directed = _ends(numbers), _scale(set(numbers)) not in {None, *_OPEN}
    if turned is None:
        return WordRatings(np.array(values, np.float64), f"numbers of the labels {how}", directed)
    how = f"labels {how}: turned, so that higher is better"
    return WordRatings(np.array([turned - value for value in values]), how, directed)


def _ends(numbers: Mapping[str, float]) -> float | None:
    """Return the sum of the lowest and highest number of a falling scale; None for other scales.

    Its levels are counted from 1 or from 0. Where they are counted otherwise, the labels that occur are its ends.
    """
    fitting = [name for name in SCALES if numbers.keys() <= _levels(name).keys()]
    if not fitting:
        return None
    levels = _levels(fitting[0])
    downwards = [levels[label] for label in sorted(numbers, key=numbers.__getitem__)]
    if downwards != sorted(downwards, reverse=True):
        return None
    if len(numbers) == 1 and any(number - levels[label] in {0, -1} for label, number in numbers.items()):
        return None
    for name in fitting if len(numbers) > 1 else fitting[:1]:
        sums = {number + _levels(name)[label] for label, number in numbers.items()}
        top = len(SCALES[name])
        if sums in ({top + 1}, {top}):
            return 2 * sums.pop() - top - 1
    return min(numbers.values()) + max(numbers.values()) if len(numbers) > 1 else None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))
