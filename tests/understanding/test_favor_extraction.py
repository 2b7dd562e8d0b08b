"""Our first step, on sentences of ours whose structure is plain."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.understanding.favor.extraction import extract
from vmmetrics.understanding.favor.structure import Structure, read_structure

CASES = [
    ("A man in a red shirt opens the door, walks in and sits down.",
     {"man in a red shirt": ["opens the door", "walks in", "sits down"]}, []),
    ("The camera pans left, then zooms in. A dog runs to the ball and picks it up.",
     {"dog": ["runs to the ball", "picks it up"]}, ["pans left", "zooms in"]),
    ("Two men walk toward each other and shake hands while a dog runs past them.",
     {"Two men": ["walk toward each other", "shake hands"], "dog": ["runs past them"]}, []),
    ("The video begins with a woman standing by a table. She picks up a cup and drinks.",
     {"woman": ["standing by a table", "picks up a cup", "drinks"]}, []),
    ("A man and a woman dance. The woman spins around. The man claps his hands.",
     {"man": ["dance", "claps his hands"], "woman": ["dance", "spins around"]}, []),
    ("A man in a blue coat waves. A man in a green coat bows. The man in blue leaves, the green-coated man follows.",
     {"man in a blue coat": ["waves", "leaves"], "man in a green coat": ["bows", "follows"]}, []),
    ("A boy throws the ball to a girl, who catches it and throws it back.",
     {"boy": ["throws the ball to a girl"], "girl": ["catches it", "throws it back"]}, []),
    ("The red circle moves from left to right and bounces off the wall.",
     {"red circle": ["moves from left to right", "bounces off the wall"]}, []),
    ("He opens the door after knocking twice.", {"man": ["knocking twice", "opens the door"]}, []),
    ("The camera follows the skateboarder as he lands on the board and rides away. The background is blurry.",
     {"skateboarder": ["lands on the board", "rides away"]}, ["follows the skateboarder"]),
    ("Camera shakes. The car turns left and accelerates.", {"car": ["turns left", "accelerates"]}, ["shakes"]),
    ("She takes plates, cups and glasses from the shelf.",
     {"woman": ["takes plates and cups and glasses from the shelf"]}, []),
    ("The woman's hands knead the dough.", {"woman": ["hands knead the dough"]}, []),
    ("There is a cat on the bed. It is wearing a bell.", {}, []),
    ("A lady wearing a long skirt hugs the boy. Another lady claps.",
     {"lady wearing a long skirt": ["hugs the boy"], "lady": ["claps"]}, []),
    ("", {}, []),
]  # fmt: skip
WORDS = [
    "the", "a", "man", "woman", "his", "he", "they", "camera", "pans", "left", "and", "then", "while", ",", ".",
    "who", "is", "are", "to", "hands", "hand's", "walks", "walking", "with", "red", "shirt", "picks", "up",
    "cup", "another", "two", "dog",
]  # fmt: skip


@pytest.mark.parametrize(("text", "subjects", "camera"), CASES)
def test_what_is_done_by_whom(text: str, subjects: dict[str, list[str]], camera: list[str]) -> None:
    found = extract(text)
    assert {subject.description: list(subject.actions) for subject in found.subjects.values()} == subjects
    assert list(found.camera) == camera
    by_subject = [(a, n) for n, s in found.subjects.items() for a in s.actions]
    assert sorted(by_subject) == sorted(found.chronology)


def test_order_is_that_of_the_text() -> None:
    found = extract("A man sings while a woman dances. Then the man bows and she leaves.")
    assert found.chronology == (("sings", 1), ("dances", 2), ("bows", 1), ("leaves", 2))


def test_sentences_that_the_released_code_gets_wrong() -> None:
    assert extract("Camera shakes.").camera == ("shakes",)
    assert extract("The video begins with a man.").camera == ()
    hugged = extract("The man hugs the woman and leaves.")
    assert {s.description: s.actions for s in hugged.subjects.values()} == {"man": ("hugs the woman", "leaves")}


def test_nothing_said_of_motion_is_nothing() -> None:
    assert extract("The room is bright. It has white walls.") == Structure()


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab ,.-'’\n()[]:0é", max_size=60) | st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join))
def test_any_text_is_read_twice_alike(text: str) -> None:
    found = extract(text)
    assert found == extract(text)
    for action, number in found.chronology:
        assert action in found.subjects[number].actions
    assert read_structure(found.to_released()) == found


def test_time_is_linear() -> None:
    rng = random.Random(0)

    def seconds(count: int) -> float:
        text = " ".join(rng.choice(WORDS) for _ in range(count))
        best = float("inf")
        for _ in range(3):
            began = time.process_time()
            extract(text)
            best = min(best, time.process_time() - began)
        return best

    assert seconds(16_000) < 80 * seconds(1_000)  # 16 times as much text; 256 times the time were it quadratic
