"""What all commands have in common: names, help, errors, completion, and options from a file."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main

from vmmetrics.cli.app import app
from vmmetrics.cli.running import parse_scratch
from vmmetrics.cli.usage import ELSEWHERE, RENAMED
from vmmetrics.utils.storage.scratch import Scratch
from vmmetrics.utils.tensors import devices

Captured = pytest.CaptureFixture[str]


def _commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name in group.commands:
        command = group.commands[name]
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(_commands(typer.main.get_command(app)))


def run(*arguments: object, code: int = 0, **environment: str) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [sys.executable, "-m", "vmmetrics", *map(str, arguments)],
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == code, (arguments, done.stderr)
    return done


@pytest.mark.parametrize("path", [(), *COMMANDS], ids=" ".join)
def test_help_fits_80_columns(path: tuple[str, ...], vmmetrics: Any, capsys: Captured, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert vmmetrics(*path, "-h") == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: {' '.join(('vmmetrics', *path))} ")
    assert max(map(len, shown.splitlines())) <= 80
    texts = [line for line in shown.splitlines() if line.startswith(" " * 20)]
    assert all(len(line) - len(line.lstrip()) <= 34 for line in texts)  # 44 columns are left for words
    if path:
        assert "-q, --quiet" in shown and "--config PATH" in shown


def test_each_name_of_an_option_has_one_short_form_and_kind() -> None:
    kinds: dict[str, set[tuple[Any, ...]]] = {}
    for command in COMMANDS.values():
        for parameter in command.params:
            if parameter.param_type_name == "option":
                long = max(parameter.opts, key=len)
                short = tuple(sorted(set(parameter.opts) - {long}))
                kinds.setdefault(long, set()).add((short, parameter.is_flag, parameter.nargs))
    wrong = {name: found for name, found in kinds.items() if len({short for short, *_ in found}) > 1}
    assert wrong == {}
    assert {name for name, found in kinds.items() if len({flag for _, flag, _ in found}) > 1} <= {"--balance"}
    for short, long in (("-o", "--out"), ("-j", "--jobs"), ("-y", "--yes"), ("-q", "--quiet")):
        assert kinds[long].pop()[0] == (short,)


def test_a_default_is_stated_once() -> None:
    for name, command in COMMANDS.items():
        for parameter in command.params:
            if "Default:" in (getattr(parameter, "help", "") or "") and parameter.show_default:
                assert not parameter.default or callable(parameter.default), (name, parameter.opts)


def test_what_old_names_are_called_now_is_there() -> None:
    names = {name for command in COMMANDS.values() for parameter in command.params for name in parameter.opts}
    assert {text.split()[0] for new in (*RENAMED.values(), *ELSEWHERE.values()) for text in new} <= names
    assert not {"--only", "--prices", "--tokens", "--again", "--asks", "--side", "--form", "--by", "--face"} & names


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("baselines", "x", "--only", "ssim"), "No such option: --only; use --metrics instead."),
        (("leaderboard", "x", "--by", "mss"), "No such option: --by; use --sort-by instead."),
        (("understand", "minfps", "tiny", "--by", "me"), "use --annotator instead."),
        (("leaderboard", "x", "--csv", "f"), "use --format csv > FILE instead."),
        (("score", "x", "--metrcs", "mss"), "No such option: --metrcs; did you mean --metrics?"),
        (("score", "x", "--num-workers", "2"), "No such option: --num-workers; did you mean --jobs?"),
        (("score", "x", "--output_dir", "o"), "No such option: --output_dir; did you mean --out?"),
        (("score", "x", "--output-path", "o"), "did you mean --out?"),
        (("score", "x", "--dimension", "mss"), "did you mean --metrics?"),
        (("understand", "run", "x", "--asks", "9"), "did you mean --limit?"),
        (("scor",), "No such command 'scor'. Did you mean 'score'"),
        (("score",), "Missing CLIPS"),
        (("score", "x", "--shard", "9"), "--shard: expected i/n"),
        (("score", "nowhere"), "No such file or folder: nowhere"),
        (("plan", "--format", "xml"), "--format: 'xml' is not one of"),
    ],
)
def test_every_error_reads_alike(arguments: tuple[str, ...], said: str, vmmetrics: Any, capsys: Captured) -> None:
    assert vmmetrics(*arguments) == 2
    out, shown = capsys.readouterr()
    assert out == ""
    error = next(line for line in shown.splitlines() if "error" in line)
    assert error.startswith("vmmetrics: error: ") and said in error
    assert "(" + "'" not in error and "Invalid value" not in shown


def test_shells_complete_commands_options_and_choices() -> None:
    told = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # the shell is named: a test's parent is none
    assert b"_VMMETRICS_COMPLETE" in run("--show-completion", "bash", **told).stdout
    for words, expected in (
        ("vmmetrics sco", {"score"}),
        ("vmmetrics score --metr", {"--metrics"}),
        ("vmmetrics plan --format ", {"text", "json", "csv", "markdown", "latex"}),
    ):
        count = str(len(words.split(" ")) - 1)
        done = run(_VMMETRICS_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=count)
        assert set(done.stdout.decode().split()) == expected


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437", "cp932"])
def test_code_pages_get_letters_spelled(encoding: str, vmmetrics: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", stream)
    assert vmmetrics("plan", "--format", "markdown") == 0
    stream.flush()
    table = stream.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    assert ("rho" in table or "ρ" in table) and "\\u" not in table


def test_letters_are_spelled_before_columns_have_their_widths() -> None:
    table = run("plan", PYTHONIOENCODING="ascii").stdout.decode("ascii")
    assert "rho = 0.6" in table and "\\u" not in table
    assert len({len(line) for line in table.splitlines() if line.startswith("|")}) == 1
    plain = run("plan", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0").stdout
    assert b"rho" in plain or "ρ".encode() in plain


def test_quiet_prints_the_result_and_errors_alone(vmmetrics: Any, make_clips: Any, capsys: Captured) -> None:
    clips = make_clips("a", "b")
    assert vmmetrics("score", clips, "-q", "--format", "json", "-o", "run") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert len(json.loads(out)["clips"]) == 2
    (clips / "broken.mp4").write_text("no video")
    assert vmmetrics("score", clips, "-q", "-o", "run") == 3
    assert "broken.mp4" in capsys.readouterr().err


def test_quiet_says_why_a_merge_is_not_whole(vmmetrics: Any, make_clips: Any, capsys: Captured) -> None:
    clips = make_clips("a", "b")
    for run in ("one", "two"):
        assert vmmetrics("score", clips, "-q", "-o", run) == 0
    lines = [json.loads(line) for line in Path("two/scores.jsonl").read_text().splitlines()]
    changed = [json.dumps({**line, "scores": {**line["scores"], "mss": 0.01}}) for line in lines]
    Path("two/scores.jsonl").write_text("\n".join([*changed, "{broken", ""]))
    capsys.readouterr()
    assert vmmetrics("merge", "one", "two", "-q", "-o", "both") == 0
    err = capsys.readouterr().err
    assert "two" in err and "damaged" in err
    assert "2 clips scored differently; the first run counts" in err
    assert vmmetrics("score", clips, "-q", "--shard", "1/2", "-o", "part") == 0
    capsys.readouterr()
    assert vmmetrics("merge", "part", "-q", "-o", "whole") == 3
    assert "--allow-missing" in capsys.readouterr().err


CONFIG = {
    "run.toml": 'metrics = ["mss", "tcs"]\nassume_fps = 5\nfollow-links = false\nout = "there"\n',
    "run.yaml": "metrics: [mss, tcs]\nassume-fps: 5\nfollow_links: false\nout: there\n",
}


@pytest.mark.parametrize("name", CONFIG)
def test_a_file_gives_options_and_the_command_line_wins(name: str, vmmetrics: Any, make_clips: Any) -> None:
    if name.endswith("yaml"):
        pytest.importorskip("yaml")
    Path(name).write_text(CONFIG[name])
    assert vmmetrics("score", make_clips("a"), "--config", name, "--metrics", "mss") == 0
    run_json = json.loads(Path("there/run.json").read_text())
    assert run_json["metrics"] == ["mss"]
    assert run_json["configuration"]["reading"]["assume_fps"] == 5
    config = run_json["sessions"][0]["config"]
    assert config["path"] == str(Path(name).absolute())
    assert config["content"]["metrics"] == ["mss", "tcs"]
    assert vmmetrics("score", make_clips("a"), "--metrics", "mss", "--assume-fps", 5, "-o", "there") == 0
    assert "config" not in json.loads(Path("there/run.json").read_text())["sessions"][1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("metrcs = 'mss'", "no option is called 'metrcs'; did you mean metrics or retries?"),
        ("jobs = true", "expected text or a number for jobs"),
        ("allow-failures = 1", "expected true or false for allow-failures"),
        ("preset = ['a', 'b']", "expected one value for preset"),
        ("jobs = -1", "error: --jobs: "),  # what follows is typer's, and differs by its version
        ("jobs = [", "cannot be read"),
        ("config = 'other.toml'", "no option is called 'config'"),
        ("[score]\njobs = 1", "no option is called 'score'"),
    ],
)
def test_a_file_that_cannot_be(text: str, said: str, vmmetrics: Any, make_clips: Any, capsys: Captured) -> None:
    Path("wrong.toml").write_text(text)
    assert vmmetrics("score", make_clips("a"), "--config", "wrong.toml") == 2
    assert said.lower() in capsys.readouterr().err.lower()
    assert not Path("vmmetrics-runs").exists()


def test_a_question_is_asked_with_what_it_is_about(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    from vmmetrics.cli.terminal import agree, open_consoles, quietly

    monkeypatch.setattr("sys.stdin", io.StringIO())
    with quietly(True):
        _, messages = open_consoles()
        messages.print("3 requests, about 0.02")
        assert capsys.readouterr().err == ""
        with pytest.raises(typer.Exit):
            agree(messages, yes=False)  # nobody is there to answer
    assert "3 requests, about 0.02" in capsys.readouterr().err


def test_without_torch_the_cpu_is_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert devices() == ["cpu"]


def test_a_scratch_folder_and_its_bound(tmp_path: Path) -> None:
    assert parse_scratch("a/b:2KB") == Scratch("a/b", 2048)
    (tmp_path / "a:b").mkdir()
    assert parse_scratch(f"{tmp_path}/a:b").folder == f"{tmp_path}/a:b"
    assert parse_scratch(f"{tmp_path}:a/b").folder == f"{tmp_path}:a/b"
    with pytest.raises(typer.BadParameter, match=r"expected a size .* but got 'large'"):
        parse_scratch(f"{tmp_path}/c:large")
