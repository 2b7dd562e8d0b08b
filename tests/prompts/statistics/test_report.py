"""A list's figures against counting by hand; samples, gaps, the command and its picture."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from prompt_samples import BIOLOGICAL, BY_HAND, FLUID, embed, random_list, without_model

from vmmetrics.errors import SetupError
from vmmetrics.prompts.files import read_metadata, write_entries
from vmmetrics.prompts.statistics import measures
from vmmetrics.prompts.statistics.measures import FIGURES, measure, take_apart
from vmmetrics.prompts.statistics.report import ListStatistics, describe, prepare
from vmmetrics.utils.text import embedding

needs_parser = pytest.mark.skipif(measures.parser_name() is None, reason="spaCy's model is not installed")


def described(entries: list, **settings: bool) -> ListStatistics:  # type: ignore[type-arg]
    options = {"parse": False, "embed": False, **settings}
    return describe(prepare(entries, "list", **options), read_metadata())


def test_counts_by_hand() -> None:
    found = described(BY_HAND)
    assert found.prompts == 4
    assert {pattern: number for pattern, number in found.patterns.items() if number} == {FLUID: 2, BIOLOGICAL: 2}
    assert found.tags["skeleton"] == {"none": 2, "animal": 2}
    assert found.tags["speed"] == {"moderate": 3, "fast": 1}
    assert found.tags["seconds"] == {"4": 3, "6": 1}
    expected = {"actions": 3, "subjects": 3, "places": 3, "deeds": 4, "classes": 3, "categories": 4, "openings": 0.5}
    assert {key: found.figures[key] for key in expected} == expected
    assert found.actions == "given"
    assert found.repeats == 0
    assert found.coverage["waterbird", BIOLOGICAL] == {"spear": 1, "land": 1}


def test_lengths_by_hand() -> None:
    lengths = described(BY_HAND).lengths
    assert lengths.counts == {2: 1, 7: 1, 9: 1, 15: 1}
    assert lengths.mean == 33 / 4
    assert lengths.quantiles == (2, 5.75, 8, 10.5, 15)
    assert lengths.within == 0.25


def test_repeats_are_told_whatever_their_spaces_and_case() -> None:
    twin = replace(BY_HAND[3], prompt=" honey  pours.")
    assert described([*BY_HAND, twin]).repeats == 2


def test_what_is_not_known_is_not_counted() -> None:
    found = described(random_list(30, 0))
    assert found.actions == "words"
    assert not {"classes", "categories", "skeletons", "distance", "pairs"} & found.figures.keys()
    assert found.patterns == {"": 30}
    assert found.tags == {}
    assert "lacks: pattern, subject class, base form of the action, tags" in found.notes[0]


def test_gaps_are_counted() -> None:
    found = described([*BY_HAND, replace(BY_HAND[0], pattern="", tags=None)])
    assert "1 entries have no pattern" in found.notes
    assert "1 entries have no tags" in found.notes


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(SetupError, match="list is empty"):
        prepare([], "nothing")


def test_missing_installations_are_said_with_their_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "parser_name", lambda: None)
    monkeypatch.setattr(embedding, "embedding_installed", lambda: False)
    found = described(BY_HAND, parse=True, embed=True)
    assert any('[prompts]"' in note for note in found.notes)
    assert any(embedding.INSTALL in note for note in found.notes)
    with pytest.raises(SetupError, match="need spaCy"):
        measures._parser.__wrapped__()


def test_neighbours_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    without_model(monkeypatch)
    entries = random_list(40, 1)
    found = described(entries, embed=True)
    vectors = embed([entry.prompt for entry in entries])
    cosines = vectors @ vectors.T - 2 * np.eye(40)
    assert found.figures["distance"] == pytest.approx(1 - cosines.max(axis=1).mean())
    assert found.figures["pairs"] == np.count_nonzero(np.triu(cosines, 1) > 0.9)
    assert sum(found.nearest.values()) == 40
    assert found.settings["embedding"]["model"] == "counts"


def test_long_lists_are_sampled_by_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    without_model(monkeypatch)
    monkeypatch.setattr(measures, "SAMPLE", 20)
    entries = random_list(50, 2)
    found, again, other = (
        describe(prepare(entries, "list", seed=seed, parse=False), None, seed=seed) for seed in (1, 1, 2)
    )
    assert found == again
    assert found.figures["distance"] != other.figures["distance"]
    assert found.sampled == sum(found.nearest.values()) == 20
    assert found.figures["self_bleu"] == measure(take_apart(entries))["self_bleu"]  # of all
    assert any("sample of 20 prompts (seed 1)" in note for note in found.notes)


@needs_parser
def test_skeletons_by_hand() -> None:
    twins = [
        replace(BY_HAND[0], prompt="A red fox jumps over a wall."),
        replace(BY_HAND[1], prompt="The old dog walks to the gate!"),
        BY_HAND[2],
    ]
    skeletons, _ = measures.parse_entries(twins)
    assert skeletons[0] == skeletons[1] == ("DET", "ADJ", "NOUN", "VERB", "ADP", "DET", "NOUN")
    found = described(twins, parse=True)
    assert found.figures["skeletons"] == pytest.approx(1 / 3)


@needs_parser
@pytest.mark.parametrize(
    ("action", "lemma"), [("sprints", "sprint"), ("skating", "skate"), ("flapping wings", "flap"), ("waddle", "waddle")]
)
def test_base_forms_where_the_list_has_none(action: str, lemma: str) -> None:
    entry = replace(BY_HAND[0], action=action, action_lemma="")
    assert measures.parse_entries([entry])[1] == [lemma]
    assert take_apart([entry], parse=True).source == "parsed"


@needs_parser
def test_the_lists_own_base_form_wins() -> None:
    assert measures.parse_entries([replace(BY_HAND[0], action="swims")])[1] == ["spear"]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from vmmetrics.cli.main import main

    without_model(monkeypatch)
    source = tmp_path / "four.json"
    write_entries(source, BY_HAND)
    said = {}
    for form, picture in (("text", tmp_path / "four.png"), ("json", tmp_path / "four.svg")):
        with pytest.raises(SystemExit) as stop:
            main(["prompts", "stats", str(source), "--picture", str(picture), "--format", form])
        assert stop.value.code == 0
        assert picture.stat().st_size > 10_000
        said[form] = capsys.readouterr().out
    assert (tmp_path / "four.png").read_bytes().startswith(b"\x89PNG")
    assert "biological motion" in (tmp_path / "four.svg").read_text()
    found = json.loads(said["json"])
    assert found["figures"]["actions"] == 3
    assert found["plausibility"]["judged"]["noun"] == 4
    shown = said["text"]
    assert "four: 4 prompts" in shown
    assert all(figure.title in shown for figure in FIGURES)


def test_a_picture_of_a_list_that_gives_nothing(tmp_path: Path) -> None:
    from vmmetrics.cli.main import main

    write_entries(tmp_path / "bare.json", [replace(e, subject_noun="", action="", place="") for e in random_list(5, 3)])
    with pytest.raises(SystemExit) as stop:
        main(["prompts", "stats", str(tmp_path / "bare.json"), "--no-embedding", "--no-parse",
              "--picture", str(tmp_path / "bare.svg")])  # fmt: skip
    assert stop.value.code == 0
    text = (tmp_path / "bare.svg").read_text()
    assert "the list has no tags" in text
    assert "the list gives neither classes nor subjects" in text


def test_names_that_no_picture_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from vmmetrics.cli.main import main

    write_entries(tmp_path / "four.json", BY_HAND)
    with pytest.raises(SystemExit) as stop:
        main(["prompts", "stats", str(tmp_path / "four.json"), "--picture", "four.gif"])
    assert stop.value.code == 2
    assert ".png or .svg" in capsys.readouterr().err
