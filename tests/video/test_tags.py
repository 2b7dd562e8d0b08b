"""What a prompt list says of the motion asked for, from the list to the tables of a run."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vmmetrics
from vmmetrics.cli.main import main
from vmmetrics.clip import Clip
from vmmetrics.metrics import ois
from vmmetrics.perception.scene import Models, Scene
from vmmetrics.types import MetricResult
from vmmetrics.video.discover import Source
from vmmetrics.video.prompts import Prompts

MECHANICAL, BIOLOGICAL = "mechanical motion", "biological motion"
LISTS = {
    "p.json": json.dumps(
        [
            {"index": 1, "prompt": "a wheel turns", "pattern": MECHANICAL, "tags": {"skeleton": "none", "seconds": 9}},
            {"index": 2, "prompt": "a man runs", "pattern": BIOLOGICAL, "tags": {"skeleton": "person", "seconds": 1}},
            {"index": 3, "prompt": "a dog runs", "tags": ["not", "ours"]},
        ]
    ),
    "p.csv": (
        "clip,prompt,Pattern,tag_skeleton,tag-seconds\n"
        "1,a wheel turns,mechanical motion,none,9\n2,a man runs,biological motion,person,1\n3,a dog runs,,,\n"
    ),
}  # fmt: skip


def tags_of(path: Path, name: str) -> dict[str, Any]:
    return dict(Prompts(path).lookup(Source(path.parent / name, name, None, path.parent)).tags)


@pytest.mark.parametrize("name", LISTS)
def test_pattern_and_tags_are_read_from_every_form(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(LISTS[name])
    first = tags_of(tmp_path / name, "0001.mp4")
    assert first == {"pattern": "mechanical motion", "skeleton": "none", "seconds": 9}
    assert tags_of(tmp_path / name, "0003.mp4") == {}
    assert tags_of(tmp_path / name, "0004.mp4") == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.csv", "clip,prompt,tag_a,tag_b,tag_c,tag_d\n1,x,nan,inf,Infinity,1e999\n"),
        ("p.jsonl", '{"clip": 1, "prompt": "x", "tags": {"a": NaN, "b": Infinity, "c": 1e999, "d": -1e300}}\n'),
        ("p.json", '[{"clip": 1, "prompt": "x", "subject": NaN, "tag_a": NaN, "tag_b": "inf"}]'),
    ],
)
def test_a_gap_is_no_tag_and_an_infinity_a_text(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    tags = tags_of(tmp_path / name, "0001.mp4")
    assert "a" not in tags
    assert all(isinstance(value, str) for value in tags.values())
    assert tags["b"].lower().startswith("inf")


def test_a_name_of_five_thousand_digits_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(f"clip,prompt\n{'9' * 5000},a dog runs\n1,a cat runs\n")
    prompts = Prompts(tmp_path / "p.csv")
    assert prompts.unmatched(["0001.mp4"]) == ["9" * 5000]


def scene(frames: int = 4, **tags: str | float) -> Scene:
    clip = Clip(np.zeros((frames, 8, 8, 3), np.uint8), np.arange(frames) / 8, 8.0, tags=tags)
    return Scene(clip, Models(*[None] * 6))  # type: ignore[arg-type]


def test_no_pose_is_asked_for_where_no_body_is_expected() -> None:
    result = ois.measure(scene(skeleton="none"), "vmmetrics")  # there is no pose model to ask
    assert (result.score, result.applicable) == (None, False)
    assert ois.measure(scene(1, skeleton="animal"), "vmmetrics").applicable
    assert ois.measure(scene(1), "vmmetrics").applicable
    with pytest.raises(AttributeError):  # the released code knows no tags: it asks
        ois.measure(scene(skeleton="none"), "vmbench")


def test_a_score_and_not_applicable_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="does not apply"):
        MetricResult(1.0, applicable=False)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    clips = tmp_path / "clips"
    clips.mkdir()
    rng = np.random.default_rng(0)
    for number in (1, 2, 3):
        picture = np.kron(rng.integers(0, 255, (4, 4, 3)), np.ones((8, 8, 1))).astype(np.uint8)
        np.save(clips / f"{number:04d}.npy", np.stack([np.roll(picture, 3 * t, axis=1) for t in range(8)]))
    (clips / "prompts.json").write_text(LISTS["p.json"])
    vmmetrics.score(clips, out=tmp_path / "run", metrics=("ois", "pas"))
    return tmp_path / "run"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_run_tells_not_applicable_from_missing_and_breaks_down(run: Path) -> None:
    first, second, third = rows(run / "scores.csv")
    assert first["ois"] == ""
    assert first["missing"].startswith("ois: not applicable, ")
    assert (first["pattern"], first["tag_skeleton"], float(first["tag_seconds"])) == ("mechanical motion", "none", 9)
    assert first["notes"].endswith("the clip lasts 1.0 s, and its prompt's motion is expected to take 9 s")
    assert "expected to take" not in second["notes"] + third["notes"]
    assert "not applicable" not in second["missing"]
    assert (third["pattern"], third["tag_skeleton"]) == ("", "")
    parts = {(r["tag"], r["value"], r["metric"]): r for r in rows(run / "breakdown.csv")}
    none = parts["skeleton", "none", "ois"]
    assert (none["clips"], none["scored"], none["not_applicable"], none["mean"]) == ("1", "0", "1", "")
    assert parts["skeleton", "person", "ois"]["not_applicable"] == "0"
    assert parts["pattern", "biological motion", "pas"]["clips"] == "1"
    assert {value: parts["fits", value, "pas"]["clips"] for value in ("yes", "no")} == {"yes": "1", "no": "1"}


def test_clips_whose_motion_needs_longer_are_left_out(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of the three clips one needs 9 s, one needs less than 5, and one does not say."""
    where = ["--metrics", "pas", "--out", str(tmp_path / "fit")]
    with pytest.raises(SystemExit, match="0"):
        main(["score", str(run.parent / "clips"), "--max-seconds", "5", *where])
    assert "1 of 3 clips left out: they need over 5 s" in capfd.readouterr().err
    assert sum(1 for _ in (tmp_path / "fit" / "scores.jsonl").open()) == 2
    (run.parent / "clips" / "0003.npy").unlink()
    with pytest.raises(SystemExit, match="2"):
        main(["score", str(run.parent / "clips"), "--max-seconds", "0.5", *where])
    assert "no clip fits 0.5 s" in capfd.readouterr().err


def test_new_tags_are_scored_anew_and_old_ones_are_not(run: Path) -> None:
    clips = run.parent / "clips"
    lines = (run / "scores.jsonl").read_text().splitlines()
    vmmetrics.score(clips, out=run, metrics=("ois", "pas"))
    assert (run / "scores.jsonl").read_text().splitlines() == lines
    (clips / "prompts.json").write_text(LISTS["p.json"].replace('"none"', '"person"'))
    table = vmmetrics.score(clips, out=run, metrics=("ois", "pas"))
    assert len((run / "scores.jsonl").read_text().splitlines()) == len(lines) + 1
    assert [record.not_applicable for record in table] == [(), (), ()]
    assert set(table.by_tag("skeleton")) == {"person"}
