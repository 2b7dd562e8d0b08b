"""Stand-ins for the published models: every answer is drawn from what is asked, so that another question shows.

Boxes jitter around a few places that come and go, masks drift, vanish and come back, tracks wander out of the frame
and out of sight.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from vmmetrics.clip import Clip, Subject
from vmmetrics.perception.scene import PointTracks, Scene

HORSE = Subject("horse", "a black horse", "list")


def drawn_from(seed: int, *asked: object) -> np.random.Generator:
    total = seed
    for item in asked:
        data = np.ascontiguousarray(item).tobytes() if isinstance(item, np.ndarray) else repr(item).encode()
        total = zlib.crc32(data, total)
    return np.random.default_rng(total)


def noise_clip(frames: int, fps: float, size: tuple[int, int] = (64, 48), seed: int = 0, noun: str = "Horse") -> Clip:
    """Soft noise, so that JPEG changes it without making it another picture altogether."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (frames, 6, 8, 3), dtype=np.uint8)
    pixels = np.stack([cv2.resize(frame, size, interpolation=cv2.INTER_CUBIC) for frame in coarse])
    subject = Subject(noun, f"a {noun}", "list")
    return Clip(pixels, np.arange(frames) / fps, fps, subject=subject)


@dataclass
class FakeModels:
    """All of them in one, with a log of what was asked.

    Attributes:
        seed: Of the answers.
        boxes_most: Most boxes in a frame.
        wild: Whether masks and tracks come and go; else all stays where it is.
        asked: What was asked, in order.
    """

    seed: int = 0
    boxes_most: int = 3
    wild: bool = True
    asked: list[tuple[object, ...]] = field(default_factory=list)

    # Grounder and PersonFinder share a name in their protocols: see FakePeople
    def boxes(self, frame: np.ndarray, text: str) -> np.ndarray:
        rng = drawn_from(self.seed, frame, text)
        self.asked.append(("boxes", zlib.crc32(frame.tobytes()), text))
        places = drawn_from(self.seed, "places").uniform(0.3, 0.7, (self.boxes_most, 2))
        keep = rng.random(self.boxes_most) < (0.6 if self.seed % 2 else 0.25)
        centres = places[keep] + rng.normal(0, 0.01, (int(keep.sum()), 2))
        sizes = rng.uniform(0.3, 0.36, (int(keep.sum()), 2))
        return np.concatenate([centres, sizes], axis=1).astype(np.float32)

    def boxes_in(self, frames: list[np.ndarray], text: str) -> list[np.ndarray]:
        return [self.boxes(frame, text) for frame in frames]

    def masks_in(self, frames: list[np.ndarray], boxes: list[np.ndarray]) -> list[np.ndarray]:
        return [self.masks(*asked) for asked in zip(frames, boxes, strict=True)]

    def masks(self, frame: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        assert boxes.dtype == np.float32
        rng = drawn_from(self.seed, frame, boxes)
        self.asked.append(("masks", zlib.crc32(frame.tobytes()), boxes.tobytes()))
        masks = np.zeros((len(boxes), *frame.shape[:2]), bool)
        for mask, box in zip(masks, boxes, strict=True):
            x0, y0, x1, y1 = (int(v) for v in np.maximum(np.round(box), 0))
            if rng.random() > 0.1:  # else an empty mask
                mask[y0 : max(y1, y0), x0 : max(x1, x0)] = True
        return masks

    def open(self, frames: np.ndarray) -> FakeModels._Session:
        self.asked.append(("open", zlib.crc32(frames.tobytes())))
        return FakeModels._Session(self, frames)

    @dataclass
    class _Session:
        models: FakeModels
        frames: np.ndarray

        def masks(self, frame: int, boxes: np.ndarray, ahead: Sequence[int] = ()) -> np.ndarray:
            return self.models.masks(self.frames[frame], boxes)

        def propagate(
            self, start: int, masks: Mapping[int, np.ndarray], steps: int, *, reverse: bool = False
        ) -> Iterator[tuple[int, dict[int, np.ndarray]]]:
            given = dict(masks)
            self.models.asked.append(
                ("propagate", start, steps, reverse, tuple(given), *(m.sum() for m in given.values()))
            )
            way = -1 if reverse else 1
            last = max(start - steps, 0) if reverse else min(start + steps, len(self.frames) - 1)
            for frame in range(start, last + way, way):
                rng = drawn_from(self.models.seed, "drift", frame)
                moved = {}
                for identity, mask in given.items():
                    shift = int(rng.integers(-1, 2))
                    seen = frame == start or rng.random() > 0.1 or not self.models.wild
                    moved[identity] = np.roll(mask, shift, axis=1) & seen if self.models.wild else mask
                yield frame, moved

    def grid(
        self, frames: np.ndarray, side: int, frame: int, mask: np.ndarray | None, *, half: bool = False
    ) -> PointTracks:
        assert mask is None or (mask.dtype == np.uint8 and set(np.unique(mask)) <= {0, 255})
        height, width = frames.shape[1:3]
        rng = drawn_from(self.seed, side, frame, b"" if mask is None else mask, half)
        self.asked.append(("grid", side, frame, 0 if mask is None else zlib.crc32(mask.tobytes()), half))
        x, y = np.meshgrid(np.linspace(0, width - 1, side), np.linspace(0, height - 1, side))
        on = np.ones(x.shape, bool) if mask is None else mask[np.round(y).astype(int), np.round(x).astype(int)] > 0
        return self._wander(rng, len(frames), np.column_stack([x[on], y[on]]), np.full(int(on.sum()), frame))

    def points(self, frames: np.ndarray, queries: np.ndarray) -> PointTracks:
        self.asked.append(("points", len(queries)))
        rng = drawn_from(self.seed, queries)
        return self._wander(rng, len(frames), queries[:, 1:], queries[:, 0].astype(np.int64))

    def _wander(self, rng: np.random.Generator, length: int, at: np.ndarray, frame: np.ndarray) -> PointTracks:
        count = len(at)
        if not self.wild:
            xy = np.repeat(at[None].astype(np.float64), length, axis=0)
            return PointTracks(xy, np.ones((length, count), bool), frame)
        speed, shrink = rng.normal(0, rng.choice([0.1, 3.0]), 2), rng.choice([0.0, 0.3])
        age = np.arange(length)[:, None, None] - np.asarray(frame)[None, :, None]
        centre = at.mean(axis=0) if count else np.zeros(2)
        xy = centre + (at - centre) / (1 + shrink * np.abs(age)) ** 2 + speed * age
        xy = (xy + rng.normal(0, 0.05, xy.shape)).astype(np.float32).astype(np.float64)
        hidden = rng.random(length)[:, None] < rng.choice([0.0, 0.3])
        visible = (rng.random((length, count)) < rng.choice([0.1, 0.5, 1.0])) & ~hidden
        return PointTracks(xy, visible, np.asarray(frame, np.int64))

    def keypoints(self, frame: np.ndarray, boxes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.asked.append(("keypoints", boxes.tobytes()))
        points, scores = [], []
        for box in boxes:  # each by itself, as the network sees it
            rng = drawn_from(self.seed, frame, np.asarray(box, np.float64))
            body = drawn_from(self.seed, "body").uniform(0, 30, (17, 2))
            points.append(body + np.asarray(box)[:2] + rng.normal(0, 0.8, (17, 2)))
            scores.append(np.clip(rng.normal(0.55, 0.3, 17), 0, 1.2))
        return np.array(points), np.array(scores)

    def in_frames(self, frames: np.ndarray, boxes: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        return [self.keypoints(frame, of_frame) for frame, of_frame in zip(frames, boxes, strict=True)]

    def assess(self, scene: Scene) -> np.ndarray:
        from vmmetrics.perception.vmbench.adapters.qalign import QAlignRater  # needs torch

        return QAlignRater.assess(self, scene)  # type: ignore[arg-type]

    def rate(self, frames: np.ndarray, windows: np.ndarray) -> np.ndarray:
        self.asked.append(("rate", windows.tobytes()))
        return np.array([drawn_from(self.seed, frames[window]).normal(0.6, 0.02) for window in windows]).clip(0, 1)


@dataclass
class FakePeople:
    """A PersonFinder: nobody, somebody or several, best first."""

    seed: int = 0

    def boxes(self, frames: np.ndarray) -> list[np.ndarray]:
        found = []
        for frame in frames:
            rng = drawn_from(self.seed, frame, "people")
            people = int(rng.integers(0, 4))
            corner = rng.uniform(0, 20, (people, 2))
            score = np.sort(rng.uniform(0.3, 1, people))[::-1]
            found.append(np.column_stack([corner, corner + 20, score]))
        return found
