"""Detection of clips without motion to judge: noise, a still image, a slide show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.clip import Clip
from vmmetrics.types import COLLAPSE_REASONS, Collapse, FloatArray, UInt8Array

WIDTH = 256
"""Width of working images, pixels."""
_TALLEST = 64 * WIDTH  # a clip 1 pixel wide and 65,535 high would take 4 GB a frame
LEAST_SIDE = 32
"""Least side of a frame, pixels, in which objects and bodies are judged. At 8 pixels all but one of ten clips had 1 or
no score; at 16 and 24, some were penalised that were whole at 48. Chosen on these ten."""
BLOCK = 8
"""Side of the blocks whose mean brightness is compared over time, working pixels."""
SAME_LEVELS = 4.0
"""Range in grey levels within which a block is constant. Stills under sensor noise of 6 levels or H.264 at crf 35 vary
by up to 2.6, the slowest of 218 real, generated and rendered clips by 26."""
BLEND_LEVELS = 8.0
"""Residual in grey levels within which a frame is a blend of two stills."""
HOLD_SECONDS = 0.5
"""Shortest still, seconds; a shorter one is a stutter, which MSS scores."""
CHANGED_SHARE = 0.5
"""Least share of blocks that differ between two slides; where fewer do, something moved or vanished."""
UNRELATED = 0.13
"""Largest mean :func:`layout_agreement`, either way, of consecutive frames that have nothing in common. Noise of every
grain and spectrum, with a logo or a border: up to 0.08; footage and generated clips at a third of their frames 0.34 and
more, waves -0.3; textures that pan or turn are near 0, too."""
LEAST_CORRESPONDENCE = 0.17
"""Least mean :func:`correspondence` of consecutive frames, 0..1. Noise reaches 0.12, with a logo on it; textures that
move have 0.24 and more, but for many small things that go their own ways (renders of tests/perception)."""
COARSE_FALL, COARSE_CORRESPONDENCE = 7.3, 0.32
"""Spectral fall (:func:`spectral_fall`), factors of two, from which noise is coarse, its grains as large as the blocks
that are matched, and its correspondence then, grains of a tenth of the frame; a clip at a sixth of its frames has 0.36.
The largest waves rendered have a fall of 7.1."""
SHIFTED, COARSE_SHIFTED, TURNED = 0.22, 0.35, 0.3
"""Mean response of phase correlation from which frames are one another shifted, coarse ones shifted, and turned or
zoomed, farther than blocks are matched. Noise: up to 0.16, 0.29 and 0.26; textures panned by half a frame, turned by
40° and zoomed by a third a frame: at least 0.28, 0.28 and 0.31."""
_SPECTRUM = 128  # side, pixels, of the images whose spectrum is computed
_LAYOUT = (16, 12)  # columns and rows of a layout
_TURNS = (*range(-44, -4, 4), *range(8, 45, 4))  # degrees that are tried; a logo shows no smaller ones
_ZOOMS = (0.75, 0.87, 1.15, 1.33)  # factors that are tried
_LEAST_TURNED = 32  # least side, pixels of images of half the working size, at which turns show
_PAIRS = 8  # number of frame pairs that are compared
_MATCH = 16  # side of the blocks that are matched, pixels of images of half the working size
_REACH = 32  # largest displacement of a match, the same pixels: a quarter of the width
_SLACK = 2  # difference in displacement within which neighbours agree, the same pixels
_REPEATED = 0.5  # mean difference in grey levels within which a frame repeats the one before
_PLAIN = 1.0  # deviation in grey levels below which a block is plain
_BORDER = 0.3  # share of the median deviation of rows or columns below which those at the edge are a border
_LEAST_BLOCKS = 4  # least number of blocks with a textured neighbour


@dataclass(frozen=True, slots=True)
class Unjudgeable:
    """A clip without motion to judge.

    Attributes:
        kind: ``"noise"``, ``"still"`` (one image) or ``"slides"`` (several, one after another).
        reason: Reason of the missing scores, as recorded; begins as :data:`vmmetrics.types.COLLAPSE_REASONS` says.
    """

    kind: Collapse
    reason: str


def too_small(clip: Clip) -> str | None:
    """Return why a clip shows too little of objects and bodies to judge them; None for one of :data:`LEAST_SIDE`."""
    if min(clip.width, clip.height) >= LEAST_SIDE:
        return None
    return f"frames of {clip.width} by {clip.height} pixels are too small to judge: at least {LEAST_SIDE} a side"


def find_unjudgeable(clip: Clip) -> Unjudgeable | None:
    """Detect noise, stills and slide shows.

    No frame of noise continues the one before: its light and dark is elsewhere, the best matches of neighbouring blocks
    point in unrelated directions, and it is not the one before shifted, turned or zoomed. A texture that moves or
    deforms is no noise. The blocks of a still have constant brightness; those of slides for at
    least half a second, and they change by a cut or a fade of the whole frame. A camera that moves over a still, and a
    still that flickers, are judged.

    Args:
        clip: At least one frame; a single one, which continues nothing, is judged.

    Returns:
        Kind and reason, or None for a clip to be judged.
    """
    grey = _grey(clip.frames)
    if len(grey) == 1:
        return None
    blocks = _blocks(grey)
    if np.ptp(blocks, axis=0).max() < SAME_LEVELS:
        return Unjudgeable("still", f"{COLLAPSE_REASONS['still']} {len(grey)} frames show the same image")
    holds = list(_holds(blocks, max(2, round(HOLD_SECONDS * clip.fps))))
    if holds and _only_changes(blocks, holds):
        images = f"{len(holds)} still images" if len(holds) > 1 else "one still image"
        return Unjudgeable("slides", f"{COLLAPSE_REASONS['slides']} {images}, with only cuts and fades between them")
    if _is_noise(grey):
        return Unjudgeable("noise", f"{COLLAPSE_REASONS['noise']}: no frame continues the one before")
    return None


def spectral_fall(picture: UInt8Array) -> float | None:
    """Return the fall of a grey image's power over three octaves, in factors of two; None for a plain one.

    From 2 to 4 waves across the image to 16 to 32. White noise has 0; the power of natural images falls with the
    square of the frequency, by 6 (Field, Journal of the Optical Society of America A 1987).
    """
    small = cv2.resize(picture, (_SPECTRUM, _SPECTRUM), interpolation=cv2.INTER_AREA).astype(np.float64)
    if np.ptp(small) < SAME_LEVELS:
        return None
    window = np.hanning(_SPECTRUM)
    power = np.abs(np.fft.fft2((small - small.mean()) * window[:, None] * window)) ** 2
    waves = np.fft.fftfreq(_SPECTRUM, 1 / _SPECTRUM)
    radius = np.hypot(waves[:, None], waves)
    low, high = (power[(radius >= start) & (radius < 2 * start)].mean() for start in (2, 16))
    return float(np.log2(low + 1) - np.log2(high + 1))


def correspondence(first: UInt8Array, second: UInt8Array) -> float | None:
    """Return how far neighbouring blocks agree on where they moved, from 0 (chance) to 1; None for plain images.

    The normalised cross-correlation of a block with its surroundings in the second image is looked up at the
    displacement of each neighbour's best match. 0 stands for its mean over all displacements, 1 for its maximum: the
    measure depends on neither contrast nor grain, and repeated patterns, which match in several places, reach 1.

    Args:
        first: (h, w) uint8 grey image of the working size.
        second: The next one.
    """
    a, b = (cv2.resize(image.astype(np.float32), None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
            for image in (first, second))  # fmt: skip
    inner = _inner(a)
    a, b = np.ascontiguousarray(a[inner]), np.ascontiguousarray(b[inner])
    matches = {}
    for row, y in enumerate(range(0, len(a) - _MATCH + 1, _MATCH)):
        for column, x in enumerate(range(0, a.shape[1] - _MATCH + 1, _MATCH)):
            block = a[y : y + _MATCH, x : x + _MATCH]
            if block.std() < _PLAIN:
                continue
            top, left = max(0, y - _REACH), max(0, x - _REACH)
            scores = cv2.matchTemplate(
                b[top : y + _MATCH + _REACH, left : x + _MATCH + _REACH], block, cv2.TM_CCOEFF_NORMED
            )
            origin = np.array([top - y, left - x])
            best = np.unravel_index(int(np.argmax(scores)), scores.shape)
            near = cv2.dilate(scores, np.ones((2 * _SLACK + 1, 2 * _SLACK + 1), np.uint8))
            matches[row, column] = near, origin, origin + best, float(scores[best])
    agreement = []
    for (row, column), (near, origin, _, best_score) in matches.items():
        beside = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
        places = [matches[key][2] - origin for key in beside if key in matches]
        values = [near[tuple(p)] for p in places if (p >= 0).all() and (p < near.shape).all()]
        chance = float(near.mean())
        if values and best_score > chance:
            agreement.append((float(np.mean(values)) - chance) / (best_score - chance))
    return float(np.mean(agreement)) if len(agreement) >= _LEAST_BLOCKS else None


def _inner(image: NDArray[Any]) -> tuple[slice, slice]:
    """Return rows and columns of an image (h, w) within plain borders, whose edges stay in place whatever they hold."""
    return _within_border(image.std(axis=1)), _within_border(image.std(axis=0))


def _within_border(deviations: FloatArray) -> slice:
    """Return the rows or columns between plain borders, less one at either end."""
    textured = np.flatnonzero(deviations >= _BORDER * np.median(deviations))
    return slice(textured[0] + 1, max(textured[-1], textured[0] + 2))


def layout_agreement(first: UInt8Array, second: UInt8Array) -> float:
    """Return how far two grey images are lighter and darker than usual in the same places, from 0 (chance) to 1.

    Of 16 × 12 cells each says lighter or darker than the median, so that a logo is one vote in many.
    """
    inner = _inner(first)
    cells = [cv2.resize(image[inner], _LAYOUT, interpolation=cv2.INTER_AREA).astype(float) for image in (first, second)]
    a, b = (np.sign(image - np.median(image)) for image in cells)
    return float((a * b).mean())


def _is_noise(grey: UInt8Array) -> bool:
    """Return True for frames that differ from the one before and do not continue it, in place or elsewhere.

    Plain frames are left out.
    """
    textured = [k for k in range(len(grey)) if np.ptp(cv2.blur(grey[k], (3, 3))) >= SAME_LEVELS]
    changes = [(i, k) for i, k in pairwise(textured) if cv2.absdiff(grey[i], grey[k]).mean() > _REPEATED]
    chosen = [changes[int(k)] for k in np.linspace(0, len(changes) - 1, min(_PAIRS, len(changes)))]
    pairs = [(grey[i], grey[k]) for i, k in chosen]
    if not pairs:
        return False
    related = float(np.mean([layout_agreement(grey[i], grey[k]) for i, k in changes]))
    if abs(related) >= UNRELATED:
        return False
    values = [value for pair in pairs if (value := correspondence(*pair)) is not None]
    falls = [fall for first, _ in pairs if (fall := spectral_fall(first)) is not None]
    coarse = bool(falls) and float(np.median(falls)) > COARSE_FALL
    if values and np.mean(values) >= (COARSE_CORRESPONDENCE if coarse else LEAST_CORRESPONDENCE):
        return False
    deviations = grey.std(axis=0)
    changing = deviations >= _BORDER * np.median(deviations)  # a logo stays whatever moves behind it
    images = [(np.where(changing, a, np.uint8(a.mean())), np.where(changing, b, np.uint8(b.mean()))) for a, b in pairs]
    return not _moves_as_a_whole(images, COARSE_SHIFTED if coarse else SHIFTED)


def _moves_as_a_whole(pairs: list[tuple[UInt8Array, UInt8Array]], shifted: float) -> bool:
    """Return True if the second image of each pair is the first one shifted, turned or zoomed."""
    if np.mean([_response(*pair) for pair in pairs]) >= shifted:
        return True
    height, width = (side // 2 for side in pairs[0][0].shape)
    if min(height, width) < _LEAST_TURNED:
        return False
    turned = []
    for pair in pairs:
        first, second = (np.asarray(cv2.resize(i, (width, height), interpolation=cv2.INTER_AREA)) for i in pair)
        views = [(angle, 1.0) for angle in _TURNS] + [(0, zoom) for zoom in _ZOOMS]
        matrices = (cv2.getRotationMatrix2D((width / 2, height / 2), angle, zoom) for angle, zoom in views)
        turned.append(max(_response(first, second, np.asarray(matrix)) for matrix in matrices))
    return bool(np.mean(turned) >= TURNED)


def _response(first: NDArray[Any], second: NDArray[Any], matrix: FloatArray | None = None) -> float:
    """Return the response, about 0..1, of the phase correlation of two images, the first one warped by ``matrix``."""
    window = cv2.createHanningWindow(first.shape[::-1], cv2.CV_32F)
    a, b = (np.asarray(image - image.mean(), np.float32) for image in (first, second))
    warped = a if matrix is None else cv2.warpAffine(a, matrix, first.shape[::-1])
    return float(cv2.phaseCorrelate(warped, b, window)[1])


def _grey(frames: UInt8Array) -> UInt8Array:
    height = min(max(BLOCK, round(frames.shape[1] * WIDTH / frames.shape[2])), _TALLEST)
    return np.stack(
        [
            cv2.resize(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), (WIDTH, height), interpolation=cv2.INTER_AREA)
            for frame in frames
        ]
    )


def _blocks(grey: UInt8Array) -> FloatArray:
    """Return (T, B), the mean brightness of the blocks of ``grey`` (T, h, w)."""
    t, rows, columns = len(grey), grey.shape[1] // BLOCK, grey.shape[2] // BLOCK
    cut = grey[:, : rows * BLOCK, : columns * BLOCK].reshape(t, rows, BLOCK, columns, BLOCK)
    means: FloatArray = cut.mean(axis=(2, 4), dtype=np.float64).reshape(t, -1)
    return means


def _holds(blocks: FloatArray, least: int) -> Iterator[tuple[int, int]]:
    """Yield first frame and end of each run of at least ``least`` frames in which every block is constant."""
    start = 0
    low = high = blocks[0]
    for t in range(1, len(blocks) + 1):
        if t < len(blocks):
            new_low, new_high = np.minimum(low, blocks[t]), np.maximum(high, blocks[t])
            if (new_high - new_low).max() < SAME_LEVELS:
                low, high = new_low, new_high
                continue
            low = high = blocks[t]
        if t - start >= least:
            yield start, t
        start = t


def _only_changes(blocks: FloatArray, holds: list[tuple[int, int]]) -> bool:
    """Return True if only cuts of the whole frame and fades, also to or from a plain image, separate ``holds``."""
    pictures = [np.median(blocks[start:end], axis=0) for start, end in holds]
    between = zip([0, *(end for _, end in holds)], [*(start for start, _ in holds), len(blocks)], strict=True)
    for k, (start, end) in enumerate(between):
        around = pictures[max(k - 1, 0) : k + 1]  # the hold before and the one after, of which one may lack
        if len(around) == 2:
            changed = np.abs(around[1] - around[0]) > SAME_LEVELS
            plain = min(np.ptp(picture) for picture in around) < SAME_LEVELS and end > start
            if changed.mean() < CHANGED_SHARE and not plain:
                return False
        base = np.column_stack([*around, np.ones(blocks.shape[1])])
        rest = blocks[start:end].T
        if rest.size and np.abs(rest - base @ np.linalg.lstsq(base, rest, rcond=None)[0]).max() > BLEND_LEVELS:
            return False
    return True
