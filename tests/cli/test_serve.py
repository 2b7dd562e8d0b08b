"""``vmmetrics serve``: what it refuses before it serves. How it serves: tests/scoring/test_service.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import RunCommand

for package in ("starlette", "uvicorn", "python_multipart"):
    pytest.importorskip(package)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--host", "0.0.0.0"], "needs a key"),  # noqa: S104
        (["--host", "::"], "needs a key"),
        (["--host", "rewards.example"], "needs a key"),
        (["--key-file", "none.txt"], "none.txt"),
        (["--key-file", "empty.txt"], "no key"),
        (["--root", "nowhere"], "nowhere"),
        (["--metrics", "beauty"], "beauty"),
        (["--max-bytes", "much"], "--max-bytes"),
        (["--engine", "ray"], "needs --address"),
        (["--engine", "ray", "--address", "nowhere"], "HOST:PORT"),
        (["--host", "192.0.2.1", "--key-file", "key.txt"], "192.0.2.1"),  # an address of documentation
    ],
)
def test_what_cannot_be_served_is_said(
    arguments: list[str], says: str, vmmetrics: RunCommand, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "key.txt").write_text("secret\n")
    assert vmmetrics("serve", *arguments) == 2
    assert says in capsys.readouterr().err


def test_without_its_packages_it_says_what_to_install(
    vmmetrics: RunCommand, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("vmmetrics.cli.serve.find_spec", lambda name: None if name == "uvicorn" else name)
    assert vmmetrics("serve") == 2
    assert "uvicorn" in (said := capsys.readouterr().err)
    assert "serve" in said
