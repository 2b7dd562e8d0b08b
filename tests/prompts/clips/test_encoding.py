"""Whatever a generator hands over becomes the same file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vmmetrics.errors import ClipError
from vmmetrics.prompts.clips.makers import write_video
from vmmetrics.video import read_clip


def scene(height: int = 48, width: int = 64) -> np.ndarray[Any, Any]:
    """A soft bright spot that moves over a gradient, (7, H, W, 3) uint8."""
    y, x = np.mgrid[:height, :width]
    spots = [np.exp(-((x - 10 - 5 * t) ** 2 + (y - height / 2) ** 2) / 60) for t in range(7)]
    return np.stack([np.stack([200 * s, 120 + 0 * s, 2.0 * x], -1).clip(0, 255) for s in spots]).astype(np.uint8)


@pytest.mark.parametrize("form", ["uint8", "float", "signed", "channels first", "pil", "list", "torch"])
def test_every_form_gives_the_same_file(tmp_path: Path, form: str) -> None:
    frames = scene()
    given: Any = {
        "uint8": frames,
        "float": (frames / 255).astype(np.float32),
        "signed": (frames / 127.5 - 1).astype(np.float32),
        "channels first": (frames / 255).transpose(0, 3, 1, 2),
        "pil": [Image.fromarray(frame) for frame in frames],
        "list": [frame / 255 for frame in frames],
        "torch": None,
    }[form]
    if form == "torch":
        torch = pytest.importorskip("torch")
        given = torch.from_numpy(frames / 255).permute(0, 3, 1, 2).contiguous()
    write_video(tmp_path / "plain.mp4", frames, 8)
    write_video(tmp_path / "other.mp4", given, 8)
    assert (tmp_path / "other.mp4").read_bytes() == (tmp_path / "plain.mp4").read_bytes()


@pytest.mark.parametrize("size, fps", [((48, 64), 8.0), ((49, 63), 24.0), ((48, 63), 29.97)])
def test_what_is_written_is_what_is_read(tmp_path: Path, size: tuple[int, int], fps: float) -> None:
    frames = scene(*size)
    write_video(tmp_path / "clip.mp4", frames, fps)
    clip = read_clip(tmp_path / "clip.mp4")
    assert clip.frames.shape == frames.shape and clip.fps == pytest.approx(fps, rel=1e-3)
    error = np.mean((clip.frames.astype(float) - frames) ** 2)
    assert 10 * np.log10(255**2 / error) > 35


@pytest.mark.parametrize(
    "frames", [np.full((4, 32, 32, 3), np.nan), np.zeros((32, 32)), [], np.full((4, 32, 32, 3), 9.0)]
)
def test_what_is_no_clip_is_refused(tmp_path: Path, frames: Any) -> None:
    with pytest.raises(ClipError):
        write_video(tmp_path / "clip.mp4", frames, 8)
    assert not (tmp_path / "clip.mp4").exists()
