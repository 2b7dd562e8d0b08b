from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from vmmetrics.clip import Clip
from vmmetrics.video.content import array_fingerprint, fingerprint


def test_a_file_has_the_sum_that_sha256sum_prints(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"abc")
    assert fingerprint(tmp_path / "a.mp4") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_folder_has_the_sum_the_documentation_says(tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    folder.mkdir()
    (folder / "0002.png").write_bytes(b"two")
    (folder / "0001.png").write_bytes(b"one")
    (folder / ".DS_Store").write_bytes(b"whatever")
    lines = [
        b"0001.png\0" + hashlib.sha256(b"one").hexdigest().encode(),
        b"0002.png\0" + hashlib.sha256(b"two").hexdigest().encode(),
    ]
    assert fingerprint(folder) == hashlib.sha256(b"\n".join(lines) + b"\n").hexdigest()
    before = fingerprint(folder)
    (folder / "0002.png").rename(folder / "0003.png")
    assert fingerprint(folder) != before


def test_arrays_differ_by_content_shape_and_time() -> None:
    frames = np.zeros((2, 4, 6, 3), np.uint8)
    clip = Clip(frames, np.array([0.0, 0.1]), 10.0)
    others = [
        Clip(frames + np.uint8(1), clip.timestamps, 10.0),
        Clip(frames.reshape(2, 6, 4, 3), clip.timestamps, 10.0),
        Clip(frames, np.array([0.0, 0.2]), 5.0),
    ]
    assert len({array_fingerprint(c) for c in [clip, *others]}) == 4
    assert array_fingerprint(Clip(frames.copy(), clip.timestamps, 10.0, name="other")) == array_fingerprint(clip)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such file"):
        fingerprint(tmp_path / "none.mp4")
