"""The seal of fetv-dev: which prompts are open was decided by a hash, once, and every look at the others is logged."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import pytest

from benchmarks import seal

RATED = Path(__file__).parents[1] / "data" / "fetv-dev" / "ratings.csv"


def prompt_ids() -> list[str]:
    with RATED.open(newline="", encoding="utf-8") as file:
        return [row["prompt_id"] for row in csv.DictReader(file)]


def test_the_halves_are_those_of_the_hash():
    opened, sealed = seal.halves(prompt_ids())
    assert (len(opened), len(sealed)) == (9, 8)
    assert set(opened) | set(sealed) == set(prompt_ids())

    def place(prompt: str) -> str:
        return hashlib.sha256(f"vmmetrics, human alignment, first seal:{prompt}".encode()).hexdigest()

    assert max(map(place, opened)) < min(map(place, sealed))


def test_a_look_is_a_line_of_json_without_nan(tmp_path, monkeypatch):
    monkeypatch.setattr(seal, "LOG", tmp_path / "log.jsonl")
    seal.log("to see", "abc", {"cas": {"pooled": float("nan")}})
    (line,) = (tmp_path / "log.jsonl").read_text().splitlines()
    assert json.loads(line, parse_constant=pytest.fail)["figures"] == {"cas": {"pooled": None}}


def test_the_log_is_whole():
    lines = [json.loads(line, parse_constant=pytest.fail) for line in seal.LOG.read_text().splitlines()]
    assert all({"time", "why", "code", "figures"} <= line.keys() for line in lines)
    assert lines == sorted(lines, key=lambda line: line["time"])
