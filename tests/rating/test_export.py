"""Exports: read by ``align`` and ``cas label`` without a flag; what does not count stays, with its reason."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.rating.made import QUESTIONS, body, filled, hash_of, rightly, sources, study
from vmmetrics.alignment import read_study
from vmmetrics.cas.label.comparisons import read_comparisons
from vmmetrics.errors import SetupError
from vmmetrics.rating import DESIGNS
from vmmetrics.rating.designs.ccr import Ccr
from vmmetrics.rating.export import export, summary
from vmmetrics.rating.journal import AnswerJournal, read_state
from vmmetrics.rating.results import Results
from vmmetrics.rating.sessions import Consent, RaterSessions
from vmmetrics.rating.standards import clauses
from vmmetrics.rating.study import Settings, Study, new_study
from vmmetrics.rating.trials import Trial
from vmmetrics.utils.statistics.bradley_terry import fit_strengths
from vmmetrics.utils.statistics.preferences import LEFT, RIGHT
from vmmetrics.utils.tables import read_rows

RunCommand = Callable[..., int]


@pytest.fixture
def vmmetrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunCommand:
    from vmmetrics.cli.main import main

    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> int:
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in arguments])
        return int(stop.value.code or 0)

    return run


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def scores(made: Study, path: Path) -> Path:
    """Write scores that follow what the raters say."""
    lines = [f"{clip.clip},{hash_of(clip.id) % 5 + 0.01 * hash_of(clip.id)},{clip.model}" for clip in
             made.clips.values()]  # fmt: skip
    path.write_text("\n".join(["clip,mine,model", *lines, ""]))
    return path


def test_the_table_has_the_vote_of_every_rater_on_every_item(tmp_path: Path) -> None:
    made = filled(study(tmp_path, votes=5), 6)
    results = Results.of(made, read_state(made))
    items, raters, votes = results.table("motion")
    given = {}
    for session in results.counted:
        for at, answer in session.answers.items():
            if session.trials[at].kind == "item":
                given[session.trials[at].item, session.rater] = answer.values["motion"]
    assert [item.key for item in items] == [key for key in results.design.items if any(key == k for k, _ in given)]
    expected = [[given.get((item.key, rater), np.nan) for rater in raters] for item in items]
    np.testing.assert_array_equal(votes, expected)
    assert np.isnan(votes).any() and len(given) == (~np.isnan(votes)).sum()


def add(made: Study, answers: Callable[[Any, Any, int], int], times: int = 1, seconds: float = 1.0) -> list[str]:
    """Let raters of another kind take part; return them."""
    raters = []
    with AnswerJournal(made) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        for number in range(times):
            token = f"{number:032x}"
            lines = sessions.begin(Consent(token, made.consent, True))
            session = sessions.session(token)
            assert session is not None
            for at in range(len(session.trials)):
                value = answers(sessions.design, session, at)
                lines += sessions.answer(token, body(session, at, value, seconds=seconds))
            journal.write(lines)
            raters.append(session.rater)
    return raters


def test_align_reads_ratings_without_a_flag(tmp_path: Path, vmmetrics: RunCommand, capsys: Any) -> None:
    made = filled(study(tmp_path, items=12, votes=9), 5)
    export(made, made.path / "export")
    mine, ratings = scores(made, tmp_path / "s.csv"), made.path / "export" / "ratings.csv"
    assert vmmetrics("align", mine, ratings, "--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert "motion" in json.dumps(report)
    assert vmmetrics("align", mine, ratings, "--dry-run") == 0
    said = capsys.readouterr().out
    assert "12" in said and "rater" in said


@pytest.mark.parametrize("design", DESIGNS)
def test_align_reads_what_raters_said(design: str, tmp_path: Path) -> None:
    made = filled(study(tmp_path, design, items=12, votes=9), 3)
    kind = export(made, made.path / "export").design
    departs = {"dcr": "departs from ITU-T P.910 (10/2023), 8.2", "ccr": "8.3, by which"}
    departs |= dict.fromkeys(("moments", "questions"), "no clause")
    said = (made.path / "export" / "standards.md").read_text("utf-8").splitlines()[2]
    assert departs.get(design, "pair" if design == "pair" else "8.1") in said
    assert ("not met" in said) is (design in departs)
    ratings = made.path / "export" / ("ratings.csv" if kind.opinions else "pairs.csv")
    asked = tuple(made.settings.questions) if kind.opinions else ("preference",)
    read = read_study(scores(made, tmp_path / "s.csv"), ratings, pairing={"mine": asked})
    ranks = {clip.clip: hash_of(clip.id) for clip in made.clips.values()}
    assert (*read.ratings, *read.preferences) == asked and bool(read.preferences) != kind.opinions
    for dimension in read.ratings:
        assert {*read.clips} == {made.clips[key].clip for key in kind.items}
        assert read.ratings[dimension].shape[1] == 3
        expected = [1 + ranks[clip] % 5 for clip in read.clips]
        if kind.facts:
            items = {made.clips[key].clip: Trial("item", key, (key,)) for key in kind.items}
            expected = [float(ranks[clip] % 2 == kind.right(items[clip], dimension)) for clip in read.clips]
        expected = 1 - np.array(expected) / 5 if kind.marks else np.array(expected)
        assert read.ratings[dimension] == pytest.approx(np.tile(expected[:, None], 3), abs=1e-5)
    for pairs in read.preferences.values():
        ahead = [ranks[read.clips[a]] > ranks[read.clips[b]] for a, b in zip(pairs.left, pairs.right, strict=True)]
        assert len(ahead) == 12 * 3 and (pairs.outcome == np.where(ahead, LEFT, RIGHT)).all()


def test_means_of_comparisons_are_of_the_second_against_the_first(tmp_path: Path) -> None:
    made = filled(study(tmp_path, "ccr", items=12, votes=9), 3)
    out = made.path / "export"
    export(made, out)
    ranks = {clip.clip: hash_of(clip.id) for clip in made.clips.values()}
    means = rows(out / "cmos.csv")
    assert len(means) == 12 and {row["votes"] for row in means} == {"3"}
    for row in means:
        assert float(row["cmos"]) == min(max(ranks[row["right"]] - ranks[row["left"]], -3), 3)
    words = {row["outcome"] for row in rows(out / "pairs.csv")}
    assert words <= set(Ccr.outcomes.values()) and "much worse" in words
    for row in rows(out / "pairs.csv"):
        assert ("better" in row["outcome"]) == (ranks[row["right"]] > ranks[row["left"]])


def test_align_and_cas_label_read_pairs_without_a_flag(tmp_path: Path, vmmetrics: RunCommand, capsys: Any) -> None:
    made = filled(study(tmp_path, "pair", items=12, votes=9), 5)
    out = made.path / "export"
    export(made, out)
    assert vmmetrics("align", scores(made, tmp_path / "s.csv"), out / "pairs.csv", "--format", "json") == 0
    assert "preference" in capsys.readouterr().out
    assert vmmetrics("cas", "label", out / "comparisons.jsonl", "--clips", out / "clips.csv", "--out", "l.jsonl") == 0
    labels = [json.loads(line) for line in (tmp_path / "l.jsonl").read_text().splitlines()]
    assert len(labels) == 12 and {label["group"] for label in labels} == {"m0", "m1", "m2"}
    compared = read_comparisons([out / "comparisons.jsonl"]).rows
    assert len(compared) == len(rows(out / "pairs.csv")) == 12 * 5
    named = {(row["left"], row["right"], row["rater"]): row["outcome"] for row in rows(out / "pairs.csv")}
    outcomes = {1: "left", 0: "tie", -1: "right"}
    assert all(named[one.left, one.right, str(one.rater)] == outcomes[one.outcome] for one in compared)
    fit = fit_strengths(compared)
    by_clip = {row["clip"]: float(row["strength"]) for row in rows(out / "strengths.csv")}
    # ratings say by which id; every strength is the fit's
    assert {clip: round(float(value), 3) for clip, value in zip(fit.items, fit.strength, strict=True)} == {
        clip: round(value, 3) for clip, value in by_clip.items()
    }


@pytest.mark.parametrize("start", ["=", "-", "+", "@", "'="])
def test_names_that_a_spreadsheet_would_take_for_formulas_are_read_back_as_they_are(
    start: str, tmp_path: Path, vmmetrics: RunCommand
) -> None:
    clips = [replace(one, clip=f"{start}{one.clip}", prompt=f"{start}{one.prompt}") for one in sources(tmp_path / "v")]
    for design, name, column in (("acr", "ratings.csv", "clip"), ("pair", "pairs.csv", "left")):
        settings = Settings(design, "lab@example.org", "ours", QUESTIONS, votes=9, items=12)
        made = filled(new_study(tmp_path / design, clips, settings), 4)
        export(made, made.path / "export")
        prompts = {one.clip: one.prompt for one in clips}
        read = read_rows(made.path / "export" / name)
        assert read and all(prompts[row[column]] == row["prompt"] for row in read)
    out = tmp_path / "pair" / "export"
    assert vmmetrics("cas", "label", out / "comparisons.jsonl", "--clips", out / "clips.csv", "--out", "l.jsonl") == 0
    labels = [json.loads(line) for line in (tmp_path / "l.jsonl").read_text().splitlines()]
    assert {label["clip"] for label in labels} == {one.clip for one in clips}
    assert {label["group"] for label in labels} == {"m0", "m1", "m2"}


def test_opinion_scores_are_means_with_students_interval(tmp_path: Path) -> None:
    made = filled(study(tmp_path, items=12, votes=9), 4)
    export(made, made.path / "export")
    votes: dict[str, list[int]] = {}
    for row in rows(made.path / "export" / "ratings.csv"):
        votes.setdefault(row["clip"], []).append(int(row["motion"]))
    listed = rows(made.path / "export" / "mos.csv")
    assert len(listed) == 12
    for row in listed:
        assert float(row["mos"]) == pytest.approx(np.mean(votes[row["clip"]]), abs=1e-4)
        assert int(row["votes"]) == 4 == len(votes[row["clip"]])
        assert float(row["low"]) <= float(row["mos"]) <= float(row["high"])
        assert row["prompt"].startswith("a square") and row["model"] in ("m0", "m1", "m2")


def test_a_mean_and_its_interval_by_hand(tmp_path: Path) -> None:
    made = study(tmp_path, items=12, votes=9, gold=0, traps=0, repeats=0)
    ratings = iter([2] * 12 + [3] * 12 + [4] * 12 + [4] * 12)
    add(made, lambda *_: next(ratings), 4)
    opinions, _ = Results.of(made, read_state(made)).opinions("motion")
    assert opinions == []  # each gave one answer throughout: excluded
    results = Results.of(made, read_state(made))
    every = Results(made, results.design, results.state, results.judged, list(results.state.sessions.values()))
    one = every.opinions("motion")[0][0]
    # mean of 2, 3, 4, 4 = 3.25; deviation 0.9574; t(0.975, 3) = 3.1824; half = 3.1824 * 0.9574 / 2 = 1.5235
    assert (one.mean, one.votes) == (3.25, 4)
    assert one.deviation == pytest.approx(0.9574, abs=1e-4)
    assert one.low == pytest.approx(3.25 - 1.5235, abs=1e-3)


def test_excluded_answers_stay_and_say_why(tmp_path: Path) -> None:
    made = filled(study(tmp_path, items=12, votes=9), 3)
    (lazy,) = add(made, lambda _, session, at: 4 if session.trials[at].expected == 5 else 5, 1, seconds=0.1)
    results = export(made, made.path / "export")
    out = made.path / "export"
    assert lazy not in {row["rater"] for row in rows(out / "ratings.csv")}
    assert len({row["rater"] for row in rows(out / "ratings.csv")}) == 3
    own = [row for row in rows(out / "answers.csv") if row["rater"] == lazy]
    assert len(own) == 12 + 3 + 2 + 2
    for reason in ("traps_missed", "gold_missed", "straight_lining", "seconds_to_vote"):
        assert all(reason in row["excluded"] for row in own)
    assert Counter(row["kind"] for row in own) == {"item": 12, "gold": 3, "trap": 2, "repeat": 2}
    assert all("in disorder" in row["clip"] for row in own if row["kind"] == "gold")
    (line,) = [row for row in rows(out / "sessions.csv") if row["rater"] == lazy]
    assert (line["counts"], line["gold_missed"], line["gold_missed_passed"]) == ("0", "3", "0")
    numbers = summary(results)
    assert (numbers["finished"], numbers["counted"]) == (4, 3)
    assert numbers["flagged"]["straight_lining"] == 1


def test_payments_are_by_work_and_platform_ids_stay_out_of_the_export(tmp_path: Path) -> None:
    made = study(tmp_path, votes=9, pay=1.5, currency="EUR")
    filled(made, 1, PROLIFIC_PID="person1", SESSION_ID="s9")
    filled(made, 1, upto=2, PROLIFIC_PID="person2")
    (lazy,) = add(made, lambda *_: 5)
    export(made, made.path / "export")
    sheet = {row["participant"]: row for row in rows(made.path / "payments.csv")}
    assert (sheet["person1"]["amount"], sheet["person1"]["session_of_platform"]) == ("1.5", "s9")
    assert sheet["person2"]["amount"] == "0.0"
    assert sheet[""]["rater"] == lazy and sheet[""]["amount"] == "1.5"  # excluded, and paid
    assert (made.path / "payments.csv").stat().st_mode & 0o777 == 0o600
    text = "".join(path.read_text() for path in (made.path / "export").iterdir())
    assert "person1" not in text and "s9" not in text


def test_several_dimensions_are_columns_and_pairs_have_a_row_each(tmp_path: Path) -> None:
    for design, name in (("acr", "ratings.csv"), ("pair", "pairs.csv")):
        made = study(tmp_path / design, design, questions={"motion": "", "integrity": "Do things keep their form?"})
        with AnswerJournal(made) as journal:
            sessions = RaterSessions(journal, clock=None, seed=0)
            token = "0" * 32
            lines = sessions.begin(Consent(token, made.consent, True))
            session = sessions.session(token)
            assert session is not None
            for at in range(len(session.trials)):
                value = rightly(sessions.design, session, at)
                lines += sessions.answer(token, body(session, at, 0, values={"motion": value, "integrity": value}))
            journal.write(lines)
        export(made, made.path / "export")
        first = rows(made.path / "export" / name)[0]
        assert {"motion", "integrity"} <= first.keys() if design == "acr" else first["dimension"] == "motion"
        assert (made.path / "export/comparisons-integrity.jsonl").exists() == (design == "pair")


def test_an_export_takes_the_place_of_its_own_kind_alone(tmp_path: Path) -> None:
    made = filled(study(tmp_path), 1)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(SetupError, match="holds other files"):
        export(made, tmp_path / "mine")
    for _ in range(2):
        export(made, tmp_path / "out")
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_clauses_say_what_is_met(tmp_path: Path) -> None:
    made = filled(study(tmp_path, items=12, votes=30, ethics="IRB 7"), 14)
    few = {one.source: one for one in clauses(Results.of(made, read_state(made)))}
    assert few["ITU-R BT.500-15, 2.5.1"].met is False
    filled(made, 1)
    enough = {one.source: one for one in clauses(Results.of(made, read_state(made)))}
    assert enough["ITU-R BT.500-15, 2.5.1"].met is True
    assert enough["Ethics"].text == "Approval: IRB 7."
    assert enough["ITU-T P.910, instructions and screening"].met is None
    assert all(one.text.endswith(".") for one in enough.values())
    empty = study(tmp_path / "empty", "pair", training=0, traps=0)
    nothing = {one.source: one for one in clauses(Results.of(empty, read_state(empty)))}
    short = new_study(tmp_path / "s", sources(tmp_path / "v", 2, 2, 4), Settings("acr", "c", "l", QUESTIONS))
    said = {one.source: one for one in clauses(Results.of(short, read_state(short)))}
    gold = said["ITU-T P.910 crowdsourcing, gold and trapping items"]
    assert gold.met is False and "has 0 gold items" in gold.text
    assert nothing["ITU-T P.910, training"].met is False and nothing["Prolific, checks"].met is False


def test_a_study_without_answers_has_a_status(tmp_path: Path, vmmetrics: RunCommand, capsys: Any) -> None:
    made = study(tmp_path)
    assert vmmetrics("rate", "status", made.path, "--format", "json") == 0
    numbers = json.loads(capsys.readouterr().out)
    assert (numbers["votes"], numbers["votes_to_come"], numbers["sessions_to_come"]) == (0, 36, 6)
    assert vmmetrics("rate", "export", made.path) == 0
    filled(made, 2)
    for form in ("text", "csv", "markdown", "latex"):
        assert vmmetrics("rate", "status", made.path, "--format", form) == 0
    assert vmmetrics("rate", "check", made.path, "--honest", 4, "--lazy", 1, "--at-random", 0, "--turned", 1) == 0
    said = capsys.readouterr().out
    assert "honest" in said and "sessions of" in said


def test_new_makes_a_study_of_a_folder_and_of_a_run(tmp_path: Path, vmmetrics: RunCommand, capsys: Any) -> None:
    study(tmp_path)  # for its clips
    common = ("--design", "pair", "--contact", "lab@example.org", "--licence", "ours")
    for model in ("a", "b"):
        (tmp_path / "v" / model).mkdir(parents=True)
        shutil.copy(tmp_path / "clips" / "m0-0.npy", tmp_path / "v" / model / "a square moves to the right-0.npy")
    assert vmmetrics("rate", "new", "s1", "--clips", "v", *common) == 0
    assert "2 clips, 1 items" in capsys.readouterr().err
    assert vmmetrics("rate", "new", "s5", "--clips", "v", *common, "--within-model") == 2
    assert not (tmp_path / "s5").exists()
    assert "share a prompt" in capsys.readouterr().err
    assert vmmetrics("rate", "new", "s2", "--clips", "v", *common, "--detect", "0.2", "0.8") == 2
    assert "cannot tell" in capsys.readouterr().err
    assert vmmetrics("rate", "new", "s1", "--clips", "v", *common) == 2
    assert vmmetrics("rate", "new", "s3", "--clips", "v", *common, "--question", "no text") == 2
    for names in (("model",), ("Clip",), ("left_stalls",), ("motion", "motion"), ("motion", "Motion")):
        capsys.readouterr()
        asked = [one for name in names for one in ("--question", f"{name}=How good is it?")]
        assert vmmetrics("rate", "new", "s3", "--clips", "v", *common, *asked) == 2
        assert "another name" in " ".join(capsys.readouterr().err.split()) and not (tmp_path / "s3").exists()
    assert vmmetrics("rate", "new", "s4", "--clips", "nowhere", *common) == 2
    assert vmmetrics("rate", "serve", "nowhere") == 2
    assert vmmetrics("rate", "serve", "s1", "--host", "0.0.0.0") == 2  # noqa: S104
    assert vmmetrics("rate", "serve", "s1", "--public-url", "https://rate.example.org") == 2
    assert "--behind-proxy" in capsys.readouterr().err
