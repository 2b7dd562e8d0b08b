"""The whole path over every kind of bad input there is: a reason for each, and the others scored."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from tests.bad_inputs import make_all
from vmmetrics.scoring.records import read_records


def test_each_bad_clip_gets_a_reason_and_the_others_their_scores(
    vmmetrics: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make_all(tmp_path / "clips")
    empty = [bad for bad in made if not bad.discovered and bad.path.is_dir()]  # named or not, these hold no clip
    made = [bad for bad in made if bad not in empty]
    named = [bad.path for bad in [*made, *empty] if not bad.discovered]
    assert vmmetrics("score", tmp_path / "clips", *named, "--out", "run") == 3
    records = {Path(r.path or ""): r for r in read_records(tmp_path / "run")}
    wrong, bad_kinds = [], 0
    for bad in made:
        record = records.pop(bad.path)
        if bad.expected == "ok":
            fine = record.error is None and len(record.scores) == 4
        else:
            bad_kinds += 1
            fine = record.scores == {} and bool(record.error) and bool(re.search(bad.match, record.error, re.DOTALL))
        if not fine:
            wrong.append(f"{bad.name}: {record.error} {dict(record.scores)}")
    assert wrong == []
    assert not any(record.failed for record in records.values())  # what else the makers left lying there
    assert bad_kinds >= 40
    with (tmp_path / "run" / "scores.csv").open(newline="") as file:
        assert sum(bool(row["error"]) for row in csv.DictReader(file)) == bad_kinds
    said = capsys.readouterr().err
    assert f"{bad_kinds} of {len(made) + len(records)} clips failed" in said
    assert all(f"no clips in {bad.path}" in said for bad in empty)
    assert vmmetrics("score", tmp_path / "clips", *named, "--out", "run", "--allow-failures") == 0
