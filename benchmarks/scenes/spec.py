"""What a rendered clip is made of: the description from which, with a seed, it follows completely.

Lengths are fractions of the frame diagonal, positions fractions of the frame, times frames, speeds diagonals per
second, so that one description renders alike at any size and frame rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

Owner = Literal["mss", "tcs", "pas", "ois"]
"""The metric that owns a defect: the one that must fall when it is injected."""

STRENGTHS = {"weak": 0.25, "medium": 0.5, "strong": 1.0}
"""On the scale of :mod:`vmmetrics.alignment.perturbations.frames`."""


@dataclass(frozen=True)
class CameraSpec:
    """Global motion, as totals over the clip, about the frame centre.

    Attributes:
        pan: (x, y) travel of the picture in diagonals.
        zoom: Factor at the last frame (1 at the first).
        rotation: Degrees at the last frame.
        tilt: (x, y) perspective at the last frame: change of scale from the centre to the frame's edge.
        shake: Handheld jitter, amplitude in diagonals.
    """

    pan: tuple[float, float] = (0.0, 0.0)
    zoom: float = 1.0
    rotation: float = 0.0
    tilt: tuple[float, float] = (0.0, 0.0)
    shake: float = 0.0

    @property
    def still(self) -> bool:
        """Whether the camera does nothing at all."""
        return self == CameraSpec()


@dataclass(frozen=True)
class MotionSpec:
    """Path of an object in the world (the background's coordinates).

    Attributes:
        kind: ``"none"``, ``"linear"``, ``"curved"`` (an arc of an ellipse), ``"oscillating"`` or ``"hopping"`` (along
            a line at ``velocity``, while hops lift it).
        velocity: Diagonals per second at the anchor, (x, y).
        radius: Of the arc or swing, or height of the hops, in diagonals.
        anchor_frame: When it is at ``anchor``.
        anchor: Where its centre is on the screen then, as fractions of width and height.
        spin: Degrees per second.
        grow: Scale at the first and at the last frame, changing by equal factors.
        begin: Frame in which it begins to move and spin; it rests before.
        end: Frame in which it comes to rest.
        ease: Frames before ``end`` over which it slows down.
        period: Frames of one hop.
    """

    kind: Literal["none", "linear", "curved", "oscillating", "hopping"] = "none"
    velocity: tuple[float, float] = (0.0, 0.0)
    radius: float = 0.1
    anchor_frame: float = 0.0
    anchor: tuple[float, float] = (0.5, 0.5)
    spin: float = 0.0
    grow: tuple[float, float] = (1.0, 1.0)
    begin: float = -math.inf
    end: float = math.inf
    ease: float = 0.0
    period: float = 24.0

    def moved_until(self, time: float) -> float:
        """Return the frame that the motion has reached at ``time``: it stands before ``begin`` and from ``end`` on."""
        late = time - (self.end - self.ease)
        if self.ease and 0 < late < self.ease:
            time = self.end - self.ease + late - late**2 / (2 * self.ease)
        elif late >= self.ease:
            time = self.end - self.ease / 2
        return max(time, self.begin)


@dataclass(frozen=True)
class PresenceSpec:
    """An unexplained coming or going.

    Attributes:
        kind: ``"vanish"`` or ``"appear"``.
        frame: First frame in which it is gone (or is there) for a pop; first frame of the change otherwise.
        style: ``"pop"``, ``"fade"`` (opacity) or ``"dissolve"`` (pixel by pixel).
        length: Frames of change; 0 for a pop.
    """

    kind: Literal["vanish", "appear"]
    frame: int
    style: Literal["pop", "fade", "dissolve"] = "pop"
    length: int = 0


@dataclass(frozen=True)
class ObjectSpec:
    """One cut-out.

    Attributes:
        shape: ``"blob"``, ``"superellipse"``, ``"polygon"``, ``"pillar"`` or ``"figure"`` (torso and swinging limbs).
        radius: Half its size, fraction of the frame's short side.
        motion: Its path.
        presence: Unexplained comings and goings.
        deform: Amplitude of the smooth wobble, fraction of its radius.
        swing: Degrees by which the limbs of a figure swing.
        subject: Counted as a moving thing; False for a prop such as a pillar.
    """

    shape: Literal["blob", "superellipse", "polygon", "pillar", "figure"] = "blob"
    radius: float = 0.18
    motion: MotionSpec = field(default_factory=MotionSpec)
    presence: tuple[PresenceSpec, ...] = ()
    deform: float = 0.0
    swing: float = 0.0
    subject: bool = True


@dataclass(frozen=True)
class GlitchSpec:
    """A defect of whole frames (``"warp"``: of a region).

    Attributes:
        kind: One of :data:`vmmetrics.alignment.perturbations.frames.GLITCHES`.
        strength: One of :data:`STRENGTHS`.
        frames: The frames it spoils.
    """

    kind: str
    strength: str
    frames: tuple[int, ...]


@dataclass(frozen=True)
class TimingSpec:
    """A defect of timing: ``"stutter"`` shows single frames twice, ``"freeze"`` stands still and then jumps.

    Attributes:
        kind: Which.
        frames: The displayed frames that repeat the one before.
    """

    kind: Literal["stutter", "freeze"]
    frames: tuple[int, ...]


@dataclass(frozen=True)
class SceneSpec:
    """A clip to render.

    Attributes:
        name: Kind of clip, for tables (``"vanish-pop/pan"``).
        size: (width, height) pixels.
        num_frames: T.
        fps: Frames per second.
        background: ``"photo"``, ``"procedural"`` or ``"plain"`` (a gradient with next to no texture).
        camera: Global motion.
        objects: Back to front.
        glitches: Spoilt frames.
        timing: Stutter or freeze, or None.
        noise: Standard deviation of the sensor noise, grey levels.
        shutter: Part of the frame interval over which motion blurs; 0 for none.
        light: Factor on the brightness reached at the last frame.
    """

    name: str
    size: tuple[int, int] = (720, 480)
    num_frames: int = 49
    fps: float = 24.0
    background: Literal["photo", "procedural", "plain"] = "photo"
    camera: CameraSpec = field(default_factory=CameraSpec)
    objects: tuple[ObjectSpec, ...] = ()
    glitches: tuple[GlitchSpec, ...] = ()
    timing: TimingSpec | None = None
    noise: float = 1.0
    shutter: float = 0.0
    light: float = 1.0

    @property
    def diagonal(self) -> float:
        """Frame diagonal, pixels."""
        return float((self.size[0] ** 2 + self.size[1] ** 2) ** 0.5)

    @property
    def owner(self) -> Owner | None:
        """Which metric owns the defect in this clip, or None for a clean one."""
        if self.glitches or self.timing:
            return "mss"
        return "tcs" if any(o.presence for o in self.objects) else None
