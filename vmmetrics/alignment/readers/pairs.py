"""Tables of preferences: two clips in a row, or two models, and which was preferred."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from vmmetrics.alignment.readers import columns as called
from vmmetrics.alignment.readers import votes
from vmmetrics.alignment.readers.columns import first_column, normalised
from vmmetrics.alignment.readers.judgements import Judgements, RatedClip, RatingScale, join_ratings
from vmmetrics.alignment.readers.source_table import SourceTable, texts, under_models
from vmmetrics.errors import SetupError
from vmmetrics.utils.statistics.preferences import LEFT, RIGHT, TIE, Preferences

DIMENSION = "preference"
"""Name of the dimension if the table states none."""
OUTCOME = ("outcome", "preference", "preferred", "winner", "choice", "label", "result", "verdict", "standard_answer",
           "vote_type", "human_vote", "human_preference_answer", "human_preference", "human_rating", "answer", "vote",
           "judgement", "judgment", "preference_strength", "grade", "ccr", "cmos", "comparison", "rating",
           "score")  # fmt: skip
_GRADES = frozenset({"preference_strength", "grade", "ccr", "cmos"})  # numbers there are grades, whatever they are
_UNCLEAR = frozenset({"comparison", "rating", "score"})  # 1 and -1 there are a vote or a grade
_FIRST = {"left": "right", "l": "r", "a": "b", "first": "second", "1": "2", "winner": "loser", "chosen": "rejected"}
_OF_CLIP = frozenset({"clip", "video", "path", "file", "filename", "name", "url", "link", "relative", "v", "id"})
_OF_MODEL = frozenset({"model", "name", "system", "generator", "method", "t2v", "gen"})
_TIE_MARKS = ("tie", "is_tie")
_YES, _NO = frozenset({"1", "1.0", "true", "yes", "tie"}), frozenset({"0", "0.0", "false", "no"})

Outcomes = list[votes.Outcome]


class Sides(NamedTuple):
    """The two columns of what was compared.

    Attributes:
        left: The column of the left clip, or of the left model.
        right: Of the right one.
        of_models: Whether the columns name models.
        is_result: Whether the left one won by the columns' names: winner and loser, chosen and rejected.
    """

    left: str
    right: str
    of_models: bool = False
    is_result: bool = False


class PairOutcomes(NamedTuple):
    """Outcomes of a table.

    Attributes:
        of_rows: Dimension to the outcome of each row, None where it is blank.
        columns: Dimension to the column that holds it.
        how: In words where they come from.
    """

    of_rows: dict[str, Outcomes]
    columns: dict[str, str]
    how: str


def looks_like_pairs(table: SourceTable) -> bool:
    """Return True if a table has two clips or two models in a row, and which was preferred."""
    sides = sides_of(table)
    if sides is None or not (sides.is_result or all(called.is_text(table.columns[name]) for name in sides[:2])):
        return False
    beside = [name for name in table.columns if name not in sides[:2]]
    is_bare = len(_tokens(sides.left)) == 1 and first_column(
        (n for n in beside if not called.describes_clip(n)), called.CLIP
    )
    # "clip,1,2": raters; "model_a,model_b": whatever else
    return not (sides.of_models or is_bare) or first_column(beside, OUTCOME) is not None


def read_pairs(table: SourceTable, asked: Sequence[str] = (), scale: RatingScale = None) -> Judgements:
    """Read preferences.

    Args:
        table: The table.
        asked: Columns to read although their names are those of bookkeeping.
        scale: Grades for the left and for the right side at their strongest, where preferences are grades.

    Raises:
        SetupError: There are not two clips in a row, or an outcome is none.
    """
    if (sides := sides_of(table)) is None:
        raise SetupError(
            f"{table.source}: expected columns left and right (or winner and loser, or model_a and model_b) but got "
            f"{table.heading}{table.first_row}"
        )
    models = None if sides.of_models else _pair(table, _OF_MODEL)
    of_models = (texts(table, models[0]), texts(table, models[1])) if models else (texts(table, None),) * 2
    named = {what: first_column(table.columns, names) for what, names in _ALSO.items()}
    used = {*sides[:2], *(models or ()), *named.values()}
    left, right = texts(table, sides.left), texts(table, sides.right)
    compared = _outcomes(table, sides, (left, right), of_models, used, asked, scale)
    outcomes = compared.of_rows
    dimensions, raters, prompts = (texts(table, named[what]) for what in _ALSO)
    by_prompt = sides.of_models and any(prompts)
    if sides.of_models:
        of_models = (left, right)
    if by_prompt:
        left, right = (
            [f"{of}/{p}" if of and p else None for of, p in zip(side, prompts, strict=True)] for side in of_models
        )
    notes = [*table.notes, f"Preferences: {sides.left} against {sides.right}, {compared.how}"]
    if models and _repeat((left, right), of_models):
        left, right = (under_models(*side) for side in zip((left, right), of_models, strict=True))
        called_now = f"{models[0]}/{sides.left}"
        notes.append(f"Several models have clips of one name: clips are read as {called_now}")
    rated: list[RatedClip] = []
    judged: defaultdict[str, list[tuple[str, str, int, str]]] = defaultdict(list)
    blank, selves = 0, 0
    for row, (a, b) in enumerate(zip(left, right, strict=True)):
        if a is None or b is None:
            blank += 1
            continue
        if a == b:
            selves += 1
            continue
        rated += [RatedClip(a, (), prompts[row], of_models[0][row]), RatedClip(b, (), prompts[row], of_models[1][row])]
        for name, of_rows in outcomes.items():
            outcome = of_rows[row]
            if outcome is None:
                blank += 1
            else:
                label = dimensions[row] or name if len(outcomes) == 1 else name
                judged[label].append((a, b, outcome, raters[row] or ""))
    what = "model" if sides.of_models else "clip"
    notes += [f"{selves} rows compare a {what} with itself and were left out"] if selves else []
    notes += [f"{blank} preferences are blank and were left out"] if blank else []
    judgements = join_ratings(
        rated,
        notes,
        of_models=sides.of_models and not by_prompt,
        columns=_roles(table, sides, models, named, compared),
        by_prompt=by_prompt,
    )
    position, pairs = {clip: index for index, clip in enumerate(judgements.clips)}, {}
    for dimension, votes_cast in judged.items():
        one, other, preferred = np.array([(position[a], position[b], side) for a, b, side, _ in votes_cast], np.int64).T
        pairs[dimension] = Preferences(one, other, preferred, tuple(rater for *_, rater in votes_cast))
    return replace(judgements, pairs=pairs)


def _repeat(clips: Sequence[Sequence[str | None]], models: Sequence[Sequence[str | None]]) -> bool:
    """Return True if clips of several models share a name."""
    owners = {(clip, model) for side in zip(clips, models, strict=True) for clip, model in zip(*side, strict=True)}
    names = [clip for clip, model in owners if clip and model]
    return len(set(names)) < len(names)


_ALSO: Mapping[str, Sequence[str]] = {"dimension": called.DIMENSION, "rater": called.RATER, "prompt": called.PROMPT}


def _roles(
    table: SourceTable,
    sides: Sides,
    models: tuple[str, str] | None,
    named: Mapping[str, str | None],
    compared: PairOutcomes,
) -> dict[str, str]:
    what = "model" if sides.of_models else "clip"
    first, second = ("preferred", "other") if sides.is_result else ("left", "right")
    roles = dict.fromkeys(table.columns, "not read")
    several = len(compared.columns) > 1
    roles |= {column: f"outcome of {name}" if several else "outcome" for name, column in compared.columns.items()}
    roles |= {name: what for what, name in named.items() if name is not None}
    roles |= {sides.left: f"{first} {what}", sides.right: f"{second} {what}"}
    roles |= {models[0]: f"{first} model", models[1]: f"{second} model"} if models else {}
    if sides.is_result and (mark := first_column(table.columns, _TIE_MARKS)) is not None:
        roles[mark] = "tie"
    return table.roles(roles)


def sides_of(table: SourceTable) -> Sides | None:
    """Return the columns of what was compared: clips if there are such, else models; None where there are neither."""
    for words, of_models in ((_OF_CLIP, False), (_OF_MODEL, True)):
        if (pair := _pair(table, words)) is not None:
            is_result = any(word in {"winner", "chosen"} for word in _tokens(pair[0]))
            return Sides(*pair, of_models, is_result)
    return None


def _pair(table: SourceTable, words: frozenset[str]) -> tuple[str, str] | None:
    """Return the two columns that differ in a side and have only these words beside it; file names before numbers."""
    pairs = []
    by_tokens = {tuple(_tokens(name)): name for name in table.columns}
    for tokens, name in by_tokens.items():
        for at, token in enumerate(tokens):
            rest = {*tokens[:at], *tokens[at + 1 :]}
            other = by_tokens.get((*tokens[:at], _FIRST.get(token, ""), *tokens[at + 1 :]))
            if other is not None and rest <= words and (rest or words is _OF_CLIP):
                pairs.append(("id" in rest, name, other))
    return min(pairs, key=lambda pair: pair[0])[1:] if pairs else None


def _tokens(name: str) -> list[str]:
    """Return the words of a column's name, a digit at the end of a word apart: "video1_path" is video, 1 and path."""
    return re.findall(r"\d+|[^\W\d_]+", normalised(name))


def _outcomes(
    table: SourceTable,
    sides: Sides,
    clips: tuple[Sequence[str | None], Sequence[str | None]],
    models: tuple[Sequence[str | None], Sequence[str | None]],
    used: set[str | None],
    asked: Sequence[str],
    scale: RatingScale,
) -> PairOutcomes:
    """Return the outcomes by the first column of such a name that holds some, else by every column that does.

    Raises:
        SetupError: None does.
    """
    if sides.is_result:
        marked = first_column(table.columns, _TIE_MARKS) is not None
        return PairOutcomes({DIMENSION: _ties(table)}, {}, f"{sides.left} first" + (", ties marked" if marked else ""))
    others = [name for name in table.columns if name not in used]
    trouble: SetupError | None = None
    for column in (name for name in map(partial(first_column, others), ([name] for name in OUTCOME)) if name):
        try:
            name = normalised(column)
            graded = name in _GRADES or (None if name in _UNCLEAR else False)
            result, how = _parse(table, column, (clips, models), scale, graded, strict=True)
        except SetupError as error:
            trouble = trouble or error
            continue
        source = f"outcome from {column}" + (how and f": {how}")
        return PairOutcomes({DIMENSION: result or [None] * len(table)}, {DIMENSION: column}, source)
    requested = {normalised(name) for name in asked}
    # one reading for all: the same person wrote them
    cells = [{cell for cell in texts(table, name) if cell} for name in others if normalised(name) in requested]
    graded = any(map(votes.are_grades, cells)) or None
    outcomes, notes = {}, {}
    for name in others:
        if normalised(name) in requested or not called.is_bookkeeping(name):
            parsed, how = _parse(table, name, (clips, models), scale, graded, strict=normalised(name) in requested)
            if parsed is not None:
                outcomes[name], notes[name] = parsed, how
    if not outcomes:
        raise trouble or SetupError(
            f"{table.source}: expected a column outcome (left, right or tie) but got {table.heading}{table.first_row}; "
            "--dimension names a column of votes, --ratings-format another form"
        )
    hows = "; ".join(f"{name}: {how}" for name, how in notes.items() if how)
    source = f"outcome from {', '.join(outcomes)}" + (hows and f" ({hows})")
    return PairOutcomes(outcomes, {name: name for name in outcomes}, source)


def _ties(table: SourceTable) -> Outcomes:
    column = first_column(table.columns, _TIE_MARKS)
    outcomes: Outcomes = []
    for row, cell in enumerate(texts(table, column)):
        answer = (cell or "0").casefold()
        if answer not in _YES | _NO:
            raise SetupError(f"{table.source}, row {row + 1}: expected true or false in {column} but got {cell!r}")
        outcomes.append(TIE if answer in _YES else LEFT)
    return outcomes


def _parse(
    table: SourceTable,
    column: str,
    named: Sequence[tuple[Sequence[str | None], Sequence[str | None]]],
    scale: RatingScale,
    graded: bool | None,
    *,
    strict: bool,
) -> tuple[Outcomes | None, str]:
    """Return outcomes and how they were read; without ``strict``, None for a column of other text or only numbers.

    A cell may also be the name of what won, as one of the ``named`` says.

    Raises:
        SetupError: A cell of a wanted column is no outcome, or its numbers can mean two things.
    """
    cells = texts(table, column)
    values = {cell for cell in cells if cell is not None}
    if not values or (all(map(votes.is_number, values)) and not (strict or scale)):
        return None, ""
    reading = votes.reading_of(values, scale, graded=graded)
    if isinstance(reading, str):
        if not strict:
            return None, ""
        raise SetupError(f"{table.source}: {column} holds {', '.join(sorted(values)[:_SHOWN])}: {reading}")
    outcomes: Outcomes = []
    for row, cell in enumerate(cells):
        outcome = None if cell is None else _of_name(cell, row, named[0])
        if cell is not None and outcome is None:
            outcome = reading.outcome(cell)
        if cell is not None and outcome is None:
            outcome = _of_name(cell, row, named[1])
        if outcome is None and cell is not None:
            if not strict:
                return None, ""
            raise SetupError(
                f"{table.source}, row {row + 1}: expected left, right, tie or the name of one of the clips in "
                f"{column} but got {cell[:_CELL]!r}"
            )
        outcomes.append(outcome)
    return outcomes, reading.how


_CELL = 40  # letters of a cell in a message
_SHOWN = 8  # values of a column in a message


def _of_name(cell: str, row: int, sides: tuple[Sequence[str | None], Sequence[str | None]]) -> votes.Outcome:
    left, right = sides[0][row], sides[1][row]
    return None if left == right else LEFT if cell == left else RIGHT if cell == right else None
