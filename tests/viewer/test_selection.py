"""Which clips a report lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.scoring.stored_runs import clip, five, write
from vmmetrics.errors import SetupError
from vmmetrics.scoring.record import Record
from vmmetrics.viewer.selection import badness, select
from vmmetrics.viewer.sources import read_sources


def names(folder: Path, chosen: str, *runs: list[Record]) -> list[str]:
    paths = [write(folder / f"run{number}", records) for number, records in enumerate(runs)]
    sources = read_sources(paths)
    selection = select(sources, chosen)
    assert len(selection) == sum(map(len, selection.positions))
    return [s.names[p] for s, positions in zip(sources, selection.positions, strict=True) for p in positions]


def test_the_worst_have_failed_or_the_lowest_index(tmp_path: Path) -> None:
    clips = [clip(f"{value}.mp4", five(value / 10)) for value in range(1, 7)]
    clips.append(replace(clip("failed.mp4", {}), error="cannot be decoded"))
    assert names(tmp_path, "worst:3", clips) == ["1.mp4", "2.mp4", "failed.mp4"]
    assert len(names(tmp_path, "worst:99", clips)) == 7
    assert len(names(tmp_path, "all", clips)) == 7


def test_without_an_index_the_lowest_score_counts_that_is_a_fault() -> None:
    still = clip("still", {"pas": 0.0, "ois": 0.9})
    broken = clip("broken", {"pas": 1.0, "ois": 0.2})
    unscored = clip("unscored", {"pas": 0.0})
    assert sorted([still, broken, unscored], key=badness) == [broken, still, unscored]


def test_the_worst_of_several_runs_are_the_worst_of_all(tmp_path: Path) -> None:
    one = [clip("a.mp4", five(0.9)), clip("b.mp4", five(0.2))]
    two = [clip("c.mp4", five(0.1)), clip("d.mp4", five(0.3))]
    assert names(tmp_path, "worst:2", one, two) == ["b.mp4", "c.mp4"]


def test_a_file_names_clips_as_the_table_does_or_with_their_run(tmp_path: Path) -> None:
    runs = [[clip(name, five(0.5)) for name in ("a.mp4", "b.mp4", "ä c.mp4")] for _ in range(2)]
    file = tmp_path / "names.txt"
    file.write_text("ä c.mp4\r\n\nrun1/a.mp4\n", "utf-8")
    assert names(tmp_path, str(file), *runs) == ["ä c.mp4", "a.mp4", "ä c.mp4"]
    file.write_text("a.mp4\nnone.mp4\nother.mp4\n")
    with pytest.raises(SetupError, match=r"no run has: none\.mp4, other\.mp4"):
        names(tmp_path, str(file), *runs)
    file.write_text("\n")
    with pytest.raises(SetupError, match="names no clip"):
        names(tmp_path, str(file), *runs)


@pytest.mark.parametrize("chosen", ["worst", "worst:-1", "worst:x", "best:3", "/absent"])
def test_other_choices_are_refused(tmp_path: Path, chosen: str) -> None:
    with pytest.raises(SetupError, match="Expected all, worst:N or a file"):
        names(tmp_path, chosen, [clip("a.mp4", five(0.5))])


def test_too_many_clips_are_refused_with_what_to_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmmetrics.viewer.selection.MOST_CLIPS", 2)
    clips = [clip(f"{number}.mp4", five(0.5)) for number in range(3)]
    with pytest.raises(SetupError, match=r"3 clips .*--clips worst:"):
        names(tmp_path, "all", clips)
    assert len(names(tmp_path, "worst:2", clips)) == 2
    with pytest.raises(SetupError, match="at least 1"):
        names(tmp_path, "worst:0", clips)
