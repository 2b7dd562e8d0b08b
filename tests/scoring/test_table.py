from __future__ import annotations

import csv
import io
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vmmetrics
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.metrics import METRICS
from vmmetrics.scoring.export import ParquetTable
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.table import NUMBERS, Table


def record(clip: str, model: str | None = None, **found: Any) -> Record:
    return Record(clip, model, f"/x/{clip}", "00", "embedded", "vmmetrics", **found)


TABLE = Table(
    [
        record("m/a.mp4", "m", scores=dict(zip(METRICS, (0.1, 0.2, 0.3, 0.4, 0.5), strict=True)), prompt="a, b"),
        record("n/b.mp4", "n", scores={"pas": 0.0}, missing={"ois": "no person"}, errors={"mss": "broken"}),
        record("n/<c>.mp4", "n", error="The file is empty"),
    ],
    "preset embedded",
)


def test_all_five_metrics_reach_the_csv_under_their_names() -> None:
    first, second, third = csv.DictReader(io.StringIO(TABLE.to_csv()))
    assert [float(first[m]) for m in METRICS] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert float(first["average"]) == pytest.approx(0.3)
    assert first["prompt"] == "a, b"
    assert (second["pas"], second["ois"], second["mss"], second["average"]) == ("0.0", "", "", "")
    assert (second["missing"], second["error"]) == ("ois: no person", "mss: broken")
    assert third["error"] == "The file is empty"


def test_means_leave_out_what_is_missing_and_count() -> None:
    assert TABLE.mean()["pas"].mean == pytest.approx(0.2)
    assert TABLE.mean()["pas"].clips == 2
    assert TABLE.mean()["mss"].clips == 1
    assert TABLE.by_model()["n"].keys() == {"pas"}
    assert Table([]).mean() == {}


def test_it_shows_scores_gaps_and_failures() -> None:
    shown = repr(TABLE).splitlines()
    assert shown[0].split() == ["clip", "CAS", "MSS", "OIS", "PAS", "TCS", "INDEX"]
    assert shown[2].split() == ["n/b.mp4", "failed", "-", "0.0000", "-"]
    assert shown[-1] == "preset embedded"
    html = TABLE._repr_html_()
    assert "n/&lt;c&gt;.mp4" in html
    assert 'title="no person"' in html


def test_a_table_of_failed_clips_has_the_columns_of_the_run() -> None:
    failed = record("a.mp4", error="The file is empty")
    table = Table([failed], metrics=("pas", "tcs"))
    assert table.metrics == ("pas", "tcs")
    head, row, *_ = str(table).splitlines()
    assert (head.split(), row.split()) == (["clip", "PAS", "TCS"], ["a.mp4", "failed", "failed"])
    assert Table([record("b.mp4", scores={"mss": 0.5}), failed], metrics=("pas",)).metrics == ("mss",)


def test_its_text_says_why_there_is_no_score() -> None:
    still = Record("1", None, None, "00", "embedded", "vmmetrics", missing={"mss": "one frame", "pas": "one frame"})
    assert "- MSS, PAS missing in the clip: one frame" in repr(Table([still])).splitlines()
    broken = [record(f"{n}.mp4", error="The file is <empty>") for n in range(5)]
    table = Table([still, *broken])
    assert repr(table).count("failed: The file is <empty>") == 3
    assert "- 2 more clips failed" in repr(table)
    assert "- MSS, PAS missing in 1 of 6 clips: one frame (1)" in repr(table)
    assert "<p>- 0.mp4 failed: The file is &lt;empty&gt;</p>" in table._repr_html_()


def test_pandas_where_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SetupError, match=r"pip install .*parquet"):
        TABLE.to_pandas()
    monkeypatch.undo()
    pandas = pytest.importorskip("pandas")
    frame = TABLE.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["pas"].tolist()[:2] == [0.4, 0.0]


@pytest.mark.usefixtures("fake_suite")
def test_parquet_where_it_is_there(make_clips: Any, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = vmmetrics.score(make_clips("a", "b"), out=tmp_path / "run")
    read = parquet.read_table(tmp_path / "run" / "scores.parquet").to_pylist()
    assert [row["pas"] for row in read] == [r.scores["pas"] for r in table]
    assert [row["cas"] for row in read] == [None, None]


@pytest.mark.usefixtures("fake_suite")
class TestScore:
    def test_paths_and_arrays_give_the_same_scores(self, make_clips: Any) -> None:
        root = make_clips("a", "b")
        arrays = [np.load(root / "a.npy"), np.load(root / "b.npy")]
        by_path = vmmetrics.score([root / "a.npy", str(root / "b.npy")])
        by_array = vmmetrics.score(arrays, fps=8)
        batch = vmmetrics.score(np.stack(arrays), fps=8)
        single = vmmetrics.score(arrays[0], fps=8, layout="THWC")
        assert [r.scores for r in by_path] == [r.scores for r in by_array] == [r.scores for r in batch]
        assert [r.clip for r in by_array] == ["clip-0001", "clip-0002"]
        assert [r.clip for r in batch] == ["clip-0001[0]", "clip-0001[1]"]
        assert single[0].scores == by_path[0].scores
        assert by_path.path is None

    def test_arrays_resume_by_content(self, make_clips: Any, tmp_path: Path) -> None:
        root = make_clips("a", "b")
        vmmetrics.score(np.load(root / "a.npy"), fps=8, out=tmp_path / "run")
        vmmetrics.score(np.load(root / "a.npy"), fps=8, out=tmp_path / "run")
        assert (tmp_path / "run" / "scores.jsonl").read_text().count("\n") == 1
        changed = vmmetrics.score(np.load(root / "b.npy"), fps=8, out=tmp_path / "run", jobs=1)
        assert (tmp_path / "run" / "scores.jsonl").read_text().count("\n") == 2
        assert changed[0].sha256 is not None

    def test_clips_of_one_name_stay_apart(self, make_clips: Any) -> None:
        clip = vmmetrics.read_clip(make_clips("a") / "a.npy")
        assert [r.clip for r in vmmetrics.score([clip, clip])] == ["a.npy", "a.npy (2)"]

    def test_wrong_arguments_say_what_was_expected(self, make_clips: Any, tmp_path: Path) -> None:
        root = make_clips("a")
        with pytest.raises(ValueError, match=r"Expected metrics among .* but got 'pass'"):
            vmmetrics.score(root, metrics=("pass",))
        with pytest.raises(ValueError, match="Expected shard"):
            vmmetrics.score(root, shard=(3, 2))
        with pytest.raises(ValueError, match="Expected preset"):
            vmmetrics.score(root, preset="best")
        with pytest.raises(SetupError, match="No such file or folder"):
            vmmetrics.score(tmp_path / "nowhere")
        with pytest.raises(ClipError, match="shape"):
            vmmetrics.score(np.zeros((2, 2), np.uint8))


@pytest.mark.parametrize("name", ["sha256", "seconds", "clip", "tag_speed"])
def test_a_score_with_the_name_of_another_column_has_none_of_its_own(name: str, tmp_path: Path) -> None:
    table = Table([record("a.mp4", scores={name: 0.5, "ssim": 0.25}, tags={"speed": 1.0})])
    assert len(set(table.columns)) == len(table.columns)
    (row,) = csv.DictReader(io.StringIO(table.to_csv()))
    assert (row["clip"], row["sha256"], row["ssim"], row["tag_speed"]) == ("a.mp4", "00", "0.25", "1.0")
    if find_spec("pyarrow"):
        with ParquetTable(io.BytesIO(), table.columns, (*NUMBERS, "ssim")) as parquet:
            parquet.write(table.rows())


def test_the_factor_of_a_still_moved_as_a_whole_stands_beside_the_index() -> None:
    scores = {"cas": 0.512, "mss": 1.0}
    table = Table([
        record("pan.mp4", scores=scores, own_change=0.001, notes=("no frame rate",)),
        record("dog.mp4", scores=scores, own_change=0.4),
        record("old.mp4", scores=scores),
    ])  # fmt: skip
    pan, dog, old = table.rows()
    assert [round(row["motion_index"], 4) for row in (pan, dog, old)] == [0.32, 0.64, 0.64]
    assert (pan["cas"], pan["mss"], pan["own_change"]) == (0.512, 1.0, 0.001)
    assert pan["notes"] == "INDEX ×0.5: one picture moved as a whole; no frame rate"
    assert (dog["notes"], old["notes"], old["own_change"]) == (None, None, None)
    assert "INDEX lowered in 1 of 3 clips: pan.mp4 ×0.5: one picture moved as a whole" in repr(table)


def test_metrics_scored_later_keep_the_own_change() -> None:
    first, later = record("a.mp4", scores={"cas": 0.5}, own_change=0.0), record("a.mp4", scores={"mss": 1.0})
    assert later.over(first).index_remark == "×0.5: one picture moved as a whole"
