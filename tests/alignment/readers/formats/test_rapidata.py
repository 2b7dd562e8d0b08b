from __future__ import annotations

from vmmetrics.alignment.readers.read import read_study


def test_shares_of_voters_by_dimension() -> None:
    ratings = {
        "prompt": ["p", "p", "q"],
        "video1": ["a.mp4", "b.mp4", "c.mp4"],
        "video2": ["b.mp4", "c.mp4", "a.mp4"],
        "weighted_results1_Coherence": [0.75, 0.5, 0.25],
        "weighted_results2_Coherence": [0.25, 0.5, 0.75],
        "weighted_results1_Preference": [0.25, None, 1.0],
        "weighted_results2_Preference": [0.75, None, 0.0],
    }
    study = read_study({"clip": ["a.mp4", "b.mp4", "c.mp4"], "mss": [1, 2, 3]}, ratings)
    outcomes = {name: pairs.outcome.tolist() for name, pairs in study.preferences.items()}
    assert outcomes == {"Coherence": [1, 0, -1], "Preference": [-1, 1]}
    assert not study.ratings
