"""Clips by the values of a column, and only some of them."""

from pathlib import Path

import numpy as np
import pytest

from vmmetrics.alignment.readers.read import by_group, chosen_clips, read_groups, read_study
from vmmetrics.alignment.study import Study
from vmmetrics.errors import SetupError

KINDS = ("sport", "sport", "water", "water", "water", "")


@pytest.fixture
def sources(tmp_path: Path) -> list[str]:
    (tmp_path / "s.csv").write_text("clip,mss\n" + "".join(f"{n}.mp4,{n / 10}\n" for n in range(6)))
    rows = [f"{n},{rater},{n % 5 + 1},{KINDS[n]}\n" for n in range(6) for rater in "ab"]
    (tmp_path / "r.csv").write_text("clip,rater,motion,Category\n" + "".join(rows))
    return [str(tmp_path / "s.csv"), str(tmp_path / "r.csv")]


@pytest.fixture
def study(sources: list[str]) -> Study:
    return read_study(sources[:-1], sources[-1])


def test_a_column_is_found_in_any_table_and_matched_by_name(study: Study, sources: list[str]) -> None:
    assert read_groups(study, sources, "category") == KINDS
    assert read_groups(study, sources, "model") == study.models
    with pytest.raises(SetupError, match=r"No table has a column 'kind'; there are clip, mss, rater, motion, Category"):
        read_groups(study, sources, "kind")


def test_a_clip_of_two_values_is_refused(study: Study, tmp_path: Path, sources: list[str]) -> None:
    (tmp_path / "r.csv").write_text("clip,rater,motion,category\n1,a,3,sport\n1,b,3,water\n")
    with pytest.raises(SetupError, match="category of 1 is 'sport' in one row and 'water' in another"):
        read_groups(study, sources, "category")


def test_parts_hold_their_clips_alone(study: Study, sources: list[str]) -> None:
    parts = by_group(study, read_groups(study, sources, "category"), "category")
    assert {name: part.clips for name, part in parts.items()} == {
        "sport": ("0.mp4", "1.mp4"),
        "water": ("2.mp4", "3.mp4", "4.mp4"),
    }
    assert np.array_equal(parts["water"].scores["mss"], [0.2, 0.3, 0.4])
    assert parts["water"].ratings["motion"].shape == (3, 2)
    with pytest.raises(SetupError, match="1 to 50 values"):
        by_group(study, [""] * 6, "category")


def test_only_the_clips_asked_for(study: Study, sources: list[str]) -> None:
    assert chosen_clips(study, sources, []) is study
    found = chosen_clips(study, sources, ["category=water", "clip=3.mp4"])
    assert found.clips == ("3.mp4",)
    both = chosen_clips(study, sources, ["Category=water", "Category=sport"])
    assert len(both.clips) == 5 and "only Category sport or water: 5 of 6 clips" in both.matching.notes
    for wanted, said in ((["water"], "COLUMN=VALUE"), (["category=snow"], "there are sport, water")):
        with pytest.raises(SetupError, match=said):
            chosen_clips(study, sources, wanted)
