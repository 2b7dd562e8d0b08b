"""The design of yes/no questions: from the files of a library to ratings that align compares with models' answers."""

from __future__ import annotations

import csv
import json
import secrets
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.rating.made import body, filled, frames, study
from vmmetrics.alignment.readers.read import read_study
from vmmetrics.cli.main import main
from vmmetrics.errors import SetupError
from vmmetrics.rating.designs import design_of
from vmmetrics.rating.designs.questions import NO, YES, dimensions, questions_of
from vmmetrics.rating.export import export
from vmmetrics.rating.flags import own_criteria
from vmmetrics.rating.journal import AnswerJournal
from vmmetrics.rating.sessions import Consent, RaterSessions
from vmmetrics.rating.study import read_study as read_rating_study
from vmmetrics.rating.trials import Trial

THINGS = ("horse", "kettle", "glacier", "violin", "tractor", "jellyfish")


def write_library(folder: Path) -> None:
    """Six prompts, the first without a question on its end, the second with two steps."""
    entries = [{"index": f"{n:04d}", "prompt": f"A {thing} turns around."} for n, thing in enumerate(THINGS, 1)]
    (folder / "list.json").write_text(json.dumps(entries))
    rows: list[dict[str, str]] = []
    for n, thing in enumerate(THINGS, 1):
        of = {
            "subject": ("Is there a {}?", "yes"), "step": ("Does the {} turn?", "yes"),
            "end": ("Has the {} the same side in front at the end?", "no"), "foil": ("Is the {} blue?", "no"),
        }  # fmt: skip
        rows += [
            {"prompt": f"{n:04d}", "kind": kind, "question": text.format(thing), "answer": answer}
            for kind, (text, answer) in of.items() if (n, kind) != (1, "end")
        ]  # fmt: skip
    rows.append({"prompt": "0002", "kind": "step", "question": "Does it turn once?", "answer": "no"})
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def run(*arguments: object) -> int:
    try:
        main(list(map(str, arguments)))
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of two models' clips of the prompts, and one clip of no prompt, made by the command."""
    monkeypatch.chdir(tmp_path)
    write_library(tmp_path)
    for model in ("a", "b"):
        (tmp_path / "clips" / model).mkdir(parents=True)
        for n in range(1, 7):
            np.save(tmp_path / "clips" / model / f"{n:04d}.npy", frames(n + 10 * (model == "b")))
    np.save(tmp_path / "clips" / "a" / "other.npy", frames(99))
    words = ("--contact", "lab@example.org", "--licence", "ours", "--votes", 3, "--items", 12)
    files = ("--prompts", "list.json", "--prompt-questions", "questions.jsonl")
    assert run("rate", "new", "study", "--clips", "clips", "--design", "questions", *words, *files) == 0
    return tmp_path / "study"


def test_clips_are_shown_with_the_questions_of_their_prompt(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rating = read_rating_study(made)
    assert list(rating.settings.questions) == ["right_subject", "right_step", "right_step2", "right_end", "right_foil"]
    design = design_of(rating)
    assert {rating.clips[key].clip for key in design.items} == {f"{m}/{n:04d}.npy" for m in "ab" for n in range(1, 7)}
    asked = {rating.clips[key].clip: design.asked(Trial("item", key, (key,))) for key in design.items}
    assert asked["a/0002.npy"]["right_step2"] == "Does it turn once?" and "right_step2" not in asked["a/0003.npy"]
    assert asked["b/0001.npy"].keys() == {"right_subject", "right_step", "right_foil"}
    assert len({tuple(questions) for questions in asked.values()}) > 1  # the order does not tell the foil
    with AnswerJournal(rating) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        token = secrets.token_hex(16)
        sessions.begin(Consent(token, rating.consent, True))
        view = sessions.view(token)
        session = sessions.session(token)
        assert session is not None
        trial = session.trials[0]
        assert view["trial"]["questions"] == design.asked(trial)
        for values in ({"right_subject": YES}, dict.fromkeys(rating.settings.questions, YES)):
            if values.keys() != view["trial"]["questions"].keys():
                with pytest.raises(ValueError, match="expected one of"):
                    sessions.answer(token, body(session, 0, 0, values=values))
        assert all(one["questions"] for one in view["training"])


def test_a_gold_item_asks_for_what_is_not_there(made: Path) -> None:
    design = design_of(read_rating_study(made))
    rng = np.random.default_rng(0)
    for clip in design.gold:
        trial = design.gold_trial(clip, rng)
        own, other = design.items[clip], design.items[trial.item]
        assert trial.media == (clip,) and own.prompt != other.prompt and trial.expected == NO
        assert not {thing for thing in THINGS if thing in own.prompt} & {
            t for t in THINGS if t in str(design.asked(trial))
        }
        assert design.is_right(trial, NO) and not design.is_right(trial, YES)
    assert len(design.gold) == 12


def test_a_gold_item_never_asks_for_a_thing_of_the_same_noun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of three letters, and of no spaces, share nothing: the list's nouns alone tell the dogs apart."""
    monkeypatch.chdir(tmp_path)
    nouns = ("dog", "sheep dog", "man", "狗", "狗", "cup")
    phrases = ("A dog sits.", "One old dog is up.", "A man sits.", "狗跑了。", "白狗叫。", "A cup.")
    entries = [
        {"index": f"{n:04d}", "prompt": phrase, "subject": phrase, "subject_noun": noun}
        for n, (noun, phrase) in enumerate(zip(nouns, phrases, strict=True), 1)
    ]
    Path("list.json").write_text(json.dumps(entries))
    rows = [
        {"prompt": f"{n:04d}", "kind": "subject", "question": f"Is a {noun} in it?", "answer": "yes"}
        for n, noun in enumerate(nouns, 1)
    ]
    Path("questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("clips").mkdir()
    for n in range(1, 7):
        np.save(Path("clips", f"{n:04d}.npy"), frames(n))
    words = ("--contact", "lab@example.org", "--licence", "ours", "--items", 4, "--gold", 1)
    files = ("--clips", "clips", "--prompts", "list.json", "--prompt-questions", "questions.jsonl")
    assert run("rate", "new", "study", *files, "--design", "questions", *words) == 0
    design = design_of(read_rating_study(tmp_path / "study"))
    noun_of = {phrase: noun.split()[-1] for phrase, noun in zip(phrases, nouns, strict=True)}
    rng = np.random.default_rng(0)
    for clip in design.gold:
        asked = {noun_of[design.items[design.gold_trial(clip, rng).item].prompt] for _ in range(20)}
        assert noun_of[design.items[clip].prompt] not in asked
    assert len(design.gold) == 6


@pytest.mark.parametrize(
    ("rater", "straight", "gold"), [("right", True, 0), ("yes", False, 3), ("no", False, 0)]
)  # fmt: skip
def test_whoever_says_the_same_is_flagged_and_whoever_finds_all_right_is_not(
    rater: str, straight: bool, gold: int, made: Path
) -> None:
    rating = read_rating_study(made)
    with AnswerJournal(rating) as journal:
        sessions = RaterSessions(journal, clock=None, seed=0)
        token = secrets.token_hex(16)
        sessions.begin(Consent(token, rating.consent, True))
        session = sessions.session(token)
        assert session is not None
        design = sessions.design
        for at, trial in enumerate(session.trials):
            same = {"yes": YES, "no": NO}.get(rater)
            values = {name: design.right(trial, name) if same is None else same for name in design.asked(trial)}
            if trial.kind == "trap" or (trial.kind == "gold" and rater == "right"):
                values = dict.fromkeys(values, trial.expected)
            sessions.answer(token, body(session, at, 0, values=values))
        criteria = {one.name: one for one in own_criteria(design, session)}
    assert criteria["straight_lining"].passed is straight
    assert criteria["gold_missed"].value == gold
    assert criteria["traps_missed"].value == 0


def test_people_are_compared_with_a_model_by_align(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rating = filled(study(tmp_path, "questions", prompts=8, models=3, items=24, votes=9), 5)
    out = tmp_path / "export"
    design = export(rating, out).design
    with (out / "ratings.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["right_subject"] for row in rows} | {row["right_foil"] for row in rows} == {"0.0", "1.0"}
    assert Counter(row["clip"] for row in rows).most_common()[-1][1] == 5
    with (tmp_path / "clips.csv").open("w") as file:  # as 'prompts ask' writes it: a model that sees as these raters do
        table = csv.writer(file)
        table.writerow(["clip", "model", "prompt", "success", "right_subject", "right_step", "right_foil"])
        by_clip = {
            row["clip"]: [float(row[name]) for name in ("right_subject", "right_step", "right_foil")] for row in rows
        }
        for clip in rating.clips.values():
            right = by_clip[clip.clip]
            table.writerow([clip.clip, clip.model, clip.prompt, min(right), *right])
    capsys.readouterr()
    assert run("align", tmp_path / "clips.csv", out / "ratings.csv", "--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert "right_step" in json.dumps(report)
    read = read_study(tmp_path / "clips.csv", out / "ratings.csv")
    assert {"right_subject", "right_step", "right_foil"} <= set(read.ratings)
    step = read.ratings["right_step"].mean(axis=1)
    assert step == pytest.approx(read.scores["right_step"])
    assert design.facts


def test_files_that_do_not_go_together(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = questions_of(["A horse turns around.", None, "else"], tmp_path / "questions.jsonl", "list.json")
    assert list(found) == ["A horse turns around."]
    assert dimensions(found) == ["right_subject", "right_step", "right_foil"]
    with pytest.raises(SetupError, match="no question about the prompts of these clips"):
        questions_of(["else"], tmp_path / "questions.jsonl", "list.json")
    words: tuple[Any, ...] = ("--contact", "c", "--licence", "l", "--prompts", "list.json")
    wrong = ("--prompt-questions", "questions.jsonl")
    assert run("rate", "new", "s", "--clips", "clips", "--design", "acr", *words, *wrong) == 2
    assert "design acr has no --prompt-questions" in capsys.readouterr().err
    assert (
        run("rate", "new", "s", "--clips", "clips", "--design", "questions", *words, *wrong, "--question", "a=Is it?")
        == 2
    )
    assert "leave --question out" in capsys.readouterr().err
