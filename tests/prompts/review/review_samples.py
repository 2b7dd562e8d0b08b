"""Entries to review, and the command in this process with lines from a pipe, for the tests of the review."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from pathlib import Path
from unittest import mock

from vmmetrics.cli.main import main
from vmmetrics.prompts.entry import PromptEntry, Tags

ANNA = ("--reviewer", "anna", "--decisions", "d.jsonl")


def entries(count: int) -> list[PromptEntry]:
    nouns = ("horse", "kettle", "flag", "wheel", "river")
    return [
        PromptEntry(
            f"{n:04d}", f"A {nouns[n % 5]} number {n} moves.", f"a {nouns[n % 5]}", nouns[n % 5], "yard", "moving",
            "fluid dynamics", tags=Tags(),
        )
        for n in range(1, count + 1)
    ]  # fmt: skip


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def command(tmp_path: Path, text: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """The command in this process, with lines from a pipe."""
    told, said, code = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.chdir(tmp_path),
        contextlib.redirect_stdout(told),
        contextlib.redirect_stderr(said),
        mock.patch("sys.stdin", io.StringIO(text)),
    ):
        try:
            main(["prompts", "review", *map(str, arguments)])
        except SystemExit as stop:
            code = int(stop.code or 0)
    return subprocess.CompletedProcess([], code, told.getvalue(), said.getvalue())
