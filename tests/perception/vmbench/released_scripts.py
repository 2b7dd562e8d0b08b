"""The released scripts once more, plainly and frame by frame, as an opinion of its own on what they compute.

Written from their behaviour (VMBench, commit c278a73): lists of dicts as they keep them, every entry of every frame,
each event judged by itself.
"""

from __future__ import annotations

from itertools import count, pairwise
from typing import Any

import cv2
import numpy as np

f32 = np.float32


def detect(grounder: Any, image: np.ndarray, noun: str) -> np.ndarray:
    """Boxes as corners in pixels, one number at a time."""
    height, width = image.shape[:2]
    corners = []
    for cx, cy, w, h in grounder.boxes(image, (noun + ".").lower().strip()):
        cx, cy, w, h = f32(cx) * f32(width), f32(cy) * f32(height), f32(w) * f32(width), f32(h) * f32(height)
        x, y = f32(cx - w / f32(2)), f32(cy - h / f32(2))
        corners.append([x, y, f32(w + x), f32(h + y)])
    return np.array(corners, f32).reshape(-1, 4)


def through_jpeg(rgb: np.ndarray) -> np.ndarray:
    written = cv2.imencode(".jpg", rgb[:, :, ::-1].copy(), [int(cv2.IMWRITE_JPEG_QUALITY), 95])[1]
    return cv2.imdecode(written, cv2.IMREAD_COLOR)[:, :, ::-1].copy()


def amplitude(models: Any, frames: np.ndarray, noun: str) -> float:
    """PAS."""
    height, width = frames.shape[1:3]
    boxes = detect(models, frames[0], noun)
    if len(boxes) == 0:
        whole = np.full((height, width), 255, np.uint8)
        return degree(models.grid(frames, 30, 0, whole).xy, width, height)
    # rows of the picture that Grounding DINO is shown: shorter side 800 unless the longer one then passes 1333
    rows = 800 * height / min(height, width)
    if 800 * max(height, width) / min(height, width) > 1333:
        rows = round(1333 * min(height, width) / max(height, width)) * height / min(height, width)
    rows = int(rows + 1e-9)
    # SAM's input is 1024 on its longer side; the wrong frame is 3 rows of so many columns
    in_sam = boxes.astype(np.float64)
    in_sam[:, [0, 2]] *= int(rows * (1024 / max(3, rows)) + 0.5) / rows
    in_sam[:, [1, 3]] *= int(3 * (1024 / max(3, rows)) + 0.5) / 3
    back = in_sam.copy()
    back[:, [0, 2]] /= int(width * (1024 / max(height, width)) + 0.5) / width
    back[:, [1, 3]] /= int(height * (1024 / max(height, width)) + 0.5) / height
    masks = models.masks(frames[0], back.astype(f32))
    outside_of_any, inside_of_any = np.zeros((2, height, width), np.uint8)
    for mask in masks:
        outside_of_any[~mask] = 255
        inside_of_any[mask] = 255
    background = degree(models.grid(frames, 30, 0, outside_of_any).xy, width, height)
    subject = degree(models.grid(frames, 30, 0, inside_of_any).xy, width, height)
    if subject > background:
        subject -= background
    return background if np.isnan(subject) else subject


def degree(tracks: np.ndarray, width: int, height: int) -> float:
    if tracks.shape[1] == 0:
        return float("nan")
    paths = []
    for point in range(tracks.shape[1]):
        steps = [np.hypot(*(b - a)) for a, b in pairwise(tracks[:, point])]
        paths.append(sum(steps) / np.hypot(width, height))
    return float(np.mean(paths))


def coherence(models: Any, frames: np.ndarray, fps: float, noun: str) -> float:
    """TCS."""
    height, width = frames.shape[1:3]
    step = int(fps) - 1
    session = models.open(frames)
    entries: list[dict[int, np.ndarray]] = []
    last: dict[int, np.ndarray] = {}
    given_out = 0
    for start in range(0, len(frames), step):
        image = through_jpeg(frames[start])
        boxes = detect(models, image, noun)
        if len(boxes):
            current: dict[int, np.ndarray] = {}
            for mask in models.masks(image, boxes):
                if mask.sum() == 0:
                    continue
                identity = 0
                for known, other in last.items():
                    shared = (mask & other).sum()
                    if shared / (mask.sum() + other.sum() - shared) > 0.75:
                        identity = known
                        break
                if identity == 0:
                    given_out += 1
                    identity = given_out
                current[identity] = mask
        else:
            current = last
        if not current:
            entries += [{} for _ in range(step + 1)]
            continue
        for _, masks in session.propagate(start, current, step):
            last = dict(masks)
            entries.append(last)
    kept = [entry for i, entry in zip(count(1), entries, strict=False) if i % (step + 1) != 0][::step]

    first: dict[int, tuple[int, np.ndarray]] = {}
    for i, entry in enumerate(kept):
        for identity, mask in entry.items():
            first.setdefault(identity, (i, mask))
    gone = [identity for a, b in pairwise(kept) for identity in set(a) - set(b)]
    new = [identity for a, b in pairwise(kept) for identity in set(b) - set(a)]
    vanish = emerge = 1.0
    if gone:
        bad = sum(not excused(models, frames, *first[i], "vanish", width, height) for i in gone)
        vanish = (given_out - bad) / given_out
    if new:
        bad = sum(not excused(models, frames, *first[i], "emerge", width, height) for i in new)
        emerge = (given_out - bad) / given_out
    return (vanish + emerge) / 2


def excused(models: Any, frames: np.ndarray, query: int, mask: np.ndarray, kind: str, width: int, height: int) -> bool:
    found = models.grid(frames, 50, query, (mask * 255).astype(np.uint8), half=True)
    edge_share, small_size, error_share = (0.8, 0.07, 1.0) if kind == "vanish" else (0.85, 0.03, 0.8)
    error = True
    for t in range(len(frames)):
        if t <= query if kind == "vanish" else t >= query:
            continue
        points, visible = found.xy[t], found.visible[t]
        if len(points) == 0:
            continue
        x, y = points.T
        invisible = (~visible).sum() / len(points)
        beyond = (x < 0) | (x > width) | (y < 0) | (y > height)
        if invisible >= edge_share and beyond.sum() / len(points) >= 0.5:
            return True
        on = (x > 0) & (x < width) & (y > 0) & (y < height)
        if on.sum() / len(points) >= 0.8 and on.sum() > 1:
            across = np.quantile(x[on], 0.9) - np.quantile(x[on], 0.1)
            down = np.quantile(y[on], 0.9) - np.quantile(y[on], 0.1)
            if max(across / width, down / height) < small_size:
                return True
        if invisible >= error_share:
            error = False
    return error


LENGTHS = [(5, 11), (5, 7), (7, 9), (6, 8), (8, 10), (11, 13), (13, 15), (12, 14), (14, 16), (5, 6), (11, 12), (0, 5)]
ANGLES = [(5, 7, 9), (6, 8, 10), (7, 5, 11), (8, 6, 12), (5, 11, 13), (6, 12, 14), (11, 13, 15), (12, 14, 16)]


def integrity(people: Any, models: Any, frames: np.ndarray) -> float:
    """OIS."""
    height, width = frames.shape[1:3]
    instances = []
    for frame, found in zip(frames, people.boxes(frames), strict=True):
        boxes = found[:, :4] if len(found) else np.array([[0, 0, width, height]], np.float64)
        points, scores = models.keypoints(frame, boxes)
        instances.append((points[0], scores[0]))
    lengths_fine = angles_fine = 0
    for a, b in LENGTHS:
        values = [np.linalg.norm(p[a] - p[b]) for p, s in instances if s[a] > 0.3 and s[b] > 0.3]
        values = [value for value in values if value > 1e-6]
        steps = [abs(after - before) / before for before, after in pairwise(values)]
        lengths_fine += len(values) < len(frames) // 2 or not any(step > 0.45 for step in steps)
    for a, b, c in ANGLES:
        values = []
        for p, s in instances:
            if min(s[a], s[b], s[c]) > 0.3:
                u, v = p[a] - p[b], p[c] - p[b]
                values.append(np.degrees(np.arccos(np.clip(u @ v / np.sqrt((u @ u) * (v @ v)), -1, 1))))
        angles_fine += len(values) < len(frames) // 3 or max(abs(x - y) for x, y in pairwise(values)) <= 30
    return 0.5 * lengths_fine / 12 + 0.5 * angles_fine / 8


def smoothness(rater: Any, frames: np.ndarray, amplitude_score: float | None) -> float:
    """MSS."""
    windows = []
    total = len(frames)
    for i in range(total):
        window = [j for j in (i - 1, i, i + 1) if 0 <= j < total]
        while len(window) < 3:
            window = [*window, window[-1]] if max(0, i - 1) == 0 else [window[0], *window]
        windows.append([0, 0, 0] if i < 1 else window)
    scores = rater.rate(frames, np.array(windows))
    if amplitude_score is None or amplitude_score < 0.1:
        limit = 0.01
    else:
        limit = 0.015 if amplitude_score < 0.3 else 0.025 if amplitude_score < 0.5 else 0.03
    flagged = set()
    for i, (a, b) in enumerate(pairwise(scores.tolist())):
        if abs(b - a) > limit:
            flagged |= {i, i + 1}
    return 1 - len(flagged) / total


def commonsense(logits: np.ndarray) -> float:
    """CAS of (V, 5) logits, every view by itself."""
    rows = [np.exp(row - row.max()) / np.exp(row - row.max()).sum() for row in logits]
    return float(np.mean(rows, axis=0) @ [0, 0.25, 0.5, 0.75, 1])
