"""Reasons against combinations, each case judged by hand, and what a list's flags and gaps are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from vmmetrics.prompts.entry import PATTERNS, Action, Metadata, Place, PromptEntry, SubjectClass, SubjectEntry
from vmmetrics.prompts.files import read_metadata
from vmmetrics.prompts.plausibility import attributes_of, can_do, fits, judge, plain_place, suits

CLASSES = {item.name: item for item in read_metadata().classes}


def implausible(subject: SubjectEntry, kind: SubjectClass | None, action: Action, where: Place | None) -> str | None:
    """The first reason against a combination."""
    reason = can_do(subject, kind, action)
    return reason if reason or where is None else fits(where, action) or suits(subject, kind, where)


"""The library's own: the rules name some of them."""


def subject(noun: str, kind: str, **more: Any) -> SubjectEntry:
    return SubjectEntry(noun, kind, **more)


def place(name: str, setting: str, *affords: str) -> Place:
    return Place(name, setting=setting, affords=affords)


def kind_of(item: SubjectEntry) -> SubjectClass | None:
    return CLASSES.get(item.subject_class)


PENGUIN = subject("penguin", "ground bird", attributes=("swims",), lacks=("flies",))
CAN = [
    (subject("heron", "waterbird"), Action("spear", classes=("waterbird",)), True),
    (subject("cat", "cat"), Action("spear", classes=("waterbird",)), False),
    (PENGUIN, Action("fly", classes=("ground bird",)), False),  # its class may, it lacks it
    (PENGUIN, Action("swim"), True),
    (subject("robin", "songbird"), Action("fly"), True),
    (subject("horse", "horse"), Action("fly"), False),
    (subject("dog", "dog"), Action("swim", classes=("dog",)), True),  # the metadata say so, though dogs are no swimmers
    (subject("cloud", "cloud"), Action("soar"), True),  # the rules on bodies are about the living
    (subject("dog", "dog"), Action("juggle"), False),
    (subject("cook", "cook"), Action("chop"), True),
    (subject("brick", "stone or brick"), Action("eat"), False),
    (subject("excavator", "construction machine"), Action("eat"), True),  # it may be said of what has joints
    (subject("wug", ""), Action("fly"), True),  # nothing known, nothing said
]


@pytest.mark.parametrize(("who", "what", "possible"), CAN, ids=lambda x: getattr(x, "noun", getattr(x, "lemma", None)))
def test_who_can_do_what(who: SubjectEntry, what: Action, possible: bool) -> None:
    assert (can_do(who, kind_of(who), what) is None) == possible


def test_every_class_of_the_library_is_known_to_the_rules_by_its_name() -> None:
    """A class renamed in the metadata would silently escape them."""
    from vmmetrics.prompts import plausibility as rules

    named = set().union(
        rules._OUT_OF_DOORS, rules._HEAVY, rules._LARGE_ANIMALS, rules._AT_HOME_UNDER_WATER,
        rules._NEVER_UNDER_WATER, rules._BOUND_TO,
    )  # fmt: skip
    assert named <= CLASSES.keys()


SUITS = [
    (subject("goldfish", "fish"), place("ball pit", "indoor", "floor"), False),
    (subject("goldfish", "fish"), place("aquarium", "indoor", "underwater", "home"), True),
    (subject("mustang", "horse"), place("coral reef", "outdoor", "underwater", "water", "sand"), False),
    (subject("crab", "crustacean"), place("coral reef", "outdoor", "underwater", "water", "sand"), True),
    (subject("diver", "swimmer"), place("coral reef", "outdoor", "underwater", "water"), True),
    (subject("flock of gulls", "flock"), place("lagoon", "outdoor", "underwater", "water"), True),
    (subject("flame", "flame"), place("seabed", "outdoor", "underwater", "sand"), False),
    (subject("bus", "truck or bus"), place("kitchen", "indoor", "kitchen", "floor", "home"), False),
    (subject("forklift", "construction machine"), place("warehouse", "indoor", "floor", "walls"), True),
    (subject("bus", "truck or bus"), place("avenue", "outdoor", "road"), True),
    (subject("express", "train or tram"), place("meadow", "outdoor", "grass"), False),
    (subject("express", "train or tram"), place("station", "indoor", "rails"), True),
    (subject("ferry", "boat or ship"), place("desert", "outdoor", "sand"), False),
    (subject("hail", "hail"), place("office", "indoor", "floor", "walls"), False),
    (subject("snow", "snow"), place("roofless barn", "indoor", "open sky"), True),
    (subject("elephant", "large mammal"), place("living room", "indoor", "home", "floor"), False),
    (subject("elephant", "large mammal"), place("circus", "indoor", "stage"), True),
    (subject("elephant", "large mammal"), place("somewhere", "indoor"), True),  # nothing known of the place
]


@pytest.mark.parametrize(
    ("who", "where", "possible"), SUITS, ids=lambda x: getattr(x, "noun", getattr(x, "name", None))
)
def test_who_is_met_where(who: SubjectEntry, where: Place, possible: bool) -> None:
    reason = suits(who, kind_of(who), where)
    assert (reason is None) == possible
    if reason is not None:
        assert who.noun in reason
        assert where.name in reason


def test_what_fits_where() -> None:
    skate = Action("skate", needs=("ice", "street"))
    assert fits(place("lake", "outdoor", "ice", "open sky"), skate) is None
    assert (
        fits(place("lake", "outdoor", "water"), skate) == "lake offers nothing that is needed to skate: ice or street"
    )
    assert fits(place("lake", "outdoor"), Action("shine")) is None


def test_attributes_are_inherited_added_and_lacked() -> None:
    assert attributes_of(PENGUIN, SubjectClass("ground bird", ("animate", "flies", "walks"))) == {
        "animate", "walks", "swims"
    }  # fmt: skip


def test_one_answer_for_all_three() -> None:
    gallop, meadow = Action("gallop", classes=("horse",), needs=("grass",)), place("meadow", "outdoor", "grass")
    horse, salmon = subject("mare", "horse"), subject("salmon", "fish")
    assert implausible(horse, kind_of(horse), gallop, meadow) is None
    assert "classes" in (implausible(salmon, kind_of(salmon), gallop, meadow) or "")
    assert "needed" in (implausible(horse, kind_of(horse), gallop, place("pond", "outdoor", "water")) or "")
    leap = Action("leap")
    assert "needs shore" in (implausible(salmon, kind_of(salmon), leap, meadow) or "")
    assert implausible(salmon, kind_of(salmon), leap, None) is None


METADATA = Metadata(
    classes=tuple(CLASSES.values()),
    subjects=(subject("heron", "waterbird"), subject("pony", "horse"), subject("goose", "waterbird", plural="geese")),
    places=(place("tidal creek", "outdoor", "water", "shore"), place("meadow", "outdoor", "grass")),
    actions=(
        Action("spear", "a fish", PATTERNS[1], ("waterbird",), ("water",)),
        Action("trot", "", PATTERNS[1], ("horse",), ("grass", "road")),
    ),
)
HERON = PromptEntry("0001", "A heron spears a fish.", "a heron", "heron", "tidal creek", "spearing a fish",
                    PATTERNS[1], "spear", "waterbird")  # fmt: skip


def checks(*entries: PromptEntry, lemmas: tuple[str, ...] | None = None) -> dict[str, int]:
    found = judge(entries, METADATA, lemmas)
    return {check: found.flagged(check) for check, number in found.judged.items() if number}


def test_an_entry_that_is_well() -> None:
    assert checks(HERON) == {"noun": 0, "class": 0, "ability": 0, "needs": 0, "habitat": 0}


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"prompt": "A bird spears a fish."}, "noun"),
        ({"subject_class": "songbird"}, "class"),
        ({"action_lemma": "trot"}, "ability"),
        ({"place": "meadow"}, "needs"),
    ],
)
def test_what_is_wrong_is_flagged(change: dict[str, str], check: str) -> None:
    assert checks(replace(HERON, **change))[check] == 1


def test_plurals_are_the_noun() -> None:
    assert checks(replace(HERON, prompt="Two ponies trot.", subject_noun="pony"))["noun"] == 0
    assert checks(replace(HERON, prompt="Six geese fly.", subject_noun="goose"))["noun"] == 0
    assert checks(replace(HERON, prompt="Six geese fly.", subject_noun="mongoose"))["noun"] == 1


def test_a_list_from_elsewhere_is_not_held_to_our_classes_and_needs() -> None:
    foreign = PromptEntry("0001", "A heron trots.", "a heron", "heron", "meadow/wild", "trotting")
    found = judge([foreign], METADATA, ["gallop"])
    assert found.strict == 0
    assert dict(found.judged) == {"noun": 1, "class": 0, "ability": 1, "needs": 0, "habitat": 1}
    assert not found.flags
    assert checks(replace(foreign, subject_noun="pony"), lemmas=("fly",))["ability"] == 1


def test_what_the_metadata_lack_is_counted() -> None:
    strange = replace(HERON, subject_noun="wug", subject_class="wugs", place="nowhere", action_lemma="gloop")
    found = judge([strange, strange, HERON], METADATA)
    assert {what: dict(values) for what, values in found.unknown.items()} == {
        "noun": {"wug": 2}, "class": {"wugs": 2}, "action": {"gloop": 2}, "place": {"nowhere": 2}
    }  # fmt: skip
    assert found.judged["ability"] == 1


def test_a_noun_of_two_classes_is_well_if_either_is() -> None:
    crane = [subject("crane", "waterbird"), subject("crane", "crane or lift")]
    metadata = replace(METADATA, subjects=tuple(crane))
    entry = PromptEntry("0001", "A crane flies.", "a crane", "crane", "meadow", "flying")
    assert not judge([entry], metadata, ["fly"]).flags
    assert not judge([replace(entry, subject_class="crane or lift", action_lemma="lift")], metadata).flags


def test_names_of_places365() -> None:
    assert plain_place("arena/performance") == "arena"
    assert plain_place("bus_interior") == "bus interior"


def test_nothing_that_is_combined_is_flagged() -> None:
    """What ``generate`` puts together is held to more, never to less, than what ``stats`` flags."""
    from itertools import islice

    from vmmetrics.prompts.generate.combine import Combiner

    people = (subject("walker", "adult"), subject("trout", "fish"), subject("bus", "truck or bus"), PENGUIN)
    places = (
        place("kitchen", "indoor", "kitchen", "home", "floor"),
        place("river", "outdoor", "water", "shore"),
        place("reef", "outdoor", "underwater", "water"),
        place("road", "outdoor", "road", "ground"),
    )
    kinds = tuple(CLASSES)
    actions = (
        Action("turn", "slowly", PATTERNS[1], kinds),
        Action("fly", "off", PATTERNS[1], kinds, ("water", "road")),
    )
    metadata = Metadata(tuple(CLASSES.values()), people, places, actions)
    found = list(islice(Combiner(metadata, patterns=PATTERNS[1:2]), 200))
    assert len(found) > 5
    for made in found:
        assert implausible(made.subject, kind_of(made.subject), made.action, made.place) is None
