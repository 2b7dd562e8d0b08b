"""Film of a clip: overlays on every frame and a cursor over the curves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from vmmetrics.clip import Clip
from vmmetrics.metrics.registry import label
from vmmetrics.scoring.show.findings import Findings, Perceived
from vmmetrics.scoring.show.plot import draw_plot, frame_x, strips_of
from vmmetrics.scoring.show.sheet import draw_frame
from vmmetrics.utils.display.style import FAULT, INK, MUTED, PAPER, write
from vmmetrics.video.encoding import TICKS, write_h264

LEAST_WIDTH = 960
"""Smaller clips are enlarged, for letters that can be read."""
MOST_WIDTH = 1280
MOST_HEIGHT = 600
"""Of the picture, without the curves."""
_TITLE = 62


def write_film(path: Path, clip: Clip, findings: Findings, perceived: Perceived) -> None:
    """Write an MP4 (H.264, yuv420p: plays everywhere) with the clip's own frame times.

    Args:
        path: File to write.
        clip: The clip.
        findings: Its results.
        perceived: Perception results.
    """
    target_width = float(min(MOST_WIDTH, max(LEAST_WIDTH, clip.width)))
    scale = min(target_width / clip.width, MOST_HEIGHT / clip.height)
    width, size = _even(target_width), (max(2, round(clip.width * scale)), max(2, round(clip.height * scale)))
    plot = draw_plot(strips_of(findings, len(clip)), len(clip), clip.fps, width)
    height = _even(_TITLE + size[1] + plot.height + 8)
    pages = (
        _page(clip, frame, findings, draw_frame(clip, frame, findings, perceived, size), plot, (width, height))
        for frame in range(len(clip))
    )
    times = [round(float(moment) * TICKS) for moment in clip.timestamps]
    write_h264(path, pages, clip.fps, {"crf": "18", "preset": "veryfast"}, times=times)


def _page(
    clip: Clip, frame: int, findings: Findings, picture: NDArray[np.uint8], plot: Image.Image, size: tuple[int, int]
) -> NDArray[np.uint8]:
    page = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(page)
    scores = "   ".join(f"{label(m)} {score}" for m, score in findings.scores.items())
    moment = f"frame {frame}, {clip.timestamps[frame]:.2f} s"
    at_fault = any(frame in event.frames for event in findings.faults)
    write(draw, (16, 8), findings.title, 18, INK, width=size[0] - 220)
    write(draw, (size[0] - 16, 8), moment, 16, FAULT if at_fault else MUTED, anchor="ra")
    write(draw, (16, 34), f"{scores}   {findings.label}", 14, MUTED, width=size[0] - 32)
    page.paste(Image.fromarray(picture), ((size[0] - picture.shape[1]) // 2, _TITLE))
    top = _TITLE + picture.shape[0]
    page.paste(plot, (0, top))
    if plot.height:
        x = frame_x(frame, len(clip), size[0])
        draw.line((x, top + 8, x, top + plot.height - 22), fill=INK, width=2)
    return np.asarray(page)


def _even(value: float) -> int:
    """Return the next even number, as H.264 subsamples colour."""
    return 2 * round((value + 1) // 2)
