"""Report on how files were read and matched: the output of ``vmmetrics align --dry-run``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from vmmetrics.alignment.study import Study
from vmmetrics.utils.display.markup import clean, listed
from vmmetrics.utils.display.tables import DisplayTable, Lines, Part, heads

_EXAMPLES = 5  # clips that one side alone has
_MOST_COLUMNS = 60  # of a source


def column_tables(columns: Mapping[str, Mapping[str, str]]) -> Iterator[DisplayTable]:
    """Yield tables of how each column was read, one for each source.

    Args:
        columns: Source to its columns and how each was read, as in :class:`vmmetrics.alignment.study.Matching`.
    """
    for number, (source, roles) in enumerate(columns.items()):
        if not roles:
            continue
        shown = DisplayTable(
            f"columns-{number}", f"Columns of {clean(source)}", "", heads("column", "read as", texts=2)
        )
        for column, role in list(roles.items())[:_MOST_COLUMNS]:
            shown.add(column or "(no name)", role)
        if (more := len(roles) - _MOST_COLUMNS) > 0:
            shown.add(f"and {more} more", "")
        yield shown


def study_parts(study: Study) -> list[Part]:
    """Return what matches, and which metric is compared with which dimension of ratings.

    Args:
        study: The matched data.
    """
    matching = study.matching
    models, prompts = (len(set(names) - {""}) for names in (study.models, study.prompts))
    of_models = f"{models} model{'s' * (models != 1)}" if models else "models not known"
    lines = [f"{len(study.clips)} clips with a score and a rating, {prompts} prompts, {of_models}"]
    for what, names in (("scores", matching.scores_only), ("ratings", matching.ratings_only)):
        lines += [f"{len(names)} clips only in the {what}: {listed(names, _EXAMPLES)}"] if names else []
    parts: list[Part] = [Lines("matching", "Matched", tuple(map(clean, (*lines, *matching.notes))))]
    compared = DisplayTable(
        "facing", "Compared", "", heads("metric", "dimension", "clips with both", "raters", texts=2)
    )  # pairs have no clips of their own
    for metric, dimensions in study.pairing.items():
        for dimension in dimensions:
            compared.add(metric, dimension, *_sizes(study, metric, dimension))
    not_compared = [metric for metric in study.scores if metric not in study.pairing]
    compared.notes += [f"Not compared: {', '.join(not_compared)} (--pair METRIC=DIMENSION)"] if not_compared else []
    return [*parts, compared]


def _sizes(study: Study, metric: str, dimension: str) -> tuple[str, str]:
    """Return how many clips have both, and how many people rated or compared them."""
    scored = np.isfinite(study.scores[metric])
    if dimension in study.ratings:
        rated = np.isfinite(study.ratings[dimension])
        people = rated.shape[1] if study.raters.get(dimension) else 0
        return str(int((scored & rated.any(axis=1)).sum())), str(people) if people else "averaged"
    pairs = study.preferences[dimension]
    both = scored[pairs.left] & scored[pairs.right]
    return f"{int(both.sum())} pairs", str(len(set(pairs.raters) - {""}) or "not named")
