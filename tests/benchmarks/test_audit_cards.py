"""The card of our scores in the documentation: the table says what the file says."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from benchmarks.audit_cards import SIGNS, page

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "cards.json").read_text("utf-8")
CARD = json.loads(TEXT)


def test_the_page_is_made_of_the_card() -> None:
    assert (DOCS / "cards.md").read_text("utf-8") == "\n".join(page(CARD)) + "\n"


def test_the_page_has_each_score_and_each_failed_line() -> None:
    text = (DOCS / "cards.md").read_text("utf-8")
    assert len(CARD["scores"]) == 15
    lines = ((score["name"], line) for score in CARD["scores"] for line in score["lines"])
    failed = {(name, line["part"], line["check"]) for name, line in lines if line["grade"] == "bad"}
    assert Counter(text)[SIGNS["bad"]] == len(failed) + 1 + text.count("**✗**")


def test_the_card_names_no_folder_of_the_machine_that_made_it() -> None:
    assert "/work/" not in TEXT
    assert "/tmp/" not in TEXT  # noqa: S108
