"""What the cases read: clips drawn by a fixed rule, shipped tables, and small files of our own."""

from __future__ import annotations

import csv
import json
import shutil
import zlib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.net.case import ROOT, SHARED, Input

DATA = ROOT / "tests" / "data"
FRAMES, SHORT_SIDE = 32, 240
"""Of real clips, which take a minute each as they are."""
SAME_BYTES = {"threads": "1", "x264-params": "mbtree=0"}
"""Options with which x264 writes one clip as the same bytes every time."""


def spread(paths: Iterable[Path], count: int) -> list[Path]:
    """Choose paths that lie evenly in their sorted order."""
    paths_sorted = sorted(paths)
    return [paths_sorted[(2 * n + 1) * len(paths_sorted) // (2 * count)] for n in range(count)] if paths_sorted else []


def samples(only: str = "") -> Input:
    """Place the shipped sample clips with their prompts, or those of one model."""

    def place(folder: Path) -> None:
        shutil.copytree(DATA / "samples" / only, folder / "samples" / only)

    return place


def fetv(count: int, first: int = 0, last: int | None = None) -> Input:
    """Place clips of fetv-dev, spread evenly, and of these a part."""

    def place(folder: Path) -> None:
        (folder / "fetv").mkdir()
        for path in spread((SHARED / "fetv-dev" / "clips").glob("*.gif"), count)[first:last]:
            shutil.copy(path, folder / "fetv")

    return place


def real(count: int, first: int = 0, last: int | None = None) -> Input:
    """Place the beginnings of real clips, spread evenly, made smaller."""

    def place(folder: Path) -> None:
        (folder / "real").mkdir()
        clips = [path for path in (SHARED / "real-clips").iterdir() if path.suffix in (".mp4", ".mkv")]
        for path in spread(clips, count)[first:last]:
            shorten(path, folder / "real" / f"{path.stem}.mp4")

    return place


def whole(name: str) -> Input:
    """Place one real clip as it is."""
    return lambda folder: (folder / name).write_bytes((SHARED / "real-clips" / name).read_bytes())


def shorten(source: Path, target: Path) -> None:
    """Write the first frames of a clip, made smaller, as H.264."""
    import av

    with av.open(str(source)) as opened, av.open(str(target), "w") as written:
        read = opened.streams.video[0]
        scale = min(1.0, SHORT_SIDE / min(read.width, read.height))
        out = written.add_stream("libx264", rate=Fraction(read.average_rate), options={"crf": "18", **SAME_BYTES})
        out.width, out.height = (round(side * scale / 2) * 2 for side in (read.width, read.height))
        out.pix_fmt = "yuv420p"
        for number, frame in enumerate(opened.decode(read)):
            if number == FRAMES:
                break
            smaller = frame.reformat(out.width, out.height, "yuv420p")
            smaller.pts = None
            written.mux(out.encode(smaller))
        written.mux(out.encode())


def film(name: str, seed: int = 0, frames: int = 20, size: tuple[int, int] = (48, 32)) -> Input:
    """Place a small clip of a square that moves over a gradient."""

    def place(folder: Path) -> None:
        import av
        import numpy as np

        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with av.open(str(path), "w") as written:
            out = written.add_stream("libx264", rate=10, options={"crf": "12", **SAME_BYTES})
            (out.width, out.height), out.pix_fmt = size, "yuv420p"
            for n in range(frames):
                picture = np.linspace(30, 200, size[0]).astype(np.uint8)[None, :, None].repeat(size[1], 0).repeat(3, 2)
                picture[8:16, (2 * n + seed) % (size[0] - 8) :][:, :8] = (250, 20 + 7 * seed, 40)
                written.mux(out.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            written.mux(out.encode())

    return place


def shipped(*names: str) -> Input:
    """Place files or folders of tests/data under their own name."""

    def place(folder: Path) -> None:
        for name in names:
            source = DATA / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / source.name)

    return place


def shared(*names: str) -> Input:
    """Place files that lie beside the project."""

    def place(folder: Path) -> None:
        for name in names:
            shutil.copy(SHARED / name, folder / Path(name).name)

    return place


def text(name: str, content: str) -> Input:
    """Place a text."""

    def place(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)

    return place


def data(name: str, value: Any) -> Input:
    """Place a JSON file."""
    return text(name, json.dumps(value))


def lines(name: str, rows: Iterable[Any]) -> Input:
    """Place a file of JSON lines."""
    return text(name, "".join(f"{json.dumps(row)}\n" for row in rows))


def table(name: str, rows: Sequence[Mapping[str, Any]], delimiter: str = ",") -> Input:
    """Place a table."""

    def place(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
            writer.writeheader()
            writer.writerows(rows)

    return place


def drawn(*words: object, most: int = 1000) -> int:
    """Return a number from 0 to most - 1 that follows from the words."""
    return zlib.crc32("/".join(map(str, words)).encode()) % most
