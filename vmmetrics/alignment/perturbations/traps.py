"""Traps: cheap changes of a clip that a bad metric rewards, and what a good one should make of each.

The operations that they consist of take frames (T, H, W, 3) uint8 of any size and length and return as many of the same
size. They work frame by frame, so that a clip costs memory once more and no multiple of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.perturbations.frames import Frames, Rng
from vmmetrics.alignment.perturbations.motion import bump, short_side
from vmmetrics.clip import Clip
from vmmetrics.types import FloatArray


def rounded(levels: NDArray[Any]) -> NDArray[np.uint8]:
    """Return grey levels as uint8, rounded half to even and clipped."""
    return np.asarray(np.clip(np.rint(levels), 0, 255), np.uint8)


# Time: which moment is shown when.


def held(frames: Frames, count: int) -> Frames:
    """Hold the first frame for ``count`` more frames; as many are lost at the end."""
    return frames[np.maximum(np.arange(len(frames)) - count, 0)]


def slowed(frames: Frames, speed: float) -> Frames:
    """Show the first part at ``speed`` in (0, 1], with moments between frames blended of both."""
    times = np.arange(len(frames)) * speed
    low = np.floor(times).astype(int)
    high = np.minimum(low + 1, len(frames) - 1)
    shares = zip(low, high, times - low, strict=True)
    return np.stack([rounded(frames[a] * (1 - share) + frames[b] * share) for a, b, share in shares])


def there_and_back(frames: Frames, span: int) -> Frames:
    """Play the first ``span`` frames forwards and backwards, over and over."""
    span = min(span, len(frames))
    order = [*range(span), *range(span - 2, 0, -1)]
    return frames[[order[t % len(order)] for t in range(len(frames))]]


def averaged(frames: Frames, share: float) -> Frames:
    """Mix each frame but the first and last with 1/4, 1/2, 1/4 of the one before, itself and the one after."""
    mixed = frames.copy()
    for t in range(1, len(frames) - 1):
        mean = frames[t - 1] / 4 + frames[t] / 2 + frames[t + 1] / 4
        mixed[t] = rounded((1 - share) * frames[t] + share * mean)
    return mixed


# Frames: less to see, or more than there was.


def blurred(frames: Frames, sigma: float) -> Frames:
    """Blur every frame by ``sigma`` pixels of a short side of 256."""
    sigma *= short_side(frames) / 256
    return np.stack([cv2.GaussianBlur(frame, (0, 0), sigma) for frame in frames]).astype(np.uint8)


def enlarged(frames: Frames, share: float) -> Frames:
    """Show the middle, without ``share`` < 1/2 of width and height on either side, in the old size."""
    height, width = frames.shape[1:3]
    y, x = (min(round(side * share), (side - 1) // 2) for side in (height, width))
    shown = [cv2.resize(frame[y : height - y, x : width - x], (width, height)) for frame in frames]
    return np.stack(shown).astype(np.uint8)


def dimmed(frames: Frames, factor: float) -> Frames:
    """Multiply every grey level by ``factor``."""
    return rounded(np.arange(256) * factor)[frames]


def strobed(frames: Frames, factor: float) -> Frames:
    """Multiply the grey levels of every second frame by ``factor``."""
    shown = frames.copy()
    shown[1::2] = dimmed(frames[1::2], factor)
    return shown


def grainy(frames: Frames, sigma: float, rng: Rng, channels: Literal[1, 3] = 3) -> Frames:
    """Add Gaussian grain of ``sigma`` grey levels, new in each frame; of one channel it is grey."""
    size = (*frames.shape[1:3], channels)
    return np.stack([rounded(frame + rng.normal(0, sigma, size)) for frame in frames])


def text_card(frames: Frames, text: str) -> Frames:
    """Show ``text`` in black on white throughout, 80 % of the width or a quarter of the height."""
    height, width = frames.shape[1:3]
    (length, tall), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 1.0, 1)
    scale = min(0.8 * width / length, 0.25 * height / tall)
    at, thick = (round((width - scale * length) / 2), round((height + scale * tall) / 2)), max(1, round(2 * scale))
    card = np.full((height, width, 3), 255, np.uint8)
    cv2.putText(card, text, at, cv2.FONT_HERSHEY_SIMPLEX, scale, (0, 0, 0), thick, cv2.LINE_AA)
    return np.stack([card] * len(frames))


# The first frame alone, under a camera that moves: nothing in it does.


def slid(frames: Frames, share: float) -> Frames:
    """Show the first frame, enlarged by 1.3, under a camera that moves diagonally over ``share`` of what is outside."""
    height, width = frames.shape[1:3]
    wide = cv2.resize(frames[0], (round(width * 1.3), round(height * 1.3)), interpolation=cv2.INTER_CUBIC)
    down, across = (
        np.linspace(0, share * (large - side), len(frames)).round().astype(int)
        for large, side in zip(wide.shape[:2], (height, width), strict=True)
    )
    shown = [wide[y : y + height, x : x + width] for y, x in zip(down, across, strict=True)]
    return np.stack(shown).astype(np.uint8)


def view(frames: Frames, zoom: float, shift: float) -> FloatArray:
    """Return (2, 3) from a frame to the image it shows, enlarged by ``zoom`` and shifted by a share of the width."""
    height, width = frames.shape[1:3]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), 0, 1 / zoom)
    matrix[0, 2] += shift * width
    return np.asarray(matrix)


def _moved(image: NDArray[np.uint8], motion: Callable[[float], FloatArray], count: int) -> Frames:
    """Return (count, H, W, 3), an image seen through ``motion(t)``, (2, 3) from frame to image, t in −1..1."""
    size = image.shape[1], image.shape[0]
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    border = cv2.BORDER_REFLECT_101 if min(size) > 1 else cv2.BORDER_REPLICATE  # OpenCV hangs on reflecting one pixel
    views = [motion(float(t)) for t in np.linspace(-1, 1, count)]
    shown = [cv2.warpAffine(image, each, size, flags=flags, borderMode=border) for each in views]
    return np.stack(shown).astype(np.uint8)


def panned(frames: Frames) -> Frames:
    """Show the first frame, panned by a tenth of its width."""
    return _moved(frames[0], lambda t: view(frames, 1.25, 0.05 * t), len(frames))


def zoomed(frames: Frames) -> Frames:
    """Show the first frame, zoomed by a fifth."""
    return _moved(frames[0], lambda t: view(frames, 1.14 - 0.11 * t, 0.0), len(frames))


def in_two_layers(frames: Frames) -> Frames:
    """Show the first frame, panned, with its middle panned half as far again before the rest."""
    height, width = frames.shape[1:3]
    middle = bump(frames, np.array([width / 2, 0.6 * height]), 0.35 * short_side(frames)) > 0.5
    matte = np.repeat(np.uint8(255) * middle[..., None], 3, -1)

    def farther(t: float) -> FloatArray:
        return view(frames, 1.25, 0.075 * t)

    front, before = (_moved(image, farther, len(frames)) for image in (frames[0], matte))
    return np.where(before > 127, front, panned(frames))


OPERATIONS: Mapping[str, Callable[[Frames, float], Frames]] = {
    "freeze": lambda frames, amount: held(frames, round(amount * len(frames))),
    "slow": lambda frames, amount: slowed(frames, 1 - 0.9 * amount),
    "pan": slid,
    "blur": lambda frames, amount: blurred(frames, 0.3 + 4 * amount),
    "crop": lambda frames, amount: enlarged(frames, 0.35 * amount),
    "loop": lambda frames, amount: there_and_back(frames, max(2, round((1 - 0.8 * amount) * len(frames)))),
    "blend": averaged,
    "darken": lambda frames, amount: dimmed(frames, 1 - 0.9 * amount),
    "flicker": lambda frames, amount: strobed(frames, 1 - 0.5 * amount),
    "grain": lambda frames, amount: grainy(frames, 20 * amount, np.random.default_rng(0)),
}
"""Operations with an amount in (0, 1], that a search may grade and combine."""


# Traps: what is done, and the change that a metric should show.

Expected = Literal["lower", "not higher", "unchanged"]
"""Change of a score in its good direction, from a clip to the trap made of it."""


@dataclass(frozen=True, slots=True)
class Trap:
    """A cheap change that a bad metric rewards.

    Attributes:
        name: Identifier, which also seeds it; no perturbation has it.
        what: Description.
        expected: Of a metric of the quality of motion.
        why: Cheat that a reward would teach where the metric falls for it.
        motion: Of a metric of the amount of motion.
        change: From frames (T, H, W, 3) to as many of the same size.
    """

    name: str
    what: str
    expected: Expected
    why: str
    motion: Expected
    change: Callable[[Frames, Rng], Frames] = field(repr=False)

    def __call__(self, clip: Clip, rng: Rng) -> Clip:
        """Return the trap made of ``clip``, with its size, length and times; the one given is left alone.

        A clip of one frame, of two, or of frames that are all alike may come back as it was.

        Args:
            clip: Any clip.
            rng: Everything random.
        """
        frames = np.ascontiguousarray(self.change(clip.frames, rng))
        return replace(clip, frames=frames, notes=(*clip.notes, self.name))


TEXT = "PERFECT MOTION"
"""Text of the card: what a judge that reads might take for the verdict."""


def _at(order: Callable[[int], NDArray[np.int64]]) -> Callable[[Frames, Rng], Frames]:
    """Return the change that shows frames in ``order(count)``."""
    return lambda frames, _rng: frames[order(len(frames))]


_TRAPS = (
    # A still has no motion to find fault with, so a tie is fair and a gain is not. To some metrics a moving camera is
    # motion too: they may see as much of it as before, and no more.
    Trap("frozen", "the first frame is held throughout", "not higher", "what does not move cannot move wrongly",
         "lower", lambda frames, _: held(frames, len(frames))),
    Trap("still_pan", "the first frame under a panning camera", "not higher",
         "a camera that moves stands in for a scene that does", "not higher", lambda frames, _: panned(frames)),
    Trap("still_zoom", "the first frame under a zooming camera", "not higher",
         "a zoom into a photograph passes for video", "not higher", lambda frames, _: zoomed(frames)),
    Trap("two_layers", "the middle of the first frame moves over its background", "not higher",
         "a cut-out that slides passes for a subject that acts", "not higher", lambda frames, _: in_two_layers(frames)),
    Trap("text_card", f"a white card says {TEXT!r}", "not higher", "nothing moves, and words stand in for it", "lower",
         lambda frames, _: text_card(frames, TEXT)),
    # Motion as good as it was, slower or shown twice: no worse to the eye, and no better. A return is no more motion;
    # nor is the cut between both showings.
    Trap("loop_back", "the first half is played there and back", "not higher", "half of the work fills the clip",
         "not higher", lambda frames, _: there_and_back(frames, len(frames) // 2 + 1)),
    Trap("repeat", "the first half is shown twice", "not higher", "half of the work fills the clip, with a cut",
         "not higher", _at(lambda count: np.arange(count) % ((count + 1) // 2))),
    Trap("slow", "the first half at half speed, blended", "not higher", "slow motion shows fewer faults a second",
         "lower", lambda frames, _: slowed(frames, 0.5)),
    Trap("slower", "the first quarter at quarter speed, blended", "not higher", "next to nothing happens",
         "lower", lambda frames, _: slowed(frames, 0.25)),
    # The same motion, harder to see: no fault of the motion, and no merit. Of its amount as much can be seen at most.
    Trap("averaged", "each frame is averaged with its neighbours", "not higher", "smear hides what jumps",
         "not higher", lambda frames, _: averaged(frames, 1.0)),
    Trap("dark", "every frame is dimmed to a third", "not higher", "darkness hides faults",
         "not higher", lambda frames, _: dimmed(frames, 1 / 3)),
    # Damage that everybody sees. What flickers is not motion, but the motion below it remains.
    Trap("blurred", "every frame is heavily blurred", "lower", "without detail there is none to get wrong",
         "not higher", lambda frames, _: blurred(frames, 4.3)),
    Trap("grain", "every frame has heavy grain", "lower", "grain passes for detail, and its change for motion",
         "not higher", lambda frames, rng: grainy(frames, 20.0, rng)),
    Trap("strobe", "every second frame is dimmed by half", "lower", "a change of light passes for motion",
         "not higher", lambda frames, _: strobed(frames, 0.5)),
    Trap("duplicated", "the first half at half speed, each frame shown twice", "lower",
         "every second frame is saved, and every second step is free of faults", "lower",
         _at(lambda count: np.arange(count) // 2)),
    # No scene is left, and nothing that moves.
    Trap("pure_noise", "noise in place of every frame", "lower", "chance outdoes content", "lower",
         lambda frames, rng: rng.integers(0, 256, frames.shape, np.uint8)),
    Trap("black", "black in place of every frame", "lower", "an empty clip has no faults", "lower",
         lambda frames, _: np.zeros_like(frames)),
)  # fmt: skip

TRAPS: Mapping[str, Trap] = {trap.name: trap for trap in _TRAPS}
"""Every trap by name."""
