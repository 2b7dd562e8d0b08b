"""What a run that stopped leaves behind: trouble, bounds, kill -9, other settings; and the path without an endpoint."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from vmmetrics.cli.main import main
from vmmetrics.prompts.checks import faults
from vmmetrics.prompts.entry import PATTERNS
from vmmetrics.prompts.files import read_entries
from vmmetrics.utils.endpoint.client import GIVE_UP

_spec = importlib.util.spec_from_file_location("generate_model", Path(__file__).with_name("generate_model.py"))
_model = sys.modules["generate_model"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_model)
GENERATE, TESTS = _model.GENERATE, _model.TESTS
honest, lines, run, server = _model.honest, _model.lines, _model.run, _model.server


def test_an_endpoint_that_comes_and_goes(run):
    """Combinations without any reply are no outcome: they are tried again, and then nothing is missing."""
    address, script = run.address(honest)
    up = {"now": False}
    script.answer = lambda body: honest(body) if up["now"] or "milk" in str(body) else (503, {}, b"down")
    code, _, shown = run(honest, "--count", 5, url=address)
    assert code == 3 and "got no reply; run the same command again to retry" in shown
    done = len(lines("combinations"))
    assert done < 5
    up["now"] = True
    code, _, shown = run(honest, "--count", 5, url=address)
    assert code == 0 and len(lines("combinations")) == 5 and len(lines("candidates")) == 15
    up["now"] = False
    code, _, shown = run(honest, "--count", 40, url=address)
    assert code == 2 and "no longer answers" in shown and GIVE_UP == 8


def test_the_cost_stays_under_its_bound_and_more_money_goes_on(run):
    address, script = run.address(honest)
    options = ("--count", 10, "--max-tokens", 500, "--price-per-million", 1, 1)
    code, _, shown = run(honest, *options, "--max-cost", "0.013", url=address)
    assert code == 2 and "bound of 0.013" in shown
    assert len(script.requests) * 1300 / 1e6 <= 0.013
    assert 0 < len(lines("combinations")) < 10
    paid = len(script.requests)
    code, _, _ = run(honest, *options, url=address)
    assert code == 0 and len(script.requests) == 20 > paid  # nothing was asked twice


def test_the_cost_is_asked_about(run, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: PTH123, SIM115
    address, script = run.address(honest)
    with pytest.raises(SystemExit) as stop:
        main(["prompts", "generate", "--metadata", "metadata", "--out", "asked", "--url", address, "--model", "m"])
    assert stop.value.code == 1
    assert "nothing was sent; use --yes" in capsys.readouterr().err
    assert script.requests == []


def test_other_settings_need_another_folder(run):
    address, _ = run.address(honest)
    run(honest, "--count", 2, url=address)
    for changed in (["--seed", 5], ["--candidates", 4], ["--temperature", 0.1], ["--camera-share", 0.5]):
        code, _, shown = run(honest, "--count", 2, *changed, url=address)
        assert code == 2 and "begun with other settings" in shown
    code, _, _ = run(honest, "--count", 4, url=address)  # more of the same is fine
    assert code == 0 and len(lines("combinations")) == 4


@pytest.mark.slow
def test_kill_9_loses_nothing_and_nothing_is_paid_twice(run, tmp_path):
    address, script = run.address(lambda body: server.slow(0.03, honest(body)))
    command = [sys.executable, "-m", "vmmetrics", *GENERATE, "--yes"]
    command += ["--url", address, "--model", "some", "--count", "25", "--threads", "3"]
    environment = os.environ | {"PYTHONPATH": str(TESTS.parent)}
    for done in (4, 12):
        worker = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            finished = Path("out/combinations.jsonl")
            if finished.exists() and finished.read_bytes().count(b"\n") >= done:
                break
            threading.Event().wait(0.01)  # time.sleep is a fixture here
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        assert finished.read_bytes().count(b"\n") >= done
    with Path("out/candidates.jsonl").open("ab") as file:
        file.write(b'{"index": "9999", "prompt": "half a li')  # as a kill in the middle of a write leaves it
    code, _, shown = run(honest, "--count", 25, "--threads", 3, url=address)
    assert code == 0 and "cut 38 bytes" in shown
    entries = read_entries("out/candidates.jsonl")
    assert len(entries) == 75 == len({entry.index for entry in entries})
    assert len(lines("combinations")) == 25 == len({line["combination"] for line in lines("combinations")})
    assert 50 <= len(script.requests) <= 50 + 2 * 3  # at most what was in the air when it was killed
    whole, _ = run.address(honest)
    Path("out").rename("killed")
    run(honest, "--count", 25, url=whole)
    assert sorted(map(str, read_entries("out/candidates.jsonl"))) == sorted(map(str, entries))


@pytest.mark.slow
def test_a_polite_stop_is_said_and_gone_on_from(run):
    address, script = run.address(lambda body: server.slow(0.05, honest(body)))
    command = [sys.executable, "-m", "vmmetrics", *GENERATE, "--yes", "--url", address, "--model", "some"]
    environment = os.environ | {"PYTHONPATH": str(TESTS.parent)}
    worker = subprocess.Popen([*command, "--count", "30"], env=environment, stderr=subprocess.PIPE, text=True)
    while not script.requests:
        threading.Event().wait(0.01)  # time.sleep is a fixture here
    worker.terminate()
    shown = worker.communicate(timeout=30)[1]
    assert worker.returncode == 130
    assert "run the same command again to resume" in " ".join(shown.split())
    kept = len(list(Path("out/replies").glob("*.json")))
    assert kept == len(script.requests)  # what was on its way was waited for
    code, _, _ = run(honest, "--count", 30, url=address)
    assert code == 0 and len(script.requests) == 60


@pytest.mark.slow
def test_one_process_at_a_time(run):
    from vmmetrics.errors import SetupError
    from vmmetrics.prompts.generate.generation import Candidates

    with Candidates(Path("mine"), {"a": 1}):
        code = "from pathlib import Path; from vmmetrics.prompts.generate.generation import Candidates; "
        code += "Candidates(Path('mine'), {'a': 1})"
        environment = os.environ | {"PYTHONPATH": str(TESTS.parent)}
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        assert "Another process is using" in other.stderr
    Path("full").mkdir()
    Path("full/notes.txt").write_text("mine")
    with pytest.raises(SetupError, match="other files"):
        Candidates(Path("full"), {})


def test_grammar_where_there_is_no_endpoint(run, capsys):
    for _ in range(2):
        with pytest.raises(SystemExit) as stop:
            main([*GENERATE, "--count", "30", "--candidates", "2"])
        assert stop.value.code == 0
    entries = read_entries("out/candidates.jsonl")
    assert 50 < len(entries) <= 60 and len({entry.index for entry in entries}) == len(entries)
    assert {entry.provenance["method"] for entry in entries} == {"grammar"}
    assert [faults(entry) for entry in entries] == [[]] * len(entries)
    assert {entry.pattern for entry in entries} <= set(PATTERNS)
    assert "30 of 30 combinations were done before" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--url http://x/v1", "--url and --model go together"),
        ("--max-cost 1", "need --url"),
        ("--url ftp://x --model m", "http"),
        ("--url http://x/v1 --model m --max-cost 1", "prices"),
        ("--pattern dancing", "Expected patterns among"),
        ("--metadata nowhere", "nowhere"),
    ],
)
def test_wrong_usage(run, options, said, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["prompts", "generate", "--out", "out", "--metadata", "metadata", *options.split()])
    assert stop.value.code == 2
    assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not Path("out/candidates.jsonl").exists()
