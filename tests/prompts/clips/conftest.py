"""A small program that makes clips, and prompts for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vmmetrics.cli.main import main
from vmmetrics.prompts.clips.makers import write_video
from vmmetrics.prompts.entry import PromptEntry, Tags
from vmmetrics.prompts.files import write_entries

ROOT = Path(__file__).parents[3]
PROGRAM = """
import argparse, os, pathlib, shutil, sys, time
p = argparse.ArgumentParser()
for name in ("prompt", "out", "log", "clips"):
    p.add_argument("--" + name)
p.add_argument("--seed", type=int)
p.add_argument("--wait", type=float, default=0)
p.add_argument("--meeting")
a = p.parse_args()
with open(a.log, "a") as f:
    f.write(repr((a.prompt, a.seed)) + "\\n")
if "FAILS" in a.prompt:
    print("before", flush=True)
    sys.exit("no such motion \\x1b[31m")
if "EMPTY" in a.prompt:
    sys.exit(0)
if "GARBAGE" in a.prompt:
    pathlib.Path(a.out).write_bytes(b"not a video")
    sys.exit(0)
if "DIES" in a.prompt:
    os.kill(os.getpid(), 9)
time.sleep(a.wait)
parent = os.getppid()
if a.meeting:  # return once programs of two runs have come here, however long the other takes to start
    os.makedirs(a.meeting, exist_ok=True)
    open(os.path.join(a.meeting, str(parent)), "w").close()
    while len(os.listdir(a.meeting)) < 2 and os.getppid() == parent:
        time.sleep(0.01)
if a.prompt == os.environ.get("STALLS"):  # until the run is killed
    while os.getppid() == parent:
        time.sleep(0.01)
    sys.exit(1)
shutil.copy(os.path.join(a.clips, "still.mp4" if "STILL" in a.prompt else "moving.mp4"), a.out)
"""
"""A program as users have them, that does not take long: what it makes lies ready."""

Generate = Callable[..., subprocess.CompletedProcess[str]]


def entry(number: int, prompt: str, **more: object) -> PromptEntry:
    given = {"subject": "a red kite", "subject_noun": "kite", "place": "hill", "action": "climbing", **more}
    return PromptEntry(f"{number:04d}", prompt, **given)  # type: ignore[arg-type]


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    """Four prompts with patterns and tags; one holds what a shell would act on."""
    listed = [
        entry(1, "A red kite climbs over a hill.", pattern="weather phenomena", tags=Tags(camera="static")),
        entry(2, "A man; touch $(touch pwned) `id` \"runs\" 'fast' && {seed} *", tags=Tags(skeleton="person"),
              pattern="biological motion", subject="a man", subject_noun="man"),
        entry(3, "--help me, says a clock hand that turns.", pattern="mechanical motion", tags=Tags()),
        entry(4, "A flag\nwaves 日本.", pattern="weather phenomena"),
    ]  # fmt: skip
    write_entries(tmp_path / "list.json", listed)
    return tmp_path / "list.json"


@pytest.fixture
def program(tmp_path: Path, ready: Path) -> str:
    """The command template; ``LOG`` gets a line for each run."""
    script = tmp_path / "gen.py"
    script.write_text(PROGRAM)
    call = f"'{sys.executable}' -I -S '{script}' --clips '{ready}' --log '{tmp_path}/LOG'"
    return call + " --prompt={prompt} --seed {seed} --out {out}"


@pytest.fixture(scope="session")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip of six frames, and one of a single frame."""
    folder = tmp_path_factory.mktemp("ready")
    frames = np.full((6, 48, 64, 3), 40, np.uint8)
    for t in range(6):
        frames[t, 10:30, 3 * t : 3 * t + 15] = 210
    write_video(folder / "moving.mp4", frames, 8)
    write_video(folder / "still.mp4", frames[:1], 8)
    return folder


def arguments(*given: object) -> list[str]:
    return [sys.executable, "-m", "vmmetrics", "generate-clips", *map(str, given)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def generate_clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Generate:
    """Run the command in this process; its exit code and what it said on stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*given: object) -> subprocess.CompletedProcess[str]:
        code: object = 0
        try:
            main(["generate-clips", *map(str, given)])
        except SystemExit as stop:
            code = stop.code
        told = capsys.readouterr()
        return subprocess.CompletedProcess([], int(code or 0), told.out, told.err)  # type: ignore[call-overload]

    return run
