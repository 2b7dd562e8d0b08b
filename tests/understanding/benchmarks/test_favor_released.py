"""The released second step: equal to what its own code gave, on inputs of ours."""

from __future__ import annotations

import json
import pickle
import re
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.understanding.benchmarks.favor.released_similarity import PlainWords, ReleasedSimilarity
from vmmetrics.understanding.benchmarks.favor.upstream import (
    FILE,
    NAMES,
    WEIGHTS,
    parse_camera,
    parse_chronology,
    parse_subjects,
    read_verbs,
    released_scores,
)

ORACLE = json.loads(Path(__file__).with_name("favor_oracle.json").read_text("utf-8"))


class StandIn:
    """What NLTK was replaced with when the released code was run."""

    name = "stand-in"
    stop_words: Collection[str] = ("the", "a", "to", "on", "in")

    def tokens(self, text: str) -> list[str]:
        return re.findall(r"\w+|[^\w\s]", text)

    def tags(self, tokens: Sequence[str]) -> list[str]:
        return ["VBZ" if t.endswith("s") and len(t) > 4 else "NN" if t.isalpha() else "." for t in tokens]

    def lemma(self, verb: str) -> str:
        if verb.endswith(("ches", "shes")):
            return verb[:-2]
        return verb[:-1] if verb.endswith("s") and len(verb) > 3 else verb

    def share_sense(self, verb: str, other: str) -> bool:
        return verb == other


def trigrams(texts: Sequence[str]) -> NDArray[np.float32]:
    vectors = np.zeros((len(texts), 64), np.float32)
    for row, text in zip(vectors, texts, strict=True):
        padded = f" {text.strip().lower()} "
        for start in range(len(padded) - 2):
            row[zlib.crc32(padded[start : start + 3].encode()) % 64] += 1
    return vectors


@pytest.mark.parametrize("kind", ["words", "trigrams"])
def test_equal_to_the_released_code(kind: str) -> None:
    similarity = ReleasedSimilarity(StandIn(), ORACLE["verbs"], trigrams if kind == "trigrams" else None)
    inputs = ORACLE["inputs"]
    for wanted, said, *values in ORACLE[kind]:
        scores = released_scores(similarity, inputs[wanted], inputs[said])
        assert [scores[name] for name in (*NAMES, "composite")] == pytest.approx(values, abs=1e-6), (wanted, said)


def test_known_flaws_are_there() -> None:
    similarity = ReleasedSimilarity(PlainWords(), ["walk"], None)
    done = "Eats (Subject 1), Sings (Subject 1), Rests (Subject 1), Sits (Subject 1)"
    wanted = {
        "camera_motion": "Stationary",
        "motion_list": "Subject 1: Man [Eats, Sings, Rests, Sits]",
        "chronological_motion_list": done,
    }
    empty = released_scores(similarity, wanted, {"camera_motion": ""})
    assert empty["camera f1"] > 0.2  # nothing was said of the camera
    other = "Subject 1: Dog [barks, leaps, howls, digs]"
    said = {
        "motion_list": other,
        "chronological_motion_list": "barks (Subject 1), leaps (Subject 1), howls (Subject 1)",
    }
    assert released_scores(similarity, wanted, said)["subject order"] == 1.0  # nothing of it is so
    assert set(released_scores(similarity, wanted, {"motion_list": f"Subject {'1' * 5000}: Man [a]"}).values()) == {0.0}
    assert sum(WEIGHTS.values()) == pytest.approx(1.0)


def test_parsing_as_released() -> None:
    assert parse_subjects("Subject 1: Man [a, b.] Subject 2: Dog [c and d]") == {
        1: ("Man", ["a", "b"]), 2: ("Dog", ["c", "d"])}  # fmt: skip
    assert parse_subjects("Subject 1: Man [a] Subject 1: Man [b]") == {1: ("Man", ["b"])}
    assert parse_subjects("Subject1: Man [a]") == {1: ("Subject 1", ["a"])}
    assert parse_chronology("a (Subject 1), b (Subject 2)") == [("a", 1), (", b", 2)]
    assert parse_chronology("a (subject 1), b (nobody)") == [("a", 1)]
    assert parse_camera("") == ["Camera "]
    assert parse_camera("pans left then tilts up") == ["Camera pans left", "Camera tilts up"]
    assert parse_camera(None) == []


def test_dictionaries_hold_containers_and_strings_only(tmp_path: Path) -> None:
    lists = {"COMMON_VERBS": ["walk", "run"], "PHRASAL_VERBS": ["sit down"], "PLURAL_FORMS": {"man": "men"}}
    path = tmp_path / "below" / FILE
    path.parent.mkdir()
    path.write_bytes(pickle.dumps(lists | {"FORMS": {"be": ["is", "are"]}}))
    assert read_verbs(tmp_path) == {"walk", "run", "sit down"}
    path.write_bytes(pickle.dumps(lists | {"COMMON_VERBS": {"be": "is"}}))
    with pytest.raises(SetupError, match="lists of words"):
        read_verbs(tmp_path)


class Hostile:
    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (Path("pwned"),)


HOSTILE = [
    *(pickle.dumps(v) for v in ({"A": Hostile()}, {"A": [1]}, ["no mapping"], {"A": np.zeros(2)}, {1: ["a"]})),
    b"cpathlib\nPath.touch\n(S'pwned'\ntR.",
    b"\x80\x02]r\xff\xff\xff\x7f.",  # a place in the memo that takes up 32 GB
    b"\x80\x05\x96\x00\x00\x00\x00\x08\x00\x00\x00a.",  # bytes that are not there, as many
    b"\x80\x04\x8f()" + b"\x85" * 900_000 + b"\x90.",  # a set of a tuple in a tuple in ...: hashing it ends Python
    b"\x80\x02}X\x01\x00\x00\x00Aq\x00h\x00s",  # cut off
    b"\x80\x02" + b"]" * 2**20 + b".",
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_other_pickles_are_refused(tmp_path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / FILE
    path.write_bytes(data)
    with pytest.raises(SetupError, match=r"word lists|Larger than"):
        read_verbs(path)
    assert not (tmp_path / "pwned").exists()
    with pytest.raises(SetupError, match="Cannot read"):
        read_verbs(tmp_path / "nothing.pkl")
