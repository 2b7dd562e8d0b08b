from __future__ import annotations

from vmmetrics.alignment.readers.read import read_study


def test_a_comparison_without_labels_is_no_preference() -> None:
    ratings = {
        "video_0": ["a.mp4", "b.mp4", "c.mp4", "a.mp4"],
        "video_1": ["b.mp4", "c.mp4", "a.mp4", "c.mp4"],
        "label_0": [1, 0.5, 0, None],
        "label_1": [0, 0.5, 1, None],
    }
    study = read_study({"clip": ["a.mp4", "b.mp4", "c.mp4"], "mss": [1, 2, 3]}, ratings)
    assert study.preferences["preference"].outcome.tolist() == [1, 0, -1]
