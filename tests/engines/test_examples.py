"""The examples for schedulers: what one machine can check of them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
import yaml

from vmmetrics.cli.app import app
from vmmetrics.cli.main import main
from vmmetrics.scoring.records import read_records

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SCORING = Path(__file__).parents[1] / "scoring"
FILES = sorted(EXAMPLES.iterdir())


def commands(text: str) -> list[list[str]]:
    """The vmmetrics commands in a file, as a shell splits them."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = [line for line in joined.splitlines() if not line.startswith("#") and "vmmetrics score" in line]
    return [shlex.split(line[line.index("vmmetrics score") :])[1:] for line in lines]


def options_of(command: str) -> set[str]:
    score = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    return {name for parameter in score.params for name in (*parameter.opts, *parameter.secondary_opts)}


def texts(path: Path) -> list[str]:
    if path.suffix != ".yaml":
        return [path.read_text()]
    document = yaml.safe_load(path.read_text())
    if document["kind"] == "RayJob":
        return [document["spec"]["entrypoint"]]
    (container,) = document["spec"]["template"]["spec"]["containers"]
    return container["args"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_example_parses_and_has_only_options_that_there_are(path: Path) -> None:
    if path.suffix == ".yaml":
        document: dict[str, Any] = yaml.safe_load(path.read_text())
        assert document["apiVersion"] in ("batch/v1", "ray.io/v1") and document["spec"]
    else:
        subprocess.run(["bash", "-n", str(path)], check=True)  # noqa: S607
    found = [command for text in texts(path) for command in commands(text)]
    assert found
    for words in found:
        assert words[0] == "score"
        assert {word for word in words if re.match(r"--?[a-z]", word)} <= options_of("score")


def test_the_indexed_job_scores_every_shard_once() -> None:
    spec = yaml.safe_load((EXAMPLES / "kubernetes-indexed-job.yaml").read_text())["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    script = container["args"][0].replace("exec vmmetrics", "echo")
    every = f"for JOB_COMPLETION_INDEX in $(seq 0 {spec['completions'] - 1}); do {script}; done"
    said = subprocess.run(["bash", "-c", every], capture_output=True, text=True, check=True).stdout  # noqa: S607
    shards = re.findall(r"--shard (\S+)", said)
    assert shards == [f"{n}/{spec['completions']}" for n in range(1, spec["completions"] + 1)]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a shell script")
def test_the_tasks_of_the_slurm_array_make_one_run(tmp_path: Path) -> None:
    (tmp_path / "clips").mkdir()
    for n in range(5):
        np.save(tmp_path / "clips" / f"{n}.npy", np.full((4, 16, 24, 3), 10 + n, np.uint8))
    programs = tmp_path / "bin"
    programs.mkdir()
    score = f'exec {shlex.quote(sys.executable)} {SCORING / "command.py"} {tmp_path / "log"} "$@"'
    for name, body in (("srun", 'exec "$@"'), ("vmmetrics", score)):
        (programs / name).write_text(f"#!/bin/bash\n{body}\n")
        (programs / name).chmod(0o755)
    slurm = {"SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_CPUS_PER_TASK": "1"}
    environment = {**os.environ, **slurm, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    script = ["bash", str(EXAMPLES / "slurm-array.sbatch"), str(tmp_path / "clips"), str(tmp_path / "runs")]
    for task in ("1", "2"):
        subprocess.run(script, env={**environment, "SLURM_ARRAY_TASK_ID": task}, check=True, capture_output=True)
    parts = [tmp_path / "runs" / f"part-{n}" for n in (1, 2)]
    assert sorted(r.clip for part in parts for r in read_records(part)) == [f"{n}.npy" for n in range(5)]
    with pytest.raises(SystemExit) as joined:
        main(["merge", *map(str, parts), "--out", str(tmp_path / "whole")])
    assert not joined.value.code
    assert (tmp_path / "whole" / "scores.csv").read_text().count("\n") == 6
