"""Batches as the requester site writes them: every cell quoted, inputs and answers by their prefix."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from vmmetrics.alignment.readers.read import read_groups, read_study
from vmmetrics.alignment.study import Study

BATCH = {
    "HITId": "3X", "HITTypeId": "3T", "Title": "Rate a video", "Description": "Rate", "Keywords": "video",
    "Reward": "$0.10", "CreationTime": "Mon Nov 02 01:02:03 PST 2026", "MaxAssignments": "3",
    "RequesterAnnotation": "B",
    "AssignmentDurationInSeconds": "3600", "Expiration": "", "NumberOfSimilarHITs": "", "AssignmentId": "3A",
    "WorkerId": "", "AssignmentStatus": "Submitted", "AcceptTime": "Mon Nov 02", "SubmitTime": "Mon Nov 02",
    "RejectionTime": "", "WorkTimeInSeconds": "31", "LifetimeApprovalRate": "100% (2/2)",
}  # fmt: skip
SCORES = {"clip": ["m/1.mp4", "m/2.mp4"], "mss": [0.9, 0.1]}


def batch(path: Path, rows: list[dict[str, str]]) -> Path:
    names = dict.fromkeys([*BATCH, *(name for row in rows for name in row), "Approve", "Reject"])
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(names), restval="", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows([{**BATCH, **row} for row in rows])
    return path


def answer(worker: str, clip: int, **more: str) -> dict[str, str]:
    url = f"https://bucket.example.org/m/{clip}.mp4"
    return {"WorkerId": worker, "Input.video_url": url, "Input.prompt": f"a cat {clip}", "Input.kind": "cat", **more}


def check(study: Study) -> None:
    assert study.clips == ("m/1.mp4", "m/2.mp4")
    assert study.raters["smoothness"] == ("W1", "W2")
    np.testing.assert_array_equal(study.ratings["smoothness"], [[4, 2], [5, np.nan]])


RATED = (("W1", 1, "4"), ("W2", 1, "2"), ("W1", 2, "5"))


def test_a_batch_without_what_was_rejected(tmp_path: Path) -> None:
    rows = [answer(w, c, **{"Answer.smoothness": s, "Answer.comment": "good"}) for w, c, s in RATED]
    rejected = [
        answer("W2", 2, **{"Answer.smoothness": "1", "AssignmentStatus": "Rejected"}),
        answer("W3", 2, **{"Answer.smoothness": "1", "Reject": "too fast"}),
    ]
    file = batch(tmp_path / "Batch_1_batch_results.csv", rows + rejected)
    study = read_study(SCORES, file)
    check(study)
    assert set(study.ratings) == {"smoothness"}
    assert study.prompts == ("a cat 1", "a cat 2")
    assert "Amazon Mechanical Turk: 3 assignments; 2 rejected ones were left out" in study.matching.notes
    assert (
        read_groups(study, [SCORES, file], "kind") == read_groups(study, [SCORES, file], "Input.kind") == ("cat", "cat")
    )


def test_the_clip_is_named_by_the_files_own_column(tmp_path: Path) -> None:
    rows = [{**answer(w, c, **{"Answer.smoothness": s}), "Input.preview": f"m/{3 - c}.mp4"} for w, c, s in RATED]
    study = read_study(SCORES, batch(tmp_path / "b.csv", rows), clip_column="Input.preview")
    np.testing.assert_array_equal(study.ratings["smoothness"], [[5, np.nan], [4, 2]])


@pytest.mark.parametrize(
    "form",
    [
        lambda s: {"Answer.taskAnswers": json.dumps([{"smoothness": int(s), "comment": "fine"}])},
        lambda s: {"Answer.taskAnswers": json.dumps([{"smoothness": {str(n): str(n) == s for n in range(1, 6)}}])},
        lambda s: {"Answer.taskAnswers": json.dumps([{"smoothness": {"label": s}}])},
        lambda s: {f"Answer.smoothness.{n}": str(str(n) == s).lower() for n in range(1, 6)},
        lambda s: {"Answer.smoothness": ["", "Bad", "Poor", "Fair", "Good", "Excellent"][int(s)]},
    ],
)
def test_every_form_of_an_answer(tmp_path: Path, form: object) -> None:
    assert callable(form)
    check(read_study(SCORES, batch(tmp_path / "b.csv", [answer(w, c, **form(s)) for w, c, s in RATED])))


def test_tasks_of_several_clips(tmp_path: Path) -> None:
    rows = [
        {"WorkerId": worker, "Input.video_1": "m/1.mp4", "Input.video_2": "m/2.mp4",
         "Answer.smoothness_1": first, "Answer.smoothness_2": second}
        for worker, first, second in (("W1", "4", "5"), ("W2", "2", ""))
    ]  # fmt: skip
    check(read_study(SCORES, batch(tmp_path / "b.csv", rows)))


def test_tasks_that_ask_which_of_two_is_better_are_preferences(tmp_path: Path) -> None:
    rows = [
        {"WorkerId": worker, "Input.video_1": "m/1.mp4", "Input.video_2": "m/2.mp4", "Answer.better": said}
        for worker, said in (("W1", "Video 1"), ("W2", "no preference"))
    ]
    study = read_study(SCORES, batch(tmp_path / "b.csv", rows))
    assert study.preferences["better"].outcome.tolist() == [1, 0]
    assert study.preferences["better"].raters == ("W1", "W2")
