"""Full disks, read-only places, long names, absurd options, signals, and files that change under the feet of a run."""

from __future__ import annotations

import contextlib
import csv
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import resource_tracker
from pathlib import Path

from benchmarks.campaign.results import Campaign
from tests.bad_inputs import moving_frames, write_video
from tests.reliability.journals import faults_of_files, leftovers, parse_lines, stuck_locks
from tests.reliability.warm import build_commands_once, fork_workers, import_what
from tests.reliability.watched import Ended, Limits, command, fork, processes, run_command, watched

LIMITS = Limits(cpu=60, idle=60, memory=4 << 30, wall=180)
CODES = (0, 2, 3, 130)
NOBODY = 65534
COUNT = 6
OPTIONS = ("--max-memory", "--assume-fps", "--shard", "--jobs", "--metrics", "--preset", "--protocol", "--subject")


def run(campaign: Campaign) -> None:
    """All of them, over ``score``."""
    from vmmetrics.scoring import settings

    settings.SUITE = "fake_suite:FakeSuite"  # inherited by every process that is forked from here
    clips = campaign.scratch / "clips"
    clips.mkdir()
    for number in range(COUNT):
        write_video(clips / f"c{number}slow.mp4", moving_frames(6, seed=number))
    import_what(lambda: command(["score", clips, "--out", campaign.scratch / "first"]))
    build_commands_once()
    fork_workers()
    os.chdir(campaign.scratch)
    for family in (_full_disk, _small_disk, _no_permission, _paths, _options, _signals, _changes):
        family(campaign, clips)


def _record(
    campaign: Campaign, row: str, name: str, ended: Ended, fault: str = "", codes: tuple[int, ...] = CODES
) -> None:
    fault = ended.trouble or fault
    if ended.value not in codes:
        fault = fault or f"exit code {ended.value}: {ended.output[-150:]}"
    campaign.add(row, f"{row}: {name}", fault, f"exit code {ended.value}")


def _resumed(clips: Path, out: Path, count: int = COUNT) -> str:
    """What is wrong after the run has gone on without the fault; empty for nothing."""
    ended = run_command("score", clips, "--out", out, limits=LIMITS)
    if ended.value != 0:
        return f"not resumed, {ended.value}: {ended.output[-150:]}"
    with (out / "scores.csv").open(newline="") as file:
        rows = len(list(csv.DictReader(file)))
    faults = faults_of_files(out) + [f"leaves {name}" for name in leftovers(out)] + stuck_locks(out)
    return "; ".join([*faults, *([f"{rows} rows of {count}"] if rows != count else [])])


def _full_disk(campaign: Campaign, clips: Path) -> None:
    for size in (0, 10, 200, 700, 1000, 1500, 2000, 2500, 3000, 4000, 6000, 8000, 12000):
        out = campaign.scratch / f"size-{size}"
        if not campaign.done(f"no room for files: {size} bytes"):
            ended = watched(lambda size=size, out=out: _score_within(size, clips, out), LIMITS)
            _record(campaign, "no room for files", f"{size} bytes", ended, _resumed(clips, out))


def _score_within(size: int, clips: Path, out: Path) -> int:
    """Score where no file may grow beyond a size; the output goes through a pipe, as it is kept in a file too."""
    reads, writes = os.pipe()
    copier = os.fork()
    if not copier:
        os.close(writes)
        while data := os.read(reads, 1 << 16):
            os.write(1, data)
        os._exit(0)
    os.close(reads)
    os.dup2(writes, 1)
    os.dup2(writes, 2)
    os.close(writes)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115 - no longer a file
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as Python has it from its start
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        code = command(["score", clips, "--out", out])
    except Exception:
        traceback.print_exc()
        code = 1
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    sys.stdout.flush()
    sys.stderr.flush()
    for number in (1, 2):
        os.close(number)
        os.open(os.devnull, os.O_WRONLY)
    resource_tracker._resource_tracker._stop()  # it holds the pipe, too
    os.waitpid(copier, 0)
    return code


def _small_disk(campaign: Campaign, clips: Path) -> None:
    for kib in (4, 8, 16, 24, 32, 40, 64):
        disk = campaign.scratch / f"disk-{kib}"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(disk)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            campaign.add("small disk", f"small disk: {kib} KiB", outcome="not root")
            continue
        try:
            ended = run_command("score", clips, "--out", disk / "out", limits=LIMITS)
            subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=False)  # noqa: S607
            _record(campaign, "small disk", f"{kib} KiB", ended, _resumed(clips, disk / "out"))
        finally:
            subprocess.run(["umount", str(disk)], check=False)  # noqa: S607


def _drop_rights() -> None:
    if not os.geteuid():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def _no_permission(campaign: Campaign, clips: Path) -> None:
    campaign.scratch.chmod(0o755)  # mkdtemp gives it to its owner alone
    done = campaign.scratch / "done"

    def fresh() -> Path:
        shutil.rmtree(done, ignore_errors=True)
        run_command("score", clips, "--out", done, limits=LIMITS)
        return done

    def closed_parent() -> Path:
        place = campaign.scratch / "closed"
        place.mkdir(exist_ok=True)
        place.chmod(0o555)
        return place / "out"

    def of_another() -> Path:
        return fresh()

    def lock_alone() -> Path:
        fresh().chmod(0o777)
        (done / "run.lock").chmod(0o666)
        return done

    def closed_folder() -> Path:
        lock_alone().chmod(0o555)
        return done

    def closed_journal() -> Path:
        lock_alone()
        for path in done.iterdir():
            path.chmod(0o666)
        (done / "scores.jsonl").chmod(0)
        return done

    for make in (closed_parent, of_another, lock_alone, closed_folder, closed_journal):
        name = make.__name__.replace("_", " ")
        if not campaign.done(f"no permission: {name}"):
            ended = run_command("score", clips, "--out", make(), limits=LIMITS, before=_drop_rights)
            _record(campaign, "no permission", name, ended)
    denied = campaign.scratch / "denied"
    shutil.copytree(clips, denied)
    (denied / "c0slow.mp4").chmod(0)
    (denied / "closed").mkdir(mode=0)
    out = campaign.scratch / "open"
    out.mkdir(mode=0o777)
    out.chmod(0o777)
    ended = run_command("score", denied, "--out", out / "a", limits=LIMITS, before=_drop_rights)
    _record(campaign, "no permission", "a clip and a folder", ended)
    (denied / "closed").chmod(0o755)


def _paths(campaign: Campaign, clips: Path) -> None:
    base = campaign.scratch
    long, very_long = base / ("x" * 300), Path(str(base) + "/y" * 3000)
    (base / "nowhere").symlink_to("/nonexistent/x")
    named = base / ("n" * 230)
    shutil.copytree(clips, named)
    for name, arguments in {
        "out of 300 characters": ["score", clips, "--out", long],
        "out of 6000 characters": ["score", clips, "--out", very_long],
        "out of 250 characters": ["score", clips, "--out", base / ("l" * 250)],
        "out is a file": ["score", clips, "--out", clips / "c0slow.mp4"],
        "out is a device": ["score", clips, "--out", "/dev/null"],
        "out has other files": ["score", clips, "--out", clips],
        "out is a dangling symlink": ["score", clips, "--out", base / "nowhere"],
        "out below a file": ["score", clips, "--out", clips / "c0slow.mp4" / "x"],
        "out with NUL": ["score", clips, "--out", "a\0b"],
        "out with odd characters": ["score", clips, "--out", base / "ü – 🐎 'q\" \\ x"],
        "clip of 300 characters": ["score", long],
        "clip of 6000 characters": ["score", very_long],
        "clip with NUL": ["score", "a\0b"],
        "prompts of 300 characters": ["score", clips, "--prompts", long],
        "prompts is a folder": ["score", clips, "--prompts", clips],
        "prompts is a device": ["score", clips, "--prompts", "/dev/null"],
        "folder of 230 characters without out": ["score", named],
        "classifier that is not there": ["score", clips, "--cas-model", base / "none.pt"],
        "show of 300 characters": ["show", long, "a"],
        "show into 300 characters": ["show", base / "first", "c0slow.mp4", "--out", long],
        "show into no folder": ["show", base / "first", "c0slow.mp4", "--out", base / "no" / "x.png"],
        "leaderboard of 300 characters": ["leaderboard", long],
        "merge of 300 characters": ["merge", long, "--out", base / "m"],
        "merge into 300 characters": ["merge", base / "first", "--out", long],
        "align of 300 characters": ["align", long, long],
        "baselines into 300 characters": ["baselines", clips, "--metrics", "ssim", "--out", long],
        "probe into 300 characters": ["probe", clips, "--metrics", "ssim", "--out", long],
        "generate-clips into 300 characters": [
            "generate-clips",
            "--prompts",
            "mini",
            "--out",
            long,
            "--command",
            "true",
        ],
        "prompts stats of 300 characters": ["prompts", "stats", long],
        "prompts filter into 300 characters": ["prompts", "filter", "mini", "--out", long],
        "understand data of 300 characters": ["understand", "run", "synthetic", "--model", "random", "--data", long],
        "weights into 300 characters": ["weights", "fetch", "raft", "--mirror", f"file://{long}"],
    }.items():
        if not campaign.done(f"paths: {name}"):
            _record(campaign, "paths", name, run_command(*arguments, limits=LIMITS))


def _options(campaign: Campaign, clips: Path) -> None:
    out = campaign.scratch / "options"
    numbers = ("0", "-1", "inf", "-inf", "nan", "1e9", "1e400", "x", "", "9" * 400, "0x10", "1_0", "٣", "\x1b[31m")
    for option in (
        "--max-memory",
        "--assume-fps",
        "--shard",
        "--jobs",
        "--metrics",
        "--preset",
        "--protocol",
        "--subject",
    ):
        values = [*numbers, "9999999TB", "1KB"] if option == "--max-memory" else list(numbers)
        values += ["1/0", "0/5", "6/5", "1/" + "9" * 5000] if option == "--shard" else []
        for number, value in enumerate(values):
            name = f"{option} {value[:20]!r} {number}"
            if not campaign.done(f"options: {name}"):
                place = out / f"{option[2:]}-{number}"
                ended = run_command("score", clips, "--out", place, option, value, limits=LIMITS)
                _record(campaign, "options", name, ended)


def _begin(clips: Path, out: Path, log: Path) -> int:
    with log.open("wb") as file:
        return fork(lambda: command(["score", clips, "--out", out]), file.fileno())


def end(pid: int, log: Path) -> Ended:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return Ended(code, code, "", 0, 0, log.read_text(errors="replace"))
        time.sleep(0.01)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return Ended(None, -9, "wall", 0, 0, log.read_text(errors="replace"))


def _until(pid: int, out: Path, count: int) -> None:
    until = time.monotonic() + 30
    while len(parse_lines(out / "scores.jsonl")[0]) < count and time.monotonic() < until and processes(pid):
        time.sleep(0.005)


def _signals(campaign: Campaign, clips: Path) -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        for delay in (0.0, 0.02, 0.05, 0.1, 0.2, "work", "twice"):
            if campaign.done(f"signals: {name} {delay}"):
                continue
            out, log = (campaign.scratch / f"{name}-{delay}{suffix}" for suffix in ("", ".log"))
            pid = _begin(clips, out, log)
            if isinstance(delay, float):
                time.sleep(delay)
            else:
                _until(pid, out, 2)
            for _ in range(2 if delay == "twice" else 1):
                send = os.kill if name == "SIGTERM" else os.killpg  # Ctrl-C and a closed terminal reach the group
                with contextlib.suppress(ProcessLookupError):
                    send(pid, getattr(signal, name))
                time.sleep(0.05 if delay == "twice" else 0)
            begun = (out / "run.json").exists()
            ended = end(pid, log)
            if ended.code == -getattr(signal, name) and not begun:  # before any handler was there
                ended = replace(ended, code=130, value=130)
            time.sleep(0.3)
            left = processes(pid)
            fault = f"{len(left)} processes left" if left else _resumed(clips, out)
            if delay == "work" and not (out / "scores.csv").exists():
                fault = fault or "no table"
            _record(campaign, "signals", f"{name} {delay}", ended, fault, (0, 130))


def _changes(campaign: Campaign, clips: Path) -> None:
    def emptied(own: Path, _out: Path) -> None:
        (own / "c5slow.mp4").write_bytes(b"")

    def removed(own: Path, _out: Path) -> None:
        (own / "c5slow.mp4").unlink()

    def replaced(own: Path, _out: Path) -> None:
        shutil.copy(own / "c0slow.mp4", own / "c5slow.mp4")

    def clips_removed(own: Path, _out: Path) -> None:
        shutil.rmtree(own)

    def run_removed(_own: Path, out: Path) -> None:
        shutil.rmtree(out, ignore_errors=True)

    def journal_removed(_own: Path, out: Path) -> None:
        (out / "scores.jsonl").unlink()

    def journal_emptied(_own: Path, out: Path) -> None:
        (out / "scores.jsonl").write_bytes(b"")

    def journal_garbled(_own: Path, out: Path) -> None:
        with (out / "scores.jsonl").open("r+b") as file:
            file.write(b"\xff\x00garbage")

    def lock_removed(_own: Path, out: Path) -> None:
        (out / "run.lock").unlink()

    def settings_removed(_own: Path, out: Path) -> None:
        (out / "run.json").unlink()

    changes: list[Callable[[Path, Path], None]] = [emptied, removed, replaced, clips_removed, run_removed]
    changes += [journal_removed, journal_emptied, journal_garbled, lock_removed, settings_removed]
    for change in changes:
        name = change.__name__.replace("_", " ")
        if campaign.done(f"changes: {name}"):
            continue
        own, out, log = (campaign.scratch / f"{change.__name__}-{part}" for part in ("clips", "out", "log"))
        shutil.copytree(clips, own)
        pid = _begin(own, out, log)
        _until(pid, out, 2)
        change(own, out)
        ended = end(pid, log)
        _record(
            campaign, "changes", name, ended, "; ".join(faults_of_files(out)) if change is not journal_garbled else ""
        )
