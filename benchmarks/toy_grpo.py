"""Rewards of rendered corruptions of the shipped clips, for the notebook in which a policy chooses among them.

    python -m benchmarks.toy_grpo

Writes ``docs/notebooks/toy_grpo.csv``: for every clip and corruption our reward, and that of a metric which likes still
pictures: 1 less the mean difference of consecutive frames, as VBench's temporal flickering has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.footage import clip_of
from benchmarks.footage_changes import damaged
from vmmetrics import rewards
from vmmetrics.utils.display.markup import csv_text
from vmmetrics.utils.storage.atomic import write_text
from vmmetrics.video import read_clip

ROOT = Path(__file__).resolve().parents[1]
DEFECTS = ("boil", "flicker", "reversal", "teleport", "upside_down", "wobble")
ACTIONS = ("as it is", *DEFECTS, "frozen")


def rows() -> Iterator[tuple[str, str, float, float]]:
    """Yield clip, action, our reward and the other one."""
    for path in sorted((ROOT / "tests" / "data" / "samples").rglob("*.mp4")):
        whole = read_clip(path)
        clip = clip_of(whole.frames, whole.fps, path.stem)
        changed = {action: damaged(clip, action, 1.0).frames[: len(clip)] for action in DEFECTS}
        videos = {"as it is": clip.frames, **changed, "frozen": np.repeat(clip.frames[:1], len(clip), 0)}
        found = rewards(list(videos.values()), fps=clip.fps, layout="THWC", missing="drop-component")
        for action, reward in zip(ACTIONS, found.values, strict=True):
            steps = np.abs(np.diff(videos[action].astype(np.int16), axis=0)).mean()
            yield f"{path.parent.name}/{path.stem}", action, round(float(reward), 4), round(1 - float(steps) / 255, 4)
            print(path.stem, action, f"{reward:.3f} {1 - steps / 255:.3f}", flush=True)


def main() -> None:
    write_text(
        ROOT / "docs" / "notebooks" / "toy_grpo.csv", csv_text([("clip", "action", "ours", "stillness"), *rows()])
    )


if __name__ == "__main__":
    main()
