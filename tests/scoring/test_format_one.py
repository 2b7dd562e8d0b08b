"""A run that vmmetrics 0.1.0 wrote is opened, gone on with, read and merged."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.metrics import registry
from vmmetrics.scoring import session
from vmmetrics.scoring.api import score
from vmmetrics.scoring.engine import InProcess
from vmmetrics.scoring.leaderboard import make_boards
from vmmetrics.scoring.merge import merge
from vmmetrics.scoring.records import read_events, read_records
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.provenance import decisive_versions

pytestmark = pytest.mark.usefixtures("fake_suite")
OLD = Path(__file__).parents[1] / "data" / "format-1"
NAMES = ["a.npy", "b.npy", "noone.npy"]


@pytest.fixture(autouse=True)
def versions_of_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of format 1 are of version 1; what is tested here is that they are not made again."""
    for key in registry.METRICS:
        monkeypatch.setitem(registry._registry, key, replace(registry._registry[key], version=1))


@pytest.fixture
def old(make_clips: Any, tmp_path: Path) -> Path:
    """The run of format 1, as if it had been made here, an hour ago."""
    clips, run = make_clips("a", "b", "noone"), tmp_path / "run"
    (clips / "b.txt").write_text("two dogs run")
    for clip in clips.iterdir():
        os.utime(clip, ns=(10**18, 10**18))
    shutil.copytree(OLD, run)
    for file in run.iterdir():
        file.write_text(file.read_text().replace("/folder", str(tmp_path)))
    header = json.loads((run / "run.json").read_text())
    recorded = header["configuration"]["versions"]["vmmetrics"]
    header["configuration"]["versions"] = decisive_versions() | {"vmmetrics": recorded}  # PyAV and so on: as here
    (run / "run.json").write_text(json.dumps(header))
    return run


@pytest.fixture(autouse=True)
def release(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of this checkout: that of another release unless a test says so."""
    known, number = provenance.version_of, getattr(request, "param", "0.2.0")
    monkeypatch.setattr(provenance, "version_of", lambda name: number if name == "vmmetrics" else known(name))


@pytest.fixture(autouse=True)
def first_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scores mean what they did then."""
    monkeypatch.setattr(session, "version_of", lambda _metric: 1)


def test_it_is_gone_on_with_and_hashed_once_more(old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (old / "scores.jsonl").read_bytes()
    hashed: list[str] = []
    identify = session.identify
    monkeypatch.setattr(session, "identify", lambda task: (hashed.append(task.clip), identify(task))[1])
    monkeypatch.setattr(InProcess, "submit", lambda *_: pytest.fail("a settled clip was scored"))
    told: list[str] = []
    listener = SimpleNamespace(begin=lambda *_: None, advance=lambda _: None, wait=lambda *_: None, warn=told.extend)
    for _ in range(2):
        table = score(tmp_path / "clips", out=old, listener=listener)
        assert [record.clip for record in table] == NAMES
    assert [line.partition(" (now)")[0].partition("+")[0] for line in told] == [
        "the run is resumed with other versions: versions.vmmetrics: 0.2.0"
    ]
    assert hashed == NAMES  # by the first of the two starts
    assert (old / "scores.jsonl").read_bytes() == lines
    score(tmp_path / "clips", out=old)
    assert hashed == NAMES
    assert json.loads((old / "run.json").read_text())["format"] == 2


@pytest.mark.parametrize("release", ["0.1.0"], indirect=True)
def test_other_code_of_the_same_release_is_refused(old: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"versions.vmmetrics: 0\.1\.0\+.* \(now\), 0\.1\.0\+61bf6a6b \(the run\)"):
        score(tmp_path / "clips", out=old)


def test_another_release_with_other_models_or_libraries_is_refused(old: Path, tmp_path: Path) -> None:
    header = json.loads((old / "run.json").read_text())
    header["configuration"]["versions"]["av"] = "1.0"
    (old / "run.json").write_text(json.dumps(header))
    with pytest.raises(SetupError) as refused:
        score(tmp_path / "clips", out=old)
    assert "versions.av" in str(refused.value) and "vmmetrics" not in str(refused.value)


def test_it_is_read_and_merged_as_it_is(old: Path, tmp_path: Path) -> None:
    before = {file.name: file.read_bytes() for file in old.iterdir()}
    records = read_records(old)
    assert [record.clip for record in records] == NAMES
    assert read_events(old, records[0])["mss"]["events"][0]["reason"] == "made up"
    assert make_boards([str(old)])[0].rows[0].clips == 3
    merged = merge([old], tmp_path / "merged")
    assert [record.scores for record in merged.table] == [record.scores for record in records]
    assert json.loads((tmp_path / "merged" / "run.json").read_text())["format"] == 2
    assert {file.name: file.read_bytes() for file in old.iterdir()} == before  # readers change nothing
