"""What the fuzzer calls: each reader with bytes for a file or a reply; and the good files that it begins with."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Target = Callable[[bytes], None]
CLIPS = ("mp4", "webm", "mkv", "avi", "ts", "flv", "gif", "apng", "webp", "npy", "pt")
LISTS = ("json", "jsonl", "csv", "tsv")
TABLES = ("csv", "tsv", "json", "jsonl", "md")
RUN_FILES = ("run.json", "scores.jsonl", "events.jsonl")
TARGETS = (
    *(f"clip.{suffix}" for suffix in CLIPS),
    "frames.png",
    *(f"prompts.{suffix}" for suffix in LISTS),
    *(f"ratings.{suffix}" for suffix in TABLES),
    *RUN_FILES,
    "endpoint",
    "mirror",
)


@dataclass(frozen=True)
class Fuzzed:
    """One reader.

    Attributes:
        call: Reads bytes; anything it raises but our own errors is a crash.
        seeds: Good inputs.
    """

    call: Target
    seeds: tuple[bytes, ...]


def target(name: str) -> Fuzzed:
    """The reader of this name, ready in this process."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    kind, _, suffix = name.partition(".")
    if name in RUN_FILES:
        return _run_file(folder, name)
    make = {"clip": _clip, "frames": _frames, "prompts": _prompts, "ratings": _ratings}
    return _served(name) if kind in ("endpoint", "mirror") else make[kind](folder, suffix)


def _clip(folder: Path, suffix: str) -> Fuzzed:
    from tests.reliability.bad_containers import seeds
    from vmmetrics.video import read_clip

    good = [data for name, data in seeds(folder / "seeds").items() if name.endswith(f".{suffix}")]
    if suffix == "pt":
        good = [b"PK\x03\x04"]
    if suffix == "npy":
        from tests.reliability.bad_arrays import HEADERS, npy

        good += [npy(header, bytes(600)) for header in HEADERS.values() if len(header) < 200]
    path = folder / f"a.{suffix}"

    def call(data: bytes) -> None:
        path.write_bytes(data)
        read_clip(path, max_memory=64 << 20)

    return Fuzzed(call, tuple(good))


def _frames(folder: Path, suffix: str) -> Fuzzed:
    from PIL import Image

    from tests.bad_inputs import moving_frames
    from vmmetrics.video import read_clip

    place = folder / "frames"
    place.mkdir()
    for number, frame in enumerate(moving_frames(3)):
        Image.fromarray(frame).save(place / f"{number}.{suffix}")

    def call(data: bytes) -> None:
        (place / f"1.{suffix}").write_bytes(data)
        read_clip(place, max_memory=64 << 20)

    return Fuzzed(call, ((place / f"1.{suffix}").read_bytes(),))


def _prompts(folder: Path, suffix: str) -> Fuzzed:
    from vmmetrics.video.prompt_lists import read_list

    entries = [
        {"clip": "a.mp4", "prompt": "a dog runs", "pattern": "x", "tags": {"speed": 1.5}, "subject": "a dog"},
        {"index": "0001", "prompt": "two cats jump"},
    ]
    separator = "\t" if suffix == "tsv" else ","
    table = "\n".join(
        separator.join(row) for row in (["clip", "prompt", "tag_speed"], ["a.mp4", '"a, dog"', "1"], ["b", "x", "nan"])
    )
    text = {
        "json": json.dumps(entries),
        "jsonl": "\n".join(map(json.dumps, entries)),
    }.get(suffix, table)
    path = folder / f"prompts.{suffix}"

    def call(data: bytes) -> None:
        path.write_bytes(data)
        read_list(path)

    return Fuzzed(call, (text.encode(),))


def _ratings(folder: Path, suffix: str) -> Fuzzed:
    from vmmetrics.alignment.readers.read import read_study

    rows = [
        {"clip": f"{n}.mp4", "rater": rater, "smoothness": (n + rater) % 5 + 1} for n in range(4) for rater in (1, 2)
    ]
    names = list(rows[0])
    cells = [names, *([str(row[name]) for name in names] for row in rows)]
    exported = [{"id": 1, "data": {"video": "1.mp4"}, "annotations": [{"result": [{"value": {"rating": 4}}]}]}]
    texts = {
        "json": [json.dumps(rows), json.dumps(exported)],
        "jsonl": ["\n".join(map(json.dumps, rows))],
        "csv": ["\n".join(map(",".join, cells)), "annotation_id,lead_time,rating,video\n1,2.5,4,1.mp4\n"],
        "tsv": ["\n".join(map("\t".join, cells))],
        "md": ["\n".join(f"| {' | '.join(row)} |" for row in [names, ["---"] * len(names), *cells[1:]])],
    }[suffix]
    path = folder / f"ratings.{suffix}"
    scores = {"clip": [f"{n}.mp4" for n in range(4)], "mss": [0.1, 0.2, 0.3, 0.4]}

    def call(data: bytes) -> None:
        path.write_bytes(data)
        read_study(scores, path)

    return Fuzzed(call, tuple(text.encode() for text in texts))


def _run_file(folder: Path, name: str) -> Fuzzed:
    import vmmetrics.scoring.settings
    from vmmetrics.scoring.api import score
    from vmmetrics.scoring.leaderboard import make_boards
    from vmmetrics.scoring.merge import merge
    from vmmetrics.scoring.scored_clip import recall

    vmmetrics.scoring.settings.SUITE = "fake_suite:FakeSuite"
    (folder / "clips").mkdir()
    np.save(folder / "clips" / "a.npy", np.full((4, 16, 24, 3), 9, np.uint8))
    run, good = folder / "run", folder / "good"
    score(folder / "clips", out=run)
    shutil.copytree(run, good)

    def call(data: bytes) -> None:
        from vmmetrics.errors import VMMetricsError

        (run / name).write_bytes(data)
        for read in (
            lambda: make_boards([str(run)]),
            lambda: recall(run, "a.npy"),
            lambda: merge([run, good], folder / "merged"),
        ):
            try:
                read()
            except VMMetricsError:
                continue
            finally:
                shutil.rmtree(folder / "merged", ignore_errors=True)

    return Fuzzed(call, ((good / name).read_bytes(),))


def _served(name: str) -> Fuzzed:
    """A client whose server sends the bytes as they are, head and all."""
    from benchmarks.campaign.loopback import stay_on_loopback
    from benchmarks.campaign.net import REPLIES, WEIGHTS

    stay_on_loopback()
    reply = [b""]
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            with connection:
                try:
                    connection.recv(1 << 16)
                    connection.sendall(reply[0])
                except OSError:
                    continue

    threading.Thread(target=accept, daemon=True).start()
    ask = _ask(url) if name == "endpoint" else _list(url, WEIGHTS[0])

    def call(data: bytes) -> None:
        reply[0] = data
        ask()

    good = [data for data in REPLIES.values() if isinstance(data, bytes) and len(data) < 10_000]
    return Fuzzed(call, tuple(good))


def _ask(url: str) -> Callable[[], None]:
    from vmmetrics.utils.endpoint import wire
    from vmmetrics.utils.endpoint.client import Client
    from vmmetrics.utils.endpoint.messages import EndpointSettings, Turn

    wire.TRIES, wire.LONGEST_PAUSE = 1, 0.0
    settings = EndpointSettings(f"{url}/v1", "m", timeout=2.0, input_price=1.0, output_price=1.0)
    home = Path(tempfile.mkdtemp(prefix="fuzz-replies-"))
    asked = 0

    def ask() -> None:
        nonlocal asked
        asked += 1
        shutil.rmtree(home, ignore_errors=True)
        Client(settings, home, first_pause=0.0).say([Turn("user", f"hello {asked}")])

    return ask


def _list(url: str, weights: str) -> Callable[[], None]:
    from vmmetrics.utils.weights import download
    from vmmetrics.utils.weights.fetch import list_remote
    from vmmetrics.utils.weights.manifest import published

    os.environ.pop("HTTP_PROXY", None)
    for constant, value in (("PAUSE", 0.0), ("TRIES", 1), ("TIMEOUT", 2)):
        if hasattr(download, constant):
            setattr(download, constant, value)
    entry = published(weights)
    return lambda: list_remote(entry, url) and None
