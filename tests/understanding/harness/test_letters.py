from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmmetrics.models.questions import LETTERS
from vmmetrics.understanding.harness.choices import chosen_option

OPTIONS = ["walks", "walks left", "Walks left, then sits", "runs", " sits down."]

CHOSEN = {
    "A": 0, "a": 0, "A.": 0, "B": 1, "(B": 1, "b)": 1, "(c) x": 2, "**D**": 3, "**(B)**": 1, "E": 4,
    "B\nbecause of the end": 1, "B because he": 1, "C The man": 2, "B - runs": 1, "B, because": 1, "B; it": 1,
    "C. Walks left, then sits": 2, "D. runs. A. no": 3, "A is right": 0,
    "The answer is (E).": 4, "The answer is A.": 0, "The answer: A": 0, "Answer: A because he runs": 0, "Answer:B": 1,
    "**Answer:** C": 2, "ANSWER: D": 3, "The best answer is: (B) runs": 1, "Option (B)": 1, "Choice E": 4,
    "The correct option is C: it ends so": 2, "I would choose D.": 3, "B is correct": 1, "(C) is the right one": 2,
    '{"answer": "B"}': 1, '```json\n{"answer": "D", "why": "A"}\n```': 3, "<answer>C</answer>": 2,
    r"final answer: \boxed{D}": 3, r"\boxed{\text{C}}": 2,
    "<think>A or B</think>C": 2, "so A, or ...</think>\nB": 1,
    "A. walks\nB. runs\nThe answer is B": 1, "Option A is wrong. Option B is right. The answer is B": 1,
    "Option A seems right": 0, "I believe option C (the man sits)": 2, "Option A is wrong. Option B is right.": 1,
    "(B) is the answer": 1, "The answer is not clear, but option D fits best": 3, "Final Answer: **B. walks left**": 1,
    "My answer would be option B": 1, 'The right choice is "C".': 2, "C (three times)": 2, "I would choose D over B": 3,
    "D. it runs\n\nWhy not the others:\nA. no\nB. no": 3, "C, a man walks": 2, "(B), A man walks": 1,
    "Based on the frames, D": 3, "I would go with B.": 1, "It must be (C)": 2, "the answer is b": 1, "Answer: d.": 3,
    "<answer>c</answer>": 2, "Vitamins? I say **A**": 0, "A is incorrect. B is correct.": 1,
    "<|begin_of_box|>B<|end_of_box|>": 1, "I don't think the answer is B. The answer is C.": 2,
    "walks": 0, "Sits down": 4, "I think he walks left": 1, "A man runs": 3,
}  # fmt: skip

UNREAD = [
    "", "F", "Z.", "I cannot tell", "A man", "The answer is A man", "Answer: A's", "None of the above",
    "maybe (A) or (B)", "A, B and C", "A and C", "A or B", "Both A and B", "Answer: A or B", "walks left and runs",
    "A. walks\nB. walks left\nC. x\nD. runs", "<think>The answer is A", "I'm not sure. The answer is not B",
    "It must be E, not A", "Option B is better than option A", "between option A and option C", "Both C and D",
    "b, c", "(A), (B)", "not B", "the answer is a man", "the answer is big", "It is plan B's turn",
    "Neither A nor B", "B is not correct", "A isn't right", "(A) is wrong", "Option A is wrong",
    "The answer isn't A.", "I don't think the answer is B",
    "(A) walks (B) walks left (C) x", "A. walks B. walks left C. Walks left, then sits",
]  # fmt: skip


@pytest.mark.parametrize(("output", "index"), CHOSEN.items())
def test_chosen(output: str, index: int) -> None:
    assert chosen_option(output, OPTIONS) == index


@pytest.mark.parametrize("output", UNREAD)
def test_unread(output: str) -> None:
    assert chosen_option(output, OPTIONS) is None


def test_letters_beyond_the_options_do_not_count() -> None:
    assert chosen_option("C", ["x", "y"]) is None
    assert chosen_option("The answer is C, no, option B", ["x", "y"]) == 1


def test_equal_options_are_told_apart_by_letter_only() -> None:
    assert chosen_option("falls", ["falls", "falls"]) is None
    assert chosen_option("B. falls", ["falls", "falls"]) == 1
    assert chosen_option("A", ["B", "A"]) == 0  # options that are letters


@given(st.integers(0, 4), st.sampled_from(["{}", "({})", "{}.", "The answer is {}.", "**{}**", "Option {}", "{}\nSo."]))
def test_a_letter_said_clearly_is_read(index: int, form: str) -> None:
    assert chosen_option(form.format(LETTERS[index]), OPTIONS) == index


@given(st.text(max_size=200), st.integers(2, 5))
def test_anything_may_be_said(output: str, count: int) -> None:
    found = chosen_option(output, OPTIONS[:count])
    assert found is None or 0 <= found < count


@pytest.mark.parametrize("piece", [" ", "answer ", "(", "*", "<think>", "</think>", "A ", "A\n", "answer:::", "is B"])
def test_long_answers_are_read(piece: str) -> None:
    """Patterns that go back and forth would never come to an end here."""
    found = chosen_option("answer" + piece * (200_000 // len(piece)) + "x", OPTIONS)
    assert found is None or 0 <= found < len(OPTIONS)
