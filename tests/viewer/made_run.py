"""Made-up runs, written as ``score`` writes them: clips that play, events, overlays, missing scores.

Every clip has its frame number burnt in (:func:`frames_with_numbers`), so that a picture tells which frame it is.
"""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import numpy as np
from PIL import Image

from vmmetrics.clip import Clip
from vmmetrics.metrics import METRICS
from vmmetrics.perception.scene import Camera, Objects, PointTracks, Poses, SceneObject
from vmmetrics.scoring.directory import RunDirectory
from vmmetrics.scoring.pictures import Pictures
from vmmetrics.scoring.record import Record, result_to_json
from vmmetrics.scoring.show.capture import poster_of
from vmmetrics.scoring.show.findings import Perceived
from vmmetrics.scoring.show.overlay import encode_overlay
from vmmetrics.types import Event, MetricResult, UInt8Array

MODELS = ("alpha", "beta", "gamma")
PROMPTS = ("a dog runs", "a cat jumps over a wall", "two people dance", "waves roll onto a beach")
HOSTILE = '<img src=x onerror="document.title=1"></script><b>&amp;\u2028\u202eabc \U0001f600'
CODECS = {".mp4": "libx264", ".webm": "libvpx-vp9"}
NAMES = {".mp4": "h264", ".webm": "vp9"}  # as a record has them
BITS, BLOCK = 6, 8
"""Of a frame number, and pixels of the square that shows each: white for 1, black for 0, from the left at the top."""
WIDTH, HEIGHT, FPS = 64, 48, 8


@dataclass
class MadeClip:
    """One clip of a made-up run; what is None or empty is left out of its record."""

    name: str
    model: str | None = None
    prompt: str | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    not_applicable: tuple[str, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    events: Sequence[Event] = ()
    tags: Mapping[str, str | float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    frames: int = 12


def frames_with_numbers(count: int, shade: int = 96) -> UInt8Array:
    """Return (count, HEIGHT, WIDTH, 3) frames, the number of each in :data:`BITS` squares, highest bit first."""
    frames = np.full((count, HEIGHT, WIDTH, 3), shade, np.uint8)
    for number in range(count):
        for bit in range(BITS):
            lit = number >> (BITS - 1 - bit) & 1
            frames[number, :BLOCK, bit * BLOCK : (bit + 1) * BLOCK] = 255 * lit
        left = 4 + number % (WIDTH - 20)
        frames[number, 24:36, left : left + 12] = (220, 60, 40)
    return frames


def write_clip(path: Path, frames: UInt8Array, fps: int = FPS) -> None:
    """Write a clip as H.264 or VP9, by its suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as output:
        stream = output.add_stream(CODECS[path.suffix], rate=fps, options={"crf": "20"})
        stream.width, stream.height, stream.pix_fmt = frames.shape[2], frames.shape[1], "yuv420p"
        stream.gop_size = 6
        for picture in frames:
            output.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        output.mux(stream.encode(None))


def number_in(png: bytes) -> int:
    """Return the frame number that a picture of a clip shows, whatever its size; canvases of file:// cannot be read."""
    picture = np.asarray(Image.open(io.BytesIO(png)).convert("L"))
    row = picture[round(picture.shape[0] * BLOCK / 2 / HEIGHT)]
    lit = [row[round(len(row) * (bit + 0.5) * BLOCK / WIDTH)] > 128 for bit in range(BITS)]
    return int("".join("01"[int(bit)] for bit in lit), 2)


def perceived(count: int) -> Perceived:
    """Return one object, the square that moves, with one track in its middle, and one person, a vertical line."""
    labels = np.zeros((count, HEIGHT, WIDTH), np.uint8)
    lefts = 4 + np.arange(count) % (WIDTH - 20)
    for frame, left in enumerate(lefts):
        labels[frame, 24:36, left : left + 12] = 1
    present = np.ones(count, np.bool_)
    objects = Objects(labels, (SceneObject(1, "object", present, ~present),), (1.0, 1.0))
    xy = np.stack([lefts + 6.0, np.full(count, 30.0)], axis=-1)[:, None]
    tracks = PointTracks(xy, present[:, None], np.zeros(1, np.int64))
    joints = np.zeros((count, 1, 17, 2))
    joints[..., 0], joints[..., 1] = WIDTH - 8, np.linspace(10, HEIGHT - 4, 17)
    boxes = np.broadcast_to(np.array([WIDTH - 12.0, 8, WIDTH - 4, HEIGHT - 2]), (count, 1, 4))
    poses = Poses(joints, np.ones((count, 1, 17)), boxes)
    camera = Camera(np.tile(np.eye(3), (count - 1, 1, 1)), ("still",) * (count - 1), np.ones(count - 1))
    return Perceived(objects, {1: tracks}, poses, camera)


def write_run(path: Path, clips: Iterable[MadeClip], *, root: Path | None = None, preset: str = "embedded") -> Path:
    """Write a run directory.

    Args:
        path: The directory.
        clips: What was scored.
        root: Folder to write the clips, posters and overlays of; None writes none of them.
        preset: Runs of different presets are not comparable.
    """
    configuration = {
        "preset": preset, "protocol": "vmmetrics", "models": {"flow": "DIS"}, "weights": {}, "comparable": False,
        "label": f"preset {preset}, protocol vmmetrics: not comparable", "versions": {"vmmetrics": "0.2.0"},
    }  # fmt: skip
    run = RunDirectory(path, configuration, {"metrics": METRICS, "command": ["vmmetrics", "score", "clips"]})
    run.begin(0)
    for clip in clips:
        run.append(*_outcome(clip, root, preset))
    run.commit()
    run.end()
    run.close()
    return path


def _outcome(made: MadeClip, root: Path | None, preset: str) -> tuple[Record, dict[str, Any], Pictures]:
    """Return record, events and pictures of a clip, whose file is written where there is none."""
    name = made.name.encode("utf-8", "surrogatepass")
    digest, pictures, file = hashlib.sha256(name).hexdigest(), Pictures(), None
    if root is not None and made.error is None:
        file = root / made.name
        frames = frames_with_numbers(made.frames, 64 + zlib.crc32(name) % 96)
        if not file.exists():
            write_clip(file, frames)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        clip = Clip(frames, np.arange(made.frames) / FPS, float(FPS))
        pictures = Pictures(poster_of(clip), encode_overlay(clip, perceived(made.frames)))
    record = Record(
        made.name, made.model, None if file is None else str(file), digest, preset, "vmmetrics", made.scores,
        made.missing, made.not_applicable, made.errors, made.error, frames=None if made.error else made.frames,
        fps=None if made.error else float(FPS), size=(WIDTH, HEIGHT), prompt=made.prompt, prompt_source="list",
        tags=made.tags, notes=made.notes, worker="host:1", ended="2026-11-23T12:00:00+00:00", seconds=1.5,
        score_version=dict.fromkeys(made.scores, 2), codec=None if file is None else NAMES[file.suffix],
    )  # fmt: skip
    values = np.r_[np.nan, np.linspace(0.1, 0.9, made.frames - 1)]
    events = {
        metric: result_to_json(
            MetricResult(score, events=tuple(e for e in made.events if e.metric == metric), series={"value": values})
        )
        for metric, score in made.scores.items()
    }
    return record, events, pictures


def example_clips(shift: float = 0.0) -> list[MadeClip]:
    """Return 3 models x 4 prompts: clip ``m`` of prompt ``p`` scores 0.3 + 0.1 m + 0.05 p + ``shift``.

    TCS of alpha's first clip and of gamma's last is missing, beta's last clip failed, alpha's second failed in OIS.
    """
    clips = []
    for m, model in enumerate(MODELS):
        for p, prompt in enumerate(PROMPTS):
            score = round(0.3 + 0.1 * m + 0.05 * p + shift, 4)
            clip = MadeClip(f"{model}/{p}-{prompt.replace(' ', '-')}{('.mp4', '.webm')[(m + p) % 2]}", model, prompt)
            clip.scores, clip.frames = dict.fromkeys(METRICS, score), 12 + 4 * m
            clip.tags = {"pattern": ("reciprocating", "one way")[p % 2], "seconds": 2.0 + p}
            clip.events = (
                Event("tcs", (3, 4, 5), "vanished without cause", "object 1", (8.0, 20.0, 24.0, 40.0), 0.8, 0.5),
                Event("tcs", (8,), "vanished without cause", "object 1", None, 0.6, 0.5, "left through the edge"),
                Event("ois", (2, 3), "limb length changed", "left forearm", (48.0, 8.0, 62.0, 40.0), 0.4, 0.2),
                Event("mss", (), "blurred", None, None, 0.3, 0.1),
            )
            clips.append(clip)
    for position, reason in ((0, "no object moved"), (11, HOSTILE)):
        clips[position].scores = {m: v for m, v in clips[position].scores.items() if m != "tcs"}
        clips[position].missing = {"tcs": reason}
    clips[1].scores = {m: v for m, v in clips[1].scores.items() if m != "ois"}
    clips[1].errors = {"ois": "ValueError: broken"}
    clips[7] = MadeClip(clips[7].name, "beta", PROMPTS[3], error="The file is empty")
    clips[10].prompt, clips[10].notes = HOSTILE, (HOSTILE, "assumed 8 frames per second")
    clips[10].tags = {**clips[10].tags, "pattern": HOSTILE}
    return clips
