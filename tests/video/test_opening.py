"""A search opens no pipe."""

from __future__ import annotations

import os
from pathlib import Path

from tests.bad_inputs import moving_frames, write_pictures
from vmmetrics.video import discover
from vmmetrics.video.folders import frame_files


def test_a_search_opens_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.webp")
    folder = write_pictures(tmp_path / "frames", moving_frames(2))
    os.mkfifo(folder / "0002.png")
    assert [source.name for source in discover([tmp_path])] == ["a.webp", "frames"]
    assert len(frame_files(folder)) == 3  # a frame that cannot be read is an error, not a gap
