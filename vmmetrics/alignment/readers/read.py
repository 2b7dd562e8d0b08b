"""Reading of a study from scores and ratings in any supported form, and of groups of its clips."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from vmmetrics.alignment.readers.columns import Pairing, metrics_called, normalised, pair_dimensions
from vmmetrics.alignment.readers.formats import rearranged
from vmmetrics.alignment.readers.judgements import (
    Judgements,
    RatingOptions,
    RatingScale,
    battles_of_models,
    judgements_of_dimensions,
)
from vmmetrics.alignment.readers.judgements import turned as judgements_turned
from vmmetrics.alignment.readers.names import NameMatch, groups_from_names, knows_prompts, match_names, matched
from vmmetrics.alignment.readers.ratings import FORMS, read_ratings
from vmmetrics.alignment.readers.released import RELEASED, read_released
from vmmetrics.alignment.readers.score_files import read_score_file
from vmmetrics.alignment.readers.score_tables import SourceScores
from vmmetrics.alignment.readers.scores import is_run, read_scores, turned
from vmmetrics.alignment.readers.source_table import SourceTable, clips_of, texts, with_roles
from vmmetrics.alignment.readers.tables import exported_table, read_table, simulation_note, table_of_files
from vmmetrics.alignment.study import Matching, Study
from vmmetrics.errors import SetupError
from vmmetrics.types import BoolArray, FloatArray
from vmmetrics.utils.display.markup import listed
from vmmetrics.utils.statistics.bootstrap import mean_of_defined

FORMATS = (*FORMS, *RELEASED)
"""Values of ``format``."""
_NOTHING_STATED = RatingOptions()
_NO_ROLES: Mapping[str, str] = MappingProxyType({})


def read_study(
    scores: Any,
    ratings: Any,
    *,
    pairing: Pairing | None = None,
    format: str | None = None,  # noqa: A002 - the word that people will look for
    metrics: Sequence[str] = (),
    dimensions: Sequence[str] = (),
    lower: Sequence[str] = (),
    clip_column: str | None = None,
    scale: RatingScale = None,
    roles: Mapping[str, str] = _NO_ROLES,
    higher: Sequence[str] = (),
    missing: Sequence[float] = (),
) -> Study:
    """Read scores and ratings and match their clips.

    Args:
        scores: A run directory, a table (CSV, JSON, JSON Lines, Parquet, Markdown), a mapping of columns or of clips,
            rows, a data frame, what :func:`vmmetrics.score` gave, or a list of these.
        ratings: Likewise, or a folder of a released set; the forms are in docs/ratings-formats.md.
        pairing: Metric → the dimensions it is compared with; missing metrics are paired by name.
        format: One of :data:`FORMATS`; detected from the content if None.
        metrics: Take these metrics alone.
        dimensions: Take these dimensions alone, be they about motion or not.
        lower: Metrics and dimensions of which lower is better; their sign is turned.
        clip_column: Which column names the clip, where its name does not say so.
        scale: Lowest and highest rating there can be.
        roles: Column of the ratings to its role, one of :data:`~vmmetrics.alignment.readers.source_table.ROLES`.
        higher: Dimensions of which higher is better although their names say otherwise.
        missing: Numbers that stand for no rating.

    Returns:
        The clips that have both, in the order of the scores; ``matching`` says what was assumed and left out.

    Raises:
        SetupError: Something cannot be read, no clip is in both, or names do not tell which clip is which.

    Example:
        >>> study = read_study(
        ...     {"clip": ["1.mp4", "2.mp4"], "mss": [0.9, 0.4]},
        ...     {"clip": ["1", "2"], "smoothness": [5, 2]},
        ... )
        >>> study.clips, study.pairing["mss"]
        (('1.mp4', '2.mp4'), ('smoothness',))
    """
    options = RatingOptions(format, clip_column, scale, dimensions, roles, lower, higher, missing)
    source, judged = read_sides(scores, ratings, options, pairing=pairing, metrics=metrics)
    return matched_study(source, judged, pairing, dimensions)


def read_sides(
    scores: Any, ratings: Any, options: RatingOptions, *, pairing: Pairing | None = None, metrics: Sequence[str] = ()
) -> tuple[SourceScores, Judgements]:
    """Read scores and ratings, and match nothing yet; arguments as of :func:`read_study`.

    Raises:
        SetupError: Something cannot be read, or is called lower-is-better and is not there.
    """
    if options.form is not None and options.form not in FORMATS:
        raise SetupError(f"Expected one of {', '.join(FORMATS)} as format but got {options.form!r}")
    if isinstance(ratings, str | Path) and is_run(Path(ratings)):
        raise SetupError(f"{ratings} is a run directory; scores come first and ratings last")
    source = read_scores(scores, metrics=metrics, clip_column=options.clip_column)
    paired = [name for names in (pairing or {}).values() for name in ([names] if isinstance(names, str) else names)]
    judged = read_judgements(ratings, source.clips, replace(options, dimensions=(*options.dimensions, *paired)))
    of_people = set(map(normalised, judged.dimensions))
    lower = [name for name in options.lower if metrics_called(name, source.values) or normalised(name) not in of_people]
    source = turned(source, lower)
    if options.dimensions:
        judged = judgements_of_dimensions(judged, options.dimensions)
    if not judged.dimensions:
        raise SetupError("; ".join(("The ratings contain no rating and no preference", *judged.notes)))
    return source, judged


def columns_read(scores: SourceScores, judged: Judgements) -> dict[str, Mapping[str, str]]:
    """Return how each column of each source was read, those of the ratings under "ratings"."""
    of_scores = {("scores in ratings" if name == "ratings" else name): of for name, of in scores.columns.items()}
    return {**of_scores, "ratings": judged.columns}


def matched_study(
    scores: SourceScores, judged: Judgements, pairing: Pairing | None = None, dimensions: Sequence[str] = ()
) -> Study:
    """Match the clips of scores and judgements.

    Args:
        scores: The scores.
        judged: The judgements.
        pairing: Metric → the dimensions it is compared with; missing metrics are paired by name.
        dimensions: Dimensions that were asked for by name.

    Raises:
        SetupError: No clip is in both, or names do not tell which clip is which.
    """
    columns = columns_read(scores, judged)
    if judged.by_prompt and judged.pairs and not knows_prompts(scores, judged):
        judged = battles_of_models(judged)
    source, judged, averaged = _to_one_level(scores, judged)
    match = matched(source, judged)
    paired, guessed = pair_dimensions(list(source.values), judged.dimensions, pairing, dimensions)
    study = _study(source, judged, match, paired, [*source.notes, *judged.notes, *averaged, *guessed])
    return replace(study, matching=replace(study.matching, columns=columns))


def read_judgements(ratings: Any, clips: Sequence[str], options: RatingOptions = _NOTHING_STATED) -> Judgements:
    """Read ratings alone.

    Args:
        ratings: As of :func:`read_study`.
        clips: Names of the scored clips, which may be columns of a table.
        options: What the user states about them.

    Raises:
        SetupError: The ratings cannot be read, or may mean several things.
    """
    name = options.form if options.form in RELEASED else None
    notes: tuple[str, ...] = ()
    if isinstance(ratings, str | Path):
        ratings = path = exported_table(Path(ratings))
        notes = simulation_note(path)
        may_be = (options.form is None or name is not None) and not options.roles
        if may_be and (released := read_released(path, name, options.scale)) is not None:
            return judgements_turned(released, options.lower)
        if path.is_dir():
            return read_ratings(with_roles(table_of_files(path), options.roles), options)
    elif name is not None:
        raise SetupError(f"The format {name} reads files: pass a path as ratings")
    table = read_table(ratings, "ratings")
    plain = rearranged(table, clips)
    named = {origin: name for name, origin in plain.origins.items() if origin}
    after = {new: role for name, role in options.roles.items() if (new := named.get(name, name)) in plain.columns}
    gone = {name: role for name, role in options.roles.items() if named.get(name, name) not in after}
    before = {name: role for name, role in gone.items() if role != "ignore" or name not in plain.used}
    table = with_roles(rearranged(with_roles(table, before), clips) if before else plain, after)
    asked = options.clip_column or ("clip" if "clip" in options.roles.values() else None)
    clip = next((of for of in table.columns if asked in {of, table.origins.get(of, of)}), None)
    judged = read_ratings(table, replace(options, form=None if name else options.form, clip_column=clip))
    return replace(judged, notes=(*notes, *judged.notes))


def _to_one_level(scores: SourceScores, judged: Judgements) -> tuple[SourceScores, Judgements, tuple[str, ...]]:
    """Average clips to models where one side is about models and the other about clips."""
    if scores.of_models == judged.of_models:
        return scores, judged, ()
    if judged.pairs and not judged.of_models:
        if not any(judged.models):
            raise SetupError("The scores are of models and the ratings are preferences between clips of unknown models")
        return scores, battles_of_models(judged), ()
    what, side = ("scores", scores) if judged.of_models else ("ratings", judged)
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for row, model in enumerate(side.models if any(side.models) else groups_from_names(side.clips)[1]):
        if model:
            rows[model].append(row)
    if not rows:
        raise SetupError(f"One side is about models, but the {what} name no model")

    def means(columns: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        groups = rows.values()
        return {n: np.stack([mean_of_defined(c[group], axis=0) for group in groups]) for n, c in columns.items()}

    models: dict[str, Any] = {"clips": tuple(rows), "models": tuple(rows), "prompts": (None,) * len(rows)}
    note = f"The {what} of a model's clips were averaged, since the other side is about models: clips below are models"
    if judged.of_models:
        amplitude = None if scores.amplitude is None else means({"": scores.amplitude})[""]
        scores = replace(scores, values=means(scores.values), amplitude=amplitude, of_models=True, **models)
        return scores, judged, (note,)
    judged = replace(judged, ratings=means(judged.ratings), other_names=(), of_models=True, **models)
    return scores, judged, (note,)


def _study(
    scores: SourceScores, judged: Judgements, match: NameMatch, pairing: dict[str, tuple[str, ...]], notes: list[str]
) -> Study:
    of_scores, of_judged = (list(rows) for rows in zip(*match.pairs, strict=True))
    clips = tuple(scores.clips[row] for row in of_scores)
    prompts, models, group_notes = _groups(scores, judged, match, clips)
    # raters who rated none of the matched clips are left out
    ratings, raters, silent = {}, {}, []
    for dimension, all_values in judged.ratings.items():
        values, names = all_values[of_judged], judged.raters[dimension]
        answered: BoolArray = np.logical_not(np.isnan(values).all(axis=0))
        if names and answered.any() and not answered.all():
            quiet = [name for name, spoke in zip(names, answered, strict=True) if not spoke]
            silent.append(f"{dimension}: rated none of the matched clips: {', '.join(quiet)}")
            values, names = values[:, answered], tuple(compress(names, answered))
        ratings[dimension], raters[dimension] = values, names
    position = np.full(len(judged.clips), -1)
    position[of_judged] = np.arange(len(clips))
    preferences = {dimension: pairs.moved(position) for dimension, pairs in judged.pairs.items()}
    lost = sum(
        len(judged.pairs[dimension].raters) - len(matched_pairs.raters)
        for dimension, matched_pairs in preferences.items()
    )
    lost_note = [f"{lost} preferences name a clip without scores and were left out"] if lost else []
    matched = f"Clips matched by {', '.join(f'{how} ({number})' for how, number in match.how)}"
    scored = {metric: column[of_scores] for metric, column in scores.values.items()}
    alone = (_rest(scores.clips, of_scores), _rest(judged.clips, of_judged))
    matching = Matching(len(clips), *alone, (matched, *notes, *group_notes, *silent, *lost_note))
    amplitude = None if scores.amplitude is None else scores.amplitude[of_scores]
    return Study(clips, prompts, models, scored, ratings, raters, preferences, pairing, matching, amplitude=amplitude)


def _rest(names: Sequence[str], taken: Iterable[int]) -> tuple[str, ...]:
    there = set(taken)
    return tuple(name for row, name in enumerate(names) if row not in there)


def _groups(
    scores: SourceScores, judged: Judgements, match: NameMatch, clips: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """Return prompts and models of the matched clips: from the ratings, else from the scores, else from the names."""
    if scores.of_models:
        return clips, clips, ["The rows are models: there are no clip-level statistics"]
    prompts = [judged.prompts[b] or scores.prompts[a] for a, b in match.pairs]
    models = [judged.models[b] or scores.models[a] for a, b in match.pairs]
    notes = []
    if not any(prompts) or not any(models):
        by_prompt, by_model, pattern = groups_from_names(clips)
        what = " and ".join(name for name, texts in (("prompts", prompts), ("models", models)) if not any(texts))
        prompts, models = prompts if any(prompts) else by_prompt, models if any(models) else by_model
        notes += [f"{what.capitalize()} taken from file names: {pattern}"] if pattern is not None else []
    if unknown := prompts.count(None):
        notes.append(f"{unknown} of {len(clips)} clips have no prompt: each counts as its own prompt")
    if unknown := models.count(None):
        notes.append(f"The model of {unknown} of {len(clips)} clips is unknown")
    named = (f"clip {clip}" if prompt is None else prompt for prompt, clip in zip(prompts, clips, strict=True))
    return tuple(named), tuple(model or "" for model in models), notes


# Groups of clips: a study split or filtered by the values of a column.

MOST_GROUPS = 50
"""Maximum values of a column to group by."""


def read_groups(study: Study, sources: Sequence[Any], column: str, clip_column: str | None = None) -> tuple[str, ...]:
    """Return the value of a column for each clip of a study; ``model`` is always there.

    Args:
        study: The study.
        sources: The tables that it was read from; the first that has the column counts. Runs have none of their own.
        column: Name of the column, upper or lower case.
        clip_column: Which column names the clip, where its name does not say so.

    Returns:
        (N,) values, "" where a clip has none.

    Raises:
        SetupError: No table has the column, or it gives one clip several values.
    """
    seen: list[str] = []
    for source in sources:
        path = Path(str(source).partition("=")[2] or str(source)) if isinstance(source, str | Path) else None
        if path is not None and (path.is_dir() or read_score_file(path) is not None):
            continue
        table = rearranged(read_table(path or source, "table"), study.clips)
        names = ((name, {normalised(name), normalised(table.origins.get(name, name))}) for name in table.columns)
        named = next((name for name, called in names if normalised(column) in called), None)
        if named is not None:
            return _values(study, table, named, clip_column)
        seen += table.columns
    if normalised(column) == "model":
        return study.models
    raise SetupError(f"No table has a column {column!r}; there are {listed(list(dict.fromkeys(seen)), MOST_GROUPS)}")


def _values(study: Study, table: SourceTable, column: str, clip_column: str | None) -> tuple[str, ...]:
    clips = clips_of(table, clip_column if clip_column in table.columns else None).clips
    by_clip: dict[str, str] = {}
    for clip, value in zip(clips, texts(table, column), strict=True):
        if clip is None or value is None:
            continue
        if by_clip.setdefault(clip, value) != value:
            raise SetupError(
                f"{table.source}: {column} of {clip} is {by_clip[clip]!r} in one row and {value!r} in another"
            )
    names = list(by_clip)
    values = [""] * len(study.clips)
    for mine, theirs in match_names(study.clips, names, sides=("study", table.source)).pairs:
        values[mine] = by_clip[names[theirs]]
    return tuple(values)


def chosen_clips(
    study: Study, sources: Sequence[Any], conditions: Sequence[str], clip_column: str | None = None
) -> Study:
    """Return the study's clips of which each ``COLUMN=VALUE`` holds; of several values of a column one is enough.

    Raises:
        SetupError: Not of that form, no such column, or no clip is left.
    """
    values: dict[str, set[str]] = {}
    for text in conditions:
        column, equals, value = text.partition("=")
        if not equals or not column.strip():
            raise SetupError(f"Expected COLUMN=VALUE but got {text!r}")
        values.setdefault(column.strip(), set()).add(value.strip())
    for column, those in values.items():
        groups = read_groups(study, sources, column, clip_column)
        keep = np.array([group in those for group in groups], bool)
        if not keep.any():
            there = listed(sorted(set(groups) - {""}), MOST_GROUPS) or "none"
            raise SetupError(f"No clip has {column} {' or '.join(sorted(those))}; there are {there}")
        study = study.keep(keep, f"only {column} {' or '.join(sorted(those))}: {int(keep.sum())} of {len(keep)} clips")
    return study


def by_group(study: Study, groups: Sequence[str], column: str) -> dict[str, Study]:
    """Return one study per value of a column, in the order of the values; clips without a value are in none.

    Raises:
        SetupError: There are over 50 values, or none.
    """
    names = sorted(set(groups) - {""})
    if not 0 < len(names) <= MOST_GROUPS:
        raise SetupError(f"Expected 1 to {MOST_GROUPS} values of {column} to report by but got {len(names)}")
    return {name: study.keep(np.array([group == name for group in groups]), f"{column} {name}") for name in names}
