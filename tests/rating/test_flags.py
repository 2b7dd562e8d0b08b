"""Criteria of sessions with several questions, and of short ones."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from tests.rating.made import body, rightly, study
from vmmetrics.rating import DESIGNS
from vmmetrics.rating.flags import own_criteria
from vmmetrics.rating.journal import AnswerJournal
from vmmetrics.rating.sessions import Consent, RaterSessions

QUESTIONS = {"motion": "", "integrity": "Do things keep their form?"}


@pytest.mark.parametrize("design", [name for name in DESIGNS if name not in ("vmbench5", "moments", "questions")])
def test_gold_is_judged_by_the_first_question_and_traps_by_all(design: str, tmp_path: Path) -> None:
    made = study(tmp_path, design, questions=QUESTIONS, gold=2, traps=2)
    missed = []
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        for traps in ("both", "one"):
            token = secrets.token_hex(16)
            sessions.begin(Consent(token, made.consent, True))
            session = sessions.session(token)
            assert session is not None
            for at, trial in enumerate(session.trials):
                motion = integrity = rightly(sessions.design, session, at)
                if trial.kind == "gold" or (trial.kind == "trap" and traps == "one"):
                    integrity = next(value for value in sessions.design.values[::-1] if value != trial.expected)
                values = {"integrity": integrity, "motion": motion}  # in the order of answering
                sessions.answer(token, body(session, at, 0, values=values))
            criteria = {one.name: one.value for one in own_criteria(sessions.design, session)}
            missed.append((criteria["traps_missed"], criteria["gold_missed"]))
    assert missed == [(0, 0), (2, 0)]


def test_equal_votes_of_a_short_last_session_are_no_habit(tmp_path: Path) -> None:
    made = study(tmp_path, items=11, sessions=2, gold=0, traps=0, repeats=0, votes=9)
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        token = secrets.token_hex(16)
        sessions.begin(Consent(token, made.consent, True))
        passed = []
        for number in (11, 1):
            session = sessions.session(token)
            assert session is not None and len(session.trials) == number
            for at in range(number):
                sessions.answer(token, body(session, at, 4))
            passed.append({one.name: one.passed for one in own_criteria(sessions.design, session)}["straight_lining"])
            if number > 1:
                sessions.further(token)
    assert passed == [False, True]
