"""What a run shows of a clip that takes long."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.cli.progress import LiveProgress, finding
from vmmetrics.cli.terminal import Bar, PlainConsole
from vmmetrics.scoring.record import Record


def progress(terminal: bool, metrics: Sequence[str] = ("pas",), jobs: int = 1) -> tuple[LiveProgress, Any]:
    text = io.StringIO()
    console = PlainConsole(file=text, width=120, force_terminal=terminal)
    return LiveProgress(console, metrics, jobs), text


def status(live: LiveProgress) -> str:
    assert live._bar is not None
    return str(live._bar.tasks[0].fields["status"])


def test_a_line_for_each_clip_that_takes_more_than_a_minute_and_whenever_its_time_has_doubled() -> None:
    live, text = progress(terminal=False)
    with live:
        live.begin(3, 0)
        for seconds in (1, 59, 60, 61, 119, 121, 239):
            live.wait("slow\x1b.mp4", seconds)
        live.wait("next.mp4", 30)
        live.wait("next.mp4", 75)
        for number in range(2):
            live.advance(Record(f"{number}.mp4", None, None, "0" * 64, "embedded", "vmmetrics"))
            live.wait("slow\x1b.mp4", 240)
    assert [line for line in text.getvalue().splitlines() if "running for" in line] == [
        r"slow\x1b.mp4: running for 1:00 so far",
        r"slow\x1b.mp4: running for 2:01 so far",
        "next.mp4: running for 1:15 so far",
    ]


def test_the_share_done_of_a_long_clip_and_the_time_left_since_it_last_grew() -> None:
    live, text = progress(terminal=False)
    with live:
        live.begin(1, 0)
        live.wait("long.mp4", 40, 0.25)  # 120 s are left
        live.wait("long.mp4", 60, 0.25)
        live.wait("long.mp4", 120, 0.75)
        live.wait("long.mp4", 300, 0.75)  # longer than was expected
        live.wait("long.mp4", 600, 1.0)
    assert text.getvalue().splitlines() == [
        "long.mp4: running for 1:00 so far, about 25% done, 1:40 left",
        "long.mp4: running for 2:00 so far, about 75% done, 0:40 left",
        "long.mp4: running for 5:00 so far, about 75% done",
        "long.mp4: running for 10:00 so far",
    ]
    live, _ = progress(terminal=True)
    with live:
        live.begin(1, 0)
        live.wait("long.mp4", 30, 0.5)
        assert status(live) == "long.mp4 for 0:30, about 50% done, 0:30 left"


def test_the_bar_names_the_slowest_after_ten_seconds() -> None:
    live, _ = progress(terminal=True)
    with live:
        live.begin(3, 0)
        live.wait("slow.mp4", 9)
        assert status(live) == ""
        live.wait("slow.mp4", 75)
        assert status(live) == "slow.mp4 for 1:15"
        live.advance(Record("slow.mp4", None, None, "0" * 64, "embedded", "vmmetrics"))
        assert "left" in status(live)
        assert "slow.mp4" not in status(live)
        live.wait("next.mp4", 10)
        assert status(live).endswith("left, next.mp4 for 0:10")


def record(name: str, seconds: float = 0.0, **scores: float) -> Record:
    return Record(name, None, None, "0" * 64, "baselines", "vmbench", scores, seconds=seconds)


def test_the_time_left_does_not_count_the_start_of_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    live, text = progress(terminal=False, jobs=2)
    with live:
        live.begin(102, 0)
        for end in (300, 300, 310, 310):  # five minutes until the workers are there, then ten seconds a clip
            now[0] = end
            live.advance(record("x.mp4", 10, pas=0.5))
    left = [line.split()[-2] for line in text.getvalue().splitlines()]
    assert left == ["8:25", "8:20", "8:15", "5:27"]  # 5 s each of two workers; then 10 s over 3 clips, and so on
    assert live.summary() == "4 clips in 5:10 with 2 workers: 10 s a clip (median)"


@pytest.mark.parametrize(("running", "left"), [(64, "15:31"), (4, "3:49:14")])
def test_the_time_left_with_more_workers_than_clips_are_looked_back_at(
    monkeypatch: pytest.MonkeyPatch, running: int, left: str
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    live, text = progress(terminal=False, jobs=64)
    with live:
        live.begin(6000, 0)
        for number in range(40):  # before each worker asked for had one; only some of them came to run
            now[0] = 100 + 10 * (number // running)
            live.advance(record("x.mp4", 10, pas=0.5))
        assert text.getvalue().split()[-2] == left  # (10 s / 64, or 90 s / 39 for each) times 5960
        for number in range(40, 1000):
            now[0] = 100 + 10 * (number // running)
            live.advance(record("x.mp4", 10, pas=0.5))
    each = 10 / running  # 1, 2 or 16 rounds of the workers lie in what is looked back at
    assert abs(seconds_of(text.getvalue().split()[-2]) - 5000 * each) <= 0.05 * 5000 * each


def seconds_of(shown: str) -> int:
    return sum(int(part) * 60**place for place, part in enumerate(reversed(shown.split(":"))))


def test_values_of_any_metric_stand_in_the_lines() -> None:
    live, text = progress(terminal=False, metrics=("ssim", "brisque", "niqe"))
    with live:
        live.begin(1, 0)
        live.advance(record("x.mp4", 1, ssim=0.5, brisque=83.9361234))
    assert text.getvalue() == "[1/1] x.mp4  ssim 0.5000 brisque 83.936  done\n"


def test_nothing_is_said_of_the_time_where_nothing_was_scored() -> None:
    live, text = progress(terminal=False)
    with live:
        live.begin(2, 2)
    assert live.summary() == ""
    assert text.getvalue() == "2 of 2 clips were scored before\n"


def test_the_search_for_clips_is_said_before_it_begins(tmp_path: Path) -> None:
    folder = tmp_path / "a\x1b folder"
    folder.mkdir()
    for terminal in (False, True):
        text = io.StringIO()
        console = PlainConsole(file=text, width=300, force_terminal=terminal)
        with finding(console, [str(folder), str(tmp_path / "file.mp4")]) as found:
            if not terminal:
                assert text.getvalue() == f"finding clips in {tmp_path}/a\\x1b folder ...\n"
            found(1234)
            time.sleep(0.2)  # the picture of a terminal is drawn some times a second
        assert terminal == ("1,234" in text.getvalue())
        assert "\x1b folder" not in text.getvalue()


def test_a_phase_is_told_at_its_start_and_each_half_minute_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resumed run begins at half: what was done before says nothing of the pace."""
    text, clock = io.StringIO(), [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    bar = Bar(PlainConsole(file=text, width=120, force_terminal=False))
    for seconds, step in ((0, 50), (10, 55), (50, 60), (5, 61)):
        clock[0] += seconds
        bar.phase("training", step, 100, f", loss {step / 100}")
    bar.phase("judging clips", 1, 4)
    assert text.getvalue().splitlines() == [
        "training, loss 0.5: 50%", "training, loss 0.6: 60%, 4 min left", "judging clips: 25%"
    ]  # fmt: skip
