"""Clips to look at, written into the folder of a card as browsers play them."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vmmetrics.alignment.audit.lines import Line, Look
from vmmetrics.alignment.audit.material import write_clip
from vmmetrics.alignment.perturbations.library import DEFECTS, INVARIANCES
from vmmetrics.alignment.probe.cases import CLEAN, Plan, Work, made
from vmmetrics.errors import VMMetricsError
from vmmetrics.scoring.tasks import Task
from vmmetrics.video import read_clip


def looks_of_cases(
    lines: Sequence[Line], tasks: Sequence[Task], plan: Plan, out: Path
) -> dict[str, tuple[str, float, Look]]:
    """Return, for each change, the first clip to which it applies, the strength, and the clip before and after."""
    folder = out / "clips"
    folder.mkdir(exist_ok=True)
    looks: dict[str, tuple[str, float, Look]] = {}
    for kind in dict.fromkeys(line.check for line in lines):
        strength = max(plan.strengths) if kind in DEFECTS else 1.0
        strength = max(plan.harmless_strengths) if kind in INVARIANCES and INVARIANCES[kind].graded else strength
        for number, task in enumerate(tasks[:6]):
            before, after = folder / f"clean-{number}.mp4", folder / f"{kind}-{strength:g}-{number}.mp4"
            try:
                if not after.is_file():
                    write_clip(after, made(Work(task, "", kind, strength), plan)[0])
                if not before.is_file():
                    write_clip(before, made(Work(task, "", CLEAN, 0.0), plan)[0])
            except VMMetricsError:
                continue
            look = Look(f"clips/{after.name}", f"{kind} at {strength:g}", None, f"clips/{before.name}")
            looks[kind] = task.clip, strength, look
            break
    return looks


def line_in_card(line: Line, scratch: Path, out: Path) -> Line:
    """Return a line that names no scratch folder, and whose clips to look at lie in the card as browsers play them."""
    kept = (_copied(look, f"{line.check}-{line.score or 'all'}-{n}", out) for n, look in enumerate(line.looks))
    text = line.text.replace(f"{scratch}/", "")
    return replace(line, text=text, looks=[look for look in kept if look is not None])


def _copied(look: Look, name: str, out: Path) -> Look | None:
    places: list[str | None] = []
    safe = re.sub(r"[^A-Za-z0-9_-]", "-", name)
    safe += f"-{zlib.crc32(name.encode('utf-8', 'surrogatepass')):08x}" if safe != name else ""  # names that look alike
    for file, end in ((look.file, "a"), (look.beside, "b")):
        place = f"clips/{safe}-{end}.mp4"
        try:
            if file is not None:
                write_clip(out / place, read_clip(file))
            places.append(None if file is None else place)
        except (VMMetricsError, OSError):
            places.append(None)
    return None if places[0] is None else look._replace(file=places[0], beside=places[1])
