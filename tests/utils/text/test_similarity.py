from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.utils.text import similarity
from vmmetrics.utils.text.similarity import Measure, TextMatch, containment, cosine, take_distinct


def plainly(order: list[int], measures: dict[str, Measure], taken: list[int]) -> list[list[TextMatch]]:
    """The same choice, one pair at a time."""
    chosen, found = list(taken), []
    for place in order:
        matches = []
        for name, measure in measures.items():
            values = [float(measure.compare(np.array([place]), np.array([other]))[0, 0]) for other in chosen]
            if values and max(values) >= np.float32(measure.least):
                matches.append(TextMatch(name, chosen[values.index(max(values))], max(values)))
        if not matches:
            chosen.append(place)
        found.append(matches)
    return found


def unit(rows: list[list[float]]) -> np.ndarray:
    array = np.array(rows, np.float32)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


@settings(max_examples=60)
@given(st.data())
def test_blocks_choose_as_one_pair_at_a_time(data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 10**6))
    count, rows, columns = (data.draw(st.integers(*span)) for span in ((1, 40), (1, 9), (1, 9)))
    draw = np.random.default_rng(seed)
    # integers from a small grid: sums are exact, so that a block's product is that of a pair
    vectors = draw.integers(-2, 3, (count, 3)).astype(np.float32)
    words = [[str(w) for w in draw.integers(0, 3, draw.integers(0, 7))] for _ in range(count)]
    measures = {"a": Measure(cosine(vectors), 3.5), "b": Measure(containment(words, 2), 0.75)}
    order = [int(place) for place in draw.permutation(count)]
    cut = data.draw(st.integers(0, count))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(similarity, "_ROWS", rows)
        patch.setattr(similarity, "_COLUMNS", columns)
        found = take_distinct(order[cut:], measures, order[:cut])
    assert found == plainly(order[cut:], measures, order[:cut])


def test_taken_ones_are_far_apart_and_others_near_one() -> None:
    draw = np.random.default_rng(3)
    vectors = unit(draw.normal(size=(3000, 4)).tolist())
    found = take_distinct(range(3000), {"cosine": Measure(cosine(vectors), 0.9)})
    taken = [place for place, some in enumerate(found) if not some]
    between = vectors[taken] @ vectors[taken].T - np.eye(len(taken))
    assert between.max() < 0.9
    for place, some in enumerate(found):
        if some:
            match = some[0]
            assert match.index in taken and match.index < place
            assert match.likeness == pytest.approx(float(vectors[place] @ vectors[match.index]), abs=1e-5)


def test_earlier_one_stays() -> None:
    vectors = unit([[1, 0], [1, 0.1], [0, 1]])
    measures = {"cosine": Measure(cosine(vectors), 0.9)}
    assert [bool(some) for some in take_distinct([0, 1, 2], measures)] == [False, True, False]
    assert [bool(some) for some in take_distinct([1, 0, 2], measures)] == [False, True, False]
    assert [bool(some) for some in take_distinct([0, 2], measures, taken=[1])] == [True, False]


def test_one_that_was_dropped_takes_nothing_with_it() -> None:
    angles = np.radians([0, 20, 40])
    vectors = unit(np.stack([np.cos(angles), np.sin(angles)], 1).tolist())
    found = take_distinct([0, 1, 2], {"cosine": Measure(cosine(vectors), 0.9)})  # cos 20° = 0.94, cos 40° = 0.77
    assert [bool(some) for some in found] == [False, True, False]


def test_containment_by_hand() -> None:
    texts = ["a b c d", "x a b c d y", "a b", "c", "", "b a b"]
    compare = containment([text.split() for text in texts], 2)
    everything = np.arange(6)
    expected = {(0, 1): 1.0, (0, 2): 1.0, (0, 5): 0.5, (1, 5): 0.5, (2, 5): 1.0, (0, 3): 0.0, (3, 4): 0.0}
    found = compare(everything, everything)
    np.testing.assert_array_equal(np.diag(found), 1)
    np.testing.assert_array_equal(found, found.T)
    for (one, other), value in expected.items():
        assert found[one, other] == pytest.approx(value)


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=8), min_size=2, max_size=2), st.integers(1, 3))
def test_containment_is_at_least_jaccard(texts: list[list[str]], size: int) -> None:
    sets = [{tuple(t[i : i + size]) for i in range(max(1, len(t) - size + 1))} for t in texts]
    shared = len(sets[0] & sets[1])
    found = float(containment(texts, size)(np.array([0]), np.array([1]))[0, 0])
    assert found == pytest.approx(shared / min(map(len, sets)))
    assert found >= shared / len(sets[0] | sets[1]) - 1e-6


def test_nothing_to_choose_from() -> None:
    assert take_distinct([], {"n-grams": Measure(containment([], 5), 0.4)}) == []
    assert take_distinct([], {"cosine": Measure(cosine(np.zeros((0, 3), np.float32)), 0.9)}) == []
