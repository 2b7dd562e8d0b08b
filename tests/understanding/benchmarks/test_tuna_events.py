from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.understanding.benchmarks.tuna.scoring import (
    AnnotatedEvent,
    Element,
    Pair,
    events_of,
    in_order,
    is_caption,
    label_of,
    labels_of,
    order_problem,
    pairs_problem,
    released_scores,
    scores,
    sentences,
    texts_of_references,
)

CAPTION = "A man walks in. He sits down, then he waves. A dog barks! He sits down."


@pytest.mark.parametrize(
    ("events", "same"),
    [
        (["A man walks in.", "He sits down, then he waves.", "A dog barks!", "He sits down."], True),
        (["A man walks in", "he sits down", "then he waves a dog barks he sits down"], True),  # marks and case
        (["A man walks in.", "He sits down, then he waves.", "A dog barks!"], True),  # the repeat is left out
        (["A man walks in.", "He sits down, then he waves."], False),  # the dog is no repeat
        (["A man runs in.", "He sits down, then he waves.", "A dog barks!", "He sits down."], False),
        (["He sits down, then he waves.", "A man walks in.", "A dog barks!"], False),
        ([CAPTION, "A dog barks!"], False),
        (["..."], False),
    ],
)
def test_events_are_the_caption(events: list[str], same: bool) -> None:
    assert is_caption(CAPTION, events) is same


def test_a_repeat_that_could_begin_what_follows_it() -> None:
    """Taken greedily the second "It falls" would be kept, and then the end would be missing."""
    assert is_caption("It falls. It rolls. It falls. It falls slowly.", ["It falls.", "It rolls.", "It falls slowly."])


def test_a_model_that_runs_in_circles() -> None:
    caption = "The man waves, " * 3000
    assert is_caption(caption, ["The man waves"])
    assert is_caption(caption, [caption])  # a step for each word, however often one comes
    assert not is_caption(caption + "he stops", [caption])
    assert sentences(caption + ". He stops.") == ["The man waves, " * 3000 + ".", "He stops."]
    assert sentences("It falls. " * 3000 + "It stops.") == ["It falls.", "It stops."]


def test_sentences() -> None:
    assert sentences('He says "stop." Then 3.5 cars pass!  He says "Stop".') == [
        'He says "stop."',
        "Then 3.5 cars pass!",
    ]
    assert sentences(" ") == []


pairs_lists = st.lists(st.one_of(st.none(), st.integers(1, 5)), max_size=9).map(
    lambda references: [(number, reference) for number, reference in enumerate(references, 1)]
)


@given(pairs_lists)
def test_as_many_matches_as_can_be_keep_the_order(pairs: list[Pair]) -> None:
    kept = in_order(pairs)
    assert [candidate for candidate, _ in kept] == [candidate for candidate, _ in pairs]
    assert all(new in (old, None) for (_, new), (_, old) in zip(kept, pairs, strict=True))
    assert order_problem(kept) is None
    given = [reference for _, reference in pairs if reference is not None]
    most = max(size for size in range(len(given) + 1) if any(list(c) == sorted(c) for c in combinations(given, size)))
    assert sum(reference is not None for _, reference in kept) == most
    assert (kept == tuple(pairs)) is (order_problem(pairs) is None)


def test_problems_of_matches_are_told() -> None:
    assert pairs_problem([(1, 1), (2, None)], 2, 1) is None
    assert "1 to 2" in (pairs_problem([(1, 1)], 2, 1) or "")
    assert "1 to 2" in (pairs_problem([(2, 1), (1, 1)], 2, 1) or "")
    for outside in (0, -1, 4):  # the released code takes 0 for the last event and stops at 4
        assert "1 to 3" in (pairs_problem([(1, outside)], 1, 3) or "")
    assert "backwards" in (order_problem([(1, 2), (2, None), (3, 1)]) or "")


def test_texts_of_references() -> None:
    pairs: list[Pair] = [(1, 2), (2, None), (3, 2), (4, 3)]
    assert texts_of_references(pairs, ["a", "b", "c", "d"], 3) == ["", "a c", "d"]


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("entailment", "entailment"), (" Entailment.", "entailment"), ("ENTAILED", "entailment"), ("lacks", "lack"),
        ("'contradicts'", "contradiction"), ("neutral", "lack"), ("not entailed", None), ("", None),
        (None, None), (3, None),
    ],
)  # fmt: skip
def test_labels_however_they_are_written(written: object, label: str | None) -> None:
    assert label_of(written) == label


def test_labels_go_by_the_words_they_repeat_else_by_place() -> None:
    events = events_of(
        [{"visual_elements": [{"content": text, "weight": 1} for text in ("A dog.", "a cat", "it rains")]}]
    )

    def read(*rows: object) -> tuple[list[str], int]:
        labels, unread = labels_of([{"visual_elements": list(rows)}], events)
        return labels[0], unread

    def row(content: object, label: str) -> dict[str, object]:
        return {"content": content, "relationship": label}

    said = "entailment"
    assert read(row("it rains", "contradiction"), row("a dog", said)) == ([said, "lack", "contradiction"], 1)
    assert read(row("a cow", "contradiction"), row("a dog", said)) == (["contradiction", said, "lack"], 1)
    assert read(row("a dog", "lack"), row("a dog", said)) == (["lack", said, "lack"], 1)
    assert read(None, row(None, said), row("a dog", said), row(1, said)) == (["lack", said, said], 1)
    assert labels_of(["no", None], [*events, *events]) == ([["lack"] * 3] * 2, 6)


EVENTS = [
    {"event": "one", "visual_elements": [
        {"content": "a", "type": "camera", "weight": 3},
        {"content": "b", "type": "action", "weight": 2},
        {"content": "c", "type": "action", "weight": 1},
    ]},
    {"event": "two", "visual_elements": [{"content": "d", "type": "action", "weight": 3}]},
]  # fmt: skip


def judged(*labels: list[object]) -> list[object]:
    return [{"visual_elements": [{"relationship": label} for label in event]} for event in labels]


def test_scores_by_hand() -> None:
    found = scores(events_of(EVENTS), [["entailment", "contradiction", "lack"], ["entailment"]])
    # all: E 6, C 2, W 9; action: E 3, C 2, W 6
    assert found == pytest.approx(
        {
            "precision": 6 / 8, "recall": 6 / 9, "f1": 2 * 6 / (8 + 9), "camera precision": 1, "camera recall": 1,
            "camera f1": 1, "action precision": 3 / 5, "action recall": 3 / 6, "action f1": 2 * 3 / (5 + 6),
        }
    )  # fmt: skip


def test_what_is_not_judged_stays_in_the_whole_weight_but_not_as_released() -> None:
    short = judged(["entailment"], ["lack"])
    assert scores(events_of(EVENTS), [["entailment"]])["recall"] == pytest.approx(3 / 9)
    released = released_scores(EVENTS, short)
    assert released is not None
    assert released["recall"] == 0.5  # 3 of 3 + 3: b and c have left
    spelled = released_scores(EVENTS, judged(["Entailment", "entailment", "lack"], ["lack"]))
    assert spelled is not None
    assert spelled["recall"] == round(2 / 9, 3)
    assert released_scores(EVENTS, short[:1]) is None
    without = released_scores(EVENTS, ["no list", {"visual_elements": [{"relationship": "entailment"}]}])
    assert without is not None
    assert (without["recall"], "camera recall" in without) == (1, False)


def test_nothing_said_is_zero() -> None:
    assert set(scores(events_of(EVENTS), []).values()) == {0}
    assert scores([AnnotatedEvent("", (Element("x", "camera", 0),))], []) == {}
