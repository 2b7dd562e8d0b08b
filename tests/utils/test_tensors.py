"""Files of torch.save: plain tensors come back, an old torch is not let near them."""

from __future__ import annotations

from pathlib import Path

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.utils.tensors import load_tensors, require_safe_torch

torch = pytest.importorskip("torch")


def old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.5.1")
    monkeypatch.setattr(torch, "load", lambda *_, **__: pytest.fail("the file was opened"))


@pytest.mark.parametrize("version", ["2.6.0", "2.10.1+cpu", "2.6.0a0+git1234", "3.0"])
def test_versions_that_are_safe(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    require_safe_torch()


@pytest.mark.parametrize("mapped", [False, True])
def test_tensors_come_back(tmp_path: Path, mapped: bool) -> None:
    torch.save({"a": torch.ones(3)}, tmp_path / "a.pt")
    assert load_tensors(tmp_path / "a.pt", mapped=mapped)["a"].tolist() == [1, 1, 1]


def test_every_reader_refuses_an_old_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vmmetrics.alignment.baselines.files import read_state
    from vmmetrics.cas.label.videoreward_files import _load
    from vmmetrics.cas.train.state import read_last
    from vmmetrics.perception.vmbench.adapters.qalign import _weights
    from vmmetrics.perception.vmbench.checkpoints import read_checkpoint, read_weights

    for name in ("a.pt", "model.pth"):
        torch.save({}, tmp_path / name)
    old(monkeypatch)
    for read in (
        lambda: read_state(tmp_path / "a.pt"),
        lambda: read_last(tmp_path / "a.pt", {}),
        lambda: _load(tmp_path),
        lambda: read_checkpoint(tmp_path / "a.pt"),
        lambda: list(_weights(tmp_path / "a.pt")),
        lambda: read_weights(tmp_path / "a.pt", "model", "vmbench"),
    ):
        with pytest.raises(SetupError, match=r"^torch 2\.5\.1 .* install torch 2\.6 or newer"):
            read()


def test_no_file_is_loaded_otherwise() -> None:
    package = Path(__file__).parent.parent / "vmmetrics"
    users = [path.name for path in package.rglob("*.py") if "torch.load(" in path.read_text(encoding="utf-8")]
    assert set(users) <= {"tensors.py", "checkpoints.py"}  # the latter in advice
