"""The journal of answers: what is acknowledged stays, the study is fixed by it, and raters can be forgotten."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rating.made import filled, study, take_part
from vmmetrics.errors import SetupError
from vmmetrics.rating.export import export, forget
from vmmetrics.rating.journal import AnswerJournal, read_state
from vmmetrics.rating.sessions import RaterSessions
from vmmetrics.rating.study import read_study


def test_one_process_writes_and_others_read(tmp_path: Path) -> None:
    made = study(tmp_path)
    with AnswerJournal(made) as journal:
        take_part(RaterSessions(journal, clock=None))
        (session,) = read_state(made).sessions.values()
        assert session.finished
        command = [sys.executable, "-m", "vmmetrics", "rate", "forget", str(made.path), session.rater]
        refused = subprocess.run(command, capture_output=True, text=True)  # locks are between processes
        assert refused.returncode == 2 and "by another process" in refused.stderr
    assert subprocess.run(command).returncode == 0


def test_a_study_is_fixed_by_its_first_session(tmp_path: Path) -> None:
    made = study(tmp_path)
    record = json.loads((made.path / "study.json").read_text())
    record["settings"]["rules"]["gold"] = 0
    (made.path / "study.json").write_text(json.dumps(record))
    filled(read_study(made.path), 1)  # before the first session rules may be edited
    record["settings"]["rules"]["gold"] = 2
    (made.path / "study.json").write_text(json.dumps(record))
    for use in (AnswerJournal, read_state):
        with pytest.raises(SetupError, match=r"settings\.rules\.gold: 2 \(now\), 0 \(at the first session\)"):
            use(read_study(made.path))


def test_a_torn_line_is_cut_and_the_rest_stays(tmp_path: Path) -> None:
    made = filled(study(tmp_path), 1)
    path = made.path / "answers.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind":"answer","id":"ab')
    assert len(read_state(made).sessions) == 1
    with AnswerJournal(made) as journal:
        assert "unfinished line" in journal.warnings[0]
        assert next(iter(journal.state.sessions.values())).finished
    assert path.read_bytes() == whole


def test_a_damaged_line_costs_one_answer(tmp_path: Path) -> None:
    made = filled(study(tmp_path, pay=2.0), 1)
    path = made.path / "answers.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], lines[4][:40] + b"\n", *lines[5:]]))
    with AnswerJournal(made) as journal:
        assert "line 5 is damaged" in journal.warnings[0]
        (session,) = journal.state.sessions.values()
    assert session.finished and len(session.answers) == len(session.trials) - 1
    export(made, made.path / "export")
    assert ",1,2.0," in (made.path / "payments.csv").read_text()


def test_a_line_of_something_else_is_refused(tmp_path: Path) -> None:
    made = filled(study(tmp_path), 1)
    with (made.path / "answers.jsonl").open("a") as file:
        file.write('{"kind":"vote"}\n')
    with pytest.raises(SetupError, match="kind 'vote'"):
        read_state(made)


def test_a_rater_who_asks_is_forgotten_everywhere(tmp_path: Path) -> None:
    made = study(tmp_path, votes=9)
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None)
        gone = take_part(sessions, PROLIFIC_PID="p1")
        kept = take_part(sessions, PROLIFIC_PID="p2")
    export(made, made.path / "export")
    export(made, tmp_path / "elsewhere")
    answers = len(gone.answers)
    assert forget(made, gone.rater) == answers
    everything = b"".join(
        path.read_bytes() for folder in (made.path, tmp_path / "elsewhere") for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".mp4"
    )  # fmt: skip
    for trace in (gone.rater, gone.session, gone.token, "p1", *(answer.id for answer in gone.answers.values())):
        assert trace.encode() not in everything
    assert kept.rater.encode() in everything
    state = read_state(made)
    assert [number for _, number in state.forgotten] == [answers]
    assert set(state.sessions) == {kept.session}
    summary = json.loads((tmp_path / "elsewhere" / "summary.json").read_text())
    assert (summary["withdrawn"], summary["forgotten_answers"], summary["sessions"]) == (1, answers, 1)
    with pytest.raises(SetupError, match="no rater"):
        forget(made, gone.rater)
    filled(made, 1)
