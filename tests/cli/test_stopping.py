"""Ctrl-C, SIGTERM and SIGHUP end a command with 130 and a line, whenever they come."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.cli.main import main
from vmmetrics.cli.stopping import leaving, stoppable
from vmmetrics.errors import SetupError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="sends signals")
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP] if os.name == "posix" else []
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def handlers() -> Any:
    """As in a terminal, whatever the tests were started from; the same afterwards."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    ours = [signal.getsignal(number) for number in SIGNALS]
    yield
    assert [signal.getsignal(number) for number in SIGNALS] == ours
    for number, handler in before.items():
        signal.signal(number, handler)


def stop(number: int) -> Any:
    def run(*_: Any, **__: Any) -> None:
        signal.raise_signal(number)

    return run


@pytest.mark.parametrize("number", SIGNALS)
def test_before_the_run_begins(number: int, vmmetrics: Any, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    monkeypatch.setattr("vmmetrics.scoring.tasks.tasks_of_paths", stop(number))
    assert vmmetrics("score", "clips") == 130
    assert capfd.readouterr().err == "vmmetrics: stopped\n"


def test_a_command_without_a_run(vmmetrics: Any, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    monkeypatch.setattr("vmmetrics.scoring.merge.merge", stop(signal.SIGTERM))
    assert vmmetrics("merge", "a", "b", "--out", "c") == 130
    assert capfd.readouterr().err == "vmmetrics: stopped\n"


def test_an_import_that_is_cut_off(vmmetrics: Any, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    def cut_off(*_: Any) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except BaseException:  # as extension modules do
            raise ImportError("numpy failed to import") from None

    monkeypatch.setattr("vmmetrics.scoring.tasks.tasks_of_paths", cut_off)
    assert vmmetrics("score", "clips") == 130
    assert capfd.readouterr().err == "vmmetrics: stopped\n"


@pytest.mark.parametrize("module", ["typer", "vmmetrics.cli.app"])
def test_while_the_command_is_imported(module: str) -> None:
    code = f"""
import signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder())
from vmmetrics.cli.main import main
main(["--version"])
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2]
    )
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "vmmetrics: stopped\n")


@pytest.mark.parametrize("terminal", ["open", "closed"])
@pytest.mark.parametrize("number", SIGNALS)
def test_in_the_middle_of_a_run(
    number: int, terminal: str, vmmetrics: Any, make_clips: Any, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    from vmmetrics.cli.progress import LiveProgress

    def advance(self: Any, record: Any) -> None:
        if terminal == "closed":
            monkeypatch.setattr(self._console, "print", broken)
        signal.raise_signal(number)

    def broken(*_: Any, **__: Any) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(LiveProgress, "advance", advance)
    assert vmmetrics("score", make_clips("a", "hang"), "--out", "run", "--metrics", "pas") == 130
    assert Path("run/scores.csv").read_text().count("\n") == 2
    errors = capfd.readouterr().err
    assert ("run the same command again to resume" in errors) == (terminal == "open")
    assert "Traceback" not in errors


def test_an_interrupt_that_nobody_catches() -> None:
    with pytest.raises(SystemExit) as left, stoppable():
        signal.raise_signal(signal.SIGTERM)
    assert left.value.code == 130


def test_what_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup
    with leaving(), stoppable():
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def test_errors_that_follow_from_nothing_stay_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("vmmetrics.scoring.tasks.tasks_of_paths", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        main(["score", "clips"])


def test_our_own_error_after_a_signal_is_said() -> None:
    with pytest.raises(SetupError, match="No space left"), leaving(), stoppable():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:  # while the tables are written
            raise SetupError("Cannot write scores.csv: No space left on device") from None


def test_a_signal_that_a_destructor_swallows_is_heeded_when_the_run_begins(capfd: Captured) -> None:
    class Swallows:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(SystemExit) as left, leaving():
        Swallows()
        with stoppable():
            pytest.fail("the run began")
    assert left.value.code == 130
    assert "Exception ignored" not in capfd.readouterr().err


def test_a_signal_that_a_destructor_swallows_stops_the_run_all_the_same() -> None:
    class Thing:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    start = time.monotonic()
    with pytest.raises(SystemExit) as left, leaving(), stoppable():
        Thing()
        time.sleep(20)
    assert left.value.code == 130 and time.monotonic() - start < 10


def test_a_hanging_request_does_not_hold_the_command(tmp_path: Path) -> None:
    prompt = "A brown dog runs along a wide sandy beach while small waves roll in and gulls circle above."
    (tmp_path / "list.jsonl").write_text(json.dumps({"prompt": prompt}) + "\n")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        command = [
            sys.executable, "-m", "vmmetrics", "prompts", "filter", "list.jsonl", "--out", "kept.jsonl",
            "--no-embedding", "--url", f"http://127.0.0.1:{silent.getsockname()[1]}/v1", "--model", "m", "--yes",
        ]  # fmt: skip
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
            silent.settimeout(20)
            connection, _ = silent.accept()
            connection.recv(10)  # the request is on its way
            start = time.monotonic()
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=20)
        connection.close()
    assert time.monotonic() - start < 5
    assert process.returncode == 130 and "stopped" in errors
