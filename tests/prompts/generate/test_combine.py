from __future__ import annotations

import importlib.util
from collections import Counter
from dataclasses import replace
from itertools import islice, product
from pathlib import Path

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PATTERNS, Action, Metadata, Place, SubjectEntry
from vmmetrics.prompts.generate import rules
from vmmetrics.prompts.generate.combine import Combiner

_spec = importlib.util.spec_from_file_location("combine_sample", Path(__file__).with_name("combine_sample.py"))
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)

ALL = list(Combiner(sample.metadata(), seed=0))


def found(lemma: str, noun: str) -> set[str]:
    return {c.place.name for c in ALL if (c.action.lemma, c.subject.noun) == (lemma, noun)}


def test_every_combination_that_makes_sense_and_no_other():
    """Worked out by hand from the sample."""
    expected = {
        ("turn", "trout"): {"river", "coral reef", "harbour"},  # not in the kitchen
        ("soar", "gull"): {"stadium", "harbour"},
        ("waddle", "gull"): {"river", "city street", "country road", "stadium", "harbour"},
        ("waddle", "penguin"): {"river", "city street", "country road", "stadium", "harbour"},
        ("trot", "pony"): {"country road", "stadium", "city street"},
        ("clear", "hurdler"): {"stadium"},  # the fencer does not: the action names the hurdler
        ("stretch", "hurdler"): {p.name for p in sample.PLACES} - {"coral reef"},
        ("stretch", "fencer"): {p.name for p in sample.PLACES} - {"coral reef"},
        ("brake", "tram"): {"city street"},
        ("brake", "hatchback"): {"city street", "country road"},
        ("turn", "ferry"): {"river", "harbour"},
        ("pour", "milk"): {"kitchen"},
        ("drift", "thundercloud"): {p.name for p in sample.PLACES} - {"kitchen", "sports hall", "coral reef"},
    }
    pairs = {(c.action.lemma, c.subject.noun) for c in ALL if c.pattern != sample.TOGETHER}
    assert pairs == set(expected)
    for pair, places in expected.items():
        assert found(*pair) <= places, pair
        if pair not in {("stretch", "hurdler"), ("stretch", "fencer"), ("drift", "thundercloud")}:
            assert found(*pair) == places, pair


def test_what_is_lacked_is_not_done():
    assert found("soar", "penguin") == set()
    flying = replace(sample.SUBJECTS[2], lacks=())
    subjects = (*sample.SUBJECTS[:2], flying, *sample.SUBJECTS[3:])
    drawn = Combiner(replace(sample.metadata(), subjects=subjects))
    assert any((c.action.lemma, c.subject.noun) == ("soar", "penguin") for c in drawn)


def test_collective_behaviour_is_of_many():
    together = [c for c in ALL if c.pattern == sample.TOGETHER]
    assert {c.subject.noun for c in together} == {"murmuration", "gull", "penguin"}
    assert not any(c.action.lemma == "preen" for c in together)  # "its feathers" is of one
    assert {c.quantity for c in together if c.subject.noun != "murmuration"} == {"several"}
    assert all(c.tags.subjects == "several" for c in together)
    assert {c.noun_phrase for c in together if c.subject.noun == "gull"} <= {"several gulls", "several white gulls"}


def test_no_combination_twice_and_the_same_for_the_same_seed():
    assert len({(c.action, c.subject.noun, c.place.name) for c in ALL}) == len(ALL)
    assert len({c.key for c in ALL}) == len(ALL)
    again = Combiner(sample.metadata(), seed=0)
    assert list(again) == ALL
    assert list(again) == ALL  # and once more
    assert list(islice(Combiner(sample.metadata(), seed=0), 7)) == ALL[:7]
    assert [c.key for c in Combiner(sample.metadata(), seed=1)] != [c.key for c in ALL]


def test_metadata_that_say_the_same_twice_give_nothing_twice():
    twice = Metadata(sample.CLASSES, sample.SUBJECTS * 2, sample.PLACES * 2, sample.ACTIONS * 2)
    drawn = list(Combiner(twice))
    assert len({c.key for c in drawn}) == len(drawn)
    assert [c.number for c in drawn] == list(range(len(drawn)))


def test_patterns_take_turns_and_new_categories_come_first():
    patterns = {a.pattern for a in sample.ACTIONS}
    assert {c.pattern for c in ALL[: len(patterns)]} == patterns
    for pattern in patterns:
        seen = [(c.action.lemma, c.subject.subject_class) for c in ALL if c.pattern == pattern]
        distinct = len(set(seen))
        assert len(set(seen[:distinct])) == distinct


def test_subjects_and_places_are_used_alike():
    """24 people who can do one thing at 24 places: no one is used twice before all were used."""
    nouns = [f"man{letter}" for letter in "abcdefghijklmnopqrstuvwx"]
    people = tuple(SubjectEntry(noun, "athlete") for noun in nouns)
    places = tuple(Place(f"field {noun}", affords=("ground",)) for noun in nouns)
    action = Action("wave", "at the sun", sample.BIOLOGICAL, ("athlete",))
    drawn = list(islice(Combiner(Metadata(sample.CLASSES, people, places, (action,))), 48))
    assert set(Counter(c.subject.noun for c in drawn).values()) == {2}
    assert set(Counter(c.place.name for c in drawn).values()) == {2}


def test_subjects_stay_in_their_patterns_where_there_are_any():
    kinds = {"hurdler": (sample.BIOLOGICAL,), "fencer": ("energy transfer",)}
    people = tuple(SubjectEntry(noun, "athlete", patterns=patterns) for noun, patterns in kinds.items())
    actions = tuple(Action("wave", "at the sun", p, ("athlete",)) for p in (sample.BIOLOGICAL, sample.MECHANICAL))
    drawn = list(Combiner(Metadata(sample.CLASSES, people, sample.PLACES, actions)))
    assert {c.subject.noun for c in drawn if c.pattern == sample.BIOLOGICAL} == {"hurdler"}
    assert {c.subject.noun for c in drawn if c.pattern == sample.MECHANICAL} == {"hurdler", "fencer"}


def test_patterns_can_be_chosen():
    assert {c.pattern for c in Combiner(sample.metadata(), patterns=(sample.MECHANICAL,))} == {sample.MECHANICAL}
    with pytest.raises(SetupError, match="no combination in energy transfer"):
        Combiner(sample.metadata(), patterns=("energy transfer",))


def test_modifiers_fit():
    phrases = {c.noun_phrase for c in ALL}
    assert not any("flying" in phrase or "sleeping" in phrase for phrase in phrases)
    assert {"milk", "cold milk"} & phrases and not any(p.startswith("a milk") for p in phrases)
    many = {c.noun_phrase for seed in range(20) for c in Combiner(sample.metadata(), seed) if c.subject.noun == "pony"}
    assert many <= {
        f"{n}{m} {p}" for m in ("", " brown") for n, p in (("a", "pony"), ("two", "ponies"), ("three", "ponies"))
    }
    assert len(many) >= 4


def test_tags_come_from_action_class_and_number():
    clear = next(c for c in ALL if c.action.lemma == "clear")
    assert (clear.tags.interaction, clear.tags.speed, clear.tags.skeleton) == ("object", "fast", "person")
    assert next(c for c in ALL if c.subject.noun == "milk").tags.skeleton == "none"
    assert next(c for c in ALL if c.subject.noun == "murmuration").tags.subjects == "several"
    assert next(c for c in ALL if c.action.lemma == "stretch").tags.seconds == 8.0


def test_a_share_asks_for_a_camera_motion():
    drawn = [c.camera for seed in range(30) for c in Combiner(sample.metadata(), seed, camera_share=0.25)]
    share = sum(camera != "unspecified" for camera in drawn) / len(drawn)
    assert share == pytest.approx(0.25, abs=4 * (0.25 * 0.75 / len(drawn)) ** 0.5)  # four standard errors
    assert {c.camera for c in ALL} == {"unspecified"}


def test_without_classes_only_what_was_seen_is_combined():
    seen, other = "A dog runs on a beach.", "A cat sleeps."
    subjects = (SubjectEntry("dog", examples=(seen,)), SubjectEntry("cat", examples=(other,)))
    actions = (Action("run", pattern=sample.BIOLOGICAL, examples=(seen,)),)
    drawn = list(Combiner(Metadata((), subjects, sample.PLACES, actions)))
    assert {c.subject.noun for c in drawn} == {"dog"}


@pytest.mark.parametrize(
    ("complement", "place", "suits"),
    [
        ("across the sand", ("ground",), False),
        ("across the loose sand", ("sand",), True),
        ("sand over its back", ("ground",), True),  # carried, not a ground
        ("down the steps", ("ground", "stairs"), True),
        ("through the harbour", ("water",), False),  # the place is said already
    ],
)
def test_grounds_in_the_words_must_be_there(complement, place, suits):
    harbour = Place("old harbour", affords=place)
    assert rules.suits(Action("roll", complement), harbour) is suits


@pytest.mark.parametrize(
    ("noun", "place", "met"),
    [
        ("gull", Place("night sky", affords=("open sky", "dark")), True),
        ("fencer", Place("night sky", affords=("open sky", "dark")), False),
        ("thundercloud", Place("night sky", affords=("open sky", "dark")), True),
        ("fencer", Place("pool", affords=("underwater", "water")), False),
        ("pony", Place("parlour", "", "indoor", ("home", "floor")), False),
        ("pony", Place("circus", "", "indoor", ("stage", "floor")), True),
        ("hatchback", Place("bowling alley", "", "indoor", ("floor", "track")), False),
        ("hatchback", Place("plant", "", "indoor", ("factory", "floor")), True),
        ("tram", Place("lane", affords=("road", "street")), False),
        ("ferry", Place("lane", affords=("road", "street")), False),
    ],
)
def test_where_nobody_is_met(noun, place, met):
    subject = next(s for s in sample.SUBJECTS if s.noun == noun)
    known = next(c for c in sample.CLASSES if c.name == subject.subject_class)
    assert rules.can_be_there(subject, known, place) is met


def test_most_of_what_is_needed_must_be_there():
    action = Action("roll", needs=("floor", "table", "stage"))
    offers = {("floor",): False, ("floor", "table"): True, ("ground",): False}
    assert {a: rules.suits(action, Place("x", affords=a)) for a in offers} == offers


def test_seen_from_all_sides():
    """Against the rules one by one: nothing is drawn that they forbid, and nothing is left out that they allow."""
    allowed = set()
    known = {c.name: c for c in sample.CLASSES}
    for action, subject, place in product(sample.ACTIONS, sample.SUBJECTS, sample.PLACES):
        kind = known[subject.subject_class]
        able = [s for s in sample.SUBJECTS if rules.can_do(s, known[s.subject_class], action)]
        if action.pattern == sample.TOGETHER and "collective" not in kind.attributes:
            able = [s for s in able if rules.can_be_several(action)]
        doing = subject in able and subject in rules.doers(action, able)
        if doing and rules.suits(action, place) and rules.can_be_there(subject, kind, place):
            allowed.add((action, subject.noun, place.name))
    assert {(c.action, c.subject.noun, c.place.name) for c in ALL} == allowed
    assert {c.pattern for c in ALL} <= set(PATTERNS)
