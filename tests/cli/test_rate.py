"""``vmmetrics rate new`` of a run: its clips, with their models and prompts. How a study goes: tests/rating."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.cli.conftest import RunCommand
from tests.rating.made import filled, study
from vmmetrics.rating.journal import read_state
from vmmetrics.rating.study import read_study


def test_a_study_of_a_run(vmmetrics: RunCommand, tmp_path: Path, capsys: Any) -> None:
    for model in ("one", "two"):
        folder = tmp_path / "clips" / model
        folder.mkdir(parents=True)
        for number in range(2):
            frames = np.random.default_rng(number).integers(0, 255, (6, 16, 24, 3)).astype(np.uint8)
            np.save(folder / f"a dog runs over the grass-{number}.npy", frames)
    assert vmmetrics("score", "clips", "--out", "run") == 0
    asked = ("--design", "acr", "--contact", "lab@example.org", "--licence", "ours", "--flashing", "warn")
    capsys.readouterr()
    assert (
        vmmetrics("rate", "new", "study", "--clips", "run", *asked, "--votes", 4, "--pay", 2, "--currency", "EUR") == 0
    )
    out, err = capsys.readouterr()
    assert out == "study\n"
    assert "4 clips, 4 items, 4 votes each: 4 sessions" in err and "8.00 EUR" in err
    made = read_study(Path("study"))
    assert {(clip.model, clip.prompt) for clip in made.clips.values()} == {
        (model, "a dog runs over the grass") for model in ("one", "two")
    }
    assert {clip.clip for clip in made.clips.values()} == {
        f"{model}/a dog runs over the grass-{number}.npy" for model in ("one", "two") for number in range(2)
    }


def test_a_reference_and_the_clips_without_one(vmmetrics: RunCommand, tmp_path: Path, capsys: Any) -> None:
    for name in ("real/a dog runs-0", "one/a dog runs-0", "one/a cat sleeps-0"):
        path = tmp_path / "clips" / f"{name}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.random.default_rng(0).integers(0, 99, (6, 16, 24, 3)).astype(np.uint8))
    asked = ("rate", "new", "study", "--clips", "clips", "--contact", "c", "--licence", "l", "--flashing", "warn")
    for more, said in (
        (("dcr",), "give --reference MODEL"),
        (("dcr", "--reference", "nobody"), "give --reference MODEL"),
        (("dcr", "--reference", "real", "--levels", "9"), "dcr has no --levels"),
        (("acr", "--reference", "real"), "acr has no --reference"),
        (("mushra",), "acr, dcr, ccr, vmbench5, pair"),
    ):
        assert vmmetrics(*asked, "--design", *more) == 2
        assert said in " ".join(capsys.readouterr().err.split()) and not Path("study").exists()
    assert vmmetrics(*asked, "--design", "dcr", "--reference", "real") == 0
    assert "left out: 1 clip that no item shows" in capsys.readouterr().err
    assert {clip.clip for clip in read_study(Path("study")).clips.values()} == {
        "real/a dog runs-0.npy", "one/a dog runs-0.npy"
    }  # fmt: skip


def test_pages_are_given_out_and_files_of_them_taken(vmmetrics: RunCommand, tmp_path: Path, capsys: Any) -> None:
    made = study(tmp_path, prompts=2, items=4)
    assert vmmetrics("rate", "pack", made.path, "--out", "pages", "--raters", 3) == 0
    out, err = capsys.readouterr()
    assert out == "pages\n" and "3 pages of up to 0.1 MB" in err
    (tmp_path / "wrong.json").write_text("{}")
    other = study(tmp_path / "other", prompts=2, items=4)
    filled(other, 1)
    assert vmmetrics("rate", "merge", made.path, "wrong.json", other.path) == 3
    said = capsys.readouterr().err
    assert "wrong.json is no file of answers" in said and "of 1 session" in said
    (rater,) = (session.rater for session in read_state(made).sessions.values())
    other.path.rename(tmp_path / "moved")
    assert vmmetrics("rate", "forget", made.path, rater) == 0
    assert "study is not there any more" in " ".join(capsys.readouterr().err.split())


def test_a_proxy_needs_the_address_that_raters_see(vmmetrics: RunCommand, capsys: Any) -> None:
    assert vmmetrics("rate", "serve", "study", "--behind-proxy") == 2
    assert "--public-url" in capsys.readouterr().err
