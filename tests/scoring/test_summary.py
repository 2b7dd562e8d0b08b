"""Groups of many records take memory in proportion to the records, and are those that a loop finds."""

from __future__ import annotations

import csv
import io
import tracemalloc
from typing import Any

import pytest
from numpy import mean as mean_of

from vmmetrics.scoring.export import breakdown
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.summary import Summary


def record(number: int, **tags: Any) -> Record:
    scores = {"pas": number % 7 / 7} if number % 3 else {}
    return Record(f"{number}.mp4", f"m{number % 2}", None, "00", "embedded", "vmmetrics", scores, tags=tags)


def test_groups_are_those_of_a_loop() -> None:
    tags = [{"pattern": "abc"[n * n % 3], "speed": n % 5} if n % 4 else {"speed": n % 5} for n in range(50)]
    records = [record(n, **tag) for n, tag in enumerate(tags)]
    summary = Summary(records)
    for name in ("pattern", "speed"):
        values = sorted({tag[name] for tag in tags if name in tag})
        expected = [(value, [n for n, tag in enumerate(tags) if tag.get(name) == value]) for value in values]
        assert [(value, rows.tolist()) for value, rows in summary.by_tag(name).items()] == expected
        for (_, numbers), rows in zip(expected, summary.by_tag(name).values(), strict=True):
            scores = [records[n].scores["pas"] for n in numbers if records[n].scores]
            assert [mean.mean for mean in summary.mean(rows).values()] == (
                [pytest.approx(mean_of(scores))] if scores else []
            )
    assert {model: len(rows) for model, rows in summary.models.items()} == {"m0": 25, "m1": 25}


def test_a_thousand_values_take_no_more_memory_than_one() -> None:
    summary = Summary(record(n, seed=n % 999) for n in range(20_000))
    tracemalloc.start()
    assert sum(map(len, summary.by_tag("seed").values())) == 20_000
    assert tracemalloc.get_traced_memory()[1] < 2e6  # 20 MB for a mask of each
    tracemalloc.stop()


def test_a_tag_that_tells_the_clips_apart_is_not_broken_down_by() -> None:
    summary = Summary(record(n, seed=n, pattern="walk") for n in range(1000))
    assert {row["tag"] for row in csv.DictReader(io.StringIO(breakdown(summary)))} == {"pattern"}
    assert summary.notes == ["tag seed has 1,000 values or more: not in breakdown.csv"]
    assert summary.tags == ("pattern", "seed")  # columns of scores.csv
