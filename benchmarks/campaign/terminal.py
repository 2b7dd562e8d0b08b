"""Hostile text in names, lists, records and settings: on a pseudo terminal, in CSV, LaTeX, Markdown and HTML."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import select
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.campaign.results import Campaign
from tests.reliability.bad_places import TITLE
from tests.reliability.warm import build_commands_once, fork_workers, import_what
from tests.reliability.watched import command, run_command

ESCAPED = TITLE.replace("\x1b", "\\u001b").replace("\x07", "\\u0007")
RAW = re.compile(rb"\x1b\]|\x07|\x1bc|\x1b\[[0-9;]*[ABCDEFGJST]\x1b\]|\xe2\x80\xae|\xc2[\x80-\x9f]|\x00|\x08")
"""What none of our own output holds: titles, bells, resets, overrides of direction, C1 controls."""
MARKUP = "<script>alert(1)</script>"
FORMULAS = ("=1+1", "+1+1", "-1+1 horses", "@SUM(1)", "\t=1", "\r=1")
TEX = "a\n\\input{/etc/hostname}\n%"
SECONDS = 60.0


def on_terminal(arguments: Sequence[object]) -> bytes:
    """Run the command on a pseudo terminal of its own; what the terminal gets."""
    pid, descriptor = pty.fork()
    if not pid:
        code = 1
        try:
            os.environ.update(TERM="xterm-256color", COLUMNS="120")
            os.environ.pop("NO_COLOR", None)
            import sys

            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", errors="replace")  # noqa: SIM115
            fork_workers()
            code = command(arguments)
            sys.stdout.flush()
        finally:
            os._exit(code)
    data, until = b"", time.monotonic() + SECONDS
    while time.monotonic() < until:
        if select.select([descriptor], [], [], 0.2)[0]:
            try:
                part = os.read(descriptor, 1 << 16)
            except OSError:  # Linux reports the end so
                break
            if not part:
                break
            data += part
    else:
        data += b"\x07 does not end"
        os.kill(pid, signal.SIGKILL)
    os.close(descriptor)
    os.waitpid(pid, 0)
    return data


def run(campaign: Campaign) -> None:
    """Every case on a terminal, then the files."""
    folder = campaign.scratch
    clips, good = folder / "clips", folder / "good"
    clips.mkdir()
    frames = np.random.default_rng(0).integers(0, 255, (6, 64, 64, 3), np.uint8)
    np.save(clips / "a.npy", frames)
    score = ["score", clips, "--metrics", "pas", "--out"]
    import_what(lambda: command([*score, folder / "first"]))
    build_commands_once()
    run_command(*score, good)
    for row, name, arguments in [*_lists(folder, clips), *_paths(folder, clips), *_runs(folder, clips, good)]:
        key = f"{row}: {name}"
        if campaign.done(key):
            continue
        shown = on_terminal(arguments)
        raw = RAW.search(shown)
        fault = f"raw {raw.group()!r} in {shown[max(0, raw.start() - 60) : raw.end() + 20]!r}" if raw else ""
        if b"Traceback (most recent call last)" in shown:
            fault = fault or f"traceback: {shown.strip().splitlines()[-1][:150]!r}"
        campaign.add(f"terminal: {row}", key, fault)
    _files(campaign, folder)


Case = tuple[str, str, list[object]]


def _lists(folder: Path, clips: Path) -> Iterator[Case]:
    """Prompt lists, ratings and comparisons."""
    out = folder / "lists"
    out.mkdir()
    for number, (name, text) in enumerate(
        {
            "contradiction.json": f'[{{"clip":"{ESCAPED}a","prompt":"x"}},{{"clip":"{ESCAPED}a","prompt":"y"}}]',
            "missing prompt.json": f'[{{"clip":"{ESCAPED}a","foo":"y"}}]',
            "unmatched.json": f'[{{"clip":"{ESCAPED}z","prompt":"x"}},{{"clip":"a.npy","prompt":"x"}}]',
            "columns.csv": f"{TITLE}foo,bar\n1,2\n",
            "further cells.csv": f"clip,prompt\na.npy,x,{TITLE}\n",
            "tag.json": f'[{{"clip":"a.npy","prompt":"x","tags":{{"{ESCAPED}":"{ESCAPED}"}}}}]',
            "pattern.json": f'[{{"clip":"a.npy","prompt":"x","pattern":"{ESCAPED}"}}]',
            "subject.json": f'[{{"clip":"a.npy","prompt":"x","subject":"{ESCAPED} horse"}}]',
            "prompt.json": f'[{{"clip":"a.npy","prompt":"{ESCAPED} a dog runs"}}]',
        }.items()
    ):
        path = out / name.replace(" ", "-")
        path.write_text(text)
        arguments: list[object] = ["score", clips, "--metrics", "pas", "--prompts", path, "--out", out / str(number)]
        yield "prompt list", name, arguments
        yield "prompts stats", name, ["prompts", "stats", path]
        yield "prompts filter", name, ["prompts", "filter", path, "--out", out / "kept.json"]
        yield "align", name, ["align", folder / "good", path, "--out", out / "aligned"]
        yield "cas label", name, ["cas", "label", path, "--clips", path, "--out", out / "labels.jsonl"]


def _paths(folder: Path, clips: Path) -> Iterator[Case]:
    """Paths and options given by the user."""
    (folder / f"{TITLE}empty").mkdir()
    bad = folder / f"{TITLE}clips"
    bad.mkdir()
    (bad / f"{TITLE}.mp4").write_bytes(b"x")
    (bad / "model\x9b31m\u202e.mp4").write_bytes(b"x")
    for name, arguments in {
        "no such clip": ["score", folder / f"{TITLE}none.mp4"],
        "empty folder": ["score", folder / f"{TITLE}empty"],
        "hostile names": ["score", bad, "--out", folder / "bad-run"],
        "out": ["score", clips, "--metrics", "pas", "--out", folder / f"{TITLE}out"],
        "subject": ["score", clips, "--metrics", "pas", "--subject", TITLE, "--out", folder / "subject"],
        "metrics": ["score", clips, "--metrics", TITLE],
        "preset": ["score", clips, "--preset", TITLE],
        "shard": ["score", clips, "--shard", TITLE],
        "prompts": ["score", clips, "--prompts", folder / f"{TITLE}.json"],
        "cas model": ["score", clips, "--cas-model", folder / f"{TITLE}.pt"],
        "baselines": ["baselines", bad, "--metrics", "ssim", "--out", folder / "bad-baselines"],
        "probe": ["probe", bad, "--metrics", "ssim", "--out", folder / "bad-probe", "--no-charts"],
        "show": ["show", folder / f"{TITLE}run", TITLE],
        "leaderboard": ["leaderboard", f"{TITLE}={folder / 'good'}"],
        "merge": ["merge", folder / f"{TITLE}run", "--out", folder / "merged"],
        "align": ["align", folder / f"{TITLE}a", folder / f"{TITLE}b"],
        "understand": ["understand", "run", TITLE, "--model", TITLE, "--data", folder / TITLE],
        "generate-clips": ["generate-clips", "--prompts", folder / TITLE, "--out", folder / "made", "--command", TITLE],
        "weights": ["weights", "fetch", TITLE],
    }.items():
        yield "paths and options", name, arguments  # type: ignore[misc]


def _runs(folder: Path, clips: Path, good: Path) -> Iterator[Case]:
    """Run directories from somebody else."""
    run_json = json.loads((good / "run.json").read_text())
    record = json.loads((good / "scores.jsonl").read_text())
    changes: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "label": ({"label": f"{TITLE}label"}, {}),
        "preset": ({"preset": TITLE}, {}),
        "protocol": ({"protocol": TITLE}, {}),
        "models": ({"models": {"flow": TITLE}}, {}),
        "names": ({}, {"clip": f"{TITLE}a", "model": f"{TITLE}m"}),
        "reasons": ({}, {"missing": {"ois": TITLE}, "errors": {"tcs": TITLE}, "notes": [TITLE]}),
        "error": ({}, {"error": f"{TITLE}boom"}),
        "path": ({}, {"path": f"/nonexistent/{TITLE}"}),
        "tags": ({}, {"tags": {TITLE: TITLE}}),
        "prompt": ({}, {"prompt": TITLE, "subject": {"text": TITLE, "noun": TITLE, "source": TITLE}}),
    }
    for name, (configuration, line) in changes.items():
        for row, arguments in {
            "score, resumed": lambda place: ["score", clips, "--metrics", "pas", "--out", place],
            "leaderboard": lambda place: ["leaderboard", place],
            "merge": lambda place: ["merge", place, good, "--out", place.with_name(f"{place.name}-merged")],
            "show": lambda place: ["show", place, "a.npy", "--out", place / "x.png"],
            "show unknown": lambda place: ["show", place, "zzz"],
            "align": lambda place: ["align", place, place, "--out", place / "aligned"],
            "understand leaderboard": lambda place: ["understand", "leaderboard", place],
        }.items():
            place = folder / "hostile" / f"{name}-{row.replace(' ', '-')}"
            shutil.copytree(good, place)
            changed = {**run_json, "configuration": {**run_json["configuration"], **configuration}}
            (place / "run.json").write_text(json.dumps(changed))
            (place / "scores.jsonl").write_text(json.dumps({**record, **line}) + "\n")
            yield row, f"run with hostile {name}", arguments(place)


def _files(campaign: Campaign, folder: Path) -> None:
    """Tables and pages of a run whose models, clips and tags are hostile."""
    clips = folder / "text"
    for number, name in enumerate((*FORMULAS, MARKUP.replace("/", "&"), TEX.replace("/", "&"), "a,b", 'a"b', "a|b")):
        (clips / name).mkdir(parents=True)
        for clip in ("x\ry", "=2+2"):
            frames = np.random.default_rng(number).integers(0, 255, (4, 32, 32, 3), np.uint8)
            np.save(clips / name / f"{clip}.npy", frames)
    prompts = folder / "text.json"
    entries = [
        {"clip": str(path.relative_to(clips)), "prompt": "a dog\rruns", "tags": {"=tag": f"=1{MARKUP}"}}
        for path in sorted(clips.rglob("*.npy"))
    ]
    prompts.write_text(json.dumps(entries))
    out = folder / "text-run"
    scored = run_command("score", clips, "--prompts", prompts, "--metrics", "pas", "--out", out)
    campaign.add("files", "score", scored.trouble)
    for form in ("csv", "latex", "markdown"):
        board = run_command("leaderboard", out, "--format", form)
        campaign.add("files", f"leaderboard, {form}", board.trouble)
    ratings = folder / "text-ratings.csv"
    with ratings.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["clip", "rater", "=quality", MARKUP])
        for number, entry in enumerate(entries):
            writer.writerows([[entry["clip"], rater, 1 + (number + rater) % 5, 2] for rater in range(3)])
    aligned = run_command("align", out, ratings, "--out", out / "aligned")
    campaign.add("files", "align", aligned.trouble)
    for path in sorted(out.rglob("*")):
        if path.suffix in (".csv", ".tex", ".md", ".html", ".svg"):
            name = str(path.relative_to(out))
            campaign.add(f"files: {path.suffix}", name, fault_of_file(path, len(entries)))


def fault_of_file(path: Path, clips: int) -> str:
    """What a reader of the file would act on; empty for nothing."""
    text = path.read_bytes().decode("utf-8", "replace")
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        if len({len(row) for row in rows}) > 1:
            return "rows of several lengths"
        if path.name == "scores.csv" and len(rows) != clips + 1:
            return f"{len(rows) - 1} rows for {clips} clips"
        cells = [cell for row in rows for cell in row if cell and cell[0] in "=+-@\t\r" and not _is_number(cell)]
        return f"{len(cells)} cells are formulas, as {cells[0]!r}" if cells else ""
    if path.suffix == ".tex":
        lines = [line for line in text.splitlines() if re.match(r"\s*\\(input|write|immediate)", line)]
        return f"{len(lines)} lines of foreign TeX" if lines else ""
    raw = MARKUP in text or RAW.search(text.encode())
    return "foreign markup" if raw else ""


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
