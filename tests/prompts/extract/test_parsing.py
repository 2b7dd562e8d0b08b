"""Captions to subjects, actions and places: constructions one by one, and a gold set made by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.prompts.extract.grammar import singular
from vmmetrics.prompts.extract.parsing import CaptionParser, ParsedCaption

pytest.importorskip("spacy")

GOLD = Path(__file__).parent / "extract_gold.jsonl"


@pytest.fixture(scope="module")
def parser() -> CaptionParser:
    return CaptionParser()


def told(parser: CaptionParser, text: str) -> ParsedCaption:
    (found,) = parser.parse([text])
    return found


def deeds(found: ParsedCaption) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(deed.lemma, deed.complement, tuple(doer.noun for doer in deed.doers)) for deed in found.deeds]


@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        ("A dog is running.", ["dog"]),
        ("a dog running", ["dog"]),
        ("hot air balloon", ["hot air balloon"]),
        ("A FIRE TRUCK", ["fire truck"]),
        ("A ball is kicked by a boy.", ["ball", "boy"]),
        ("Two men and a woman are dancing.", ["man", "woman"]),
        ("A drone shot of a river winding through a canyon", ["river"]),
        ("time lapse of flowers blooming", ["flower"]),
        ("Close-up of a hummingbird hovering", ["hummingbird"]),
        ("There are several children playing soccer.", ["child"]),
        ("A couple of kids start running up the stairs.", ["kid"]),
        ("Create a video of a cat knocking a vase off the shelf", ["cat"]),
        ("The camera pans left while a train passes through a tunnel.", ["train"]),
        ("Leaves blown by the wind along a path", ["leaf", "wind"]),
        ("a man in a hat riding a horse", ["man"]),
    ],
)
def test_subjects_of_many_constructions(parser: CaptionParser, text: str, subjects: list[str]) -> None:
    assert [item.noun for item in told(parser, text).subjects] == subjects


def test_a_collective_is_the_subject_and_has_members(parser: CaptionParser) -> None:
    found = told(parser, "A large flock of white birds is flying over the lake.")
    (flock,) = found.subjects
    assert (flock.noun, flock.members, flock.modifiers) == ("flock", "bird", ("large",))
    assert deeds(found) == [("fly", "", ("flock",))]


def test_adjectives_are_modifiers_and_nouns_that_name_are_kept(parser: CaptionParser) -> None:
    found = told(parser, "An old red fire truck and two shiny police cars race down the narrow street.")
    assert [(item.noun, item.modifiers, item.plural) for item in found.subjects] == [
        ("fire truck", ("old", "red"), ""),
        ("police car", ("shiny",), "police cars"),
    ]
    assert [(spot.name, spot.phrase, spot.modifiers) for spot in found.spots] == [
        ("street", "down the street", ("narrow",))
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A cook pours milk from a steel jug into a tall glass.", ("pour", "milk from a jug into a glass", ("cook",))),
        ("A ball is kicked by a boy in a red shirt.", ("kick", "a ball", ("boy",))),
        ("The man slowly takes off his heavy coat.", ("take", "off their coat", ("man",))),
        ("A dog catches a red frisbee in its mouth on the beach.", ("catch", "a frisbee in its mouth", ("dog",))),
        ("An old man cuts bread with a knife in the morning.", ("cut", "bread with a knife", ("man",))),
        ("falling snow in a forest", ("fall", "", ("snow",))),
        ("A bird that sits on a branch sings.", ("sing", "", ("bird",))),
        ("A swimmer jumps into the pool at sunset.", ("jump", "", ("swimmer",))),
    ],
)
def test_actions_keep_particle_object_and_instrument_but_no_place_time_or_adjective(
    parser: CaptionParser, text: str, expected: tuple[str, str, tuple[str, ...]]
) -> None:
    assert expected in deeds(told(parser, text))


def test_adverbs_of_manner_are_modifiers_of_the_action(parser: CaptionParser) -> None:
    (deed,) = told(parser, "A man then slowly walks away.").deeds
    assert (deed.lemma, deed.complement, deed.modifiers) == ("walk", "away", ("slowly",))


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("A man cuts wood with an axe in the morning.", []),
        ("A horse runs in circles.", []),
        ("A woman in a red dress waves with her left hand.", []),
        ("A bird flies to the left in slow motion.", []),
        ("A dog runs with another dog in the park at night.", ["park"]),
        ("A goat stands at the edge of a cliff.", ["cliff"]),
        ("A bus stops in front of the town hall.", ["town hall"]),
        ("A deer walks through the woods and over a bridge.", ["woods", "bridge"]),
        ("A tourist walks in Paris.", ["paris"]),
        ("A cat jumps out of the window onto the roof of a house.", ["roof"]),
    ],
)
def test_places_are_told_from_instruments_times_directions_and_clothes(
    parser: CaptionParser, text: str, places: list[str]
) -> None:
    assert [spot.name for spot in told(parser, text).spots] == places


def test_a_known_noun_is_a_noun_whatever_the_model_takes_it_for() -> None:
    found = told(CaptionParser(nouns=["hummingbird"]), "a hummingbird drinking nectar from a red flower")
    assert [item.noun for item in found.subjects] == ["hummingbird"]
    assert deeds(found) == [("drink", "nectar from a flower", ("hummingbird",))]


def test_known_names_are_kept_whole() -> None:
    found = told(CaptionParser(nouns=["snowy owl"], places=["frozen lake"]), "A snowy owl flies over the frozen lake.")
    assert [item.noun for item in found.subjects] == ["snowy owl"]
    assert [(spot.name, spot.phrase) for spot in found.spots] == [("frozen lake", "over the frozen lake")]


@pytest.mark.parametrize(
    ("part", "kind", "precision", "recall"),
    [
        # Measured, without a lexicon: part a 0.90/0.95, 0.97/0.92, 1/1; part b 0.89/0.86, 1/0.86, 1/0.93. Part b was
        # not looked at while the rules were written, but for the hummingbird, which an example elsewhere brought up.
        # The bounds leave room for another version of the model.
        ("a", "subjects", 0.84, 0.90),
        ("a", "actions", 0.92, 0.86),
        ("a", "places", 0.94, 0.94),
        ("b", "subjects", 0.82, 0.78),
        ("b", "actions", 0.94, 0.76),
        ("b", "places", 0.92, 0.86),
    ],
)
def test_the_gold_set_is_met(
    gold: dict[tuple[str, str], Counter[str]], part: str, kind: str, precision: float, recall: float
) -> None:
    counts = gold[part, kind]
    assert counts["right"] >= precision * counts["found"]
    assert counts["right"] >= recall * counts["wanted"]


@pytest.fixture(scope="module")
def gold(parser: CaptionParser) -> dict[tuple[str, str], Counter[str]]:
    rows = [json.loads(line) for line in GOLD.read_text().splitlines()]
    assert len(rows) >= 60
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row, found in zip(rows, parser.parse([row["text"] for row in rows]), strict=True):
        names = {
            "subjects": {item.noun for item in found.subjects},
            "actions": {item.lemma for item in found.deeds},
            "places": {item.name for item in found.spots},
        }
        for kind, here in names.items():
            here_counts = counts.setdefault((row["part"], kind), Counter())
            here_counts.update(right=len(here & set(row[kind])), found=len(here), wanted=len(row[kind]))
    return counts


def test_captions_come_back_in_their_order_across_batches(
    parser: CaptionParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vmmetrics.prompts.extract.parsing.BATCH", 2)
    nouns = ["dog", "cat", "horse", "boy", "girl"]
    found = list(parser.parse(f"A {noun} is running." for noun in nouns))
    assert [[item.noun for item in one.subjects] for one in found] == [[noun] for noun in nouns]


def test_without_spacy_the_command_that_brings_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmmetrics.prompts.extract.parsing.find_spec", lambda name: None)
    with pytest.raises(SetupError, match=r"pip install .*\[prompts\]"):
        CaptionParser()


def test_a_model_that_is_not_there_is_named() -> None:
    with pytest.raises(SetupError, match="no model xx_none_at_all"):
        CaptionParser("xx_none_at_all")


def test_a_model_without_parser_is_refused(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(SetupError, match="lacks a tagger, a parser or a lemmatiser"):
        CaptionParser(str(tmp_path / "blank"))


@pytest.mark.parametrize(("plural", "noun"), [("waves", "wave"), ("glass", "glass"), ("bus", "bus")])
def test_regular_singulars(plural: str, noun: str) -> None:
    assert singular(plural) == noun
