"""The journal of answers: what is acknowledged stays, the study is fixed by it, and raters can be forgotten."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import vmmetrics.rating.export as export_module
import vmmetrics.rating.journal as journal_module
from tests.rating.made import filled, study, take_part
from vmmetrics.cli.rate import forget as forget_by_command
from vmmetrics.errors import SetupError
from vmmetrics.rating.export import export
from vmmetrics.rating.forgetting import forget
from vmmetrics.rating.journal import AnswerJournal, read_state
from vmmetrics.rating.moments import TimedEvent
from vmmetrics.rating.sessions import Consent, RaterSessions, digest
from vmmetrics.rating.study import Study, read_study
from vmmetrics.rating.trials import Session


def test_one_process_writes_and_others_read(tmp_path: Path) -> None:
    made = study(tmp_path)
    with AnswerJournal(made) as journal:
        take_part(RaterSessions(journal, clock=None, seed=0))
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
        sessions = RaterSessions(journal, clock=None, seed=0)
        gone = take_part(sessions, PROLIFIC_PID="participant-1")
        kept = take_part(sessions, PROLIFIC_PID="p2")
    export(made, made.path / "export")
    export(made, tmp_path / "elsewhere")
    answers = len(gone.answers)
    assert forget(made, gone.rater).answers == answers
    everything = b"".join(
        path.read_bytes() for folder in (made.path, tmp_path / "elsewhere") for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".mp4"
    )  # fmt: skip
    for trace in (
        gone.rater,
        gone.session,
        gone.token,
        "participant-1",
        *(answer.id for answer in gone.answers.values()),
    ):
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


def two_raters(tmp_path: Path) -> tuple[Study, Session, Session]:
    """Return a study with an export inside, a rater, and another one."""
    made = study(tmp_path, votes=9)
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        both = take_part(sessions, PROLIFIC_PID="p1"), take_part(sessions, PROLIFIC_PID="p2")
    export(made, made.path / "export")
    return made, *both


def traces(folder: Path, gone: Session) -> list[str]:
    """Return the files that still name a rater."""
    names = [one.encode() for one in (gone.rater, gone.session, gone.token, '"p1"', ",p1,")]
    return [path.name for path in folder.rglob("*") if path.is_file() and any(n in path.read_bytes() for n in names)]


def test_a_study_that_was_moved_forgets_in_its_own_exports(tmp_path: Path) -> None:
    made, gone, _ = two_raters(tmp_path)
    made.path.rename(tmp_path / "moved")
    forget(read_study(tmp_path / "moved"), gone.rater)
    assert traces(tmp_path, gone) == []


def test_payments_forget_where_there_is_no_export_any_more(tmp_path: Path) -> None:
    made, gone, _ = two_raters(tmp_path)
    shutil.rmtree(made.path / "export")
    forget(made, gone.rater)
    assert traces(tmp_path, gone) == []


@pytest.mark.parametrize("step", ["journal.write_atomically", "forgetting.write_export", "export.write_payments"])
def test_forgetting_that_was_interrupted_is_done_again(step: str, tmp_path: Path) -> None:
    made, gone, kept = two_raters(tmp_path)
    real, calls = journal_module.write_atomically, []

    def torn(*arguments: Any) -> None:
        calls.append(arguments)
        if step != "journal.write_atomically" or len(calls) > 1:
            raise KeyboardInterrupt
        real(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"vmmetrics.rating.{step}", torn)
        with pytest.raises(KeyboardInterrupt):
            forget(made, gone.rater)
    assert traces(made.path, gone) and "people.jsonl" not in traces(made.path, gone)
    forget(made, gone.rater)
    assert traces(tmp_path, gone) == []
    assert [number for _, number in read_state(made).forgotten] == [len(gone.answers)]
    assert set(read_state(made).sessions) == {kept.session}


def test_a_damaged_export_keeps_the_rater_in_no_other(tmp_path: Path) -> None:
    made, gone, _ = two_raters(tmp_path)
    export(made, tmp_path / "later")
    (made.path / "export" / "study.json").write_text("{")
    assert forget(made, gone.rater).lost == [made.path.resolve() / "export"]
    assert traces(tmp_path / "later", gone) == [] and "payments.csv" not in traces(made.path, gone)
    assert forget(made, gone.rater).lost == [made.path.resolve() / "export"]  # still there, still named


@pytest.mark.parametrize("killed", [False, True])
def test_an_export_that_was_interrupted_is_known(killed: bool, tmp_path: Path) -> None:
    made, gone, _ = two_raters(tmp_path)
    if (child := os.fork()) == 0:
        step = "write_json" if killed else "write_payments"  # in the folder that is made, or when it is there
        real = export_module.write_json

        def torn(*arguments: Any) -> None:
            if not killed or arguments[0].name == "study.json":
                os._exit(9)
            real(*arguments)

        with pytest.MonkeyPatch.context() as patch, suppress(BaseException):
            patch.setattr(export_module, step, torn)
            export(made, tmp_path / "out" / "interrupted")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert traces(tmp_path / "out", gone)
    forget(made, gone.rater)
    assert traces(tmp_path, gone) == []


def test_forgetting_waits_for_an_export(tmp_path: Path) -> None:
    made, gone, _ = two_raters(tmp_path)
    if (child := os.fork()) == 0:
        real = export_module.read_state

        def slow(of: Study) -> Any:
            state = real(of)
            (tmp_path / "read").touch()
            time.sleep(0.5)
            return state

        with pytest.MonkeyPatch.context() as patch, suppress(BaseException):
            patch.setattr(export_module, "read_state", slow)
            export(made, tmp_path / "out")
        os._exit(0)
    while not (tmp_path / "read").exists():
        time.sleep(0.01)
    forget(made, gone.rater)
    os.waitpid(child, 0)
    assert (tmp_path / "out" / "sessions.csv").exists() and traces(tmp_path, gone) == []


def test_a_study_that_is_served_is_exported(tmp_path: Path) -> None:
    made, _, _ = two_raters(tmp_path)
    with AnswerJournal(made):
        if (child := os.fork()) == 0:
            with suppress(BaseException):
                export(made, tmp_path / "out")
            os._exit(0)
        os.waitpid(child, 0)
        assert (tmp_path / "out" / "summary.json").exists()


def test_forget_says_that_events_are_to_be_exported_again(tmp_path: Path, capsys: Any) -> None:
    made = filled(study(tmp_path, "moments"), 4)
    events = {clip.sha256: [TimedEvent("pas", "x", ((0.0, 0.2),))] for clip in made.clips.values()}
    export(made, tmp_path / "with", events)
    export(made, tmp_path / "without")
    forget_by_command(made.path, next(iter(read_state(made).raters)))
    said = capsys.readouterr().err.replace("\n", "")
    assert "with: export again with --run" in said and "without: export" not in said


def test_a_part_of_an_id_is_no_rater(tmp_path: Path) -> None:
    made, gone, _ = two_raters(tmp_path)
    before = (made.path / "people.jsonl").read_bytes(), (made.path / "answers.jsonl").read_bytes()
    for wrong in (gone.session[:12], gone.token[:12], "rater", ""):
        with pytest.raises(SetupError, match="no rater"):
            forget(made, wrong)
    assert ((made.path / "people.jsonl").read_bytes(), (made.path / "answers.jsonl").read_bytes()) == before


def test_an_id_that_is_another_word_of_the_files_removes_no_other_line(tmp_path: Path) -> None:
    made = study(tmp_path, votes=9)
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        gone = take_part(sessions)
        kept = take_part(sessions, PROLIFIC_PID=gone.rater)
    path = made.path / "answers.jsonl"
    path.write_text(path.read_text().replace(gone.session, "kind"))
    forget(made, gone.rater)
    assert set(read_state(made).sessions) == {kept.session} and read_state(made).configuration
    assert kept.rater in (made.path / "people.jsonl").read_text()


def test_a_link_says_whom_to_forget(tmp_path: Path) -> None:
    made = study(tmp_path, votes=9)
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        for key in ("a" * 32, "b" * 32):
            journal.write(sessions.begin(Consent(key, made.consent, True)))
    assert forget(made, f"https://rate.example.org/s/r#r={'a' * 32}").answers == 0
    (left,) = read_state(made).sessions.values()
    assert left.token == digest("b" * 32)
    assert forget(made, "b" * 32).answers == 0 and not read_state(made).sessions


def test_damaged_lines_of_others_stay_and_the_raters_own_go(tmp_path: Path, capsys: Any) -> None:
    made, gone, kept = two_raters(tmp_path)
    path = made.path / "answers.jsonl"
    of_other, own = (
        f'{{"kind":"answer","session":"{kept.session}",#'.encode(),
        f'{{"session":"{gone.session}"#'.encode(),
    )
    path.write_bytes(path.read_bytes() + of_other + b"\n" + own + b"\n")
    forget_by_command(made.path, gone.rater)
    said = " ".join(capsys.readouterr().err.split())
    assert f"removed {len(gone.answers)} answers" in said and "answers.jsonl" in said
    assert of_other in path.read_bytes() and own not in path.read_bytes()
