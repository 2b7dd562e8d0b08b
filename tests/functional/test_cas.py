"""CAS against the formula worked by hand and a naive second implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.functional import commonsense_adherence_score


def _reference_cas(logits: list[list[float]]) -> float:
    """Softmax per view, mean over views, expected level; in plain Python."""
    views = []
    for row in logits:
        exps = [np.exp(value - max(row)) for value in row]
        views.append([value / sum(exps) for value in exps])
    mean = [sum(view[level] for view in views) / len(views) for level in range(5)]
    return sum(p * level / 4 for level, p in enumerate(mean))


def test_worked_by_hand():
    # mean of the views: (0.5, 0, 0, 0, 0.5); 0.5 * 0 + 0.5 * 1 = 0.5
    assert commonsense_adherence_score([[1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]).score == 0.5
    # 0.2 * 0.25 + 0.8 * 0.75 = 0.65
    result = commonsense_adherence_score([0, 0.2, 0, 0.8, 0])
    assert result.score == pytest.approx(0.65, abs=1e-12)
    assert result.events[0].reason == "motion classified as Good"
    assert commonsense_adherence_score([0, 0, 0, 0, 1]).events == ()


@given(st.lists(st.lists(st.floats(-20, 20), min_size=5, max_size=5), min_size=1, max_size=30))
def test_equals_reference(logits):
    rows = np.exp(np.array(logits) - np.max(logits, axis=1, keepdims=True))
    rows /= rows.sum(axis=1, keepdims=True)
    assert commonsense_adherence_score(rows).score == pytest.approx(_reference_cas(logits), abs=1e-9)


@pytest.mark.parametrize(
    "probs",
    [
        [0.2, 0.2, 0.2, 0.2],
        [[[0.2] * 5]],
        np.zeros((0, 5)),
        [0.2, 0.2, 0.2, 0.2, np.nan],
        [0.3, 0.2, 0.2, 0.2, 0.2],
        [1.2, -0.2, 0, 0, 0],
        [20, 20, 20, 20, 20],
        ["a"] * 5,
    ],
)
def test_refuses(probs):
    with pytest.raises(ValueError, match=r"Expected .* but got"):
        commonsense_adherence_score(probs)
