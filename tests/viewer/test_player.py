"""The frame of the overlay is the frame of the picture, at seeks and while playing."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from tests.viewer.conftest import OpenReport
from vmmetrics.clip import Clip
from vmmetrics.metrics import METRICS
from vmmetrics.perception.scene import Objects, SceneObject
from vmmetrics.scoring.directory import RunDirectory
from vmmetrics.scoring.pictures import Pictures
from vmmetrics.scoring.record import Record, result_to_json
from vmmetrics.scoring.show.capture import poster_of
from vmmetrics.scoring.show.findings import Perceived
from vmmetrics.scoring.show.overlay import encode_overlay
from vmmetrics.types import Event, FloatArray, MetricResult, UInt8Array
from vmmetrics.viewer.report import write_report
from vmmetrics.viewer.server import ReportServer

pytestmark = pytest.mark.browser

FRAMES, WIDTH, HEIGHT = 48, 128, 96
BITS, BLOCK = 6, 16
"""Of the frame number in the picture, and pixels of the square that shows each: highest bit first, from the left."""
LEFT, STEP, TOP, SIDE = 8, 2, 56, 12
"""The mask of the overlay is a square at LEFT + STEP * frame."""
UNEVEN = np.r_[0.0, np.cumsum(np.resize([1 / 24, 1 / 8, 1 / 12, 1 / 50], FRAMES - 1))]
TIMES = {
    "24-fps.mp4": np.arange(FRAMES) / 24,
    "8-fps.mp4": np.arange(FRAMES) / 8,
    "uneven.mp4": UNEVEN,
    "late.mp4": 0.5 + np.arange(FRAMES) / 24,
    "24-fps.webm": np.arange(FRAMES) / 24,
    "late.webm": 0.5 + UNEVEN,
}
"""Clips, and when each of their frames is shown, in seconds of the file."""

BROKEN = {"gone.mp4": np.arange(FRAMES) / 12, "damaged.mp4": np.arange(FRAMES) / 6}


def pictures() -> UInt8Array:
    """Return the frames, each with its number in squares."""
    frames = np.full((FRAMES, HEIGHT, WIDTH, 3), 128, np.uint8)
    for frame in range(FRAMES):
        for bit in range(BITS):
            frames[frame, :BLOCK, bit * BLOCK : (bit + 1) * BLOCK] = 255 * (frame >> (BITS - 1 - bit) & 1)
    return frames


def write_video(path: Path, times: FloatArray) -> None:
    codec = {".mp4": "libx264", ".webm": "libvpx-vp9"}[path.suffix]
    with av.open(str(path), "w") as output:
        stream = output.add_stream(codec, rate=24, options={"crf": "20"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.time_base = stream.codec_context.time_base = Fraction(1, 12_000 if path.suffix == ".mp4" else 1000)
        for picture, time in zip(pictures(), times, strict=True):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = round(time / stream.time_base), stream.time_base
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))


def overlay(clip: Clip) -> bytes:
    labels = np.zeros((FRAMES, HEIGHT, WIDTH), np.uint8)
    for frame in range(FRAMES):
        labels[frame, TOP : TOP + SIDE, LEFT + STEP * frame : LEFT + STEP * frame + SIDE] = 1
    present = np.ones(FRAMES, np.bool_)
    objects = Objects(labels, (SceneObject(1, "object", present, ~present),), (1.0, 1.0))
    return encode_overlay(clip, Perceived(objects, {}, None, None))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report of the clips, and of one whose file is gone and one that no browser plays."""
    root = tmp_path_factory.mktemp("player")
    configuration = {"preset": "embedded", "protocol": "vmmetrics", "models": {}, "weights": {}, "comparable": False,
                     "label": "preset embedded", "versions": {"vmmetrics": "0.2.0"}}  # fmt: skip
    run = RunDirectory(root / "run", configuration, {"metrics": METRICS, "command": []})
    run.begin(0)
    for name, times in {**TIMES, **BROKEN}.items():
        path = root / name
        write_video(path, times)
        even = "uneven" not in name and name != "late.webm"
        fps = 8.0 if name == "8-fps.mp4" else 24.0
        clip = Clip(pictures(), times - times[0], fps)
        event = Event("tcs", (30, 31, 32), "vanished without cause", "object 1", (8.0, 20.0, 24.0, 40.0), 0.8, 0.5)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        record = Record(
            name, "model", str(path), digest, "embedded", "vmmetrics", {"tcs": 0.5}, {}, (), {}, None,
            timestamps=None if even else [round(float(t), 6) for t in times - times[0]], frames=FRAMES, fps=fps,
            size=(WIDTH, HEIGHT), worker="host:1", ended="2026-11-23T12:00:00+00:00", seconds=1.5,
            score_version={"tcs": 2}, codec="h264",
        )  # fmt: skip
        result = MetricResult(0.5, events=(event,), series={"value": np.linspace(0, 1, FRAMES)})
        run.append(record, {"tcs": result_to_json(result)}, Pictures(poster_of(clip), overlay(clip)))
    run.commit()
    run.end()
    run.close()
    write_report(root / "run", root / "out", media="copy")
    for name in BROKEN:
        digest = hashlib.sha256((root / name).read_bytes()).hexdigest()
        (copied,) = (root / "out" / "media").glob(f"{digest[:16]}*")
        copied.write_bytes(b"no video")
        if name == "gone.mp4":
            copied.unlink()
    return root / "out"


def in_picture(picture: UInt8Array) -> int:
    """Return the frame number in the squares of a picture (H, W, 3) of any size, or of one row (1, W, 3) of them."""
    scale = picture.shape[1] / WIDTH
    row = picture[min(len(picture) - 1, round(scale * BLOCK / 2))].mean(axis=-1)
    return int("".join("01"[int(row[round(scale * (bit + 0.5) * BLOCK)] > 128)] for bit in range(BITS)), 2)


def in_overlay(picture: UInt8Array) -> float:
    """Return the frame number by the position of the blue square of the overlay, in a picture or one row of it."""
    scale = picture.shape[1] / WIDTH
    row = picture[min(len(picture) - 1, round(scale * (TOP + SIDE / 2)))].astype(int)
    blue = np.flatnonzero(row[:, 2] - row[:, 0] > 20)
    return float(((blue[0] + blue[-1] + 1) / 2 / scale - SIDE / 2 - LEFT) / STEP)


def shot(page: Any) -> UInt8Array:
    png = page.locator(".player-stage").screenshot()
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


OPEN = """async name => {
  const player = new vm.FramePlayer(vm.data.find("run/" + name), { layers: ["masks"] });
  document.querySelector("main").replaceChildren(player.root);
  document.querySelector("main").style.setProperty("--player-height", "300px");
  window.player = player;
  await player.seek(1);
}"""


@pytest.mark.parametrize("name", TIMES)
def test_at_every_seek_picture_and_overlay_are_of_the_frame(open_report: OpenReport, folder: Path, name: str) -> None:
    page = open_report(folder=folder)
    page.evaluate(OPEN, name)
    targets = np.random.default_rng(7).integers(0, FRAMES, 60 if name == "24-fps.mp4" else 10).tolist()
    right = 0
    for target in [0, FRAMES - 1, *targets]:
        page.evaluate("target => player.seek(target)", target)
        picture = shot(page)
        shown = page.evaluate("player.frame"), in_picture(picture), round(in_overlay(picture), 1)
        assert shown == (target, target, target)
        right += 1
    print(f"{name}: {right} of {len(targets) + 2} seeks; frame 0 at {page.evaluate('player.offset'):.3f} s")


def test_of_seeks_in_flight_the_last_one_counts(open_report: OpenReport, folder: Path) -> None:
    page = open_report(folder=folder)
    page.evaluate(OPEN, "24-fps.mp4")
    shown = page.evaluate("Promise.all([40, 3, 22, 9].map(frame => player.seek(frame).then(() => player.frame)))")
    assert shown == [9, 9, 9, 9]
    assert in_picture(shot(page)) == 9


def test_without_frame_callbacks_seeks_are_exact_too(browser: Any, folder: Path) -> None:
    page = browser.new_page(viewport={"width": 800, "height": 600})
    page.add_init_script("delete HTMLVideoElement.prototype.requestVideoFrameCallback")
    page.goto((folder / "index.html").as_uri())
    page.wait_for_selector("html[data-ready]")
    page.evaluate(OPEN, "uneven.mp4")
    for target in (0, 17, 5, FRAMES - 1, 30):
        page.evaluate("target => player.seek(target)", target)
        page.evaluate("new Promise(done => setTimeout(done, 100))")
        picture = shot(page)
        assert (page.evaluate("player.frame"), in_picture(picture), round(in_overlay(picture), 1)) == (target,) * 3
    frames = page.evaluate(
        """async () => {
          const frames = [];
          player.onFrame(frame => frames.push(frame));
          await player.play();
          await new Promise(done => setTimeout(done, 1500));
          return frames;
        }"""
    )
    page.close()
    assert len(frames) > 5
    assert frames[1:] == sorted(frames[1:])


@pytest.mark.parametrize("name", BROKEN)
def test_without_its_video_a_clip_says_why_and_shows_the_overlay(
    open_report: OpenReport, folder: Path, faults: list[str], name: str
) -> None:
    page = open_report(folder=folder)
    page.evaluate(OPEN, name)
    page.wait_for_selector(".player-notes .note")
    note = page.locator(".player-notes .note").inner_text()
    assert "vmmetrics report --media transcode" in note
    assert page.locator(".player-thumb").is_visible()
    page.evaluate("player.seek(21)")
    assert round(in_overlay(shot(page)), 1) == 21
    page.evaluate("player.layers = []")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    with pytest.raises(IndexError):
        in_overlay(shot(page))
    faults[:] = [fault for fault in faults if "ERR_FILE_NOT_FOUND" not in fault]  # the browser's own line on the file


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    """Yield the address of the report on a server, where a canvas with a picture can be read."""
    with ReportServer(folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


# Every refresh of the screen: the canvas as a reader sees it, the number in the video, and the player's frame.
WATCH = """async ([seconds, rate, loop]) => {
  const canvas = player.root.querySelector("canvas"), rows = [];
  const { width } = canvas, context = canvas.getContext("2d");
  const read = y => [...context.getImageData(0, Math.round(y * width / 128), width, 1).data];
  player.rate = rate;
  player.loop = loop;
  await player.play();
  const start = performance.now();
  await new Promise(done => {
    const look = () => {
      rows.push([player.frame, read(8), read(62)]);
      if (performance.now() - start < 1000 * seconds) requestAnimationFrame(look); else done();
    };
    requestAnimationFrame(look);
  });
  return rows;
}"""


@pytest.mark.parametrize(
    ("name", "rate", "loop", "least"),
    [
        ("24-fps.mp4", 1, None, 0.99),
        ("8-fps.mp4", 1, None, 0.99),
        ("uneven.mp4", 1, None, 0.9),  # some frames last one refresh of the screen
        ("24-fps.mp4", 1, [10, 22], 0.99),
        ("24-fps.webm", 0.5, None, 0.99),
    ],
)
def test_while_playing_picture_and_overlay_are_of_one_frame(
    browser: Any, address: str, name: str, rate: float, loop: list[int] | None, least: float
) -> None:
    page = browser.new_page(viewport={"width": 800, "height": 600})
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.evaluate(OPEN, name)
    page.evaluate("player.seek(0)")
    seconds = 2.5 if name != "24-fps.mp4" or loop else 1.9
    rows = page.evaluate(WATCH, [seconds, rate, loop])
    page.close()
    same, frames = 0, []
    for frame, numbers, square in rows:
        squares, mask = (np.reshape(line, (1, -1, 4))[..., :3].astype(np.uint8) for line in (numbers, square))
        in_video = in_picture(squares)
        same += in_video == round(in_overlay(mask), 1) == frame
        frames.append(in_video)
    print(f"{name} at {rate}: {same} of {len(rows)} refreshes, {len(set(frames))} frames seen")
    assert same >= least * len(rows)
    assert len(set(frames)) >= 10
    if loop:
        assert min(frames[5:]) >= loop[0]
        assert max(frames[5:]) <= loop[1]
        assert np.any(np.diff(frames[5:]) < 0)
