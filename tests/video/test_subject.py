"""The subject rule against prompts of our own, their subjects marked by hand."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

from vmmetrics.clip import Subject
from vmmetrics.prompts.files import read_entries
from vmmetrics.utils.text import words
from vmmetrics.video import subject as subject_module
from vmmetrics.video.subject import find_subject, subject_of_phrase

# prompt, noun, phrase
MARKED = [
    ("a dog runs along the beach", "dog", "a dog"),
    ("A black horse gallops across a field", "horse", "a black horse"),
    ("two men walk down the street", "men", "two men"),
    ("A woman in a red dress is dancing", "woman", "a woman"),
    ("a man and a woman dance in the rain", "man", "a man"),
    ("In a quiet park, two small dogs chase a ball", "dogs", "two small dogs"),
    ("In the forest a deer jumps over a log", "deer", "a deer"),
    ("A video of a cat playing with a ball of yarn", "cat", "a cat"),
    ("A slow motion close-up of a hummingbird drinking nectar", "hummingbird", "a hummingbird"),
    ("an aerial view of a ship sailing through ice", "ship", "a ship"),
    ("The camera pans over a city at night", "city", "a city"),
    ("There is a child jumping on a trampoline", "child", "a child"),
    ("a flock of birds flies over the sea", "birds", "birds"),
    ("A group of young people are hiking up a mountain", "people", "young people"),
    ("A basketball player jumps and scores", "player", "a basketball player"),
    ("A running boy drops his hat", "boy", "a running boy"),
    ("A small, brown dog shakes off water", "dog", "a small brown dog"),
    ("a black and white cat licks its paw", "cat", "a black and white cat"),
    ("She lifts a heavy box onto the shelf", "woman", "she"),
    ("Someone pours milk into a glass", "person", "someone"),
    ("the elderly gardener slowly waters the roses", "gardener", "the elderly gardener"),
    ("A little girl wearing a yellow raincoat jumps into puddles", "girl", "a little girl"),
    ("A robot that paints a wall", "robot", "a robot"),
    ("a cup of coffee spills over the table", "cup", "a cup"),
    ("A red sports car speeds around a corner", "car", "a red sports car"),
    ("Three children are building a sandcastle", "children", "three children"),
    ("the cars drove fast", "cars", "the cars"),
    ("a bus stops at the corner", "bus", "a bus"),
    ("A glass falls from the table and shatters", "glass", "a glass"),
    ("a king waves at the crowd", "king", "a king"),
    ("A balloon rises into the sky", "balloon", "a balloon"),
    ("Realistic footage of an elephant spraying water", "elephant", "an elephant"),
    ("on a frozen lake, a skater spins", "skater", "a skater"),
    ("A wounded soldier crawls through mud", "soldier", "a wounded soldier"),
    ("horses galloping through shallow water", "horses", "horses"),
    ("Riding a bicycle down a hill", "bicycle", "a bicycle"),
    ("His dog barks at the postman", "dog", "his dog"),
    ("an old man with a white beard smokes a pipe", "man", "an old man"),
    ("The waterfall flows between green hills", "waterfall", "the waterfall"),
    ("A butterfly lands on a flower", "butterfly", "a butterfly"),
    ("a chef's knife cuts through an onion", "knife", "a chef's knife"),
    ("while it rains, a taxi waits at the kerb", "taxi", "a taxi"),
    ("Close-up of hands kneading dough", "hands", "hands"),
    ("Gymnast performs a backflip", "gymnast", "gymnast"),
    ("a panda eats bamboo", "panda", "a panda"),
    ("A train passes under a bridge", "train", "a train"),
    ("the dance teacher bows", "teacher", "the dance teacher"),
    ("A family of ducks crosses the road", "ducks", "ducks"),
    ("several tall trees sway in the wind", "trees", "several tall trees"),
    ("A sleeping baby smiles", "baby", "a sleeping baby"),
    ("Ocean waves crash on rocks", "waves", "ocean waves"),
    ("Two boxers exchange punches in a ring", "boxers", "two boxers"),
    ("A wide shot of an island full of palm trees", "island", "an island"),
    ("a first person view of a cyclist riding downhill", "cyclist", "a cyclist"),
    ("Suddenly, a wave crashes against the pier", "wave", "a wave"),
]


@pytest.mark.parametrize(("prompt", "noun", "phrase"), MARKED)
def test_subject_by_rule(prompt: str, noun: str, phrase: str) -> None:
    found = subject_of_phrase(prompt, "rule")
    assert found is not None
    assert (found.noun, found.phrase, found.source) == (noun, phrase, "rule")


@pytest.mark.parametrize("prompt", ["", "   ", "...", "the", "of in on"])
def test_no_subject(prompt: str) -> None:
    assert find_subject(prompt) is None


def test_phrase_given_by_user_is_one_noun_phrase() -> None:
    found = subject_of_phrase("a black horse", "option")
    assert found is not None
    assert (found.noun, found.phrase, found.source) == ("horse", "a black horse", "option")


def chunk(text: str, root: str, dep: str) -> Any:
    return SimpleNamespace(text=text, root=SimpleNamespace(lower_=root, dep_=dep))


def test_spacy_where_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = [chunk("A video", "video", "ROOT"), chunk("the park", "park", "pobj"), chunk("Two dogs", "dogs", "nsubj")]
    monkeypatch.setattr(subject_module, "_spacy_parser", lambda: lambda prompt: SimpleNamespace(noun_chunks=chunks))
    assert find_subject("any") == Subject("dogs", "two dogs", "spacy")
    chunks.clear()
    assert find_subject("a cat sleeps") == Subject("cat", "a cat", "rule")


class _Counting(list[str]):
    """A list that counts how often one of its words is looked at."""

    looks = 0

    def __getitem__(self, index: Any) -> Any:
        self.looks += 1
        return super().__getitem__(index)


@pytest.mark.parametrize(
    "unit",
    ["close up shot of, ", "in ", "in the ", "is ", "a , ", "very ", "there is ", "the camera pans ", "flock of "],
)
def test_the_work_is_bounded_however_long_a_text_is(unit: str) -> None:
    tokens = subject_module._TOKEN.findall(unit * 5000)[: subject_module._LONGEST]
    lowered = _Counting(token.lower() for token in tokens)
    start = subject_module._after_openings(lowered)
    for position in range(start, len(lowered)):
        if subject_module._noun_phrase(lowered, position):
            break
    assert lowered.looks < 1_000_000  # tenths of a second
    assert subject_module.subject_of_phrase(unit * 5000, "rule") == subject_module.subject_of_phrase(unit * 50, "rule")


def test_where_a_text_begins_changes_nothing_of_what_follows() -> None:
    """The rule reads words in place; as a reference, it reads copies of what is left, as often as it goes on."""
    classes = [sorted(v) for v in vars(words).values() if isinstance(v, set | frozenset | dict) and v]
    classes += [list(",.;:!?")] * 4 + [["dog", "birds", "flock", "of", "the", "a", "in", "running", "and", "it's"]] * 6
    dice = random.Random(7)
    texts = [entry.prompt for entry in read_entries("library")]
    texts += [" ".join(dice.choice(dice.choice(classes)) for _ in range(dice.randrange(16))) for _ in range(1500)]
    for text in texts:
        lowered = rest = [token.lower() for token in subject_module._TOKEN.findall(text)]
        while rest and (after := subject_module._after_opening(rest, 0)):
            rest = rest[after:]
        start = subject_module._after_openings(lowered)
        assert lowered[start:] == rest, text
        for position in range(len(rest)):
            assert subject_module._noun_phrase(lowered, start + position) == subject_module._noun_phrase(
                rest[position:], 0
            ), text
