"""Colours and text layout of all pictures."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from PIL import ImageDraw, ImageFont

Colour = tuple[int, int, int]

PAPER: Colour = (255, 255, 255)
INK: Colour = (24, 28, 36)
MUTED: Colour = (118, 124, 136)
RULE: Colour = (224, 227, 233)
FAULT: Colour = (214, 40, 40)
EXCUSED: Colour = (150, 156, 168)

# Okabe and Ito's palette (https://jfly.uni-koeln.de/color/), which colour-blind readers can tell apart, without its
# vermilion: red is kept for faults.
OBJECTS: tuple[Colour, ...] = (
    (0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (240, 228, 66),
)  # fmt: skip
_FAMILIES = ("DejaVuSans.ttf", "Arial.ttf", "LiberationSans-Regular.ttf")  # with signs beyond Latin; else Pillow's own
_PLAIN = str.maketrans({"×": "x", "−": "-", "–": "-", "—": "-", "…": "...", "≥": ">=", "≤": "<=", "τ": "tau"})


class Face(NamedTuple):
    """A font, and whether it has more than Latin letters."""

    font: ImageFont.FreeTypeFont | ImageFont.ImageFont
    wide: bool


@cache
def face(size: int) -> Face:
    """Return a sans-serif font of ``size`` pixels."""
    for family in _FAMILIES:
        try:
            return Face(ImageFont.truetype(family, size), True)
        except OSError:
            continue
    return Face(ImageFont.load_default(size), False)


def legible(text: str, size: int) -> str:
    """Return ``text`` on one line, with characters that the font of ``size`` lacks replaced."""
    text = " ".join(text.split())
    if face(size).wide:
        return text.encode("utf-8", "replace").decode()
    return text.translate(_PLAIN).encode("latin-1", "replace").decode("latin-1")


def text_width(text: str, size: int) -> float:
    """Return the width of ``text`` in pixels."""
    return float(face(size).font.getlength(legible(text, size)))


def fitted(text: str, size: int, width: float) -> str:
    """Return ``text``, cut off with an ellipsis where it is wider than ``width`` pixels."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "...", size) > width:
        text = text[:-1]
    return text.rstrip() + "..."


def wrapped(text: str, size: int, width: float, lines: int) -> list[str]:
    """Return ``text`` wrapped into at most ``lines`` lines of ``width`` pixels, the last one shortened if necessary."""
    broken: list[str] = []
    rest = text.split()
    while rest and len(broken) < lines - 1:
        taken = 1
        while taken < len(rest) and text_width(" ".join(rest[: taken + 1]), size) <= width:
            taken += 1
        broken.append(fitted(" ".join(rest[:taken]), size, width))
        rest = rest[taken:]
    return [*broken, fitted(" ".join(rest), size, width)] if rest else broken


def write(
    draw: ImageDraw.ImageDraw,
    at: tuple[float, float],
    text: str,
    size: int,
    colour: Colour = INK,
    *,
    width: float | None = None,
    anchor: str = "la",
) -> None:
    """Write one line; ``anchor`` as Pillow has it, ``width`` the most pixels it may take."""
    shown = text if width is None else fitted(text, size, width)
    draw.text(at, legible(shown, size), font=face(size).font, fill=colour, anchor=anchor)
