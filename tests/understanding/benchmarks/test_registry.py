"""Benchmarks by name: those that are there, with what their data file says."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.understanding import benchmarks
from vmmetrics.understanding.benchmarks import registry
from vmmetrics.understanding.harness.benchmark import Reference

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
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A benchmark of our own, "made-mcq", whose module lies in a folder beside the package's."""
    name = f"made_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text("class B:\n    name = 'made-mcq'\nBENCHMARK = B()\n")
    monkeypatch.setattr(benchmarks, "__path__", [*benchmarks.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "MODULES", {"made-mcq": name, "absent": "no_such_module"})
    monkeypatch.setattr(registry, "files", lambda package: tmp_path)
    yield tmp_path / name
    sys.modules.pop(f"vmmetrics.understanding.benchmarks.{name}", None)


def test_only_benchmarks_whose_module_is_there_are_listed(made: Path) -> None:
    assert registry.names() == ("made-mcq",)
    assert registry.find("made-mcq").name == "made-mcq"
    with pytest.raises(SetupError, match="'absent'; there are made-mcq"):
        registry.find("absent")


def test_every_listed_benchmark_has_the_name_it_is_listed_under() -> None:
    for name in registry.names():
        found = registry.find(name)
        assert found.name == name
        assert registry.policy(found)
        for row in registry.references(found):
            assert row.model
            assert all(len(key) == 3 for key in row.figures)


def test_the_data_file_is_read_its_own_or_the_shared_one(made: Path) -> None:
    benchmark = registry.find("made-mcq")
    assert registry.references(benchmark) == []
    assert registry.policy(benchmark) == registry.POLICY
    made.with_suffix(".toml").write_text(TOML)
    assert registry.policy(benchmark) == "1 fps"
    made.with_suffix(".toml").rename(made.with_name("made.toml"))
    (row,) = registry.references(benchmark)
    assert row == Reference("Somebody", "table 1", {("accuracy", "all", "all"): 0.5, ("accuracy", "task", "AO"): 0.25})


def test_what_a_benchmark_says_itself_comes_first(made: Path) -> None:
    made.with_suffix(".toml").write_text(TOML)
    own = SimpleNamespace(name="made-mcq", policy="8 uniform", references=())
    assert registry.policy(own) == "8 uniform"
    assert registry.references(own) == ()
