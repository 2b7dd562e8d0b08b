"""The cards of our scores in the documentation: the table says what the files say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from benchmarks.audit_cards import SIGNS, page

DOCS = Path(__file__).parents[2] / "docs"
CARDS = [json.loads((DOCS / "cards" / f"{name}.json").read_text("utf-8")) for name in ("ours", "baselines")]


def test_the_page_is_made_of_the_cards() -> None:
    assert (DOCS / "cards.md").read_text("utf-8") == "\n".join(page(CARDS)) + "\n"


def test_the_page_has_each_score_and_each_failed_line() -> None:
    text = (DOCS / "cards.md").read_text("utf-8")
    scores = [score for card in CARDS for score in card["scores"]]
    assert len(scores) == 15
    lines = ((score["name"], line) for score in scores for line in score["lines"])
    failed = {(name, line["part"], line["check"]) for name, line in lines if line["grade"] == "bad"}
    assert Counter(text)[SIGNS["bad"]] == len(failed) + 1 + text.count("**✗**")


def test_the_cards_name_no_folder_of_the_machine_that_made_them() -> None:
    text = "".join((DOCS / "cards" / f"{name}.json").read_text("utf-8") for name in ("ours", "baselines"))
    assert "/work/" not in text
    assert "/tmp/" not in text  # noqa: S108
