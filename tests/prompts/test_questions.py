"""What the words of questions give away, measured on made questions whose leaks are known, and on the shipped ones."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from text_guessers import first_noun, guessed_right, yes_by_kind

from vmmetrics.utils.weights.manifest import shipped_list
from vmmetrics.video.prompt_lists import PromptList, read_list
from vmmetrics.video.prompt_questions import KINDS, PromptQuestion, read_questions, shipped_questions

OF_A_PROMPT = tuple(kind for kind in KINDS if kind != "contrast")  # that of a pair is asked alone
MOST = 0.6
"""Balanced share of right guesses above which the shipped questions would give their answers away."""


def made(leak: str) -> list[PromptQuestion]:
    """Questions of 200 prompts, answers drawn; a leak ties the answer to the length or the first noun."""
    drawn = np.random.default_rng(5)
    questions = []
    for prompt in range(200):
        for kind in OF_A_PROMPT:
            answer = "no" if kind == "foil" else ("yes", "no")[drawn.random() < 0.375]
            noun = f"thing{drawn.integers(20)}"
            words = "far " * int(drawn.integers(1, 9))
            if leak == "length":
                words = "far " * (2 if answer == "no" else 6)
            if leak == "first noun":
                noun = f"thing{2 * drawn.integers(10) + (answer == 'yes')}"
            questions.append(PromptQuestion(f"{prompt:04d}", kind, f"Does the {noun} go {words}away {prompt}?", answer))
    return questions


@pytest.mark.parametrize("leak", ["nothing", "length", "first noun"])
def test_a_guesser_finds_its_leak_and_no_other(leak: str) -> None:
    questions = made(leak)
    shares = guessed_right(questions)
    for name, of_guesser in shares.items():
        assert set(of_guesser) == {*OF_A_PROMPT, "all", "balanced"}
        expected = 1.0 if name == leak else 0.5
        assert of_guesser["balanced"] == pytest.approx(expected, abs=0.06), name
    yes = sum(question.answer == "yes" for question in questions) / len(questions)
    assert shares["always yes"]["all"] == pytest.approx(yes)
    assert shares["always yes"]["foil"] == 0 == yes_by_kind(questions)["foil"]
    assert yes_by_kind(questions)["step"] == shares["always yes"]["step"]


@pytest.mark.parametrize(
    ("question", "noun"),
    [
        ("Is the horse over the fence?", "horse"), ("At the end, is there a full glass?", "full"),
        ("Does a red ball fall?", "red"), ("Milk?", "milk"),
    ],
)  # fmt: skip
def test_the_first_noun_is_the_first_word_behind_the_opening(question: str, noun: str) -> None:
    assert first_noun(question) == noun


@pytest.mark.skipif(not shipped_questions().is_file(), reason="no questions are shipped")
def test_the_words_of_the_shipped_questions_give_nothing_away() -> None:
    listed = PromptList(read_list(shipped_list("library")))
    questions = [question for of_it in read_questions(shipped_questions(), listed).values() for question in of_it]
    shares = guessed_right(questions)
    assert {name: share["balanced"] for name, share in shares.items() if share["balanced"] > MOST} == {}
