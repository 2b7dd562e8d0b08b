from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from pathlib import Path

import pytest

from vmmetrics.prompts.checks import faults
from vmmetrics.prompts.entry import Action, Place, PromptEntry, SubjectEntry
from vmmetrics.prompts.generate.combine import ASKED_CAMERAS, Combination, Combiner
from vmmetrics.prompts.generate.rules import base_of, conform
from vmmetrics.prompts.generate.writing import realise
from vmmetrics.utils.text.inflection import ing_form

_spec = importlib.util.spec_from_file_location("combine_sample", Path(__file__).with_name("combine_sample.py"))
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)

OWL = Combination(
    number=0,
    action=Action("carry", "a struggling mouse to its nest and drops it there", "biological motion", ("raptor",)),
    subject=SubjectEntry("owl", "raptor", ("old",)),
    place=Place("oak", "in a hollow oak", "outdoor", ("trees",)),
    pattern="biological motion",
)


def entry(text: str, combination: Combination) -> PromptEntry:
    return PromptEntry(
        "0001",
        text,
        combination.noun_phrase,
        combination.subject.noun,
        combination.place.name,
        f"{ing_form(combination.action.lemma)} there",
        combination.pattern,
        combination.action.lemma,
        tags=combination.tags,
    )


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_combined_passes_the_checks(seed):
    for combination in Combiner(sample.metadata(), seed, camera_share=0.3):
        texts = list(realise(combination, seed))
        assert texts and len(set(texts)) == len(texts)
        for text in texts:
            assert faults(entry(text, combination)) == [], text
            assert (combination.place.phrase or combination.place.name).lower() in text.lower()


def test_several_patterns_and_the_verb_agrees():
    texts = " ".join(text for seed in range(20) for text in realise(OWL, seed))
    assert "An owl carries a struggling mouse to its nest and drops it there in a hollow oak" in texts
    assert "In a hollow oak, an owl is carrying a struggling mouse to its nest and dropping it there" in texts
    assert "There is an owl in a hollow oak, carrying" in texts
    assert "A owl" not in texts and "drops it there is" not in texts


def test_many_take_the_plural_verb():
    action = Action("trot", "to the gate and stops there", "biological motion", ("horse",))
    ponies = replace(OWL, action=action, subject=SubjectEntry("pony", "horse"), quantity="three")
    texts = [text for seed in range(20) for text in realise(ponies, seed)]
    assert all("three ponies" in text.lower() for text in texts)
    assert any("ponies trot to the gate and stop there" in text for text in texts)
    assert any("ponies are trotting to the gate and stopping there" in text.lower() for text in texts)
    assert not any(re.search(r"\btrots\b|\bstops\b| is ", text) for text in texts)


def test_what_has_no_plural_has_no_article():
    milk = next(c for c in Combiner(sample.metadata()) if c.subject.noun == "milk")
    text = next(realise(replace(milk, modifier=""), 0))
    assert re.search(r"\b(?<!a )(?<!an )milk\b", text, re.IGNORECASE)
    assert "glass is full" in text or "glass" in text


def test_what_is_seen_at_last_is_said_only_of_what_was_spoken_of():
    of_owl = replace(OWL, action=replace(OWL.action, complement="off its branch", outcome="the owl is in the air"))
    worded = replace(of_owl, action=replace(of_owl.action, outcome="the flight succeeds: the owl is in the air."))
    assert list(realise(worded, 1)) and not any("succeeds" in text for text in realise(worded, 1))
    of_heron = replace(of_owl, action=replace(of_owl.action, outcome="the heron is in the air"))
    assert any("the owl is in the air" in text for seed in range(9) for text in realise(of_owl, seed))
    assert not any("heron" in text for seed in range(9) for text in realise(of_heron, seed))


@pytest.mark.parametrize("camera", ASKED_CAMERAS)
def test_a_camera_motion_is_said_in_plain_words(camera):
    moved = replace(OWL, camera=camera)
    for text in realise(moved, 0):
        assert "camera" in text.lower() and faults(entry(text, moved)) == []


def test_the_same_for_the_same_seed():
    assert list(realise(OWL, 5)) == list(realise(OWL, 5))
    assert len({next(realise(OWL, seed)) for seed in range(30)}) > 5


@pytest.mark.parametrize(
    ("complement", "ing", "base"),
    [
        ("to the fence and clears it", "to the fence and clearing it", "to the fence and clear it"),
        ("off the bank, swims across and climbs out", "off the bank, swimming across and climbing out",
         "off the bank, swim across and climb out"),
        ("a stone and quickly leaps", "a stone and quickly leaping", "a stone and quickly leap"),
        ("two forks and spoons", None, None),
        ("past the gate", "past the gate", "past the gate"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_verbs_inside_the_words_take_the_same_form(complement, ing, base):
    assert conform(complement, "third") == complement
    assert (conform(complement, "ing"), conform(complement, "base")) == (ing, base)


def test_a_forgotten_s_is_put_right():
    assert conform("into a chair leg and turn away", "third") == "into a chair leg and turns away"
    assert conform("salt and water", "third") == "salt and water"


@pytest.mark.parametrize(
    "pair",
    ["races/race", "scurries/scurry", "dashes/dash", "freezes/freeze", "passes/pass", "swings/swing", "flies/fly"],
)
def test_the_base_of_a_third_person(pair):
    third, base = pair.split("/")
    assert base_of(third) == base
    assert base_of("umbrellas") is None
    assert base_of("wugs", certain=True) == "wug"
