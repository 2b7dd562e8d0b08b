"""The data card says of the shipped prompts what is in the files, counted anew."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.prompts.entry import PATTERNS

PROMPTS = Path(__file__).parents[2] / "prompts"
CARD = (PROMPTS / "README.md").read_text("utf-8")


def entries(name: str) -> list[dict[str, Any]]:
    text = (PROMPTS / name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)


LIBRARY = entries("library.json")
ROWS = {
    cells[0]: cells[1:] for line in CARD.splitlines() if len(cells := [c.strip() for c in line.split("|")[1:-1]]) > 1
}


def number(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.parametrize("pattern", [*PATTERNS, "all"])
def test_lengths_by_pattern(pattern: str) -> None:
    line = next(line for line in CARD.splitlines() if re.match(rf"\| {pattern} \| [\d,]+ \|", line))
    needed = [e["tags"]["seconds"] for e in LIBRARY if pattern in ("all", e["pattern"])]
    counts = [len(needed), *(sum(low < s <= high for s in needed) for low, high in ((0, 3), (3, 5), (5, 8), (8, 60)))]
    assert [number(cell) for cell in line.split("|")[2:-1]] == counts


@pytest.mark.parametrize(
    "tag",
    ["subjects", "interaction", "skeleton", "people", "region", "camera", "speed", "amplitude", "law", "failure"],
)
def test_the_most_frequent_values_of_a_tag(tag: str) -> None:
    counts = Counter(entry["tags"][tag] for entry in LIBRARY)
    shown = re.findall(r"([a-z ]+) ([\d,]+)(?:, |$)", ROWS[f"`{tag}`"][1])
    assert [(name.strip(), number(count)) for name, count in shown] == counts.most_common(6)


def test_sizes() -> None:
    pairs, questions, retired = entries("pairs.json"), entries("questions.jsonl"), entries("retired.json")
    assert f"`library.json` holds {len(LIBRARY):,} prompts" in CARD
    assert f"{len(pairs) // 2} minimal pairs" in CARD
    assert f"{len(questions):,} on the {len({q['prompt'] for q in questions})} prompts of the core" in CARD
    assert f"{len(retired)} prompts of version 1 were rewritten or merged" in CARD
    people = Counter(entry["tags"]["people"] for entry in LIBRARY)
    assert f"{people['two']} prompts show two people who act on one another, {people['hands']} hands at work" in CARD
    words = [len(entry["prompt"].split()) for entry in LIBRARY]
    assert f"{min(words)} to {max(words)} words a prompt" in CARD
    contrasts = Counter(entry["tags"]["contrast"] for entry in pairs if entry["index"] < entry["twin"])
    assert all(f"{name} {count}" in CARD for name, count in contrasts.items())


def test_people_are_asked_without_the_answers() -> None:
    with (PROMPTS / "to-label.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    texts = {entry["index"]: entry["prompt"] for entry in LIBRARY}
    assert len(rows) == 30
    assert all(row["prompt"] == texts[row["index"]] for row in rows)
    assert not any(row[name] for row in rows for name in ("pattern", "second_pattern", "seconds"))
