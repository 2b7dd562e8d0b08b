from __future__ import annotations

from vmmetrics.alignment.readers.read import read_study
from vmmetrics.alignment.report.text import column_tables, study_parts
from vmmetrics.utils.display.tables import DisplayTable, Lines


def cells(table: DisplayTable) -> list[tuple[str, ...]]:
    return [tuple(cell.text for cell in row.cells) for row in table.rows]


def test_columns_of_each_source_are_kept_apart() -> None:
    scores = [{"clip": ["a", "b"], "mss": [1, 2], "note": ["x", "y"]}, {"video": ["b", "a"], "ssim": [3, 4]}]
    study = read_study(scores, {"clip": ["a", "b"], "smoothness": [5, 4]})
    first, second, ratings = map(cells, column_tables(study.matching.columns))
    assert first == [("clip", "clip"), ("mss", "score"), ("note", "passed over: not numbers")]
    assert second == [("video", "clip"), ("ssim", "score")]
    assert ("smoothness", "rating of smoothness") in ratings


def test_preferences_are_counted_where_both_clips_have_scores() -> None:
    scores = {"clip": ["a", "b", "c"], "mss": [1, 2, None]}
    pairs = {"left": ["a", "a", "b"], "right": ["b", "c", "d"], "outcome": ["left", "right", "tie"]}
    lines, faced = study_parts(read_study(scores, pairs))
    assert isinstance(lines, Lines)
    assert isinstance(faced, DisplayTable)
    assert cells(faced) == [("mss", "preference", "1 pairs", "not named")]
    assert "1 clips only in the ratings: d" in lines.lines
