"""Names and texts of others reach a terminal as text: nothing in them moves the cursor or sets a title."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
from rich.progress import Progress, TextColumn
from rich.table import Table
from rich.text import Text

from vmmetrics.cli.formats import print_titled, table
from vmmetrics.cli.terminal import PlainConsole

EVIL = "\x1b]0;PWN\x07\x1bc\x9b31m\u202eé\r[red]:dog:"
SHOWN = "\\x1b]0;PWN\\x07\\x1bc\\x9b31m\\u202eé\\r[red]:dog:"
_RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


def raw(text: str) -> list[str]:
    """Return the characters of an output that a terminal acts upon, styles apart."""
    return _RAW.findall(_STYLES.sub("", text))


class Terminal(io.StringIO):
    """A standard stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Call a function with both streams a terminal; return its result and what was printed."""
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setattr("typer.main.get_command", functools.cache(typer.main.get_command))  # built once, not 40 times

    def call(function: Any, *arguments: object) -> tuple[Any, str]:
        stream = Terminal()
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            result = function(*arguments)
        return result, stream.getvalue()

    return call


def test_a_str_is_one_line_of_text_and_a_rich_text_keeps_its_lines() -> None:
    file = Terminal()
    console = PlainConsole(file=file, width=200, color_system=None)
    grid = Table(EVIL, title=EVIL)
    grid.add_row(f"{EVIL}\nnext", style="red")
    grid.add_row(Text(f"ours\n{EVIL}"))
    console.print(f"{EVIL}\nnext", style="red")
    console.print("one", "two\n", sep="\n")
    console.print(Text(f"ours\n{EVIL}"))
    console.print(grid)
    console.print("\udcff surrogate", soft_wrap=True)
    printed = file.getvalue()
    assert raw(printed) == []
    assert f"{SHOWN}\\nnext\none\ntwo\\n\nours\n" in printed
    assert printed.count(SHOWN) >= 4
    assert "\\udcff surrogate" in printed
    assert len({len(line) for line in printed.splitlines() if line.startswith(("┃", "│"))}) == 1  # columns are as wide


def test_the_title_of_a_narrow_table_stays_on_one_line() -> None:
    file, title = Terminal(), "a title that is longer than its table is wide"
    print_titled(PlainConsole(file=file, width=30, color_system=None), title, table("a", "b", rows=[("1", "2")]))
    lines = [line.split() for line in file.getvalue().splitlines()]
    assert lines[0] == title.split()
    assert ["a", "b"] in lines
    assert ["1", "2"] in lines


def test_bars_show_names_as_text_and_keep_the_codes_of_rich() -> None:
    file = Terminal()
    console = PlainConsole(
        file=file, width=80, force_terminal=True, color_system="standard", _environ={"TERM": "xterm"}
    )
    with Progress(TextColumn("{task.description}", markup=False), console=console) as progress:
        progress.add_task(EVIL, total=1)
        progress.refresh()
    assert "PWN" in file.getvalue()
    assert "\x1b]0;" not in file.getvalue()
    assert "\x1bc" not in file.getvalue()
    assert "\x1b[?25l" in file.getvalue()  # the cursor is hidden while a bar is drawn


CASES = {
    "score: no such path": (["score", EVIL], "PWN"),
    "score: folder without clips": (["score", f"empty{EVIL}"], "o clips in"),
    "score: prompt list": (["score", "clips", "--prompts", f"{EVIL}.json"], "PWN"),
    "score: contradiction": (["score", "clips", "--prompts", "twice.json"], "has another prompt"),
    "score: no prompt": (["score", "clips", "--prompts", "noprompt.json"], "noprompt"),
    "score: columns": (["score", "clips", "--prompts", "columns.csv"], "columns"),
    "score: unmatched": (["score", "clips", "--prompts", "unmatched.json", "--out", "run2"], "without a clip"),
    "score: names, out": (["score", "named", "--out", f"out{EVIL}"], "results:"),
    "score: metrics": (["score", "clips", "--metrics", EVIL], "xpected metrics"),
    "score: preset": (["score", "clips", "--preset", EVIL], "PWN"),
    "score: shard": (["score", "clips", "--shard", EVIL], "1 <= i"),
    "score: number": (["score", "clips", "--assume-fps", EVIL], "--assume-fps"),
    "score: option": (["score", f"--{EVIL}"], "PWN"),
    "command": ([EVIL], "PWN"),
    "show: suffix": (["show", "run", "a", "--out", f"{EVIL}.gif"], "ends in"),
    "show: folder": (["show", "run", "a", "--out", f"{EVIL}/a.png"], "does not exist"),
    "show: clip": (["show", "run", EVIL, "--out", "a.png"], "PWN"),
    "show: run": (["show", EVIL, "a", "--out", "a.png"], "PWN"),
    "show: error": (["show", "hostile", "a.npy", "--out", "a.png"], "a.npy"),
    "merge: run": (["merge", EVIL, "--out", "m"], "PWN"),
    "merge: names": (["merge", "hostile", "--out", f"m{EVIL}"], "PWN"),
    "merge: other models": (["merge", "run", "hostile", "--out", "m2"], "different configurations"),
    "score: other models": (["score", "clips", "--out", "hostile"], "another"),
    "leaderboard": (["leaderboard", "hostile"], "PWN"),
    "align: columns": (["align", "run", "columns.csv"], "columns.csv"),
    "align: face": (["align", "run", "columns.csv", "--pair", EVIL], "METRIC=DIMENSION"),
    "baselines: only": (["baselines", "clips", "--metrics", EVIL], "pwn"),
    "probe: clips": (["probe", EVIL], "PWN"),
    "probe: defects": (["probe", "clips", "--defects", EVIL], "pwn"),
    "cas label": (["cas", "label", "columns.csv", "--out", "l.jsonl"], "columns"),
    "prompts stats": (["prompts", "stats", "hostile.jsonl"], "PWN"),
    "prompts filter": (["prompts", "filter", EVIL, "--out", "f.json"], "PWN"),
    "prompts review": (["prompts", "review", "--agreement", EVIL], "PWN"),
    "understand run": (["understand", "run", EVIL, "--model", "random", "--data", "clips"], "PWN"),
    "understand model": (["understand", "run", "synthetic", "--model", EVIL, "--data", "clips"], "PWN"),
    "understand leaderboard": (["understand", "leaderboard", EVIL], "PWN"),
    "generate-clips: command": (
        ["generate-clips", "--prompts", EVIL, "--out", "g", "--command", "x {prompt} {out}"],
        "PWN",
    ),
    "generate-clips: only": (
        ["generate-clips", "--prompts", "mini", "--out", "g", "--command", "x {prompt} {out}", "--where", EVIL],
        "PWN",
    ),
    "weights fetch": (["weights", "fetch", EVIL], "PWN"),
    "weights path": (["weights", "path", EVIL], "PWN"),
}


@pytest.fixture
def hostile_files(vmmetrics: Any, make_clips: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Write clips, lists and run directories whose texts are hostile."""
    name = EVIL.replace("/", "")
    clips = make_clips("a")
    make_clips("a", name, folder="named")
    (tmp_path / f"empty{name}").mkdir()
    texts = {
        "twice.json": [{"clip": f"{name}.mp4", "prompt": "x"}, {"clip": f"{name}.mp4", "prompt": "y"}],
        "noprompt.json": [{"clip": name, name: "y"}],
        "unmatched.json": [{"clip": f"{name}.mp4", "prompt": "x"}, {"clip": "a.npy", "prompt": "x"}],
    }
    for file, content in texts.items():
        Path(file).write_text(json.dumps(content))
    Path("columns.csv").write_text(f'"{name}a","{name}b"\n1,2\n', newline="")
    Path("hostile.jsonl").write_text(json.dumps({"prompt": f"{name} a dog runs", name: name, "pattern": name}) + "\n")
    assert vmmetrics("score", clips, "--out", "run") == 0
    lines = [json.loads(line) for line in Path("run/scores.jsonl").read_text().splitlines()]
    header = json.loads(Path("run/run.json").read_text())
    header["configuration"].update(label=f"{name}label", preset=name)
    header["configuration"]["models"] = {"flow": name}
    Path("hostile").mkdir()
    Path("hostile/run.json").write_text(json.dumps(header))
    for line in lines:
        line |= {"error": f"{name} boom", "model": name, "notes": [name]}
    other = lines[0] | {"clip": f"{name}.npy", "sha256": "0" * 64}
    Path("hostile/scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [*lines, other]))
    capsys.readouterr()


def test_no_command_prints_what_a_terminal_acts_upon(hostile_files: None, vmmetrics: Any, on_terminal: Any) -> None:
    wrong = {}
    for case, (arguments, expected) in CASES.items():
        code, printed = on_terminal(vmmetrics, *arguments)
        if raw(printed) or "Traceback" in printed or expected not in printed or code not in (0, 2, 3):
            wrong[case] = (code, raw(printed), printed[-600:])
    assert wrong == {}, "\n".join(f"{case}: {what}" for case, what in wrong.items())


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pseudo terminals")
def test_a_real_terminal_and_closed_or_narrow_streams(tmp_path: Path) -> None:
    import pty

    command = [sys.executable, "-m", "vmmetrics", "score", f"no{EVIL}"]
    environment = {**os.environ, "TERM": "dumb", "NO_COLOR": "1"}
    ours, theirs = pty.openpty()
    ended = subprocess.run(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, check=False)
    printed = os.read(ours, 2**16).decode().replace("\r\n", "\n")
    os.close(ours)
    os.close(theirs)
    assert (ended.returncode, raw(printed)) == (2, [])
    assert "PWN" in printed
    shell = f'exec {sys.executable} -X dev -m vmmetrics "$@"'
    for redirect in (">&-", ">&- 2>&-", "| head -c 1", "<&-"):
        run = ["sh", "-c", f"({shell}) {redirect}", "sh", "weights", "list"]
        ended = subprocess.run(
            run, env={**environment, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=False, cwd=tmp_path
        )
        assert b"Traceback" not in ended.stderr, (redirect, ended.stderr)
        assert b"Exception" not in ended.stderr, (redirect, ended.stderr)
