"""How long a report of many clips takes to write and to open, and in how much memory.

``python -m benchmarks.report_scale [CLIPS] [FOLDER]``: writes the journals of a made-up run of 10 models directly,
with events and series as real clips have them, posters of 5 kB and links to one playable clip; writes its report in a
process of its own, and opens that in Chromium (playwright).
"""

from __future__ import annotations

import io
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from vmmetrics.metrics import METRICS
from vmmetrics.metrics.registry import version_of
from vmmetrics.scoring.pictures import POSTERS, poster_line
from vmmetrics.scoring.record import Record
from vmmetrics.utils.storage.journal import encode
from vmmetrics.video.content import file_state, fingerprint, state

MODELS = 10
SAMPLE, FRAMES, FPS = Path(__file__).parents[1] / "tests/data/samples/cogvideo/woman-walks-and-sits.mp4", 33, 16.0
SUBJECTS = ("a dog", "two dancers", "a red car", "an old man", "three children", "a horse", "a robot", "a ballerina")
VERBS = ("runs after a ball", "turns around slowly", "jumps over a fence", "pours water into a glass", "waves")
PLACES = ("in a park at dusk", "on a wet street", "in a bright kitchen", "by the sea", "in heavy snow")
PATTERNS = ("biological_motion", "mechanical_motion", "multi_object_interaction", "fluid_dynamics", "weather")
REASONS = {
    "cas": ("motion classified as Bad", "shapes stretch and shrink", "appearance oscillates"),
    "mss": ("quality drops",),
    "ois": ("bone changes its length", "joint bends too fast", "surface breaks up"),
    "tcs": ("vanished without cause", "appeared without cause"),
    "pas": (),
}
CHROMIUM = "/usr/bin/chromium"


def main() -> None:
    clips = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    if len(sys.argv) > 3:
        print(json.dumps(write_once(Path(sys.argv[2]))))
        return
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        start = time.perf_counter()
        make_run(Path(folder), clips)
        print(f"made-up run of {clips:,} clips: {time.perf_counter() - start:.1f} s", flush=True)
        command = [sys.executable, "-m", "benchmarks.report_scale", str(clips), folder, "write"]
        written = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        print_figures("written", written)
        print_figures("in Chromium", open_in_chromium(Path(folder) / "report"))


def print_figures(title: str, figures: dict[str, Any]) -> None:
    print(f"{title}: " + ", ".join(f"{name} {value}" for name, value in figures.items()), flush=True)


def make_run(folder: Path, clips: int) -> None:
    """Write a run directory and the clips that it is about."""
    run, root = folder / "run", folder / "clips"
    run.mkdir()
    sample = folder / "sample.mp4"
    shutil.copyfile(SAMPLE, sample)
    content = {"sha256": fingerprint(sample), "state": file_state(state(sample))}
    configuration = {"preset": "embedded", "protocol": "vmmetrics", "label": "preset embedded, protocol vmmetrics"}
    session = {"started": "2026-01-01T00:00:00+00:00", "ended": "2026-01-02T00:00:00+00:00", "metrics": list(METRICS)}
    header = {"format": 2, "configuration": configuration, "metrics": list(METRICS), "sessions": [session]}
    (run / "run.json").write_text(json.dumps(header))
    posters = make_posters(32)
    with (
        (run / "scores.jsonl").open("wb") as scores,
        (run / "events.jsonl").open("wb") as events,
        (run / POSTERS).open("wb") as pictures,
    ):
        for number, record in enumerate(records(clips, root, content)):
            path = Path(record.path or "")
            if not path.parent.is_dir():  # file systems limit the links to a file
                path.parent.mkdir(parents=True)
                shutil.copy2(sample, path.parent / "sample")
            os.link(path.parent / "sample", path)
            about = {"clip": record.clip, "path": record.path, "sha256": record.sha256, "frames": FRAMES, "fps": FPS}
            events.write(encode({**about, "metrics": made_up_events(number, record)}))
            scores.write(encode(record.to_json()))
            poster = posters[number % len(posters)]
            pictures.write(encode(poster_line(record.clip, record.path, record.sha256 or "", poster)))


def records(clips: int, root: Path, content: dict[str, Any]) -> Iterator[Record]:
    chance = random.Random(1)
    versions = {metric: version_of(metric) for metric in METRICS}
    for number in range(clips):
        model, prompt = f"model-{number % MODELS}", number // MODELS
        words = f"{SUBJECTS[prompt % 8]} {VERBS[prompt // 8 % 5]} {PLACES[prompt // 40 % 5]}, take {prompt // 200}"
        name = f"{model}/{prompt:05d}.mp4"
        scores = {metric: round(chance.betavariate(5, 2), 9) for metric in METRICS}
        missing = {} if chance.random() < 0.6 else {"ois": "no person in the clip"}
        scores = {metric: score for metric, score in scores.items() if metric not in missing}
        failed = chance.random() < 0.002
        yield Record(
            name, model, str(root / name), content["sha256"], "embedded", "vmmetrics", {} if failed else scores,
            {} if failed else missing, error="cannot be decoded" if failed else None, frames=None if failed else FRAMES,
            fps=FPS, size=(720, 480), prompt=words, prompt_source="list", tags={"pattern": PATTERNS[prompt % 5]},
            seconds=9.5, score_version=versions, codec="h264", state=content["state"],
            notes=("colours converted from BT.709",),
        )  # fmt: skip


def made_up_events(number: int, record: Record) -> dict[str, Any]:
    """Return events and series, of about the size that real clips have."""
    chance = random.Random(number)
    values = [float(f"{value:.6g}") for value in np.random.default_rng(number).random(FRAMES)]
    stored: dict[str, Any] = {}
    for metric in record.scores:
        events = []
        for _ in range(chance.randrange(4) if REASONS[metric] else 0):
            first = chance.randrange(FRAMES - 8)
            event = {
                "frames": list(range(first, first + chance.randrange(1, 8))),
                "reason": chance.choice(REASONS[metric]),
            }
            box = [10.5, 20.0, 110.25, 140.5]
            events.append({**event, "target": "object 1", "box": box, "magnitude": chance.random(), "threshold": 0.3})
        stored[metric] = {
            "events": events,
            "series": {"value": values} if metric != "pas" else {"x": values, "y": values},
        }
    return stored


def make_posters(count: int) -> list[bytes]:
    """Return WebP pictures of about 5 kB."""
    posters = []
    for number in range(count):
        noise = np.random.default_rng(number).integers(0, 256, (14, 22, 3), np.uint8)
        file = io.BytesIO()
        Image.fromarray(noise).resize((320, 208), Image.Resampling.BICUBIC).save(file, "webp", quality=60)
        posters.append(file.getvalue())
    return posters


def write_once(folder: Path) -> dict[str, Any]:
    from vmmetrics.viewer.report import write_report

    start, before = time.perf_counter(), time.process_time()
    report = write_report(folder / "run", folder / "report")
    seconds, processor = time.perf_counter() - start, time.process_time() - before
    sizes = {name: (folder / "report" / name).stat().st_size for name in ("index.html", "data/index.js")}
    return {
        "s": f"{seconds:.1f} ({processor:.1f} of a core)",
        "peak MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "index MB": round(sum(sizes.values()) / 1e6, 2),
        "folder MB": round(sum(path.stat().st_size for path in (folder / "report").rglob("*.*")) / 1e6),
        "clips": report.clips,
    }


SORT = "vm.go({sort: 'tcs', desc: true})"
FILTER = "vm.go({q: 'dog jumps'})"
_WHEN_READY = """new MutationObserver(() => {
  if (document.documentElement?.dataset.ready) requestAnimationFrame(() => { window.readyAt ??= performance.now(); });
}).observe(document, { attributes: true, subtree: true });"""
"""Note of the milliseconds from the start of the navigation until the first frame with the view."""
_TIMED = """(change) => new Promise((done) => {
  const start = performance.now();
  eval(change);
  const shown = performance.now();
  requestAnimationFrame(() => setTimeout(() => done([shown - start, performance.now() - start])));
})"""
_JUMPS = """() => new Promise((done) => {
  const times = [];
  const jump = (n) => {
    if (n === 60) return done(times);
    const start = performance.now();
    scrollTo(0, ((n * 37) % 60) / 60 * document.documentElement.scrollHeight);
    requestAnimationFrame(() => setTimeout(() => { times.push(performance.now() - start); jump(n + 1); }));
  };
  jump(0);
})"""


def open_in_chromium(report: Path) -> dict[str, Any]:
    """Open a report and return times in ms and memory in MB above a blank page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        page = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)
        page.goto("about:blank")
        blank = browser_memory()
        page.add_init_script(_WHEN_READY)
        page.goto((report / "index.html").absolute().as_uri() + "#view=gallery")
        page.wait_for_function("() => window.readyAt")
        page.wait_for_timeout(1000)
        figures: dict[str, Any] = {
            "ready ms": round(page.evaluate("window.readyAt")),
            "MB above a blank page": browser_memory() - blank,
        }
        for name, change in (("sort", SORT), ("filter", FILTER), ("unfilter", "vm.go({q: '', sort: ''})")):
            script, frame = page.evaluate(_TIMED, change)
            figures[f"{name} ms"] = f"{script:.0f} ({frame:.0f} with a frame)"
        jumps = page.evaluate(_JUMPS)
        figures["60 scroll jumps, worst ms"] = round(max(jumps))
        figures["elements"] = page.evaluate("document.getElementsByTagName('*').length")
        figures["MB above after scrolling"] = browser_memory() - blank
        browser.close()
    return figures


def browser_memory() -> int:
    """Return the MB of proportional memory of the Chromium processes below this one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    below, total = {os.getpid()}, 0
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    for pid in below - {os.getpid()}:
        try:
            if "chromium" not in Path(f"/proc/{pid}/cmdline").read_text():
                continue
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total // 1024


if __name__ == "__main__":
    main()
