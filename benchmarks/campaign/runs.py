"""Run directories from somebody else, wrong in one place each, for every command that reads one."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np

from benchmarks.campaign.hostile_runs import variants
from benchmarks.campaign.results import Campaign
from tests.reliability.warm import build_commands_once, fork_workers, import_what
from tests.reliability.watched import Ended, Limits, command, run_command

LIMITS = Limits(cpu=20, idle=20, memory=3 << 30)
INFINITE = re.compile(r"(?<![\w.])[-+]?(inf|nan)(?![\w.])", re.IGNORECASE)

REFUSED = re.compile(r"but got \S+|'[^'\n]*'")
"""A wrong value in a message that refuses it."""


def run(campaign: Campaign) -> None:
    """Show, compare, merge, align and resume each of them."""
    folder = campaign.scratch
    clips = folder / "clips"
    clips.mkdir()
    frames = np.random.default_rng(0).integers(0, 255, (6, 64, 64, 3), np.uint8)
    np.save(clips / "a.npy", frames)
    good = folder / "good"
    score = ["score", clips, "--metrics", "pas", "--out"]
    import_what(lambda: command([*score, folder / "first"]))
    import_what(lambda: command(["show", folder / "first", "a.npy", "--out", folder / "first.png"]))
    build_commands_once()
    made = run_command(*score, good)
    if made.value:
        raise RuntimeError(made.output)
    ratings = folder / "ratings.csv"
    ratings.write_text("clip,rating\na.npy,3\n")
    for name, place in variants(good, folder / "hostile"):
        out = folder / "out" / place.name
        out.mkdir(parents=True)
        before = _tree(place)
        for row, arguments in {
            "leaderboard": ["leaderboard", place, "--format", "csv"],
            "merge": ["merge", place, good, "--out", out / "merged"],
            "show": ["show", place, "a.npy", "--out", out / "a.png"],
            "status": ["status", place],
            "diff": ["diff", place, good],
            "report": ["report", place, "--out", out / "page"],
            "align": ["align", place, ratings, "--out", out / "aligned"],
            "score, resumed": [*score, place],
        }.items():
            key = f"{row}: {place.name} {name}"
            if campaign.done(key):
                continue
            ended = run_command(*arguments, limits=LIMITS, before=fork_workers)
            fault = fault_of(ended)
            if row != "score, resumed" and _tree(place) != before:
                fault = fault or "changes the directory"
            written = [path for path in out.rglob("*") if path.suffix in (".csv", ".tex")]
            if any(INFINITE.search(path.read_text(errors="replace")) for path in written):
                fault = fault or "writes inf or nan"
            campaign.add(row, key, fault, f"exit code {ended.value}")


def fault_of(ended: Ended) -> str:
    """What is wrong with how a command ended; empty for nothing."""
    if ended.trouble:
        return ended.trouble
    if ended.value not in (0, 2, 3):
        return f"exit code {ended.value}: {ended.output[-100:]}"
    if "No such option" in ended.output:
        return f"asks nothing of the command: {ended.output[-100:]}"
    if "\x1b]" in ended.output:
        return f"raw escapes: {ended.output[-100:]!r}"
    shown = REFUSED.sub("", ended.output)
    return f"shows {infinite.group()!r}" if (infinite := INFINITE.search(shown)) else ""


def _tree(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()}
