"""Benchmarks by name: those that are shipped, those of plugins, and what their data says."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest
import tiny_benchmark

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Answered
from vmmetrics.understanding import benchmarks, register, registry
from vmmetrics.understanding.harness.benchmark import POLICY, Reference

TOML = """
policy = "1 fps"
[[references]]
model = "Somebody"
source = "table 1"
[references.figures.accuracy]
all = { all = 0.5 }
task = { AO = 0.25 }
"""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark "made-mcq" whose module lies in a folder beside the package's."""
    (tmp_path / "made_mcq.py").write_text("class B:\n    name = 'made-mcq'\nBENCHMARK = B()\n")
    monkeypatch.setattr(benchmarks, "__path__", [*benchmarks.__path__, str(tmp_path)])
    yield
    sys.modules.pop("vmmetrics.understanding.benchmarks.made_mcq", None)


def test_a_module_among_the_benchmarks_is_one(made: None) -> None:
    assert "made-mcq" in registry.names()
    assert registry.find("made-mcq").name == "made-mcq"
    with pytest.raises(SetupError, match="'absent'; there are custom, favor-caption"):
        registry.find("absent")


def test_helpers_of_benchmarks_are_none() -> None:
    assert registry.names() == (
        "custom", "favor-caption", "favor-mcq", "fpsbench", "fpsbench-certificate", "fpsbench-slowed", "motionbench",
        "prompt-questions", "synthetic", "tuna-cap", "tuna-mcq",
    )  # fmt: skip


def test_a_benchmark_of_ones_own_is_registered_under_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", {})
    register(tiny_benchmark.BENCHMARK)
    assert registry.names()[-1] == "tiny"
    assert registry.find("tiny") is tiny_benchmark.BENCHMARK
    again = tiny_benchmark.Tiny()
    register(again)
    assert registry.find("tiny") is again
    for name in ("motionbench", "", "../tiny"):
        monkeypatch.setattr(again, "name", name)
        with pytest.raises(SetupError, match="registered"):
            register(again)


def test_every_listed_benchmark_has_the_name_it_is_listed_under() -> None:
    for name in registry.names():
        found = registry.find(name)
        assert found.name == name
        assert found.policy
        for row in found.references:
            assert row.model
            assert all(len(key) == 3 for key in row.figures)


def test_policy_and_published_rows_come_from_the_data() -> None:
    class Made(tiny_benchmark.Tiny):
        data: dict = {}  # noqa: RUF012
        references = tiny_benchmark.Benchmark.references

    assert Made().references == []
    assert Made().policy == POLICY
    Made.data = tomllib.loads(TOML)
    assert Made().policy == "1 fps"
    (row,) = Made().references
    assert row == Reference("Somebody", "table 1", {("accuracy", "all", "all"): 0.5, ("accuracy", "task", "AO"): 0.25})
    assert tiny_benchmark.BENCHMARK.references[0].model == "Somebody"


def test_the_example_in_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[3] / "docs" / "understanding.md").read_text("utf-8")
    code = text.split("## A benchmark of your own")[1].split("```python\n")[1].split("```")[0]
    monkeypatch.setattr(registry, "_REGISTERED", {})
    exec(code, {})  # noqa: S102 - ours
    row = {"video": "a.mp4", "question": "Which way?", "options": ["in", "out"], "answer": 1, "task": "way"}
    (tmp_path / "doors.jsonl").write_text(json.dumps(row) + "\n")
    doors = registry.find("doors")
    assert doors.policy == "8 uniform"
    (question,) = doors.load(tmp_path).questions
    (turn,) = doors.turns(question, "vmmetrics")
    assert turn.text == "Watch the door.\n\nWhich way?\nA. in\nB. out\nAnswer with the letter alone."
    scored = doors.score([question], {"0": Answered("0", "B")}, "vmmetrics")
    assert scored[0].value == 1.0
    assert [figure.name for figure in doors.figures([question], scored, "vmmetrics")] == ["all", "all", "way"]
