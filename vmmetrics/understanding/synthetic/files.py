"""The suite on disk: a folder of clips, and ``questions.jsonl`` about them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import av

from vmmetrics.errors import SetupError, cannot
from vmmetrics.understanding.synthetic.drawing import SIDE
from vmmetrics.understanding.synthetic.scenes import Reading, Scene
from vmmetrics.understanding.synthetic.suite import Item, bucket_of, make
from vmmetrics.utils.storage.atomic import write_atomically

QUESTIONS: Final = "questions.jsonl"
CLIPS: Final = "clips"
FORMAT: Final = 1
"""Version of the lines; another suite than this one's is not read as if it were."""
_CODING: Final = {"crf": "20", "preset": "veryfast", "g": "60", "bf": "0"}
"""x264: flat shapes keep their colours to a few steps of 255, and a clip takes some tens of kilobytes."""


def write_suite(folder: Path, count: int, seed: int = 0) -> Iterator[Item]:
    """Render a suite into a folder; the questions are written when all clips are there.

    Args:
        folder: Where to; made where it is missing.
        count: How many questions.
        seed: Of everything random. The same count, seed and version of x264 give the same bytes.

    Yields:
        Each question, once its clip is there.

    Raises:
        SetupError: The folder holds something else, or cannot be written.
    """
    try:
        (folder / CLIPS).mkdir(parents=True, exist_ok=True)
        foreign = [path.name for path in folder.iterdir() if path.name not in (CLIPS, QUESTIONS)]
        if foreign:
            raise SetupError(f"{folder} holds other files ({foreign[0]}, ...); choose an empty or new folder for --out")
        (folder / QUESTIONS).unlink(missing_ok=True)  # an interrupted suite is none
        lines = []
        for item in make(count, seed):
            write_clip(folder / CLIPS / f"{item.id}.mp4", item.draft.scene)
            lines.append(json.dumps(_line(item, seed), ensure_ascii=False))
            yield item
        write_atomically(folder / QUESTIONS, ("\n".join(lines) + "\n").encode())
    except OSError as error:
        raise cannot("write", folder, error) from error


def write_clip(path: Path, scene: Scene) -> None:
    """Render a clip as H.264 MP4.

    Args:
        path: The file.
        scene: The clip.
    """
    with av.open(str(path), "w", format="mp4") as output:
        stream = output.add_stream("libx264", rate=scene.fps, options=_CODING)
        stream.width = stream.height = SIDE
        stream.pix_fmt = "yuv420p"
        stream.codec_context.thread_count = 1  # what is written then does not depend on the machine
        for frame in range(scene.frames):
            output.mux(stream.encode(av.VideoFrame.from_ndarray(scene.picture(frame), format="rgb24")))
        output.mux(stream.encode())


def _line(item: Item, seed: int) -> dict[str, Any]:
    draft, scene = item.draft, item.draft.scene
    return {
        "format": FORMAT,
        "id": item.id,
        "seed": seed,
        "video": f"{CLIPS}/{item.id}.mp4",
        "task": item.task,
        "variant": draft.variant,
        "question": draft.text,
        "options": list(draft.options),
        "answer": draft.right,
        "min_fps": draft.min_fps,
        "bucket": bucket_of(draft.min_fps),
        "fps": scene.fps,
        "frames": scene.frames,
        "reading": {"kind": draft.reading.kind, "markers": draft.reading.markers, "values": draft.reading.values},
    }


def reading_of(line: dict[str, Any]) -> Reading:
    """What has to be read, from a line's ``reading``.

    Raises:
        KeyError: A part of it is missing.
    """
    values = (tuple(value) if isinstance(value, list) else value for value in line["values"])
    return Reading(str(line["kind"]), tuple(line["markers"]), tuple(values))
