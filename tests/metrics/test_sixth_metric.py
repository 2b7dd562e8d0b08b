"""A sixth built-in metric is an entry in the registry and a file with its measure: nothing else names the five."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.bad_inputs import write_video

PROGRAM = '''
import importlib.util, json, shutil, sys, types
from pathlib import Path

package = Path(importlib.util.find_spec("vmmetrics").origin).parent
path = package / "metrics" / "registry.py"
spec = importlib.util.spec_from_file_location("vmmetrics.metrics.registry", path)
source = path.read_text("utf-8")
entry = """_our("aes", "brightness", "aesthetic", colour=(90, 60, 160), divide="vmmetrics.metrics.aes:divide",
meaning="how bright the frames are", question="How bright?"),"""
assert source.count("\\n_OURS = (\\n") == 1
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
exec(compile(source.replace("\\n_OURS = (\\n", "\\n_OURS = (\\n" + entry), str(path), "exec"), module.__dict__)

from vmmetrics.types import Event, MetricResult

ours = types.ModuleType("vmmetrics.metrics.aes")
ours.measure = lambda scene, protocol: MetricResult(
    round(float(scene.clip.frames.mean()) / 255, 4), events=(Event("aes", (0,), "too dark"),)
)
ours.divide = lambda loss: [loss.lost] * len(loss.events)
sys.modules["vmmetrics.metrics.aes"] = ours

import vmmetrics
from vmmetrics.cli.main import main

assert vmmetrics.METRICS == ("aes", "cas", "mss", "ois", "pas", "tcs")


def run(*arguments):
    try:
        main(list(arguments))
    except SystemExit as stop:
        assert stop.code in (None, 0), (arguments, stop.code)


table = vmmetrics.score("clips", out="one")
assert all("aes" in record.scores for record in table.records), table.records
shutil.copytree("one", "two")
run("merge", "one", "two", "--out", "both")
run("leaderboard", "one", "--published")
run("diff", "one", "two")
run("show", "one", "a/0.mp4", "--out", "show.png")
run("report", "one", "--out", "page")
run("align", "both", "ratings.csv", "--resamples", "20", "--out", "study")
from vmmetrics.scoring.leaderboard_text import published_rows

rows = [f"{row.model},{number}" for number, row in enumerate(published_rows())]
Path("models.csv").write_text("\\n".join(["model,aes", *rows]))
run("align", "models.csv", "vmbench", "--resamples", "20", "--format", "json")
assert "--m-aes: #5a3ca0" in Path("page/app/report.css").read_text()
index = Path("page/data/index.js").read_text()
assert '"meaning":"how bright the frames are"' in index
assert "aes" in Path("both/scores.csv").read_text().splitlines()[0].split(",")
'''


@pytest.mark.slow
def test_it_is_scored_tabled_ranked_compared_shown_and_aligned(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ratings = ["clip,rating"]
    for model, clip in ((model, clip) for model in "ab" for clip in range(2)):
        texture = cv2.GaussianBlur(rng.uniform(40, 215, (64, 96, 3)), (0, 0), 3)
        frames = np.stack([np.roll(texture, 2 * t, axis=1) for t in range(3)]).astype(np.uint8)
        (tmp_path / "clips" / model).mkdir(parents=True, exist_ok=True)
        write_video(tmp_path / "clips" / model / f"{clip}.mp4", frames)
        ratings.append(f"{model}/{clip}.mp4,{1 + (clip + ord(model)) % 4}")
    (tmp_path / "ratings.csv").write_text("\n".join(ratings))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "AES" in done.stdout
