"""Score every clip of a folder by ``vmmetrics.Suite`` and print all that it hands back, floats to the last bit."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import vmmetrics


def shown(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [str(value.dtype), list(value.shape), [shown(item) for item in value.ravel().tolist()]]
    if isinstance(value, (float, np.floating)):
        return float(value).hex()
    if isinstance(value, np.generic):
        return shown(value.item())
    if dataclasses.is_dataclass(value):
        return {field.name: shown(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "items"):
        return {str(key): shown(item) for key, item in value.items()}
    return [shown(item) for item in value] if isinstance(value, (list, tuple)) else value


folder, protocol = Path(sys.argv[1]), sys.argv[2]
suite = vmmetrics.Suite(protocol=protocol)
print(json.dumps(shown(suite.describe()), indent=1))
for path in sorted(path for path in folder.rglob("*") if path.suffix in (".mp4", ".gif")):
    found = suite.score_clip(path)
    print("#####", path, found.errors, found.notes)
    for name, result in found.results.items():
        print(name, type(result).__name__, json.dumps(shown(result.score)), result.missing, result.applicable)
        for event in result.events:
            print("  ", json.dumps(shown(event)))
        for part, values in result.series.items():
            print("  ", part, json.dumps(shown(np.asarray(values))))
        known = {"score", "missing", "applicable", "events", "series"}
        for field in dataclasses.fields(result):
            if field.name not in known:
                print("  ", field.name, json.dumps(shown(getattr(result, field.name)), default=repr))
    print(found.scores, found.missing, found.amplitude)
