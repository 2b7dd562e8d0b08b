"""Perception as a model: decisions of rendered pairs, and no answer where there is nothing to decide."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.pair_outcomes import ask, pair_of
from benchmarks.scenes import CameraSpec, MotionSpec, ObjectSpec, SceneSpec, render
from benchmarks.scenes.textures import TextureBank
from tests.bad_inputs import moving_frames, write_video
from vmmetrics.cli.main import main
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.functional.outcomes import Outcome, decider
from vmmetrics.models.frames import NO_FRAMES
from vmmetrics.models.questions import Question
from vmmetrics.perception.movers import Movers, movers_of
from vmmetrics.perception.presets import embedded_models
from vmmetrics.perception.scene import Scene
from vmmetrics.understanding.harness.models import ModelSettings, open_model
from vmmetrics.understanding.harness.perception_model import PerceptionModel
from vmmetrics.understanding.harness.statistics import pairs_of
from vmmetrics.utils.weights.manifest import shipped_list
from vmmetrics.video import read_clip
from vmmetrics.video.prompt_lists import PromptList, read_list
from vmmetrics.video.prompt_questions import read_questions, shipped_questions

PAIRS = PromptList(read_list(shipped_list("pairs")))
LEFT = {"kind": "direction", "yes": "left"}


@pytest.mark.parametrize(("kind", "seed"), [("hops", 1), ("order", 1)])
def test_both_clips_of_a_rendered_pair_are_decided(kind: str, seed: int) -> None:
    questions, scored = ask([kind], [seed], PerceptionModel(), TextureBank((), held_out=False))
    assert [question.options[question.answer or 0] for question in questions] == ["Yes", "No"]
    assert [score.value for score in pairs_of(questions, scored)[1]] == [1.0], questions


def test_paths_and_turns_are_those_that_were_rendered_before_a_panning_camera() -> None:
    motion = MotionSpec("linear", (0.1, -0.04), 0.1, 0.0, (0.35, 0.55), spin=80.0, end=30.0)
    scene = SceneSpec(
        "turns and travels",
        (320, 240),
        40,
        16.0,
        "procedural",
        CameraSpec((-0.06, 0.03)),
        (ObjectSpec("polygon", 0.2, motion),),
    )
    made = render(scene, 3, TextureBank((), held_out=False))
    movers = movers_of(Scene(Clip(made.frames, np.arange(40) / 16, 16.0), embedded_models(1)))
    (mover,) = movers.movers
    path = np.array([0.1, -0.04]) * np.minimum(np.arange(40), 30)[:, None] / 16
    assert np.hypot(*(mover.path - path).T).max() < 0.03  # of 0.2: it does not spin about its middle
    np.testing.assert_allclose(mover.turned, 80 * np.minimum(np.arange(40), 30) / 16, atol=10)
    assert np.nanmean(mover.speed[:29]) > 0.1 > 20 * np.nanmean(mover.speed[31:])


def asked(path: Path | None, reference: Mapping[str, Any]) -> Question:
    return Question("q", "v", "?", ("Yes", "No"), 0, path=path, reference=reference)


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ({}, "the question has no measure"),
        ({"measure": "left"}, "the question has no measure"),
        ({"measure": {"kind": "direction", "yes": "north"}}, "Expected a measure"),
        ({"measure": LEFT}, "nothing moves"),
    ],
)
def test_what_cannot_be_decided_is_an_error(reference: Mapping[str, Any], reason: str, tmp_path: Path) -> None:
    still = np.repeat(moving_frames(1, (96, 64)), 12, axis=0)
    answer = PerceptionModel().answer(asked(write_video(tmp_path / "still.mp4", still), reference), (), NO_FRAMES)
    assert answer.text == ""
    assert str(answer.error).startswith("no decision: ")
    assert reason in str(answer.error)


def test_clips_that_are_missing_or_broken_have_no_decision(tmp_path: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no video")
    model = PerceptionModel()
    assert model.answer(asked(None, {"measure": LEFT}), (), NO_FRAMES).error == "no decision: the clip is missing"
    unread = model.answer(asked(broken, {"measure": LEFT}), (), NO_FRAMES)
    assert str(unread.error).startswith("the clip cannot be read: ")


@pytest.mark.parametrize(("value", "text"), [(1, "Yes"), (2, "No"), (5, ""), (None, "")])
def test_an_outcome_of_neither_clip_of_a_pair_decides_nothing(
    value: int | None, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Movers, "decide", lambda *_: Outcome(value, "unclear"))
    path, model = write_video(tmp_path / "a.mp4", moving_frames(4, (96, 64))), PerceptionModel()
    measure: dict[str, Any] = {"kind": "count", "of": "hops", "yes": 1, "no": 2}
    answer = model.answer(asked(path, {"measure": measure}), (), NO_FRAMES)
    assert answer.text == text
    assert answer.error == {5: "no decision: 5 is neither 1 nor 2", None: "no decision: unclear"}.get(value)
    del measure["no"]  # then every other count is
    assert model.answer(asked(path, {"measure": measure}), (), NO_FRAMES).text == {5: "No"}.get(value, text)


def test_a_fault_in_one_clip_is_an_error_of_its_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Movers, "decide", lambda *_: [][0])
    path = write_video(tmp_path / "a.mp4", moving_frames(4, (96, 64)))
    answer = PerceptionModel().answer(asked(path, {"measure": LEFT}), (), NO_FRAMES)
    assert answer.error == "failed: IndexError: list index out of range"


def test_a_clip_is_decoded_once_for_all_of_its_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []

    def read(path: Path, **how: Any) -> Clip:
        decoded.append(path)
        return read_clip(path, **how)

    monkeypatch.setattr("vmmetrics.understanding.harness.perception_model.read_clip", read)
    path, model = write_video(tmp_path / "a.mp4", moving_frames(12, (96, 64))), PerceptionModel()
    for measure in (LEFT, {"kind": "stop", "yes": "stops"}, {"kind": "count", "yes": 1, "of": "hops"}):
        model.answer(asked(path, {"measure": measure}), (), NO_FRAMES)
    assert decoded == [path]


def test_it_is_opened_by_name_alone(tmp_path: Path) -> None:
    model = open_model(ModelSettings("perception"), [], tmp_path)
    assert (model.name, model.sees) == ("perception", False)
    with pytest.raises(SetupError, match="none of the 1 has one"):
        open_model(ModelSettings("perception"), [asked(None, {})], tmp_path)
    with pytest.raises(ValueError, match="perception"):
        ModelSettings("perception:fast")


def test_a_run_records_decisions_and_reasons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_video(tmp_path / "a.mp4", np.repeat(moving_frames(1, (96, 64)), 12, axis=0))
    rows = [
        {"id": "1", "video": "a.mp4", "text": "Left?", "options": ["Yes", "No"], "answer": 0, **more}
        for more in ({"reference": {"measure": LEFT}}, {"id": "2"})
    ]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    command = ["understand", "run", "custom", "--model", "perception", "--data", str(tmp_path / "q.jsonl")]
    for _ in range(2):
        with pytest.raises(SystemExit) as stopped:
            main([*command, "--out", str(tmp_path / "out"), "--retry-errors"])
        out, messages = capsys.readouterr()
        assert stopped.value.code in (None, 0), messages
        assert "got no answer" not in messages and "without a decision, counted as wrong: 2" in out
    assert "2 of them answered before" in messages
    lines = map(json.loads, (tmp_path / "out" / "answers.jsonl").read_text("utf-8").splitlines())
    errors = {line["question"]: line["error"] for line in lines}
    assert errors["1"].startswith("no decision: nothing moves")
    assert errors["2"] == "no decision: the question has no measure"


def test_shipped_pairs_are_asked_of_perception(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clips").mkdir()
    shipped = [row for row in read_questions(shipped_questions("pairs"), PAIRS).items() if row[1][0].measure]
    measure, scenes = pair_of("left/right", 1)
    rows = [row for number, (row,) in shipped if row.measure["kind"] == "direction" and row.measure["yes"] == "left"]
    assert measure["yes"] == "left"
    for row, scene in zip(rows, scenes, strict=False):  # the first pair of the list that is about left and right
        frames = render(scene, 1, TextureBank((), held_out=False)).frames
        write_video(tmp_path / "clips" / f"{row.prompt}.mp4", frames)
    with pytest.raises(SystemExit) as stopped:
        main(["prompts", "ask", "clips", "--prompts", "pairs", "--model", "perception", "--out", "asked"])
    assert stopped.value.code in (None, 0)
    figures = json.loads((tmp_path / "asked" / "figures.json").read_text("utf-8"))["views"]["frames"]["figures"]
    found = {(f["measure"], f["group"], f["name"]): (f["value"], f["n"], f["chance"]) for f in figures}
    assert found["pairs", "all", "all"] == found["pairs", "contrast", "direction"] == (1.0, 1, 0.25)
    assert found["accuracy", "kind", "contrast"] == (1.0, 2, 0.5)


def test_every_shipped_measure_can_be_decided_and_stands_in_both_prompts_of_its_pair() -> None:
    questions = read_questions(shipped_questions("pairs"), PAIRS)
    assert len(questions) == len(PAIRS.entries)
    for number, (one,) in questions.items():
        entry = PAIRS.entries[number]
        (other,) = questions[PAIRS.find(str(entry.twin)) or 0]
        assert (one.question, one.measure) == (other.question, other.measure)
        assert {one.answer, other.answer} == {"yes", "no"}
        if one.measure:
            decider(one.measure)
            decider({**one.measure, "yes": one.measure["no"]})
