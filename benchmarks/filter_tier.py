"""Measures for filters of data: who calls a moving camera motion, what they cost, and what skipped frames cost them.

    python -m benchmarks.filter_tier --cache FOLDER [--split validation] [--part motion|events|skipped|cost]

``motion``: from every recording of the split come a window of two seconds as it is (moving), and its middle frame held
under grain (still), panned, zoomed, rolled, shaken (camera alone), and panned in depth (a nearer middle moves farther:
parallax, which no flat camera explains). All are encoded by x264 at crf 23. AUC: moving against still and camera alone,
weighed equally by repository, with a 95 % bootstrap interval over repositories; for our amplitude, Farneback's mean
magnitude (at 2 frames per second, as Data-Juicer has it, and at our step) and the mean length of the codec's motion
vectors (as NeMo Curator).
Recordings in which nobody can tell a moving subject from a moving camera (driving, walking) are listed apart.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from benchmarks.footage import Recording, clip_of, recordings
from vmmetrics.functional.curation import CAMERA_KINDS, camera_kind
from vmmetrics.scoring.filter_suite import MEASURES, FilterSuite
from vmmetrics.types import FloatArray, UInt8Array
from vmmetrics.utils.storage.provenance import PACKAGE, source_hash
from vmmetrics.video import read_clip
from vmmetrics.video.encoding import write_h264
from vmmetrics.video.pixels import Sampling

SECONDS, FPS, SHARE, WIDTH = 2.0, 20.0, 0.6, 400
"""Length of a case, rate of rendered ones, share of the frame that a camera sees, and longer side of sources."""
EGO = ("gopro-max", "udacity-white")
"""Sources filmed from something that drives or walks: depth moves every part of the frame its own way."""
ALONE = ("still", "pan", "zoom", "roll", "shake")
Rng = np.random.Generator


# Cases.


def window(recording: Recording) -> tuple[UInt8Array, float]:
    """Return the frames in the middle of a recording, up to two seconds, and their rate."""
    clip = read_clip(recording.path, sampling=Sampling(None, WIDTH))
    count = min(len(clip), round(SECONDS * clip.fps))
    first = (len(clip) - count) // 2
    return clip_of(clip.frames[first : first + count], clip.fps, recording.name).frames, clip.fps


def path_of(kind: str, times: FloatArray, rng: Rng, share: float) -> FloatArray:
    """Return (T, 4): x and y of the view's middle in shares of the frame, its size as a factor, and its turn."""
    t, way = times - times.mean(), rng.choice([-1.0, 1.0])
    room = (1 - share) / float(np.ptp(times))  # shares of the frame per second
    path = np.tile([0.5, 0.5, 1.0, 0.0], (len(t), 1))
    if kind in ("pan", "depth"):
        path[:, 0] += way * rng.uniform(0.4, 0.95) * room * t
    if kind == "zoom":
        path[:, 2] = np.exp(way * rng.uniform(0.04, 0.12) * t)
    if kind == "roll":
        path[:, 3] = np.radians(way * rng.uniform(2, 7)) * t
    if kind == "shake":
        for axis in (0, 1):
            for _ in range(4):
                size, rate = rng.uniform(0.002, 0.008), rng.uniform(1, 5)
                path[:, axis] += size * np.sin(2 * np.pi * rate * times + rng.uniform(0, 7))
    return path


def seen(frame: UInt8Array, view: FloatArray, share: float, near: FloatArray | None = None) -> UInt8Array:
    """Return what a camera sees of a frame; ``near`` (h, w) moves parts of it farther with the view."""
    height, width = frame.shape[:2]
    w, h = max(64, round(width * share) // 2 * 2), max(64, round(height * share) // 2 * 2)
    scale, turn = view[2] * share * width / w, view[3]
    y, x = np.mgrid[:h, :w].astype(np.float32)
    u, v = (x - (w - 1) / 2) * scale, (y - (h - 1) / 2) * scale
    across = np.cos(turn) * u - np.sin(turn) * v + view[0] * (width - 1)
    down = np.sin(turn) * u + np.cos(turn) * v + view[1] * (height - 1)
    if near is not None:
        lead = cv2.resize(near, (w, h)) * (view[0] - 0.5) * (width - 1)
        across = across + lead
    out = cv2.remap(frame, across.astype(np.float32), down.astype(np.float32), cv2.INTER_LINEAR,
                    borderMode=cv2.BORDER_REFLECT_101)  # fmt: skip
    return np.asarray(out, np.uint8)


def rendered(frame: UInt8Array, kind: str, rng: Rng) -> UInt8Array:
    """Return one frame as a clip under a camera, or held, with grain."""
    times = np.arange(round(SECONDS * FPS)) / FPS
    path = path_of(kind, times, rng, SHARE)
    near = None
    if kind == "depth":
        y, x = np.mgrid[-1:1:64j, -1:1:64j]
        near = np.exp(-(x**2 + y**2) / 0.3).astype(np.float32)
    frames = np.stack([seen(frame, view, SHARE, near) for view in path])
    grain = rng.normal(0, 2.5, (8, *frames.shape[1:]))
    return np.clip(np.rint(frames + grain[np.arange(len(frames)) % 8]), 0, 255).astype(np.uint8)


def cases(recording: Recording) -> Iterator[tuple[str, Callable[[], tuple[UInt8Array, float]]]]:
    """Yield the cases of a recording by name, each made on demand."""
    held: list[tuple[UInt8Array, float]] = []

    def source() -> tuple[UInt8Array, float]:
        if not held:
            held.append(window(recording))
        return held[0]

    def alone(kind: str) -> tuple[UInt8Array, float]:
        (frames, _), rng = source(), np.random.default_rng([*kind.encode(), *recording.name.encode()])
        return rendered(frames[len(frames) // 2], kind, rng), FPS

    yield "moving", source
    for kind in (*ALONE, "depth"):
        yield kind, partial(alone, kind)


def encoded(cache: Path, recording: Recording, name: str, make: Callable[[], tuple[UInt8Array, float]]) -> Path:
    """Return the file of a case, rendered and encoded where it is not in the cache."""
    path = cache / "clips" / f"{recording.name}-{name.replace(', ', '-')}.mp4"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        frames, fps = make()
        even = frames[:, : frames.shape[1] // 2 * 2, : frames.shape[2] // 2 * 2]
        building = path.with_suffix(".part")
        write_h264(building, even, round(fps, 3), {"crf": "23", "preset": "veryfast", "x264-params": "bframes=2"})
        building.rename(path)
    return path


# What others measure.


def farneback(frames: UInt8Array, fps: float, step_seconds: float) -> float:
    """Return the mean length of Farneback's flow, frame diagonals per second, of frames so far apart."""
    step = max(1, round(step_seconds * fps))
    height, width = frames.shape[1:3]
    size = (256, max(16, round(256 * height / width)))
    grey = [cv2.resize(cv2.cvtColor(f, cv2.COLOR_RGB2GRAY), size, interpolation=cv2.INTER_AREA) for f in frames[::step]]
    means = []
    for first, second in pairwise(grey):
        flow = cv2.calcOpticalFlowFarneback(first, second, np.zeros((*first.shape, 2), np.float32),
                                            0.5, 3, 15, 3, 5, 1.2, 0)  # fmt: skip
        means.append(np.hypot(flow[..., 0], flow[..., 1]).mean())
    return float(np.mean(means)) / float(np.hypot(*size)) * fps / step if means else 0.0


def motion_vectors(path: Path, fps: float) -> float:
    """Return the mean length of the codec's motion vectors, weighed by area, frame diagonals per second."""
    import av
    from av.codec.context import Flags2

    means = []
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.codec_context.flags2 |= Flags2.export_mvs
        for frame in container.decode(stream):
            data: Any
            for data in frame.side_data:
                if data.type.name == "MOTION_VECTORS":
                    v = data.to_ndarray()
                    area, scale = v["w"].astype(float) * v["h"], np.maximum(v["motion_scale"], 1)
                    length = np.hypot(v["motion_x"] / scale, v["motion_y"] / scale)
                    means.append(float((area * length).sum()) / max(area.sum(), frame.width * frame.height))
        diagonal = float(np.hypot(stream.width, stream.height))
    return float(np.mean(means)) / diagonal * fps if means else 0.0


# Figures.


def auc(positive: Sequence[tuple[float, float]], negative: Sequence[tuple[float, float]]) -> float:
    """Return the share of pairs in which the positive is larger, ties half, of (value, weight) each."""
    p, pw = np.array(positive).T
    n, nw = np.array(negative).T
    wins = (p[:, None] > n) + 0.5 * (p[:, None] == n)
    return float(pw @ wins @ nw / (pw.sum() * nw.sum()))


def weighed(rows: Sequence[Mapping[str, Any]], name: str, repos: Sequence[str]) -> list[tuple[float, float]]:
    """Return values of rows with weights that make repositories equal; drawn ones count as often as drawn."""
    out = []
    for repo in set(repos):
        own = [row[name] for row in rows if row["repo"] == repo and row[name] is not None]
        out += [(value, repos.count(repo) / len(own)) for value in own]
    return out


def interval(positive: list[Any], negative: list[Any], name: str, rounds: int = 1000) -> tuple[float, float, float]:
    """Return the AUC and its 95 % bootstrap interval over repositories."""
    repos = sorted({row["repo"] for row in positive})
    whole = auc(weighed(positive, name, repos), weighed(negative, name, repos))
    rng, drawn = np.random.default_rng(0), []
    for _ in range(rounds):
        some = [repos[k] for k in rng.integers(len(repos), size=len(repos))]
        drawn.append(auc(weighed(positive, name, some), weighed(negative, name, some)))
    low, high = np.quantile(drawn, (0.025, 0.975))
    return whole, float(low), float(high)


OURS = ("amplitude",)
OTHERS = ("farneback_2fps", "farneback_5fps", "motion_vectors")


def measured(cache: Path, split: str) -> list[dict[str, Any]]:
    """Return a row per case: ours and others' measures; kept by the hash of our code."""
    code = source_hash(PACKAGE, ("functional", "perception/embedded"))
    ours, others = cache / f"ours-{code}.jsonl", cache / "others.jsonl"
    known: dict[str, dict[str, Any]] = {}
    for file in (ours, others):
        if file.exists():
            for line in file.read_text().splitlines():
                row = json.loads(line)
                known.setdefault(row["case"], {}).update(row)
    suite, rows = FilterSuite(), []
    for recording in {recording.source: recording for recording in recordings(split)}.values():  # one of a source
        for name, make in cases(recording):
            case = f"{recording.name}: {name}"
            row = known.get(case, {})
            path = encoded(cache, recording, name, make)
            if "scores" not in row:
                result = suite.score_clip(path)
                size = read_clip(path, sampling=Sampling(None, 64)).size
                kind = (
                    camera_kind({k: result.scores[k] for k in CAMERA_KINDS[1:]}, size)
                    if "pan" in result.scores
                    else None
                )
                mine = {"case": case, "scores": result.scores, "missing": result.missing, "camera": kind}
                row |= mine
                with ours.open("a") as file_:
                    file_.write(json.dumps(mine) + "\n")
            if "motion_vectors" not in row:
                clip = read_clip(path)
                theirs = {
                    "case": case,
                    "farneback_2fps": farneback(clip.frames, clip.fps, 0.5),
                    "farneback_5fps": farneback(clip.frames, clip.fps, 0.2),
                    "motion_vectors": motion_vectors(path, clip.fps),
                }
                row |= theirs
                with others.open("a") as file_:
                    file_.write(json.dumps(theirs) + "\n")
            row |= {"repo": recording.repo, "source": recording.source, "name": name}
            rows.append(row | {"amplitude": row["scores"].get("amplitude")})
    return rows


def motion(cache: Path, split: str) -> None:
    """Print AUCs of moving against still and camera alone."""
    rows = measured(cache, split)
    apart = [row for row in rows if row["source"] in EGO]
    rows = [row for row in rows if row["source"] not in EGO]
    moving = [row for row in rows if row["name"] == "moving"]
    alone = [row for row in rows if row["name"] in ALONE]
    lacking = sum(row["amplitude"] is None for row in rows)
    repos = len({row["repo"] for row in rows})
    print(f"split {split}: {len(moving)} moving, {len(alone)} still or camera alone, {repos} repositories; "
          f"amplitude missing in {lacking}")  # fmt: skip
    parts = {"all": alone, **{kind: [r for r in alone if r["name"] == kind] for kind in ALONE},
             "depth": [r for r in rows if r["name"] == "depth"]}  # fmt: skip
    print(f"{'AUC of moving against':22s}" + "".join(f"{name:>26s}" for name in (*OURS, *OTHERS)))
    for kind, negative in parts.items():
        texts = []
        for name in (*OURS, *OTHERS):
            value, low, high = interval(moving, negative, name)
            texts.append(f"{value:.3f} [{low:.3f}, {high:.3f}]")
        print(f"{kind:22s}" + "".join(f"{text:>26s}" for text in texts))
    for name in ("moving", *ALONE, "depth"):
        values = [r["amplitude"] for r in rows if r["name"] == name and r["amplitude"] is not None]
        quantiles = ", ".join(f"{q:.4f}" for q in np.quantile(values, (0, 0.1, 0.5, 0.9, 1)))
        print(f"amplitude, {name}: {quantiles} (least, 10 %, median, 90 %, most)")
    for row in apart:
        if row["name"] == "moving":
            print(f"apart: {row['case']}: amplitude {row['amplitude']}")
    kinds = [row for row in rows if row["name"] in ALONE]
    right = sum(row["camera"] == row["name"] for row in kinds)
    print(f"camera named right: {right} of {len(kinds)}")
    for name in ALONE:
        named = [str(row["camera"]) for row in kinds if row["name"] == name]
        print(f"  {name}: " + ", ".join(f"{k} {named.count(k)}" for k in sorted(set(named))))


# Cuts, fades, borders and text cards: what is found in footage, which has hardly any, and in what is put together.

LINES = ("Part two", "The morning after", "A film by nobody at all", "Twelve years later", "in the valley")


def text_card(size: tuple[int, int], rng: Rng) -> UInt8Array:
    """Return a picture of one to three lines on a plain ground, light on dark or dark on light."""
    ground, ink = (rng.integers(0, 60), rng.integers(190, 256)) if rng.random() < 0.7 else (240, 30)
    card = np.full((size[1], size[0], 3), ground, np.uint8)
    for row in range(rng.integers(1, 4)):
        line, scale = LINES[rng.integers(len(LINES))], size[1] / rng.uniform(260, 420)
        (wide, high), _ = cv2.getTextSize(line, cv2.FONT_HERSHEY_DUPLEX, scale, 1)
        at = (max(2, (size[0] - wide) // 2), round(size[1] / 2 + (row - 0.5) * 2.2 * high))
        cv2.putText(card, line, at, cv2.FONT_HERSHEY_DUPLEX, scale, (int(ink),) * 3, 1, cv2.LINE_AA)
    return card


def put_together(recording: Recording, other: Recording, kind: str) -> tuple[UInt8Array, float]:
    """Return a window with one thing put in: a cut to another recording, fades, borders, or a card of a second."""
    (frames, fps), rng = window(recording), np.random.default_rng([*kind.encode(), *recording.name.encode()])
    height, width = frames.shape[1:3]
    half, count = len(frames) // 2, len(frames)
    if kind == "cut":
        second = np.stack([cv2.resize(f, (width, height), interpolation=cv2.INTER_AREA) for f in window(other)[0]])
        return np.concatenate([frames[:half], second[: count - half]]).astype(np.uint8), fps
    if kind == "fade":
        lasts = max(4, round(rng.uniform(0.3, 1.0) * fps))
        light = np.clip((count - 3 - np.arange(count)) / lasts, 0, 1)[:, None, None, None]
        return np.rint(frames * light).astype(np.uint8), fps
    if kind == "letterbox":
        bar, boxed = round(height * rng.uniform(0.06, 0.2)), frames.copy()
        boxed[:, :bar] = boxed[:, height - bar :] = 0
        return boxed, fps
    card = text_card((width, height), rng)
    return np.concatenate([np.repeat(card[None], max(2, round(fps)), 0), frames[: max(2, count - round(fps))]]), fps


def events(cache: Path, split: str) -> None:
    """Print what is found in footage as it is, and the share of what was put in that is found."""
    suite, known = FilterSuite(), {recording.source: recording for recording in recordings(split)}
    items, names = [*known.values()], {"cut": "cuts", "fade": "fades", "letterbox": "borders", "card": "card_share"}
    plain = {}
    for recording in items:
        scores = suite.score_clip(recording.path).scores
        plain[recording.name] = scores
        if any(scores[name] for name in names.values()):
            print(f"as it is: {recording.name}: " + ", ".join(f"{n} {scores[n]:.3g}" for n in names.values()))
    for name in names.values():
        free = sum(not scores[name] for scores in plain.values())
        print(f"footage as it is: {name} 0 in {free} of {len(plain)}")
    for kind, name in names.items():
        right, wrong = 0, []
        for number, recording in enumerate(items):
            other = items[(number + len(items) // 2) % len(items)]
            path = encoded(cache, recording, kind, partial(put_together, recording, other, kind))
            found = suite.score_clip(path).scores.get(name, -1.0)
            least = {"cut": 1, "fade": 1, "letterbox": 0.1, "card": 0.2}[kind]
            right += found >= least
            wrong += [] if found >= least else [f"{recording.name} ({found:.3g})"]
        print(f"put in: {kind}: {name} found in {right} of {len(items)}; not in {', '.join(wrong) or 'none'}")


# What skipped frames cost, and what everything costs.


def skipped(cache: Path, split: str) -> None:
    """Print, by measure, how far values with reference frames alone are from those of all frames."""
    whole, few = FilterSuite(), FilterSuite(reference=True)
    pairs, shares = [], []
    for recording in {recording.source: recording for recording in recordings(split)}.values():
        for name, make in cases(recording):
            if name in ("moving", "still", "pan"):
                path = encoded(cache, recording, name, make)
                every, some = read_clip(path, sampling=Sampling(None, 256)), few.read(path)
                shares.append(len(some) / len(every))
                pairs.append((whole.score_clip(every).scores, few.score_clip(some).scores))
        for kind in ("cut", "fade"):
            path = cache / "clips" / f"{recording.name}-{kind}.mp4"
            if path.exists():
                pairs.append((whole.score_clip(path).scores, few.score_clip(path).scores))
    print(f"{len(pairs)} clips; share of frames decoded: median {np.median(shares):.2f}")
    for name in MEASURES:
        both = np.array([(a[name], b[name]) for a, b in pairs if name in a and name in b])
        apart = np.abs(both[:, 0] - both[:, 1])
        print(f"{name}: median {np.median(both[:, 0]):.4f}, apart: median {np.median(apart):.4f}, 90 % within "
              f"{np.quantile(apart, 0.9):.4f}, at most {apart.max():.4f}; rank correlation "
              f"{correlation(both[:, 0], both[:, 1]):.3f}; lost {len(pairs) - len(both)}")  # fmt: skip


def correlation(first: FloatArray, second: FloatArray) -> float:
    """Return Spearman's correlation; NaN where all are equal."""
    from scipy.stats import rankdata

    ranks = np.stack([rankdata(first), rankdata(second)])
    return float(np.corrcoef(ranks)[0, 1]) if ranks.std(1).all() else float("nan")


def cost(_cache: Path, split: str) -> None:
    """Print CPU seconds per 150 frames of 1280x720, medians of three, decoding apart; OpenCV in one thread."""
    import av

    cv2.setNumThreads(1)
    recording = next(item for item in recordings(split) if item.name in ("sam2_01_dog", "sam2_02_cups"))
    path = recording.path

    def decoded(skip: Any = None) -> int:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            if skip:
                stream.codec_context.skip_frame = skip
            return sum(1 for _ in container.decode(stream))

    every, few = FilterSuite(), FilterSuite(reference=True)
    small = every.read(path)
    parts: dict[str, Callable[[], object]] = {
        "decoding alone, all frames": decoded,
        "decoding alone, reference frames": partial(decoded, "NONREF"),
        "reading: decoding, checks, shrinking": partial(every.read, path),
        "reading, reference frames": partial(few.read, path),
        "measures": partial(every.score_clip, small),
        "measures, reference frames": partial(few.score_clip, few.read(path)),
        "whole clip": partial(every.score_clip, path),
        "whole clip, reference frames": partial(few.score_clip, path),
    }
    frames = decoded()
    print(f"{recording.name}: {frames} frames, of which others refer to {decoded('NONREF')}")
    times: dict[str, list[float]] = {name: [] for name in parts}
    for _ in range(3):  # in turn, so that a busy machine is the same for all
        for name, run in parts.items():
            start = time.process_time()
            run()
            times[name].append((time.process_time() - start) * 150 / frames)
    for name, values in times.items():
        print(f"{name}: {statistics.median(values):.3f} CPU s (least {min(values):.3f}, most {max(values):.3f})")


PARTS: dict[str, Callable[[Path, str], None]] = {"motion": motion, "events": events, "skipped": skipped, "cost": cost}


def main() -> None:
    """Print the figures that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--split", choices=("train", "validation"), default="validation")
    parser.add_argument("--part", choices=tuple(PARTS), action="append")
    options = parser.parse_args()
    for name in options.part or tuple(PARTS):
        print(f"## {name}")
        PARTS[name](options.cache, options.split)


if __name__ == "__main__":
    main()
