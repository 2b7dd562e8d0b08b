from __future__ import annotations

import io
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from vmmetrics.cli import weights
from vmmetrics.utils.weights import manifest
from vmmetrics.utils.weights.manifest import Published, PublishedFile, load_published

Captured = pytest.CaptureFixture[str]
BODY = b"weights" * 1000


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VMMETRICS_WEIGHTS", str(tmp_path / "weights"))
    monkeypatch.delenv("VMMETRICS_OFFLINE", raising=False)
    return tmp_path / "weights"


@pytest.fixture
def small(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two checkpoints, and a folder with copies of their files."""
    files = (PublishedFile("a.bin", len(BODY), sha256=sha256(BODY).hexdigest(), url="https://nowhere.invalid/a.bin"),)
    known = {
        "free": Published("free", ("small",), "a test", "Apache-2.0", files),
        "own": Published("own", ("small",), "a test", "CC-BY-NC-4.0", files, notice="Not for sale.", must_accept=True),
    }
    monkeypatch.setattr(manifest, "load_published", lambda: known)
    copies = home.parent / "copies"
    copies.mkdir()
    (copies / "a.bin").write_bytes(BODY)
    return copies


def test_the_list_has_every_checkpoint(vmmetrics: Any, home: Path, capsys: Captured) -> None:
    assert vmmetrics("weights", "list") == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in load_published())
    assert "CC-BY-NC-4.0" in shown
    assert str(home) in shown
    assert not home.exists()


def test_a_licence_is_said_once_and_asked_for(vmmetrics: Any, home: Path, small: Path, capsys: Captured) -> None:
    assert vmmetrics("weights", "fetch", "small", "--from-folder", small) == 2
    refused = capsys.readouterr().err
    assert refused.count("Not for sale.") == 1
    assert "--accept-licence" in refused
    assert not (home / "own" / "a.bin").exists()
    assert vmmetrics("weights", "fetch", "small", "--from-folder", small, "--accept-licence") == 0
    shown = capsys.readouterr()
    assert shown.err.count("Not for sale.") == 1
    assert str(home / "own" / "a.bin") in shown.out
    assert vmmetrics("weights", "fetch", "small") == 0
    assert "Not for sale." not in capsys.readouterr().err


@pytest.mark.parametrize("answer", [True, False])
def test_a_person_is_asked(small: Path, monkeypatch: pytest.MonkeyPatch, answer: bool) -> None:
    console = Console(force_terminal=True, file=io.StringIO())
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("typer.confirm", lambda question, err: answer)
    with weights._Bars(console) as bars:
        assert bars.listener(accept=False).agree(manifest.published("own")) is answer
    assert "Not for sale." in console.file.getvalue()


def test_verify_finds_the_damaged_one(vmmetrics: Any, home: Path, small: Path, capsys: Captured) -> None:
    vmmetrics("weights", "fetch", "small", "--from-folder", small, "--accept-licence")
    assert vmmetrics("weights", "verify") == 0
    (home / "own" / "a.bin").write_bytes(BODY[:-1] + b"?")
    assert vmmetrics("weights", "verify") == 1
    shown = capsys.readouterr().out
    assert "free: ok" in shown
    assert "vmmetrics weights fetch own" in shown


def test_path_of_folder_and_checkpoint(vmmetrics: Any, home: Path, small: Path, capsys: Captured) -> None:
    assert vmmetrics("weights", "path") == 0
    assert capsys.readouterr().out.strip() == str(home)
    assert vmmetrics("weights", "path", "free") == 2
    assert "vmmetrics weights fetch free" in capsys.readouterr().err
    vmmetrics("weights", "fetch", "free", "--from-folder", small)
    capsys.readouterr()
    assert vmmetrics("weights", "path", "free") == 0
    assert capsys.readouterr().out.strip() == str(home / "free" / "a.bin")


def test_offline_says_where_to_put_what(vmmetrics: Any, home: Path, small: Path, capsys: Captured) -> None:
    assert vmmetrics("weights", "fetch", "free", "--offline") == 2
    said = capsys.readouterr().err
    assert "https://nowhere.invalid/a.bin" in said
    assert f"into {home / 'free'}: a.bin" in said


def test_an_unknown_name(vmmetrics: Any, home: Path, capsys: Captured) -> None:
    assert vmmetrics("weights", "fetch", "vmbnech") == 2
    assert "did you mean vmbench" in capsys.readouterr().err


def test_the_doctor_names_what_the_preset_lacks(vmmetrics: Any, home: Path, capsys: Captured) -> None:
    assert vmmetrics("doctor") == 0
    shown = capsys.readouterr().out
    for entry in load_published().values():
        assert (f"vmmetrics weights fetch {entry.name}" in shown) == ("vmbench" in entry.sets)
