"""Drawing: the background plane and the cut-outs, sub-pixel exact through one inverse warp each.

Every texture is kept at about twice the density of the frame, slightly blurred as a lens does. At that density the
cubic kernel no longer shows, so a layer that drifts by fractions of a pixel keeps its sharpness (the bilinear one
costs 14 % of the gradients' energy every other quarter of a pixel).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from benchmarks.scenes.paths import CameraPath, Matrix, ObjectPath, Points, project, similarity, translation
from benchmarks.scenes.shapes import Part, coverage
from benchmarks.scenes.spec import SceneSpec
from benchmarks.scenes.textures import cut_out

Texture = NDArray[np.float32]

DENSITY = 2.0
LENS = 0.55  # blur of the textures, frame pixels: about a camera's
MAX_CANVAS = 7e6
MAX_UPSCALE = 1.5  # of a picture, against the frame; smaller ones are mirrored on
POINTS = 400


class Background:
    """A picture on the world plane, mirrored beyond its edges."""

    def __init__(self, spec: SceneSpec, camera: CameraPath, picture: NDArray[np.uint8]) -> None:
        width, height = spec.size
        corners = np.array([[-1, -1], [width, -1], [width, height], [-1, height]], float)
        times = np.linspace(0, spec.num_frames - 1, 2 * spec.num_frames)
        seen = np.concatenate([project(np.linalg.inv(camera.at(t)), corners) for t in times])
        low, high = seen.min(0) - 4, seen.max(0) + 4
        extent = high - low
        density = min(DENSITY, float(np.sqrt(MAX_CANVAS / extent.prod())))
        canvas = np.ceil(extent * density).astype(int)
        picture = _enlarge(picture, extent / MAX_UPSCALE)
        cover = max(canvas / picture.shape[1::-1])
        crop = np.minimum(np.round(canvas / cover).astype(int), picture.shape[1::-1])
        x, y = (np.array(picture.shape[1::-1]) - crop) // 2
        patch = picture[y : y + crop[1], x : x + crop[0]]
        method = cv2.INTER_AREA if cover < 1 else cv2.INTER_CUBIC
        resized = cv2.resize(patch, (int(canvas[0]), int(canvas[1])), interpolation=method)
        self._canvas = cv2.GaussianBlur(resized, (0, 0), LENS * density)
        self.colour = patch.mean(axis=(0, 1))
        self._size = spec.size
        # canvas pixel u -> world (u + 0.5) / density - 0.5 + low
        self._to_world = translation(*(low - 0.5)) @ similarity(1 / density, 0) @ translation(0.5, 0.5)

    def draw(self, camera: Matrix) -> Texture:
        """Return the plane as the camera sees it, (H, W, 3) float32."""
        matrix = camera @ self._to_world
        return cv2.warpPerspective(
            self._canvas, matrix, self._size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REFLECT_101
        ).astype(np.float32)


def _enlarge(picture: NDArray[np.uint8], least: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Mirror a picture on to the right and downwards until it measures ``least`` (width, height)."""
    height, width = picture.shape[:2]
    right, down = max(0, int(np.ceil(least[0])) - width), max(0, int(np.ceil(least[1])) - height)
    return np.pad(picture, ((0, down), (0, right), (0, 0)), mode="symmetric") if right or down else picture


@dataclass(frozen=True)
class Drawn:
    """What a part did to a frame.

    Attributes:
        where: Rows and columns.
        mask: Covered by half or more, bool, in ``where``.
    """

    where: tuple[slice, slice]
    mask: NDArray[np.bool_]


class PartLayer:
    """One part of an object: its texture with coverage, at several sizes."""

    def __init__(
        self,
        part: Part,
        path: ObjectPath,
        unit: float,
        picture: NDArray[np.uint8],
        away_from: NDArray[np.floating],
        rng: np.random.Generator,
    ) -> None:
        self.part, self._path = part, path
        scale = unit * DENSITY  # texture pixels per object unit
        low, high = part.outline.min(0) - 4 / unit, part.outline.max(0) + 4 / unit
        size = np.ceil((high - low) * scale).astype(int)
        width, height = int(size[0]), int(size[1])
        origin = (-low[0] * scale, -low[1] * scale)
        alpha = coverage(part.outline, (width, height), (scale, scale), origin)
        self.inside = alpha > 0.5
        soft = cv2.GaussianBlur(alpha, (0, 0), LENS * DENSITY)[..., None]
        colour = cv2.GaussianBlur(cut_out(picture, (width, height), away_from, rng), (0, 0), LENS * DENSITY)
        self._levels: list[Texture] = [np.concatenate([colour * soft, 255 * soft], axis=2).astype(np.float32)]
        while min(self._levels[-1].shape[:2]) > 8:
            h, w = self._levels[-1].shape[:2]
            half = ((w + 1) // 2, (h + 1) // 2)
            self._levels.append(
                np.asarray(cv2.resize(self._levels[-1], half, interpolation=cv2.INTER_AREA), np.float32)
            )
        self._to_unit = similarity(1 / scale, 0) @ translation(-origin[0], -origin[1])

    def rest_points(self, step: float) -> Points:
        """Return a grid of points on the part, every ``step`` object units, (N, 2) in the part's units."""
        height, width = self.inside.shape
        spacing = max(1.0, step / self._to_unit[0, 0])
        x, y = np.meshgrid(np.arange(spacing / 2, width, spacing), np.arange(spacing / 2, height, spacing))
        grid = np.stack([x.ravel(), y.ravel()], -1).round()
        inside = self.inside[grid[:, 1].astype(int).clip(0, height - 1), grid[:, 0].astype(int).clip(0, width - 1)]
        return project(self._to_unit, grid[inside])

    def area(self) -> float:
        """Return the area in square object units."""
        return float(self.inside.sum() * self._to_unit[0, 0] ** 2)

    def pose(self, time: float) -> Matrix:
        """Return the 3×3 matrix from the part to the object."""
        angle = self._path.limb_angle(self.part.phase, time) if self.part.swing else 0.0
        return translation(*self.part.joint) @ similarity(1.0, angle)

    def place(self, rest: Points, camera: Matrix, time: float) -> Points:
        """Return where points of the part are in the frame."""
        points = project(self.pose(time), rest)
        if self._path.deforms:
            points = points + self._path.wobble(points, time)
        return project(camera @ self._path.at(time), points)

    def draw(self, frame: Texture, camera: Matrix, time: float, veil: Texture | float) -> Drawn | None:
        """Lay the part over ``frame`` (H, W, 3) in place; ``veil`` (H, W, 1) or a number multiplies its opacity."""
        to_frame = camera @ self._path.at(time)
        matrix = to_frame @ self.pose(time) @ self._to_unit
        level, matrix = self._level(matrix)
        margin = 0.0 if not self._path.deforms else 0.2 * np.sqrt(abs(np.linalg.det(to_frame[:2, :2])))
        where = _bounds(matrix, level.shape, frame.shape, margin)
        if where is None:
            return None
        rows, columns = where
        size = (columns.stop - columns.start, rows.stop - rows.start)
        local = translation(-columns.start, -rows.start) @ matrix
        if self._path.deforms:
            layer = self._draw_bent(level, local, translation(-columns.start, -rows.start) @ to_frame, size, time)
        else:
            layer = np.asarray(cv2.warpPerspective(level, local, size, flags=cv2.INTER_CUBIC), np.float32)
        covered = layer[..., 3:] / 255.0
        opacity = veil if isinstance(veil, float) else veil[rows, columns]
        frame[rows, columns] = frame[rows, columns] * (1 - covered * opacity) + layer[..., :3] * opacity
        return Drawn(where, (covered * (np.asarray(opacity) >= 0.5))[..., 0] > 0.5)

    def _level(self, matrix: Matrix) -> tuple[Texture, Matrix]:
        """Choose the smallest texture that still has a pixel or more per frame pixel."""
        centre = project(matrix, np.array(self._levels[0].shape[1::-1]) / 2 + [[0, 0], [1, 0], [0, 1]])
        pixels = max(float(np.linalg.norm(centre[1] - centre[0])), float(np.linalg.norm(centre[2] - centre[0])), 1e-6)
        index = int(np.clip(np.floor(np.log2(1 / pixels)), 0, len(self._levels) - 1))
        level, full = self._levels[index], self._levels[0]
        sx, sy = full.shape[1] / level.shape[1], full.shape[0] / level.shape[0]
        up = translation(-0.5, -0.5) @ np.diag([sx, sy, 1.0]) @ translation(0.5, 0.5)
        return level, matrix @ up

    def _draw_bent(
        self, level: Texture, local: Matrix, to_frame: Matrix, size: tuple[int, int], time: float
    ) -> Texture:
        """Warp with the object's wobble; ``local`` is the matrix of the unbent part."""
        x, y = np.meshgrid(np.arange(size[0], dtype=float), np.arange(size[1], dtype=float))
        bent = project(np.linalg.inv(to_frame), np.stack([x, y], -1))
        rest = project(to_frame, self._path.unwobble(bent, time))
        source = project(np.linalg.inv(local), rest).astype(np.float32)
        return np.asarray(cv2.remap(level, source[..., 0], source[..., 1], cv2.INTER_CUBIC), np.float32)


def _bounds(
    matrix: Matrix, texture: tuple[int, ...], frame: tuple[int, ...], margin: float
) -> tuple[slice, slice] | None:
    """Return the rows and columns of the frame that a texture may touch, or None."""
    height, width = texture[:2]
    corners = project(matrix, np.array([[-1, -1], [width, -1], [width, height], [-1, height]], float))
    low = np.floor(corners.min(0) - margin).astype(int).clip(0, None)
    high = np.minimum(np.ceil(corners.max(0) + margin).astype(int) + 1, frame[1::-1])
    if np.any(high <= low):
        return None
    return slice(int(low[1]), int(high[1])), slice(int(low[0]), int(high[0]))
