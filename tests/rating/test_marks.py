"""Marks of raters: hostile ones are refused, criteria see through habits, and exports compare them with events."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.rating.made import body, filled, marks, rightly, study
from tests.rating.test_export import RunCommand, rows, scores, vmmetrics
from tests.rating.test_service import ask, base, begin
from tests.viewer.made_run import FPS, HEIGHT, WIDTH, MadeClip, write_run
from vmmetrics.alignment import read_study
from vmmetrics.errors import SetupError
from vmmetrics.rating.address import Address
from vmmetrics.rating.designs import design_of
from vmmetrics.rating.designs.moments import MarkedVote, Moments, vote_of
from vmmetrics.rating.export import export
from vmmetrics.rating.flags import judge
from vmmetrics.rating.journal import AnswerJournal, read_state
from vmmetrics.rating.moments import MOST_MARKS, Mark, span_iou
from vmmetrics.rating.sessions import Consent, RaterSessions
from vmmetrics.rating.simulation import MOMENT, RaterKind, SimulatedRater, body_of, qualities, true_moment
from vmmetrics.rating.study import ClipSource, Settings, Study, new_study
from vmmetrics.types import Event

__all__ = ["vmmetrics"]
QUESTION = {"unmarked_share": ""}
WHOLE = [0.0, 0.0, 1.0, 1.0]
GOOD = {"kind": 2, "begin": 0.1, "end": 0.3, "box": [0.1, 0.2, 0.5, 0.6]}
HOSTILE: list[Any] = [
    [GOOD | {"begin": -0.1}], [GOOD | {"end": 1e6}], [GOOD | {"begin": 0.3}], [GOOD | {"begin": 0.4}],
    [GOOD | {"end": "0.3"}], [GOOD | {"end": None}], [GOOD | {"begin": True}], [GOOD | {"end": 1e16}],
    [GOOD | {"box": [0.0, 0.0, 1.0, 1.1]}], [GOOD | {"box": [0.5, 0.0, 0.5, 1.0]}], [GOOD | {"box": [0.0, 0.0, 1.0]}],
    [GOOD | {"box": [-0.1, 0.0, 1.0, 1.0]}], [GOOD | {"box": "0,0,1,1"}], [GOOD | {"box": [0.0, 0.0, 1.0, 1.0, 1.0]}],
    [GOOD | {"kind": 0}], [GOOD | {"kind": 6}], [GOOD | {"kind": "2"}], [GOOD | {"kind": 2.5}], [GOOD | {"kind": 3}],
    [{}], [None], ["shape"], {"0": GOOD}, "x", 3, [GOOD] * (MOST_MARKS + 1), [],
]  # fmt: skip


def marked_study(folder: Path, **settings: Any) -> Study:
    given: dict[str, Any] = {"questions": QUESTION, "items": 6, "votes": 9} | settings
    return study(folder, "moments", **given)


def test_hostile_marks_are_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    service_module = pytest.importorskip("vmmetrics.rating.service")
    with AnswerJournal(marked_study(tmp_path)) as journal:
        service = service_module.Service(journal, Address(), 9999)
        service.sessions._clock = None
        token, _ = begin(service)
        session = service.sessions.session(token)

        def send(marked: Any, value: Any = 2) -> int:
            sent = body(session, 0, 0, values={"unmarked_share": value}, marks=marked)
            return int(ask(service, "POST", f"{base(service)}/answer", cookie=token, json=sent).status_code)

        assert [send(one) for one in HOSTILE] == [422] * len(HOSTILE)
        assert [send([GOOD], value) for value in (0, 1, 6, -1, "2", 2.0, None)] == [422] * 7
        assert send([GOOD | {"box": [0.0] * 6000}]) == 413
        assert session.next == 0 and not read_state(service.study).sessions[session.session].answers
        content = json.dumps(body(session, 0, 0, values={"unmarked_share": 2}, marks=[GOOD])).replace("0.3", "NaN")
        kind = {"Content-Type": "application/json"}
        answer = ask(service, "POST", f"{base(service)}/answer", cookie=token, content=content, headers=kind)
        assert answer.status_code == 400
        assert send([GOOD] * MOST_MARKS) == 200
        (stored,) = read_state(service.study).sessions[session.session].answers.values()
        assert len(stored.marks) == MOST_MARKS and stored.marks[0] == Mark(2, 0.1, 0.3, (0.1, 0.2, 0.5, 0.6))


def test_other_designs_take_no_marks(tmp_path: Path) -> None:
    with AnswerJournal(study(tmp_path)) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        sessions.begin(Consent("0" * 32, sessions.study.consent, True))
        session = sessions.session("0" * 32)
        assert session is not None
        with pytest.raises(ValueError, match="0 at most"):
            sessions.answer("0" * 32, body(session, 0, 3, marks=[GOOD]))
    with pytest.raises(SetupError, match="one question"):
        design_of(marked_study(tmp_path / "b", questions={"hands": "", "faces": ""}))


def failed(made: Study, answers: Any) -> set[str]:
    """Return the criteria that a rater fails beside three who answer rightly; ``answers`` gives value and marks."""
    filled(made, 3)
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=5)
        sessions.begin(Consent("0" * 32, made.consent, True))
        session = sessions.session("0" * 32)
        assert session is not None
        for at, trial in enumerate(session.trials):
            value, marked = answers(sessions.design, session, at, trial)
            sessions.answer("0" * 32, body(session, at, 0, values={"unmarked_share": value}, marks=marked))
        return {one.name for one in judge(sessions.design, sessions.state)[session.session] if not one.passed}


def test_habits_are_flagged_and_a_clip_without_a_fault_is_none(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"items": 10, "repeats": 4, "gold": 2, "traps": 2}

    def rater(act: Any, **more: Any) -> set[str]:
        number = len(list(tmp_path.iterdir()))
        return failed(marked_study(tmp_path / str(number), **settings | more), act)

    def obeys(design: Any, session: Any, at: int, trial: Any) -> Any:
        return (trial.expected, marks(design, session, at, trial.expected)) if trial.kind in ("trap", "gold") else None

    def whole(design: Any, session: Any, at: int) -> Any:
        return 4, [GOOD | {"kind": 4, "begin": 0.0, "end": design.seconds(session.trials[at].media), "box": WHOLE}]

    def turned(design: Any, session: Any, at: int, trial: Any) -> Any:
        value = rightly(design, session, at)
        seconds = design.seconds(trial.media)
        end = {"begin": 0.99 * seconds, "end": seconds} if trial.kind == "repeat" else {"begin": 0.0, "end": 0.1}
        return value, [GOOD | {"kind": value} | end] if value else []

    assert rater(lambda *of: obeys(*of) or (0, [])) == set()
    assert rater(lambda *of: obeys(*of) or (0, []), gold=0) == set()  # no clip may have a fault
    assert rater(lambda *of: obeys(*of) if of[3].kind == "trap" else (0, [])) == {"gold_missed"}
    alone = lambda *of: (of[3].expected, []) if of[3].kind == "trap" else obeys(*of) or (0, [])  # noqa: E731
    assert rater(alone) == set()
    with pytest.raises(ValueError, match="kind of the first mark"):
        rater(lambda *of: (of[3].expected % 5 + 1, [GOOD | {"kind": of[3].expected or 2}])
              if of[3].kind == "trap" else obeys(*of) or (0, []))  # fmt: skip
    assert rater(lambda *of: obeys(*of) if of[3].kind == "trap" else whole(*of[:3])) == {"straight_lining"}
    assert rater(turned) == {"repeats_apart"}


def test_a_raters_own_marks_are_left_out_though_others_marked_as_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, Any]] = []
    monkeypatch.setattr(Moments, "agreement", lambda _, own, others: seen.append((own, others)))

    def later(design: Any, session: Any, at: int, trial: Any) -> Any:
        value = rightly(design, session, at)
        return value, [
            one | {"begin": design.seconds(trial.media) - one["end"], "end": design.seconds(trial.media)}
            for one in marks(design, session, at, value)
        ]

    failed(marked_study(tmp_path, items=8, repeats=0), later)
    own, others = next(one for one in seen if any(vote.spans and vote.spans[0][0] for vote in one[0].values()))
    assert len(others) == 8
    for key, votes in others.items():
        assert len(votes) > 1 and [float(vote) for vote in votes] == pytest.approx([own[key]] * len(votes))
        assert all(not vote.spans or vote.spans[0][0] == 0 for vote in votes)


def test_agreement_is_of_times_and_not_of_amounts(tmp_path: Path) -> None:
    def vote(begin: float) -> MarkedVote:
        return vote_of((Mark(1, begin, begin + 1.0, (0.0, 0.0, 1.0, 1.0)),), 4.0)

    assert [one.spans[0][0] for one in (vote(0), vote(2))] == [0, 0.5] and vote_of((), 4.0) == 1.0
    rng, design = np.random.default_rng(0), design_of(marked_study(tmp_path))
    begins = {str(n): float(begin) for n, begin in enumerate(rng.uniform(0, 3, 24))}
    others = {key: [vote(begin), vote(min(3.0, begin + 0.2))] for key, begin in begins.items()}
    same = design.agreement({key: vote(begin) for key, begin in begins.items()}, others)
    apart = design.agreement({key: vote((begin + 1.5) % 3) for key, begin in begins.items()}, others)
    nothing = design.agreement(dict.fromkeys(begins, vote_of((), 4.0)), others)
    assert same and same[0] > 0.9 and apart and apart[0] < 0 and apart[1] < 0.5 and nothing is None
    assert design.steady([(vote(0), vote(2)), (vote(0), vote(0.9)), (vote_of((), 4.0), vote(1))] * 2) == (2, False)


def run_and_study(folder: Path) -> tuple[Study, Path]:
    """Return a study of the clips of a run, each with an event at its fourth and fifth frame, and others."""
    made = []
    for n in range(8):
        events = [
            Event("mss", (4, 5), "jumps", "object 1", (0.0, 0.0, WIDTH / 2, HEIGHT)),
            *(Event("tcs", (0,), "vanished", excuse="left"), Event("tcs", (), "of the whole clip")),
            Event("tcs", (2, 3, 9), "gone"),
        ]  # fmt: skip
        made.append(
            MadeClip(f"m{n % 2}/{2 * n * n}.mp4", f"m{n % 2}", f"p{n // 2}", {"mss": 0.5, "tcs": 0.4}, events=events)
        )
    run = write_run(folder / "run", made, root=folder / "clips")
    listed = [ClipSource(one.name, folder / "clips" / one.name, one.model, one.prompt) for one in made]
    asked = Settings("moments", "lab", "ours", QUESTION, items=8, votes=9, gold=0, traps=0, repeats=0, training=0)
    return new_study(folder / "study", listed, asked), run


def test_marks_are_compared_with_events_of_a_run(tmp_path: Path, vmmetrics: RunCommand, capsys: Any) -> None:
    made, _ = run_and_study(tmp_path)
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        for rater in range(4):
            token = f"{rater:032x}"
            lines = sessions.begin(Consent(token, made.consent, True))
            session = sessions.session(token)
            assert session is not None
            for at in range(len(session.trials)):  # from the fourth to the sixth frame; the last nothing, but once
                times = (4, 7) if rater < 3 else (11, 12)
                mark = {"kind": 3, "begin": times[0] / FPS, "end": times[1] / FPS, "box": WHOLE}
                value, marked = (3, [mark]) if rater < 3 or at == 0 else (0, [])
                lines += sessions.answer(token, body(session, at, 0, values={"unmarked_share": value}, marks=marked))
            journal.write(lines)
    capsys.readouterr()
    assert vmmetrics("rate", "export", "study", "--run", "run", "--out", "out") == 0
    out = tmp_path / "out"
    assert "events hit: 0.50 [0.50, 0.50]" in capsys.readouterr().err
    assert len(rows(out / "moments.csv")) == 8 * 3 + 1 and {row["kind"] for row in rows(out / "moments.csv")} == {
        "jump"
    }
    for row in rows(out / "consensus.csv"):
        assert (row["begin"], row["end"], row["raters"], row["raters_of_clip"]) == ("0.5", "0.875", "3", "4")
    events = rows(out / "events.csv")
    assert len(events) == 8 * 2 and {event["metric"] for event in events} == {"mss", "tcs"}
    for event in events:
        if event["metric"] == "mss":  # a change names its later frame: from the third frame's time to the fifth's end
            assert (float(event["begin"]), float(event["end"])) == (3 / FPS, 6 / FPS)
            assert event["raters"] == "3" and float(event["tiou"]) == pytest.approx(2 / 4)
            assert float(event["box_iou"]) == 0.5 and event["target"] == "object 1"
        else:  # frames 1 to 3 and 8 to 9: neither is marked
            assert (event["raters"], event["tiou"], event["box_iou"]) == ("0", "0.0", "")
            assert float(event["seconds"]) == pytest.approx(5 / FPS)
    figures = json.loads((out / "summary.json").read_text())["events"]
    assert figures["mss"]["moments hit"]["value"] == figures["mss"]["events hit"]["value"] == 1.0
    assert figures["tcs"]["events hit"]["value"] == 0.0 and figures["all"]["events hit"]["value"] == 0.5
    assert figures["mss"]["events hit, chance"]["value"] == pytest.approx((3 + 3) / 12, abs=0.05)  # frames of twelve
    ratings = rows(out / "ratings.csv")
    assert {round(float(row["unmarked_share"]), 3) for row in ratings} == {0.75, 0.917, 1.0}
    assert vmmetrics("rate", "export", "study") == 0 and not (made.path / "export" / "events.csv").exists()


def test_runs_of_other_clips_and_damaged_events_are_said(tmp_path: Path, vmmetrics: RunCommand, capsys: Any) -> None:
    made, run = run_and_study(tmp_path)
    filled(made, 2)
    other = write_run(tmp_path / "other", [MadeClip("x.mp4", scores={"mss": 0.5})])
    assert vmmetrics("rate", "export", "study", "--run", other) == 2
    assert "no clip of the run was marked" in capsys.readouterr().err
    lines = (run / "events.jsonl").read_text().splitlines()
    (run / "events.jsonl").write_text("\n".join([lines[0].replace("[4,5]", '["4"]'), *lines[1:], ""]))
    assert vmmetrics("rate", "export", "study", "--run", run) == 0
    assert "left out" in capsys.readouterr().err
    assert len(rows(made.path / "export" / "events.csv")) == 7 * 2
    filled(study(tmp_path / "acr"), 2)
    assert vmmetrics("rate", "export", tmp_path / "acr" / "study", "--run", run) == 2


def test_align_knows_that_less_marked_is_better(tmp_path: Path, vmmetrics: RunCommand, capsys: Any) -> None:
    made = filled(marked_study(tmp_path, items=12), 4)
    export(made, made.path / "export")
    mine, ratings = scores(made, tmp_path / "s.csv"), made.path / "export" / "ratings.csv"
    assert vmmetrics("align", mine, ratings, "--format", "json") == 0  # without a flag on its direction
    report = capsys.readouterr()
    assert "lower-is-better" not in report.out + report.err
    read = read_study(mine, ratings)
    assert list(read.ratings) == ["unmarked_share"]
    column = read.ratings["unmarked_share"].mean(axis=1)
    assert 0 <= column.min() < column.max() <= 1
    assert np.corrcoef(column, np.asarray(read.scores["mine"]))[0, 1] < -0.9  # as scores() falls with the marks


def test_planted_moments_are_recovered_through_the_whole_study(tmp_path: Path) -> None:
    made = marked_study(tmp_path, prompts=6, models=4, items=24, gold=0, traps=0, repeats=0, training=0)
    rng = np.random.default_rng(0)
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        quality = qualities(sessions.design, rng)
        kinds: list[RaterKind] = ["honest"] * 8
        for number, kind in enumerate(kinds):
            token = f"{number:032x}"
            lines = sessions.begin(Consent(token, made.consent, True))
            session = sessions.session(token)
            assert session is not None
            rater = SimulatedRater(kind, quality, sessions.design, rng)
            for at in range(len(session.trials)):
                lines += sessions.answer(token, body_of(session, at, rater, 1.0))
            journal.write(lines)
    export(made, made.path / "export")
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows(made.path / "export" / "consensus.csv"):
        found.setdefault(row["clip"], []).append((float(row["begin"]), float(row["end"])))
    fits, wrong = [], 0
    for clip in made.clips.values():
        begin, seconds = true_moment(quality[clip.id]), clip.seconds
        if quality[clip.id] < -0.5:
            fits.append(span_iou([(begin * seconds, (begin + MOMENT) * seconds)], found.get(clip.clip, [])))
        elif quality[clip.id] > 1:
            wrong += clip.clip in found
    assert len(fits) >= 5 and np.mean(fits) > 0.7 and wrong == 0
    agreed = json.loads((made.path / "export" / "summary.json").read_text())["agreement"]["unmarked_share"]
    assert 0.5 < agreed["same moment"]["value"] <= 1 and agreed["tIoU"]["low"] < agreed["tIoU"]["value"]
    assert not math.isnan(agreed["α (ordinal)"]["value"])
