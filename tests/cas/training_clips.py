"""Small clips with a defect that a small network can learn: a square that blinks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

CLIPS, FRAMES, SIDE = 36, 12, 32


def write_clips(folder: Path) -> Path:
    """Write clips, every other one bad, two of each prompt and three "models"; return the labels."""
    draw = np.random.default_rng(0)
    rows = []
    for number in range(CLIPS):
        bad = number % 2 == 0
        frames = np.full((FRAMES, SIDE, SIDE, 3), draw.integers(30, 60, 3), np.uint8)
        x, y = draw.integers(2, 10, 2)
        colour = draw.integers(180, 255, 3)
        for t in range(FRAMES):
            if not (bad and t % 2):
                frames[t, y : y + 16, x + t // 2 : x + t // 2 + 16] = colour
        model = f"model-{number % 3}"
        (folder / model).mkdir(parents=True, exist_ok=True)
        np.save(folder / model / f"{number:02d}.npy", frames)
        rows.append(
            {
                "clip": f"{model}/{number:02d}.npy",
                "level": 0 if bad else 4,
                "level_name": "Bad" if bad else "Perfect",
                "strength": -1.0 if bad else 1.0,
                "se": 0.1,
                "prompt": f"a square moves, take {number // 2}",
                "group": model,
            }
        )
    rows.append({"clip": "model-0/never-compared.npy", "level": None, "prompt": "nothing", "group": None})
    labels = folder.parent / "labels.jsonl"
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return labels
