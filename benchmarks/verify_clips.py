"""Make the 20 clips that ``vmmetrics verify`` scores, and the scores that it compares with.

    python -m benchmarks.verify_clips                      # the scores, whenever the version of one changes,
    PYTHONPATH=CV4 python -m benchmarks.verify_clips       # and those of OpenCV 4, installed with pip --target CV4
    python -m benchmarks.verify_clips --clips FOOTAGE      # clips and scores

Clips are tests/data/samples, renders, and the footage that NOTICE names, made small.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.scenes.render import render
from benchmarks.scenes.suites import SUITES
from benchmarks.scenes.textures import TextureBank
from vmmetrics.metrics.registry import METRICS
from vmmetrics.scoring import verification
from vmmetrics.scoring.summary import INDEX
from vmmetrics.video import read_clip
from vmmetrics.video.encoding import write_h264

Frames = NDArray[np.uint8]

SAMPLES = Path(__file__).parents[1] / "tests" / "data" / "samples"
LENGTH, MOST_BYTES = 16, 25_000
# With AVX2 turned off in OpenCV, numpy and OpenBLAS (OPENCV_CPU_DISABLE, NPY_DISABLE_CPU_FEATURES, OPENBLAS_CORETYPE)
# PAS of one clip differs by 0.04, every other score by less than 0.0001. No processor without it was tried.
WITHOUT_AVX2 = {**dict.fromkeys((*METRICS, INDEX), 0.01), "pas": 0.1}
GENERATED = (
    "zeroscope/cars-drive-fast.mp4", "cogvideo/woman-walks-and-sits.mp4", "modelscope-t2v/cars-drive-fast.mp4",
    "modelscope-t2v/woman-walks-and-sits.mp4", "text2video-zero/woman-walks-and-sits.gif",
    "zeroscope/woman-walks-and-sits.mp4",
)  # fmt: skip
RENDERED = (
    ("pas", 278), ("pas", 34), ("pas", 150), ("mss", 7), ("mss", 5), ("tcs", 0), ("tcs", 10),
    ("negatives", 151), ("negatives", 191),
)  # fmt: skip
# Name: file, first frame, step, crop (left, top, width, height), width and height of the clip.
FOOTAGE = {
    "juggle": ("real-clips/sam2_05_juggle.mp4", 60, 2, (340, 0, 720, 720), (224, 224)),
    "cups": ("real-clips/sam2_02_cups.mp4", 90, 3, (0, 0, 1280, 720), (192, 108)),
    "stream": ("footage/real/r_mdn_stream.mp4", 10, 2, (0, 0, 480, 360), (192, 144)),
    "smoke": ("footage/real/r_fire_house6.mp4", 300, 3, (54, 0, 320, 240), (192, 144)),
    "parking": ("footage/real/r_intel_cars.gif", 5, 2, (0, 0, 480, 270), (192, 108)),
}


def sources(footage: Path) -> Iterator[tuple[str, Frames, float]]:
    """Yield name, frames (16, H, W, 3) and rate of each clip."""
    for name in GENERATED:
        clip = read_clip(SAMPLES / name)
        yield name.partition(".")[0].replace("/", "-"), smaller(clip.frames[:LENGTH], 192), clip.fps
    for kind, seed in RENDERED:
        scene = SUITES[kind](seed)
        small = replace(scene, size=(256, 192) if scene.size != (256, 256) else scene.size)
        frames = render(small, seed, TextureBank((), held_out=False)).frames
        step = len(frames) // LENGTH
        yield f"rendered-{scene.name.replace('/', '-')}", smaller(frames[::step][:LENGTH], 160), scene.fps / step
    for name, (file, first, step, (left, top, width, height), size) in FOOTAGE.items():
        clip = read_clip(footage / file)
        chosen = clip.frames[first::step][:LENGTH, top : top + height, left : left + width]
        yield (
            f"real-{name}",
            np.stack([cv2.resize(f, size, interpolation=cv2.INTER_AREA) for f in chosen]),
            clip.fps / step,
        )


def smaller(frames: Frames, width: int) -> Frames:
    """Return frames of this width."""
    height = round(frames.shape[1] * width / frames.shape[2] / 2) * 2
    return np.stack([cv2.resize(f, (width, height), interpolation=cv2.INTER_AREA) for f in frames])


def write(path: Path, frames: Frames, fps: float) -> None:
    """Encode a clip as well as fits into :data:`MOST_BYTES`."""
    for quality in itertools.count(20):
        write_h264(path, frames, fps, {"crf": str(quality), "preset": "veryslow"}, threads=1)
        if path.stat().st_size <= MOST_BYTES:
            return


def store_scores() -> None:
    """Score the clips and store the scores of the installed OpenCV."""
    stored = json.loads(verification.STORED.read_text()) if verification.STORED.exists() else {}
    major = verification.opencv_major()
    scores = {record.clip: verification.values_of(record) for record in verification.score_clips()}
    stored.setdefault("made_with", {})[major] = verification.passport()
    stored.setdefault("scores", {})[major] = scores
    stored["tolerance_without_avx2"] = WITHOUT_AVX2
    verification.STORED.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", metavar="FOOTAGE", type=Path, help="make the clips anew, with this footage")
    footage = parser.parse_args().clips
    if footage is not None:
        for name, frames, fps in sources(footage):
            write(verification.CLIPS / f"{name}.mp4", frames, fps)
    store_scores()


if __name__ == "__main__":
    main()
