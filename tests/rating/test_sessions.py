"""A rater's way: consent before anything is stored, resuming, answers once and in order, withdrawal."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.rating.made import body, rightly, study, take_part
from vmmetrics.errors import SetupError
from vmmetrics.rating.flags import judge
from vmmetrics.rating.journal import AnswerJournal
from vmmetrics.rating.results import Results
from vmmetrics.rating.sessions import Consent, RaterSessions, RefusedStepError
from vmmetrics.rating.trials import Session


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[RaterSessions]:
    with AnswerJournal(study(tmp_path, items=6, votes=3)) as journal:
        yield RaterSessions(journal, clock=None, seed=0)


def begin(sessions: RaterSessions, **parameters: str) -> tuple[str, Session]:
    token = secrets.token_hex(16)
    sessions.journal.write(sessions.begin(Consent(token, sessions.study.consent, True, parameters)))
    session = sessions.session(token)
    assert session is not None
    return token, session


def refused(call: Any, *arguments: Any) -> str:
    with pytest.raises(RefusedStepError) as caught:
        call(*arguments)
    return caught.value.reason


def test_nothing_is_stored_before_consent(sessions: RaterSessions) -> None:
    token = secrets.token_hex(16)
    assert sessions.view(token)["step"] == "consent"
    assert refused(sessions.begin, Consent(token, "another text", True)) == "consent"
    assert refused(sessions.begin, Consent(token, sessions.study.consent, False)) == "consent"
    assert refused(sessions.begin, Consent("short", sessions.study.consent, True)) == "invalid"
    assert sorted(path.name for path in sessions.study.path.iterdir()) == [".lock", "keys.json", "media", "study.json"]
    assert not sessions.state.sessions


def test_the_key_of_a_rater_is_nowhere_on_the_disk(sessions: RaterSessions) -> None:
    token, session = begin(sessions, PROLIFIC_PID="5f3a", STUDY_ID="s", unknown="x")
    stored = b"".join(path.read_bytes() for path in sessions.study.path.iterdir() if path.is_file())
    assert token.encode() not in stored
    journal = (sessions.study.path / "answers.jsonl").read_text()
    assert "5f3a" not in journal and '"source":"prolific"' in journal
    people = sessions.study.path / "people.jsonl"
    assert json.loads(people.read_text()) == {
        "rater": session.rater, "platform": "prolific", "participant": "5f3a", "STUDY_ID": "s",
    }  # fmt: skip
    assert people.stat().st_mode & 0o777 == 0o600
    assert refused(sessions.begin, Consent(secrets.token_hex(16), sessions.study.consent, True,
                                           {"PROLIFIC_PID": "5f3a"})) == "has_link"  # fmt: skip


def test_begun_again_with_the_same_key_it_is_the_same_session(sessions: RaterSessions) -> None:
    token, session = begin(sessions)
    assert sessions.begin(Consent(token, sessions.study.consent, True)) == []
    assert sessions.session(token) is session
    assert len(sessions.state.sessions) == 1


def test_answers_are_taken_once_and_the_last_change_counts(sessions: RaterSessions) -> None:
    token, session = begin(sessions)
    answer = body(session, 0, 2)
    assert len(sessions.answer(token, answer)) == 1
    assert sessions.answer(token, answer) == []  # a double click, or sent again after the line broke
    assert session.next == 1
    assert len(sessions.answer(token, body(session, 0, 4))) == 1  # another tab
    assert session.answers[0].values == {"motion": 4} and session.changes == 1 and session.next == 1
    assert refused(sessions.answer, token, body(session, 2, 4)) == "not_open"
    sessions.answer(token, body(session, 1, 3))
    assert refused(sessions.answer, token, body(session, 0, 4)) == "not_open"
    with pytest.raises(ValueError, match="used for another"):
        sessions.answer(token, body(session, 2, 4, id=answer["id"]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"values": {"motion": 6}}, "values"),
        ({"values": {}}, "values"),
        ({"values": {"motion": True}}, "motion"),
        ({"values": {"motion": 3, "more": 3}}, "values"),
        ({"id": "no hex"}, "id"),
        ({"seconds": float("nan")}, "seconds"),
        ({"trial": -1}, None),
        ({"clips": []}, None),
        ({"clips": [{"ended": False}]}, None),
        ({"clips": [{"ended": "yes"}]}, "ended"),
        ({"trial": "0"}, "trial"),
    ],
)
def test_what_is_no_answer_changes_nothing(change: dict[str, Any], said: str | None, sessions: RaterSessions) -> None:
    token, session = begin(sessions)
    with pytest.raises((ValueError, RefusedStepError), match=said):
        sessions.answer(token, body(session, 0, 3) | change)
    assert session.next == 0


def test_an_answer_before_the_clip_can_have_ended_is_early(tmp_path: Path) -> None:
    moment = [0.0]
    with AnswerJournal(study(tmp_path)) as journal:
        sessions = RaterSessions(journal, clock=lambda: moment[0])
        token, session = begin(sessions)
        seconds = sessions.study.seconds(session.trials[0].media[0])
        sessions.view(token)
        moment[0] += seconds * 0.5
        assert refused(sessions.answer, token, body(session, 0, 3)) == "early"
        moment[0] += seconds * 0.6
        assert sessions.answer(token, body(session, 0, 3))
        assert refused(sessions.answer, token, body(session, 1, 3)) == "early"
        moment[0] += seconds
        assert sessions.answer(token, body(session, 1, 3))


def test_a_session_goes_on_where_it_was(tmp_path: Path) -> None:
    made = study(tmp_path)
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        token, session = begin(sessions)
        journal.write(sessions.answer(token, body(session, 0, 3)))
        before = sessions.view(token)
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        assert sessions.view(token) == before
        assert before["number"] == 1
        again = sessions.session(token)
        assert again is not None
        for at in range(1, len(again.trials)):
            journal.write(sessions.answer(token, body(again, at, rightly(sessions.design, again, at))))
        view = sessions.view(token)
        assert (view["step"], view["further"], view["url"]) == ("done", False, "")
        assert refused(sessions.further, token) == "done"


def test_a_page_is_told_nothing_of_clips(sessions: RaterSessions) -> None:
    token, session = begin(sessions)
    other_token, other = begin(sessions)
    names = set()
    for at in range(len(session.trials)):
        view = sessions.view(token)
        text = json.dumps(view)
        assert not any(word in text for word in ("c0000", "m0", "m1", "square", "gold", "trap", "item", "broken"))
        names.update(view["trial"]["media"])
        identity = sessions.clip(token, view["trial"]["media"][0])
        assert identity == session.trials[at].media[0]
        assert sessions.clip(other_token, view["trial"]["media"][0]) is None
        if view["following"]:
            assert sessions.clip(token, view["following"][0]) == session.trials[at + 1].media[0]
        sessions.answer(token, body(session, at, rightly(sessions.design, session, at)))
    assert len(names) == len(session.trials)  # a clip that is shown again has another name
    assert other.next == 0
    for wrong in ("c00001", "../keys.json", "", "0" * 32):
        assert sessions.clip(token, wrong) is None


def test_withdrawn_answers_stay_and_count_for_nothing(sessions: RaterSessions) -> None:
    done = take_part(sessions)
    token, session = begin(sessions)
    sessions.answer(token, body(session, 0, 3))
    sessions.journal.write(sessions.withdraw(token))
    assert sessions.withdraw(token) == []
    assert sessions.view(token) == {"step": "withdrawn", "url": ""}
    assert refused(sessions.answer, token, body(session, 1, 3)) == "not_open"
    assert session.withdrawn and session.answers and not done.withdrawn
    assert sessions.clip(token, "0" * 32) is None
    assert refused(sessions.withdraw, secrets.token_hex(16)) == "unknown"


def test_votes_are_collected_until_there_are_enough(tmp_path: Path) -> None:
    with AnswerJournal(study(tmp_path, items=6, votes=2)) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        for _ in range(4):  # 12 clips, 2 votes each, 6 in a session
            take_part(sessions)
        assert set(sessions.state.votes(sessions.state.sessions.values()).values()) == {2}
        assert sessions.view(secrets.token_hex(16))["step"] == "full"
        assert refused(begin, sessions) == "full"


def test_items_of_sessions_that_fail_or_are_left_are_given_to_others(tmp_path: Path, monkeypatch: Any) -> None:
    with AnswerJournal(study(tmp_path, items=6, votes=1, repeats=0)) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        token, lazy = begin(sessions)
        for at in range(len(lazy.trials)):
            sessions.answer(token, body(lazy, at, 3))
        left = take_part(sessions, upto=2)
        assert items_of(take_part(sessions)) == set(sessions.design.items) - items_of(left)  # which are in hand
        assert sessions.view("")["step"] == "full"
        monkeypatch.setattr("vmmetrics.rating.trials.FIRST_MINUTES", -1.0)
        monkeypatch.setattr("vmmetrics.rating.trials.LENGTHS", -1.0)
        assert items_of(take_part(sessions)) == items_of(left)


def test_a_session_without_an_answer_holds_its_items_for_a_short_while(sessions: RaterSessions) -> None:
    _, session = begin(sessions)
    begun = datetime.fromisoformat(session.at)
    assert session.holds(begun + timedelta(minutes=14), 10.0)
    assert not session.holds(begun + timedelta(minutes=16), 10.0)
    session = take_part(sessions, upto=1)
    last = datetime.fromisoformat(session.last)
    assert session.holds(last + timedelta(minutes=29), 10.0)
    assert not session.holds(last + timedelta(minutes=31), 10.0)


def test_votes_that_agreement_excludes_are_collected_again(tmp_path: Path) -> None:
    with AnswerJournal(study(tmp_path, items=12, votes=3)) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        first, _ = take_part(sessions), take_part(sessions)
        token, session = begin(sessions)
        for at, trial in enumerate(session.trials):
            value = rightly(sessions.design, session, at)
            turned = value if trial.kind in ("gold", "trap") else 6 - value
            journal.write(sessions.answer(token, body(session, at, turned)))
        results = Results.of(sessions.study, sessions.state)
        assert session not in results.counted and first in results.counted
        assert sessions.view("")["step"] == "consent"
        take_part(sessions)
        assert sessions.view("")["step"] == "full"


def test_where_many_have_finished_the_last_are_judged_later_but_before_it_is_full(
    tmp_path: Path, monkeypatch: Any
) -> None:
    judged: list[int] = []

    def counted(design: Any, state: Any) -> Any:
        judged.append(len(state.sessions))
        return judge(design, state)

    monkeypatch.setattr("vmmetrics.rating.sessions._UNJUDGED", 2)
    monkeypatch.setattr("vmmetrics.rating.sessions.judge", counted)
    with AnswerJournal(study(tmp_path, items=12, votes=7)) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        for _ in range(6):
            take_part(sessions)
        assert judged == [0, 1, 3]
        token, lazy = begin(sessions)
        for at in range(len(lazy.trials)):
            sessions.answer(token, body(lazy, at, 3))
        assert sessions.view("")["step"] == "consent"
        assert judged[-1] == 7
        take_part(sessions)
        assert sessions.view("")["step"] == "full"


def test_nobody_has_begun_whose_participant_is_not_on_the_disk(sessions: RaterSessions, monkeypatch: Any) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("vmmetrics.rating.sessions.append_private", full)
        with pytest.raises(SetupError, match="No space left"):
            begin(sessions, PROLIFIC_PID="p1")
    assert not sessions.state.sessions and sessions.state.configuration is None
    begin(sessions, PROLIFIC_PID="p1")


def items_of(session: Session) -> set[str]:
    return {trial.item for trial in session.trials if trial.kind == "item"}


def test_whoever_has_finished_is_shown_the_way_to_be_paid(tmp_path: Path) -> None:
    link = "https://platform.example/done"
    with AnswerJournal(study(tmp_path, items=6, votes=1, sessions=3, completion_url=link)) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        token, session = begin(sessions)
        for at in range(len(session.trials)):
            sessions.answer(token, body(session, at, rightly(sessions.design, session, at)))
        assert sessions.view(token)["further"]
        take_part(sessions)  # the other half
        view = sessions.view(token)
        assert (view["step"], view["further"], view["url"]) == ("done", False, link)
        assert refused(sessions.further, token) == "full"
        sessions.withdraw(token)
        assert sessions.view(token) == {"step": "withdrawn", "url": link}


def test_a_rater_may_go_on_with_other_items(tmp_path: Path) -> None:
    with AnswerJournal(study(tmp_path, items=6, votes=9, sessions=3)) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        token, first = begin(sessions)
        assert sessions.further(token) == []  # it is under way
        for at in range(len(first.trials)):
            sessions.answer(token, body(first, at, rightly(sessions.design, first, at)))
        assert sessions.view(token)["further"] is True
        journal.write(sessions.further(token))
        second = sessions.session(token)
        assert second is not None and second.rater == first.rater and second.training == ()
        assert not items_of(first) & items_of(second)
        assert sessions.view(token)["training"] == []
