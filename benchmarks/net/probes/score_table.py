"""Score by ``vmmetrics.score``: files, arrays and clips; print what the table offers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import vmmetrics


def show(table: object) -> None:
    print(type(table).__name__, sorted(name for name in dir(table) if not name.startswith("_")))
    for name in ("records", "scores", "means", "missing", "failures", "errors"):
        value = getattr(table, name, "no such name")
        try:
            print(name, value() if callable(value) else value)
        except TypeError as error:
            print(name, error)
    print(table)


clips = sorted(Path(sys.argv[1]).rglob("*.mp4"))
table = vmmetrics.score(sys.argv[1], metrics=("mss", "pas"))
show(table)
table.to_csv("table.csv")
print(table.to_pandas().drop(columns="seconds").to_string())
ramp = np.linspace(0, 255, 12 * 64 * 64 * 3).reshape(12, 64, 64, 3).astype(np.uint8)
show(vmmetrics.score(ramp, fps=8, metrics=("mss", "pas", "tcs"), subject="horse"))
show(vmmetrics.score([ramp, ramp[:6]], fps=8, metrics=("mss",), out="run"))
clip = vmmetrics.read_clip(clips[0])
print({name: np.asarray(getattr(clip, name)).shape for name in ("frames", "times") if hasattr(clip, name)})
show(vmmetrics.score(clip, metrics=("pas",), protocol="vmbench"))
for wrong in ("nowhere", np.zeros(3), [], 5):
    try:
        print(vmmetrics.score(wrong, metrics=("mss",)))
    except Exception as error:
        print(type(error).__name__, type(error).__mro__[1].__name__, error)
for options in ({"metrics": ("xyz",)}, {"protocol": "xyz"}, {"preset": "xyz"}):
    try:
        vmmetrics.Suite(**options)
    except Exception as error:
        print(type(error).__name__, error)
