"""What a run shows of a clip that takes long."""

from __future__ import annotations

import io
from typing import Any

from vmmetrics.cli.progress import LiveProgress
from vmmetrics.cli.terminal import PlainConsole
from vmmetrics.scoring.record import Record


def progress(terminal: bool) -> tuple[LiveProgress, Any]:
    text = io.StringIO()
    console = PlainConsole(file=text, width=120, force_terminal=terminal)
    return LiveProgress(console, ("pas",)), text


def status(live: LiveProgress) -> str:
    assert live._bar is not None
    return str(live._bar.tasks[0].fields["status"])


def test_one_line_for_each_clip_that_takes_more_than_a_minute() -> None:
    live, text = progress(terminal=False)
    with live:
        live.begin(3, 0)
        for seconds in (1, 59, 60, 61, 3000):
            live.wait("slow\x1b.mp4", seconds)
        live.wait("next.mp4", 30)
        live.wait("next.mp4", 75)
        for number in range(2):
            live.advance(Record(f"{number}.mp4", None, None, "0" * 64, "embedded", "vmmetrics"))
            live.wait("slow\x1b.mp4", 3100)
    assert [line for line in text.getvalue().splitlines() if "at work" in line] == [
        r"slow\x1b.mp4: at work for 1:00 so far",
        "next.mp4: at work for 1:15 so far",
    ]


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
