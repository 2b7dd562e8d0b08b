"""``vmmetrics calibrate`` from made runs and ratings to a leaderboard, a report and a server that name the index."""

from __future__ import annotations

import csv
import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.calibrate_null import PARTS, made
from benchmarks.seal import halves
from tests.cli.conftest import Done, command_in
from tests.scoring.stored_runs import clip, write
from vmmetrics.metrics import registry

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "fetv-dev" / "ratings.csv"


@pytest.fixture(autouse=True)
def registered_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))


def study(folder: Path, kind: str, prompts: int, seed: int = 1) -> Path:
    """Write a run and ratings of a made study."""
    one = made(kind, prompts, seed)
    records, rows = [], ["clip,rater,motion"]
    for row, name in enumerate(one.clips):
        scores = {key: float(one.scores[key][row]) for key in PARTS if np.isfinite(one.scores[key][row])}
        other: dict[str, Any] = {"missing": {key: "no object" for key in PARTS if key not in scores}}
        if one.amplitude is not None:
            other["amplitude"] = float(one.amplitude[row])
        records.append(clip(name, scores, one.prompts[row], score_version=dict.fromkeys(PARTS, 2), **other))
        rows += [f"{name},r{rater},{value:g}" for rater, value in enumerate(one.ratings["motion"][row])]
    write(folder / "run", records)
    (folder / "ratings.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A study whose truth is OIS and TCS alone, calibrated."""
    folder = study(tmp_path_factory.mktemp("far"), "far", 40)
    return folder, command_in(folder, "calibrate", "run", "ratings.csv", "--out", "my-index.toml")


def test_an_index_is_written_with_its_study_and_what_it_gained(far: tuple[Path, Done]) -> None:
    folder, done = far
    assert done.code == 0, done.err
    index = tomllib.loads((folder / "my-index.toml").read_text())
    assert index["name"] == "my_index"
    digest = hashlib.sha256((folder / "ratings.csv").read_bytes()).hexdigest()
    assert index["study"] == {
        "ratings": "ratings.csv", "sha256": digest, "dimension": "motion", "clips": 160, "prompts": 40, "models": 4
    }  # fmt: skip
    assert index["versions"] == dict.fromkeys(PARTS, 2)
    assert (index["preset"], index["protocol"]) == ("embedded", "vmmetrics")
    assert index["exponents"]["ois"] > 2 * index["exponents"]["cas"]
    rows = {"the default INDEX", "the model's name alone", "the prompt alone", "less motion", "agreement"}
    assert index["held_out"].keys() == rows
    gain, low, high = index["held_out"]["the default INDEX"]["amplitude constant"]
    assert 0 < low < gain < high
    assert f"{gain:.2f} [{low:.2f}, {high:.2f}]" in done.out
    assert "my_index on unseen prompts and models" in done.out


def test_the_same_seed_gives_the_same_file(far: tuple[Path, Done]) -> None:
    folder, _ = far
    done = command_in(
        folder, "calibrate", "run", "ratings.csv", "-o", "b.toml", "--name", "my_index", "--format", "json"
    )
    assert (folder / "b.toml").read_bytes() == (folder / "my-index.toml").read_bytes()
    assert json.loads(done.out)["refused"] == ""


def test_boards_and_reports_are_ranked_by_it(far: tuple[Path, Done]) -> None:
    folder, _ = far
    done = command_in(folder, "leaderboard", "run", "--index", "my-index.toml", "--format", "json")
    data = json.loads(done.out)
    sha256 = hashlib.sha256((folder / "my-index.toml").read_bytes()).hexdigest()
    assert any(f"my_index: my-index.toml, sha256 {sha256[:12]}" in text for text in data["remarks"])
    means = [row["my_index"] for row in data["models"] if row.get("my_index") is not None]
    assert means == sorted(means, reverse=True) and len(means) == 4
    done = command_in(folder, "report", "run", "--index", "my-index.toml", "--out", "report", "--clips", "worst:3")
    assert done.code == 0, done.err
    assert "not among the worst 3 clips by my_index" in done.err
    (index,) = (folder / "report" / "data").glob("index*.js")
    text = index.read_text("utf-8")
    report = json.loads(text[text.index("{") : text.rindex("}") + 1])
    assert report["boards"][0]["by"] == "my_index"
    assert any(sha256[:12] in note for note in report["runs"][0]["notes"])
    scores = report["clips"]["scores"]["my_index"]
    assert len(scores) == 3


def test_no_gain_is_refused_and_nothing_written(tmp_path: Path) -> None:
    study(tmp_path, "default", 12)
    done = command_in(tmp_path, "calibrate", "run", "ratings.csv", "--out", "mine.toml")
    assert done.code == 4
    assert "gain over the default INDEX" in done.out  # the table is printed
    assert "refused, nothing was written: the gain over the default INDEX, amplitude constant, is" in done.err
    assert not (tmp_path / "mine.toml").exists()


def test_under_ten_prompts_are_refused(tmp_path: Path) -> None:
    study(tmp_path, "far", 9)
    done = command_in(tmp_path, "calibrate", "run", "ratings.csv", "--out", "mine.toml")
    assert done.code == 4
    assert "9 prompts, and a calibration needs 10" in done.err
    assert "gain over" in done.out
    assert not (tmp_path / "mine.toml").exists()


@pytest.mark.skipif(not SHARED.exists(), reason="the ratings of fetv-dev are not here")
def test_the_open_prompts_of_fetv_dev_are_too_few(tmp_path: Path) -> None:
    with SHARED.open(newline="") as file:
        rated = list(csv.DictReader(file))
    opened, _ = halves(row["prompt_id"] for row in rated)
    with (tmp_path / "ratings.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(rated[0]))
        table.writeheader()
        table.writerows(row for row in rated if row["prompt_id"] in opened)  # the others are sealed
    with (ROOT / "tests" / "data" / "fetv-dev" / "scores.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["cas"]]
    scores = [{key: float(row[key]) for key in PARTS if row[key]} for row in rows]
    clips = [clip(row["clip"], of, amplitude=float(row["amplitude"])) for row, of in zip(rows, scores, strict=True)]
    write(tmp_path / "run", clips)
    done = command_in(tmp_path, "calibrate", "run", "ratings.csv", "--out", "mine.toml", "--exclude-model", "real")
    assert done.code == 4, done.err
    assert "9 prompts, and a calibration needs 10" in done.err


def test_what_it_cannot_calibrate_on_is_said(far: tuple[Path, Done], tmp_path: Path) -> None:
    folder, _ = far
    out = ("--out", "other.toml")
    lone = command_in(folder, "calibrate", ROOT / "tests/data/fetv-dev/scores.csv", "ratings.csv", *out)
    assert lone.code == 2
    assert "give the run directory" in lone.err
    assert "RUN... RATINGS" in command_in(folder, "calibrate", "run", *out).err
    for name in ("cas", "motion_index", "Mine!"):
        done = command_in(folder, "calibrate", "run", "ratings.csv", *out, "--name", name)
        assert done.code == 2
    study(tmp_path, "noise", 10, 2)
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    run["configuration"]["preset"] = "vmbench"
    (tmp_path / "run" / "run.json").write_text(json.dumps(run))
    done = command_in(folder, "calibrate", "run", tmp_path / "run", "ratings.csv", *out)
    assert "has other preset than run" in done.err
    mixed = [json.loads(line) for line in (folder / "run" / "scores.jsonl").read_text().splitlines()]
    mixed[0]["score_version"]["tcs"] = 3
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "run.json").write_text((folder / "run" / "run.json").read_text())
    (tmp_path / "mixed" / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in mixed))
    done = command_in(folder, "calibrate", tmp_path / "mixed", "ratings.csv", *out)
    assert done.code == 2
    assert "TCS: version 2" in done.err
    assert not (folder / "other.toml").exists()


def test_an_export_of_a_rating_study_is_read_as_its_table(far: tuple[Path, Done]) -> None:
    folder, _ = far
    export = folder / "export"
    export.mkdir()
    (export / "ratings.csv").write_bytes((folder / "ratings.csv").read_bytes())
    (export / "mos.csv").write_text("clip,dimension,mos\n")
    (export / "sessions.csv").write_text("rater,session\n")
    done = command_in(folder, "calibrate", "run", "export", "--out", "c.toml", "--name", "my_index")
    assert done.code == 0, done.err
    written = tomllib.loads((folder / "c.toml").read_text())
    assert written["exponents"] == tomllib.loads((folder / "my-index.toml").read_text())["exponents"]
    assert written["study"]["sha256"] == hashlib.sha256((folder / "ratings.csv").read_bytes()).hexdigest()
    assert command_in(folder, "align", "run", "export", "--dry-run").code == 0


def test_a_service_names_it(far: tuple[Path, Done]) -> None:
    pytest.importorskip("starlette")
    from vmmetrics.scoring.rewards import sample_settings
    from vmmetrics.scoring.service import Service

    class Engine:
        def close(self) -> None: ...

    settings = sample_settings(PARTS, 0, str(far[0] / "my-index.toml"))
    service = Service(Engine(), settings.metrics, "preset embedded")  # type: ignore[arg-type]
    try:
        assert "my_index" in service._rewards
        assert "my_index: my-index.toml, sha256 " in service._label
    finally:
        service.close()
