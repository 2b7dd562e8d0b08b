"""Data sets scored, resumed, shared out and drawn like folders of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.video.test_rows import rows
from tests.video.test_shards import contents, write
from tests.video.test_shards import rows as packed_rows
from vmmetrics.clip import Subject
from vmmetrics.errors import SetupError
from vmmetrics.scoring.api import score
from vmmetrics.scoring.merge import merge
from vmmetrics.scoring.scored_clip import recall

pytestmark = pytest.mark.usefixtures("fake_suite")


class Counting:
    """A listener that counts what is scored."""

    def __init__(self) -> None:
        self.scored = 0

    def begin(self, total: int, settled: int) -> None: ...

    def warn(self, warnings: Any) -> None: ...

    def wait(self, name: str, seconds: float, share: float | None) -> None: ...

    def advance(self, record: Any) -> None:
        self.scored += 1


def scores_of(table: Any) -> list[Any]:
    return [(record.clip, record.model, record.prompt, record.sha256, record.scores) for record in table]


@pytest.mark.slow
def test_rows_of_parquet_files_are_scored_like_files(tmp_path: Path) -> None:
    data = contents(tmp_path, 5)
    (tmp_path / "files" / "m").mkdir(parents=True)
    for number, content in enumerate(data):
        (tmp_path / "files" / "m" / f"{number:04d}.mp4").write_bytes(content)
    expected = [(record.sha256, record.scores, record.frames) for record in score(tmp_path / "files", metrics=["mss"])]
    told = {"prompt": [f"a dog {n}" for n in range(5)], "model": ["m"] * 5}
    clips = packed_rows(data)
    write(tmp_path / "d/a-0.parquet", clips=clips[:2], **{name: values[:2] for name, values in told.items()})
    write(tmp_path / "d/a-1.parquet", clips=clips[2:], **{name: values[2:] for name, values in told.items()})
    out, listener = tmp_path / "run", Counting()
    table = score(tmp_path / "d", metrics=["mss"], out=out, jobs=2, listener=listener)
    assert [record.error for record in table] == [None] * 5
    assert [(record.sha256, record.scores, record.frames) for record in table] == expected
    assert {(record.model, record.prompt_source) for record in table} == {("m", "dataset")}
    assert table[3].path == f"{tmp_path}/d/a-1.parquet#1"
    assert listener.scored == 5
    again = score(tmp_path / "d", metrics=["mss"], out=out, listener=listener)
    assert scores_of(again) == scores_of(table)
    assert listener.scored == 5  # nothing was scored again
    parts = [tmp_path / f"part{i}" for i in (1, 2)]
    for number, part in enumerate(parts, 1):
        score(tmp_path / "d", metrics=["mss"], out=part, shard=(number, 2))
    assert merge(parts[:1], tmp_path / "half").missing == ((2, 2),)
    whole = merge(parts, tmp_path / "whole")
    assert whole.missing == ()
    assert scores_of(whole.table) == scores_of(table)


@pytest.mark.parametrize("jobs", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_data_set_from_python(tmp_path: Path, jobs: int) -> None:
    data = contents(tmp_path, 3)
    dataset = rows([*data, b"no video"], caption=["a dog runs", None, "a cat", "x"], model=["wan", "ltx", "ltx", "ltx"])
    listener = Counting()
    table = score(dataset, metrics=["mss"], out=tmp_path / "run", jobs=jobs, listener=listener)
    assert [(r.clip, r.model, r.prompt, r.frames) for r in table][:3] == [
        ("0.mp4", "wan", "a dog runs", 2),
        ("1.mp4", "ltx", None, 3),
        ("2.mp4", "ltx", "a cat", 4),
    ]
    assert [record.path for record in table] == [None] * 4
    assert table[0].subject == {"noun": "dog", "phrase": "a dog", "source": "rule"}
    assert "Not a video" in (table[3].error or "")
    again = score(dataset, metrics=["mss"], out=tmp_path / "run", jobs=jobs, listener=listener)
    assert scores_of(again) == scores_of(table)
    assert listener.scored == 4 + 1  # what failed is tried once more
    assert score(dataset, metrics=["mss"], subject="two seals")[1].subject == {
        "noun": "seals",
        "phrase": Subject("seals", "two seals", "option").phrase,
        "source": "option",
    }
    with pytest.raises(SetupError, match="one split"):
        score({"train": dataset})


def test_a_list_of_prompts_counts_for_a_data_set_and_is_refused_for_arrays(tmp_path: Path) -> None:
    listed = tmp_path / "list.csv"
    listed.write_text("clip,prompt,tag_speed\n1.mp4,a cat runs,fast\n")
    data = contents(tmp_path, 2)
    table = score(rows(data, prompt=["a dog", "a cow"]), metrics=["mss"], prompts=listed)
    assert [(r.prompt, r.prompt_source, dict(r.tags)) for r in table] == [
        ("a dog", "dataset", {}),
        ("a cat runs", "list", {"speed": "fast"}),
    ]
    long = score(rows(data, prompt=["a dog", "a " * 100_000]), metrics=["mss"])
    assert long[0].error is None
    assert "shorten it to 100,000" in (long[1].error or "")
    with pytest.raises(SetupError, match="A prompt list applies to files and data sets"):
        score(np.zeros((4, 32, 32, 3), np.uint8), metrics=["mss"], prompts=listed)


def test_show_finds_a_row_again(tmp_path: Path) -> None:
    file = write(tmp_path / "d/a.parquet", clips=packed_rows(contents(tmp_path, 3)))
    score(file, metrics=["mss"], out=tmp_path / "run")
    found = recall(tmp_path / "run", "0002.mp4")
    assert len(found.clip) == 4
    assert found.record.path == f"{file}#2"
