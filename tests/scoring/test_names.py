"""A clip has one name in a run, and a name one clip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.scoring.api import score
from vmmetrics.scoring.leaderboard import make_boards
from vmmetrics.scoring.merge import merge
from vmmetrics.scoring.records import read_records

pytestmark = pytest.mark.usefixtures("fake_suite")


def names(run: Path) -> list[tuple[str, str | None]]:
    return sorted((record.clip, record.model) for record in read_records(run))


@pytest.mark.parametrize("prompt", [None, "a dog runs"])
def test_a_folder_of_one_model_is_not_scored_into_the_run_of_all(
    make_clips: Any, tmp_path: Path, prompt: str | None
) -> None:
    """Nor where the clips have other prompts there, as from a list in the parent folder, and would be scored again."""
    clips = make_clips("old/a", "old/b", "new/a")
    if prompt:
        (clips / "prompts.csv").write_text(f"clip,prompt\nold/a.npy,{prompt}\n")
    run = tmp_path / "run"
    score(clips, out=run)
    before = names(run)
    with pytest.raises(SetupError, match=r"old/a\.npy is called old/a\.npy in .*run, not a\.npy: score .*clips \("):
        score(clips / "old", out=run)
    assert names(run) == before == [("new/a.npy", "new"), ("old/a.npy", "old"), ("old/b.npy", "old")]
    assert {row.model for row in make_boards([str(run)])[0].rows} == {"new", "old"}


def test_a_model_that_the_run_lacks_is_scored_from_the_folder_of_all(make_clips: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    score(make_clips("old/a"), out=run)
    clips = make_clips("new/b")
    with pytest.raises(SetupError, match=r"new/b\.npy is called new/b\.npy in .*run, not b\.npy"):
        score(clips / "new", out=run)
    score(clips, out=run)
    assert names(run) == [("new/b.npy", "new"), ("old/a.npy", "old")]


def test_a_second_folder_does_not_rename_the_clips_of_the_first(make_clips: Any, tmp_path: Path) -> None:
    clips, run = make_clips("one/a", "two/b"), tmp_path / "run"
    score(clips / "one", out=run)
    with pytest.raises(SetupError, match=r"one/a\.npy is called a\.npy in .*run, not one/a\.npy"):
        score(clips, out=run)
    score(clips / "two", out=run)
    assert names(run) == [("a.npy", None), ("b.npy", None)]


def test_a_name_is_not_given_to_two_clips(make_clips: Any, tmp_path: Path) -> None:
    clips, run = make_clips("one/a", "two/a"), tmp_path / "run"
    score(clips / "one", out=run)
    with pytest.raises(SetupError, match=r"has .*one/a\.npy as a\.npy, so .*two/a\.npy cannot be"):
        score(clips / "two", out=run)
    assert names(run) == [("a.npy", None)]


def test_runs_of_two_models_are_not_merged_under_one_name(make_clips: Any, tmp_path: Path) -> None:
    clips = make_clips("one/a")
    make_clips("two/a", value=90)
    runs = [tmp_path / "run1", tmp_path / "run2"]
    for model, run in zip(("one", "two"), runs, strict=True):
        score(clips / model, out=run)
    with pytest.raises(SetupError, match=r"one/a\.npy and .*two/a\.npy are both called a\.npy; .*leaderboard A=RUN B="):
        merge(runs, tmp_path / "both")
    assert not (tmp_path / "both").exists()
    assert {row.model for row in make_boards([f"one={runs[0]}", f"two={runs[1]}"])[0].rows} == {"one", "two"}


def test_a_merged_clip_that_changed_is_that_of_the_last_run(make_clips: Any, tmp_path: Path) -> None:
    score(make_clips("a"), out=tmp_path / "before")
    score(make_clips("a", value=90), out=tmp_path / "after")
    merged = merge([tmp_path / "before", tmp_path / "after"], tmp_path / "both").table
    assert [record.sha256 for record in merged] == [r.sha256 for r in read_records(tmp_path / "after")]
