"""Pairs chosen by the answers so far: most of a session, none of the figures of agreement, and an end when known."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.rating.made import study, take_part
from vmmetrics.rating.export import export
from vmmetrics.rating.journal import AnswerJournal, read_state
from vmmetrics.rating.results import Results
from vmmetrics.rating.sessions import RaterSessions
from vmmetrics.rating.study import Settings

CHECKS = {"gold": 0, "traps": 0, "repeats": 0, "training": 0}


def test_chosen_pairs_are_most_of_a_session_and_drawn_ones_alone_show_agreement(tmp_path: Path) -> None:
    made = study(tmp_path, "pair", prompts=1, models=8, items=10, votes=99, active=0.8, **CHECKS)
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        for _ in range(6):
            session = take_part(sessions)
            assert Counter(trial.kind for trial in session.trials) == {"active": 8, "item": 2}
            items = [trial.item for trial in session.trials]
            assert len(set(items)) == 10  # of 28 pairs
    results = export(made, made.path / "export")
    assert len(results.counted) == 6
    assert len(results.preferences("motion")) == 60
    assert results.table("motion")[2].shape[1] == 6 and (~np.isnan(results.table("motion")[2])).sum() == 12
    pairs = list(csv.DictReader((made.path / "export" / "pairs.csv").read_text().splitlines()))
    assert len(pairs) == 12
    assert len((made.path / "export" / "comparisons.jsonl").read_text().splitlines()) == 60


def test_pairs_in_hand_are_not_chosen_again(tmp_path: Path) -> None:
    made = study(tmp_path, "pair", prompts=1, models=8, items=10, votes=99, active=0.8, **CHECKS)
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        first, second = take_part(sessions, upto=0), take_part(sessions, upto=0)
        chosen = [{t.item for t in one.trials if t.kind == "active"} for one in (first, second)]
        assert not chosen[1] & {t.item for t in first.trials}
        assert all(len(one) == 8 for one in chosen)


def test_a_study_stops_when_strengths_are_known(tmp_path: Path) -> None:
    made = study(tmp_path, "pair", prompts=1, models=4, items=6, votes=99, stop_error=0.6, **CHECKS)
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        while sessions.view("")["step"] != "full":
            take_part(sessions)
        assert 2 < len(sessions.state.sessions) < 40
    errors = Results.of(made, read_state(made)).strengths("motion")
    assert errors is not None and errors.error.max() <= 0.6


@pytest.mark.parametrize("more", [{"active": 0.9}, {"active": -0.1}])
def test_what_cannot_be_chosen(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"share from 0 to 0\.8"):
        Settings(**{"design": "pair", "contact": "c", "licence": "l", **more})
