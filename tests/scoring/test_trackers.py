"""The lines for experiment trackers in docs/pipelines.md, run as they stand there, against what the trackers kept."""

from __future__ import annotations

import ast
import json
import math
import os
import re
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.scoring.record import Record
from vmmetrics.scoring.table import Table

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = (ROOT / "docs" / "pipelines.md").read_text(encoding="utf-8")
BEFORE = "import vmmetrics.scoring.settings\nvmmetrics.scoring.settings.SUITE = 'fake_suite:FakeSuite'\n"
MEANS = {"mss": (13 + 20) / 2 / 255, "pas": (11.5 + 18.5) / 2 / 255, "clips": 2.0, "clips_failed": 0.0}


def lines_about(module: str) -> str:
    """The example that imports a module: three statements."""
    (found,) = (block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if module in block)
    assert len(ast.parse(found).body) == 3
    return str(found)


def ran(folder: Path, module: str, after: str = "") -> str:
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    offline = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "MLFLOW_ALLOW_FILE_STORE": "true"}
    store = {"MLFLOW_TRACKING_URI": (folder / "mlruns").as_uri(), "MLFLOW_DISABLE_TELEMETRY": "true"}
    search = os.pathsep.join([str(ROOT), str(HERE)])
    done = subprocess.run(
        [sys.executable, "-c", BEFORE + lines_about(module) + after],
        cwd=folder, env={**os.environ, **offline, **store, "PYTHONPATH": search}, capture_output=True, text=True,
        timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def kept(found: dict[str, float]) -> None:
    assert {name: found[name] for name in MEANS} == pytest.approx(MEANS, rel=1e-6)
    assert "cas" not in found  # it has no score, and no number stands for that


@pytest.mark.slow
def test_weights_and_biases(make_clips: Any, tmp_path: Path) -> None:
    make_clips("1", "2", folder="samples")
    after = "import json; wandb.log({}, step=2001)\n"  # a step is taken over when the next begins
    said = ran(tmp_path, "wandb", f"{after}print(json.dumps(dict(wandb.run.summary))); wandb.finish()\n")
    found = json.loads(said.splitlines()[-1])
    kept(found)
    assert found["_step"] == 2000
    assert list((tmp_path / "wandb").glob("offline-run-*/run-*.wandb"))


@pytest.mark.slow
def test_mlflow(make_clips: Any, tmp_path: Path) -> None:
    make_clips("1", "2", folder="samples")
    ran(tmp_path, "mlflow")
    files = list((tmp_path / "mlruns").glob("*/*/metrics/*"))
    rows = {file.name: file.read_text().split() for file in files}  # time, value, step: MLflow's own file store
    assert {row[2] for row in rows.values()} == {"2000"}
    kept({name: float(row[1]) for name, row in rows.items()})


@pytest.mark.slow
def test_tensorboard(make_clips: Any, tmp_path: Path) -> None:
    make_clips("1", "2", folder="samples")
    ran(tmp_path, "tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

    (file,) = (tmp_path / "tensorboard").glob("events.out.tfevents.*")
    data, found = file.read_bytes(), {}
    while data:  # TFRecord: length, its check sum, the event, its check sum
        (length,) = struct.unpack("<Q", data[:8])
        event = Event.FromString(data[12 : 12 + length])
        found |= {value.tag: (value.simple_value, event.step) for value in event.summary.value}
        data = data[16 + length :]
    assert {step for _, step in found.values()} == {2000}
    kept({name.removeprefix("motion/"): value for name, (value, _) in found.items()})


def clip(name: str, **found: Any) -> Record:
    return Record(name, name.partition("/")[0], f"/x/{name}", "00", "embedded", "vmmetrics", **found)


def test_scalars_are_plain_numbers_without_gaps() -> None:
    table = Table(
        [
            clip("a/1", scores={"cas": 0.512, "mss": 1.0}),
            clip("a/2", scores={"mss": 0.5}, missing={"cas": "noise", "ois": "no person"}),
            clip("b/1", error="The file is empty"),
        ]
    )
    found = table.scalars()
    expected = {
        "cas": 0.512,
        "mss": 0.75,
        "motion_index": 0.64,
        "motion_index_or_0": 0.64,
        "clips": 3.0,
        "clips_failed": 1.0,
    }
    assert found == pytest.approx(expected)
    assert all(type(value) is float and math.isfinite(value) for value in found.values())
    assert table.scalars("b") == {"clips": 1.0, "clips_failed": 1.0}
