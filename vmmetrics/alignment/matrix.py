"""Which metrics and judgements say the same: Spearman of each with each, on the clips that both have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vmmetrics.alignment.correlation import spearman, why_undefined
from vmmetrics.alignment.results import Matrix
from vmmetrics.alignment.study import Study


def correlation_matrix(study: Study, metrics: Sequence[str], dimensions: Sequence[str]) -> Matrix:
    """Spearman of metrics and mean ratings with each other.

    Args:
        study: The study.
        metrics: Names of metrics.
        dimensions: Names of rated dimensions.

    Returns:
        Metrics, then dimensions; 1 on the diagonal of what varies, NaN where there is no correlation.
    """
    columns = [*(study.scores[metric] for metric in metrics), *(study.mean_rating(d) for d in dimensions)]
    size = len(columns)
    values, counts = np.full((size, size), np.nan), np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1):
            both = np.isfinite(columns[i]) & np.isfinite(columns[j])
            counts[i, j] = counts[j, i] = both.sum()
            x, y = columns[i][both], columns[j][both]
            if why_undefined(x, y) is None:
                values[i, j] = values[j, i] = 1.0 if i == j else spearman(x, y)[0]
    return Matrix((*metrics, *dimensions), len(metrics), values, counts)
