"""Pipes and devices under the names of files: every command says so, and none waits for them or reads on."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import RunCommand

SECONDS = 20
KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@contextmanager
def bounded() -> Iterator[None]:
    """Fail after :data:`SECONDS`, whatever is waited for."""

    def stop(*_: object) -> None:
        raise AssertionError(f"not done after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["scores.jsonl", "events.jsonl", "posters.jsonl", "states.jsonl", "index.sqlite"])
def test_a_run_whose_files_are_no_files(
    name: str, kind: str, vmmetrics: RunCommand, make_clips: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_clips("a", "b")
    (tmp_path / "ratings.csv").write_text("clip,rating\na.npy,1\nb.npy,2\n")
    assert vmmetrics("score", "clips", "--out", "good", "-q") == 0
    ended = 0
    for command in (
        ("leaderboard", "run"), ("show", "run", "a.npy", "--out", "a.png"), ("status", "run"),
        ("report", "run", "--out", "page"), ("merge", "good", "run", "--out", "merged"), ("diff", "good", "run"),
        ("score", "clips", "--out", "run"), ("align", "run", "ratings.csv"),
    ):  # fmt: skip
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        shutil.copytree(tmp_path / "good", tmp_path / "run")
        (tmp_path / "run" / name).unlink(missing_ok=True)
        KINDS[kind](tmp_path / "run" / name)
        with bounded():
            code = vmmetrics(*command)
        errors = capsys.readouterr().err
        assert "Traceback" not in errors
        ended += code == 2 and f"{name}: Not a regular file" in errors
        assert code == 0 or "Not a regular file" in errors
    assert ended >= (0 if name == "index.sqlite" else 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "command",
    [
        "align good a.csv", "align good a.json", "align good a.jsonl", "align good a.parquet", "align a.csv b.csv",
        "score clips --config a.yaml", "score clips --config a.toml", "score clips --prompts a.jsonl",
        "score clips --prompts a.json", "score clips --prompts a.csv", "score a.txt", "score a.jsonl",
        "prompts stats a.jsonl", "prompts stats a.csv", "score clips --plugin a.py",
    ],
)  # fmt: skip
def test_files_of_the_user_that_are_no_files(
    command: str, kind: str, vmmetrics: RunCommand, make_clips: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "parquet" in command:
        pytest.importorskip("pyarrow")  # without which no such file is opened
    make_clips("a")
    (tmp_path / "b.csv").write_text("clip,rating\na.npy,1\n")
    words = command.split()
    KINDS[kind](next(tmp_path / word for word in words if word.startswith("a.")))
    if "good" in words:
        assert vmmetrics("score", "clips", "--out", "good", "-q") == 0
    with bounded():
        code = vmmetrics(*words)
    errors = capsys.readouterr().err
    assert code == 2
    assert "Not a regular file" in errors


@pytest.mark.parametrize(
    "command",
    [
        "score loop.json", "prompts stats loop.json", "prompts filter loop.json --out kept.json",
        "prompts filter mini --out loop.json", "prompts filter mini --out kept.json --against loop.json",
        "cas label loop.json --out labels.jsonl",
    ],
)  # fmt: skip
def test_a_loop_of_symlinks(
    command: str, vmmetrics: RunCommand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loop.json").symlink_to("loop.json")
    code = vmmetrics(*command.split())
    assert code == (0 if "--out loop.json" in command else 3 if command == "score loop.json" else 2)
    assert "loop.json" in capsys.readouterr().err


def test_a_name_as_long_as_a_file_is_quoted_in_part(
    vmmetrics: RunCommand, make_clips: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_clips("a", "b")
    assert vmmetrics("score", "clips", "--out", "good", "-q") == 0
    (tmp_path / "ratings.csv").write_text(f"clip,rating\n{'x' * 1_000_000},1\n")
    capsys.readouterr()
    with bounded():
        assert vmmetrics("align", "good", "ratings.csv") == 2
    errors = capsys.readouterr().err
    assert "No clip is in both" in errors and len(errors) < 10_000


@pytest.mark.parametrize(
    "address",
    ["s3://AKIA:{}@bucket/x", "http://me:{}@[::1/x", "http://host/x?token={}", "ftp://me:{}@host/x", "http://me:{}@"],
)
@pytest.mark.parametrize(
    "command",
    [
        "leaderboard {}", "report {}", "status {}", "score {}/[a.mp4", "score clips --mirror {}", "score list.jsonl",
        "understand run synthetic --data clips --model endpoint:m@{}",
        "prompts filter mini --out kept.json --model m --url {}", "weights fetch sam2.1-hiera-large --mirror {}",
    ],
)  # fmt: skip
def test_no_error_prints_the_secret_of_an_address(
    command: str, address: str, vmmetrics: RunCommand, make_clips: Any, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("vmmetrics.utils.storage.remote.PAUSE", 0.0)
    monkeypatch.setattr("vmmetrics.utils.weights.download.PAUSE", 0.0)
    monkeypatch.setenv("VMMETRICS_WEIGHTS", str(tmp_path / "weights"))
    make_clips("a")
    told = address.format("never-to-be-shown")
    (tmp_path / "list.jsonl").write_text(f'{{"prompt": "a dog", "clip": "{told}.mp4"}}\n')
    with bounded():
        assert vmmetrics(*(word.format(told) for word in command.split())) == 2
    assert "never-to" not in capsys.readouterr().err


def test_a_bomb_of_aliases_is_refused(
    vmmetrics: RunCommand, make_clips: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_clips("a")
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    (tmp_path / "bomb.yaml").write_text(f"a0: &a0 [x]\n{levels}out: *a11\n")
    with bounded():
        assert vmmetrics("score", "clips", "--config", "bomb.yaml") == 2
    assert "bomb.yaml cannot be read: aliases (*name) are not read; write each value out" in capsys.readouterr().err
    (tmp_path / "deep.yaml").write_text("jobs: " + "[" * 20_000)
    with bounded():
        assert vmmetrics("score", "clips", "--config", "deep.yaml") == 2
    assert "deep.yaml cannot be read: lists within lists, more than 10 deep" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import sys; sys.exit(7)", "SystemExit: 7"),
        ("raise GeneratorExit", "GeneratorExit:"),
        ("class Odd(BaseException):\n  def __str__(self): raise ValueError\nraise Odd", "Odd"),
        ("raise ValueError('a' + chr(10) + 'b')", "ValueError: a b"),
    ],
)
def test_a_plugin_that_fails_in_any_way_is_one_line(
    code: str, reason: str, vmmetrics: RunCommand, make_clips: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_clips("a")
    (tmp_path / "own.py").write_text(f"# {tmp_path}\n{code}\n")
    assert vmmetrics("score", "clips", "--plugin", "own.py") == 2
    assert capsys.readouterr().err == f"vmmetrics: error: The plugin {tmp_path / 'own.py'} failed: {reason}\n"


@pytest.mark.parametrize("length", [251, 255])
def test_the_longest_file_names_are_scored(length: int, vmmetrics: RunCommand, make_clips: Any, tmp_path: Path) -> None:
    folder = make_clips("a")
    (folder / "a.npy").rename(folder / f"{'x' * (length - 4)}.npy")
    assert vmmetrics("score", "clips", "--out", "run", "-q") == 0
