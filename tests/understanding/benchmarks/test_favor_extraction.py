"""Our first step, on sentences of ours whose structure is plain."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vmmetrics.understanding.benchmarks.favor.extraction import extract
from vmmetrics.understanding.benchmarks.favor.scores import Structure, read_structure

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
    # as video models write
    ("**Camera Motion:**\n- The camera pans up and to the left.\n\n### Actions\n1. **Player in white:** runs, jumps.\n"
     "2. **0:02-0:04** - *He* lands.", {"Player in white": ["runs", "jumps", "lands"]}, ["pans up and to the left"]),
    ("0s-3s: A boy's sister crawls in (0:02) and her dog barks. Camera: static.",
     {"boy's sister": ["crawls in"], "dog": ["barks"]}, ["Camera static"]),
    ("It seems that the man, who is bald, appears to be speaking. He can be seen waving.",
     {"man": ["speaking", "waving"]}, []),
    ("A chef dressed in white entered, put on his gloves, and opened the oven. A waiter came in. The chef left.",
     {"chef dressed in white": ["entered", "put on his gloves", "opened the oven", "left"], "waiter": ["came in"]}, []),
    ("A man dressed in white stands there.", {"man dressed in white": ["stands there"]}, []),
    ("The woman on the left sings. The woman on the right bows.",
     {"woman on the left": ["sings"], "woman on the right": ["bows"]}, []),
    ("Subject 1 (a man in black) sits. Subject 2 waves. Subject 1 stands up.",
     {"Subject 1 a man in black": ["sits", "stands up"], "Subject 2": ["waves"]}, []),
    ("A hand waves. A second person sits. The first person claps.",
     {"person": ["hand waves", "claps"], "second person": ["sits"]}, []),
    ("The camera wearer opens a door.", {"camera wearer": ["opens a door"]}, []),
    ("A slow tracking shot of two dogs running, with an upward camera movement.",
     {"two dogs": ["running"]}, ["slow tracking shot", "upward camera movement"]),
    ("The footage is shot with a handheld camera, which shakes. It emphasizes a jump. There is a slight zoom out.",
     {}, ["is shot with a handheld camera", "shakes", "slight zoom out"]),
    ("The camera remains still and does not move. It captures the room.", {}, ["remains still"]),
    ("I'm sorry, but I can't view the video. If you describe it, I can help.", {}, []),
]  # fmt: skip
PIECES = [
    "the", "a", "man", "woman", "his", "he", "they", "camera", "pans", "left", "and", "then", "while", ",", ".",
    "who", "is", "are", "to", "hands", "hand's", "walks", "walking", "with", "red", "shirt", "picks", "up",
    "cup", "another", "two", "dog", "subject", "Subject 1", "Character 2:", "character", "shot", "of", "static",
    "movement", "zoom", "no", "it looks like", "seems to", "opened", "video shows", "there is", "\n", "- ", "**", "1. ",
    "0:02", "3s", "(", ")", "[", "]", ":", "-", "_", "’s",
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


@settings(max_examples=200)
@example("man camera his")
@given(
    st.text(alphabet="ab ,.-'’\n()[]:0é", max_size=60) | st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join)
)
def test_any_text_is_read_twice_alike(text: str) -> None:
    found = extract(text)
    assert found == extract(text)
    for action, number in found.chronology:
        assert action in found.subjects[number].actions
    assert read_structure(found.to_released()) == found


@pytest.mark.parametrize("piece", [None, "a man runs. ", "a man, ", "shot ", "the man's ", "0:02 "])
def test_work_is_linear(piece: str | None) -> None:
    rng = random.Random(0)

    def calls(count: int) -> int:
        text = (piece or " ".join(rng.choice(PIECES) for _ in range(200))) * count
        made = 0

        def count_call(*_: object) -> None:
            nonlocal made
            made += 1

        before = sys.getprofile()
        sys.setprofile(count_call)
        try:
            extract(text)
        finally:
            sys.setprofile(before)
        return made

    size = 40 if piece else 1
    assert calls(8 * size) < 16 * calls(size)  # 8 times as much text; 64 times the work were it quadratic
