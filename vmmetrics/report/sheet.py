"""The one-page picture of a clip: scores, the frames that matter, the curves, and what happened in words."""

from __future__ import annotations

from PIL import Image, ImageDraw

from vmmetrics.clip import Clip
from vmmetrics.report.findings import Findings, Perceived
from vmmetrics.report.overlay import draw_frame
from vmmetrics.report.plot import draw_plot, strips_of
from vmmetrics.report.style import FAINT, FAULT, INK, METRIC_COLOURS, PAPER, RULE, wrapped, write
from vmmetrics.types import Event

WIDTH = 1500
BORDER = 30
KEY_FRAMES = 6
COLUMNS = 3
LISTED_EVENTS = 14
LEGEND = (
    "Coloured areas: moving objects, with their tracked points and the way they came. Skeletons: blue left, orange "
    "right. Red: cost points; grey: excused. Triangles: the frames above."
)
_HEADER = 160
_CAPTION = 30
_LINE = 22


def draw_sheet(clip: Clip, findings: Findings, perceived: Perceived) -> Image.Image:
    """Draw the page.

    Args:
        clip: The clip.
        findings: Its results.
        perceived: What the models saw of it.
    """
    chosen = key_frames(findings, len(clip))
    rows = -(-len(chosen) // COLUMNS)
    cell = (WIDTH - 2 * BORDER - (COLUMNS - 1) * 12) // COLUMNS
    size = (cell, max(2, round(cell * clip.height / clip.width)))
    plot = draw_plot(strips_of(findings, len(clip)), len(clip), clip.fps, WIDTH - 2 * BORDER, chosen)
    events = findings.events[:LISTED_EVENTS]
    words = (len(events) + 3) * _LINE
    height = _HEADER + rows * (size[1] + _CAPTION) + plot.height + words + 2 * BORDER
    page = Image.new("RGB", (WIDTH, height), PAPER)
    draw = ImageDraw.Draw(page)
    draw_header(draw, findings, BORDER, WIDTH - 2 * BORDER)
    top = BORDER + _HEADER
    for place, frame in enumerate(chosen):
        x = BORDER + (place % COLUMNS) * (cell + 12)
        y = top + (place // COLUMNS) * (size[1] + _CAPTION)
        page.paste(Image.fromarray(draw_frame(clip, frame, findings, perceived, size)), (x, y))
        at_fault = any(frame in event.frames for event in findings.faults)
        text = f"frame {frame}, {clip.timestamps[frame]:.2f} s"
        write(draw, (x, y + size[1] + 5), text, 14, FAULT if at_fault else FAINT, width=cell)
    top += rows * (size[1] + _CAPTION)
    page.paste(plot, (BORDER, top))
    _draw_events(draw, events, len(findings.events), top + plot.height + 10)
    write(draw, (BORDER, height - BORDER), LEGEND, 13, FAINT, width=WIDTH - 2 * BORDER)
    return page


def key_frames(findings: Findings, num_frames: int) -> tuple[int, ...]:
    """The frames to show: faults, each metric's gravest before its second, then evenly spread ones; ascending."""
    wanted = min(KEY_FRAMES, num_frames)
    by_gravity = sorted(findings.faults, key=_gravity, reverse=True)
    rank = {id(event): [e for e in by_gravity if e.metric == event.metric].index(event) for event in by_gravity}
    gravest = sorted(by_gravity, key=lambda event: rank[id(event)])
    chosen: list[int] = []
    for event in gravest:
        middle = event.frames[len(event.frames) // 2]
        if middle < num_frames and middle not in chosen and len(chosen) < wanted:
            chosen.append(middle)
    spread = [round(i * (num_frames - 1) / max(1, wanted - 1)) for i in range(wanted)]
    while len(chosen) < wanted:  # of the evenly spread ones, always the one farthest from all chosen
        left = [f for f in spread if f not in chosen] or [f for f in range(num_frames) if f not in chosen]
        chosen.append(max(left, key=lambda f: min((abs(f - other) for other in chosen), default=0)))
    return tuple(sorted(chosen))


def _gravity(event: Event) -> float:
    if event.magnitude is None or not event.threshold:
        return 1.0
    return abs(event.magnitude / event.threshold)


def draw_header(draw: ImageDraw.ImageDraw, findings: Findings, left: int, width: int) -> None:
    """Write the clip's name, what it was to show, its scores, and what they may be compared with."""
    write(draw, (left, BORDER), findings.title, 26, INK, width=width)
    write(draw, (left, BORDER + 36), findings.label, 15, FAINT, width=width)
    if findings.prompt is not None:
        write(draw, (left, BORDER + 57), f'"{findings.prompt}"', 15, FAINT, width=width)
    chips = len(findings.results) + len(findings.errors)
    chip = (width - (max(1, chips) - 1) * 12) / max(1, chips)
    for place, (metric, value, reason) in enumerate(_chips(findings)):
        x, y = left + place * (chip + 12), BORDER + 84
        draw.rounded_rectangle((x, y, x + chip, y + 58), 6, outline=RULE, width=2)
        draw.rectangle((x + 2, y + 8, x + 6, y + 50), fill=METRIC_COLOURS.get(metric, INK))
        write(draw, (x + 16, y + 8), metric.upper(), 14, FAINT)
        if value is not None:
            write(draw, (x + 16, y + 27), value, 20, INK)
        for row, line in enumerate(wrapped(reason, 12, chip - 24, 2) if value is None else []):
            write(draw, (x + 16, y + 24 + 15 * row), line, 12, FAINT)


def _chips(findings: Findings) -> list[tuple[str, str | None, str]]:
    chips: list[tuple[str, str | None, str]] = [
        (metric, None if result.score is None else f"{result.score:.4f}", f"missing: {result.missing}")
        for metric, result in findings.results.items()
    ]
    return chips + [(metric, None, f"failed: {reason}") for metric, reason in findings.errors.items()]


def describe(event: Event) -> str:
    """An event in words, with its size and what it was held against."""
    frames = f"frame {event.frames[0]}" if len(event.frames) == 1 else "clip"
    if len(event.frames) > 1:
        frames = f"frames {event.frames[0]} to {event.frames[-1]}"
    text = f"{frames}: {event.target + ' ' if event.target else ''}{event.reason}"
    if event.magnitude is not None:
        text += f" ({event.magnitude:.3g}"
        text += f", threshold {event.threshold:.3g})" if event.threshold is not None else ")"
    return text + (f", excused: {event.excuse}" if event.excuse else "")


def _draw_events(draw: ImageDraw.ImageDraw, events: list[Event], total: int, top: float) -> None:
    title = "What cost points, and what was excused" if events else "Nothing cost points"
    write(draw, (BORDER, top), title, 15, INK)
    for row, event in enumerate(events, 1):
        y = top + row * _LINE + 4
        colour = FAULT if event.excuse is None else FAINT
        draw.ellipse((BORDER, y + 5, BORDER + 7, y + 12), fill=colour)
        write(draw, (BORDER + 16, y), event.metric.upper(), 14, INK)
        text = describe(event)
        write(draw, (BORDER + 64, y), text, 14, INK if event.excuse is None else FAINT, width=WIDTH - 2 * BORDER - 64)
    if total > len(events):
        write(draw, (BORDER + 16, top + (len(events) + 1) * _LINE + 4), f"and {total - len(events)} more", 14, FAINT)
