"""Questions about the prompts of clips: the file, the reading of answers, and whole runs against a scripted model."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import endpoint_server as server
from tests.bad_inputs import write_video
from vmmetrics.cli.main import main
from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Answered
from vmmetrics.rating.designs.questions import questions_of
from vmmetrics.scoring.records import records_by_name
from vmmetrics.understanding.benchmarks.prompt_questions import PromptQuestions, clip_rows, clips_of, yes_or_no
from vmmetrics.utils.endpoint import wire
from vmmetrics.utils.weights.manifest import PROMPT_LISTS, shipped_list
from vmmetrics.video.discover import discover
from vmmetrics.video.prompt_lists import PromptList, read_list
from vmmetrics.video.prompt_questions import read_questions, shipped_questions

KINDS = ("subject", "before", "step", "end", "foil")
PROMPTS, MODELS, STEP = 16, ("a", "b"), 7
RATES = {"frames": {"a": 0.95, "b": 0.8}, "single-frame": {"a": 0.8, "b": 0.7}}
"""Chance that the scripted model is right on a question about a clip of a model; half of it for every third prompt."""
FORMS = ("{letter}", "{word}.", "{word}, because the frames show it.", "{letter}. {word}", "The answer is **{word}**.")


def clip_level(model: str, prompt: int) -> int:
    """Brightness of a clip, by which the scripted model knows it."""
    return 10 + STEP * (MODELS.index(model) * PROMPTS + prompt)


def right(view: str, model: str, prompt: int, kind: str) -> bool:
    """Truth of the script: is this answer right?"""
    if view == "blind":
        return kind != "foil"  # the blind model says yes to everything
    seed = [list(RATES).index(view), MODELS.index(model), prompt, KINDS.index(kind)]
    drawn = np.random.default_rng(seed).random()
    return bool(drawn < RATES[view][model] * (0.5 if prompt % 3 == 0 else 1.0))


def write_world(folder: Path) -> None:
    """A list of prompts in two patterns, their questions, and a grey clip of each by two models."""
    tags = {"speed": "fast", "seconds": 4}
    entries = [
        {"index": f"{i + 1:04d}", "prompt": f"Thing {i} moves.", "pattern": ("wind", "fire")[i % 2], "tags": tags}
        for i in range(PROMPTS)
    ]
    (folder / "list.json").write_text(json.dumps(entries))
    rows = [
        {"prompt": f"{i + 1:04d}", "kind": kind, "question": f"Is {kind} of {i} seen?",
         "answer": "no" if kind == "foil" else "yes"}
        for i in range(PROMPTS) for kind in KINDS
    ]  # fmt: skip
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for model in MODELS:
        for prompt in range(PROMPTS):
            frames = np.full((8, 32, 32, 3), clip_level(model, prompt), np.uint8)
            (folder / "clips" / model).mkdir(parents=True, exist_ok=True)
            write_video(folder / "clips" / model / f"{prompt + 1:04d}.mp4", frames)


def scripted(body: dict[str, Any]) -> Any:
    """Answer a request as the script has it, in one of several forms of words."""
    import av

    content = body["messages"][-1]["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    text = next(part["text"] for part in parts if part["type"] == "text" and "Is " in part["text"])
    kind, prompt = re.search(r"Is (\w+) of (\d+) seen", text).groups()  # type: ignore[union-attr]
    pictures = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    model = MODELS[0]
    if pictures:
        with av.open(io.BytesIO(base64.b64decode(pictures[0].partition(",")[2]))) as opened:
            level = next(opened.decode(video=0)).to_ndarray(format="gray").mean()
        number = round((level - 10) / STEP)
        assert number % PROMPTS == int(prompt), "asked about another prompt's clip"
        model = MODELS[number // PROMPTS]
    view = "blind" if not pictures else "single-frame" if len(pictures) == 1 else "frames"
    correct = right(view, model, int(prompt), kind)
    yes = correct == (kind != "foil")
    form = FORMS[(int(prompt) + KINDS.index(kind)) % len(FORMS)]
    words = form.format(letter="AB"[not yes], word=("Yes", "No")[not yes])
    return server.completion(words, usage={"prompt_tokens": 100, "completion_tokens": 1})


@pytest.fixture
def served() -> Iterator[Callable[..., tuple[str, server.Script]]]:
    stops = []

    def start(answer: Any = scripted) -> tuple[str, server.Script]:
        script = server.Script(answer=answer)
        url, stop = server.serve(script)
        stops.append(stop)
        return f"endpoint:eyes@{url}", script

    yield start
    for stop in stops:
        stop()


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command in a folder with clips; its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(wire, "LONGEST_PAUSE", 0.0)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    write_world(tmp_path)

    def run(*arguments: object, questions: str = "questions.jsonl") -> int:
        files = ("clips", "--questions", questions, "--prompts", "list.json")
        return run_main("prompts", "ask", *files, *map(str, arguments))

    return run


def truth(view: str) -> np.ndarray:
    """The script as numbers: (models, prompts, kinds), 1 where right."""
    return np.array(
        [[[right(view, model, prompt, kind) for kind in KINDS] for prompt in range(PROMPTS)] for model in MODELS], float
    )


def by_hand(values: np.ndarray) -> tuple[float, float, float]:
    """The mean of (prompts, ...) values and its 95 % interval, by resampling prompts 20,000 times."""
    drawn = np.random.default_rng(7).integers(0, len(values), (20_000, len(values)))
    means = values.reshape(len(values), -1).mean(1)[drawn].mean(1)
    return values.mean(), *np.quantile(means, [0.025, 0.975])


def step_of(values: np.ndarray) -> float:
    """The grid of means that an end of an interval may be off by, between two seeds of the bootstrap."""
    return max(0.015, 1.001 / values.size)


def figures(view: str, folder: str = "vmmetrics-ask") -> dict[tuple[str, str, str], dict[str, Any]]:
    found = json.loads(Path(folder, "figures.json").read_text())["views"][view]["figures"]
    return {(row["measure"], row["group"], row["name"]): row for row in found}


def test_a_scripted_model_is_recovered_with_intervals_and_controls(
    ask: Any, served: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    model, script = served()
    assert ask("--model", model, "--yes", "--price-per-million", 1, 2) == 0
    out, messages = capsys.readouterr()
    each = PROMPTS * len(KINDS)
    assert len(script.requests) == 2 * each + 2 * each + each  # blind, the clips of a prompt are one question
    assert f"{5 * each} requests, about" in messages
    for view in ("frames", "single-frame", "blind"):
        answers, shown = truth(view), figures(view)
        of_clips = answers.prod(2)
        expected = {("accuracy", "all", "all"): answers.transpose(1, 0, 2)}
        expected |= {("accuracy", "kind", kind): answers[:, :, i].T for i, kind in enumerate(KINDS)}
        expected |= {("success", "all", "all"): of_clips.T, ("success", "speed", "fast"): of_clips.T}
        expected |= {("success", "model", name): of_clips[i][:, None] for i, name in enumerate(MODELS)}
        expected |= {("success", "pattern", name): of_clips[:, i::2].T for i, name in enumerate(("wind", "fire"))}
        assert set(shown) == set(expected)
        for key, values in expected.items():
            mean, low, high = by_hand(values)
            assert shown[key]["value"] == pytest.approx(mean), key
            assert (shown[key]["n"], shown[key]["clusters"]) == (values.size, len(values))
            if 0 < mean < 1:
                assert (shown[key]["low"], shown[key]["high"]) == pytest.approx((low, high), abs=step_of(values)), key
    assert figures("frames")["success", "all", "all"]["chance"] == 0.5**5
    assert figures("blind")["success", "all", "all"]["value"] == 0
    assert figures("blind")["accuracy", "kind", "foil"]["value"] == 0
    differences = json.loads(Path("vmmetrics-ask/figures.json").read_text())["differences"]
    for control in ("blind", "single-frame"):
        rows = {(row["measure"], row["group"], row["name"]): row for row in differences[control]}
        delta = (truth("frames").prod(2) - truth(control).prod(2)).T
        mean, low, high = by_hand(delta)
        row = rows["success", "all", "all"]
        assert row["difference"] == pytest.approx(mean)
        assert (row["low"], row["high"]) == pytest.approx((low, high), abs=step_of(delta))
        assert rows["success", "model", "b"]["difference"] == pytest.approx(delta[:, 1].mean())
        foils = (truth("frames") - truth(control))[:, :, KINDS.index("foil")]
        assert rows["accuracy", "kind", "foil"]["difference"] == pytest.approx(foils.mean())
    assert "frames (second) minus blind (first)" in out and "prompts" in out and "videos" not in out
    with Path("vmmetrics-ask/clips.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["clip"] for row in rows][:2] == ["a/0001.mp4", "a/0002.mp4"] and len(rows) == 32
    success = [float(row["success"]) for row in rows if row["model"] == "b"]
    assert success == truth("frames").prod(2)[1].tolist()
    assert float(rows[5]["right_step"]) == truth("frames")[0, 5, KINDS.index("step")]
    page = Path("vmmetrics-ask/table.md").read_text()
    assert "bootstrap over prompts" in page
    with Path("vmmetrics-ask/figures.csv").open() as file:
        assert {row["view"] for row in csv.DictReader(file)} == {"frames", "blind", "single-frame"}
    asked = len(script.requests)
    assert ask("--model", model) == 0  # again: nothing is asked, nor whether the cost is fine
    assert len(script.requests) == asked
    assert ask("--model", model, "--frames", "4 uniform") == 2  # other frames are another run
    del script.requests[:]
    write_video(Path("clips/a/0001.mp4"), np.full((12, 64, 64, 3), clip_level("a", 0), np.uint8))
    shutil.copytree("clips/b", "clips/c")
    assert ask("--model", model, "--yes") == 0  # another clip under the same name is asked about, and so are new ones
    assert len(script.requests) == 2 * len(KINDS)  # the new ones are copies, whose replies are there
    assert figures("frames")["success", "model", "c"]["value"] == figures("frames")["success", "model", "b"]["value"]
    with Path("vmmetrics-ask/clips.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 48


def test_the_error_of_success_is_that_of_statsmodels(ask: Any, served: Any) -> None:
    api = pytest.importorskip("statsmodels.api")
    model, _ = served()
    assert ask("--model", model, "--yes", "--no-controls", "-o", "only") == 0
    assert not Path("only/blind").exists()
    success = truth("frames").prod(2)
    prompts = np.broadcast_to(np.arange(PROMPTS), success.shape).ravel()
    fitted = api.OLS(success.ravel(), np.ones(success.size)).fit(cov_type="cluster", cov_kwds={"groups": prompts})
    assert figures("frames", "only")["success", "all", "all"]["error"] == pytest.approx(fitted.bse[0])


def test_what_has_no_answer_is_unknown_and_counted(ask: Any, served: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def silent(body: dict[str, Any]) -> Any:
        text = json.dumps(body["messages"])
        if "Is step of 2 seen" in text:
            return server.completion("I cannot tell.")
        if "Is end of 4 seen" in text:
            return server.completion(None, refusal="no")
        return scripted(body)

    Path("clips/b/0006.mp4").write_bytes(b"no video")
    model, _ = served(silent)
    assert ask("--model", model, "--yes", "--no-controls") == 3
    messages = capsys.readouterr().err
    assert "2 answers could not be read and left out" in messages
    with Path("vmmetrics-ask/clips.csv").open() as file:
        rows = {row["clip"]: row for row in csv.DictReader(file)}
    unknown = {"a/0003.mp4", "b/0003.mp4", "a/0005.mp4", "b/0005.mp4", "b/0006.mp4"}
    assert {clip for clip, row in rows.items() if row["success"] == ""} == unknown
    assert rows["a/0003.mp4"]["right_step"] == "" and rows["a/0003.mp4"]["right_end"] in ("0.0", "1.0")
    overall = figures("frames")["success", "all", "all"]
    known = [success for clip, row in rows.items() if (success := row["success"]) and clip not in unknown]
    assert overall["n"] == 27 == len(known)
    assert overall["value"] == pytest.approx(np.mean([float(value) for value in known]))
    assert overall["answered"] == pytest.approx(27 / 31)  # the broken file is no clip that was asked about
    page = Path("vmmetrics-ask/table.md").read_text()
    assert "27 of known success, 5 with a question that has no answer" in page
    assert "with an error, left out: 2" in page and "not understood: 2" in page
    assert "left out, because the video cannot be read: 5" in page


@pytest.mark.slow
def test_a_run_that_is_killed_asks_nothing_twice(ask: Any, served: Any) -> None:
    """Killed at the 120th request by the server; the second start asks what is left, and that one request again."""
    process: list[subprocess.Popen[bytes]] = []

    def kill(body: dict[str, Any]) -> Any:
        if len(script.requests) == 120:
            process[0].send_signal(signal.SIGKILL)
            process[0].wait()
            return server.hang_up
        return scripted(body)

    model, script = served(kill)
    arguments = [
        "prompts",
        "ask",
        "clips",
        "--questions",
        "questions.jsonl",
        "--prompts",
        "list.json",
        "--model",
        model,
    ]
    command = [sys.executable, "-m", "vmmetrics", *arguments, "--yes", "--threads", "1"]
    process.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ))
    assert process[0].wait() == -signal.SIGKILL
    assert ask("--model", model, "--yes", "--threads", "1") == 0
    said = [json.dumps(body["messages"]) for _, body in script.requests]
    assert len(set(said)) == 5 * PROMPTS * len(KINDS)
    assert len(said) - len(set(said)) == 1 and said.count(said[119]) == 2
    assert figures("frames")["success", "all", "all"]["value"] == pytest.approx(truth("frames").prod(2).mean())


def test_recorded_answers_need_no_model(ask: Any, served: Any, capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = served()
    assert ask("--model", model, "--yes", "--no-controls") == 0
    capsys.readouterr()
    assert ask("--model", "recorded:vmmetrics-ask/frames/answers.jsonl", "-o", "again", "--format", "json") == 0
    out, messages = capsys.readouterr()
    assert "no controls are asked" in messages
    assert (
        json.loads(out)["views"]["frames"]["figures"][0]["value"]
        == figures("frames")["accuracy", "all", "all"]["value"]
    )


def test_the_session_names_all_places_of_clips(ask: Any, tmp_path: Path) -> None:
    words = ("--questions", "questions.jsonl", "--prompts", "list.json", "--model", "random")
    assert run_main("prompts", "ask", "clips/a", "clips/b", *words) == 0
    (session,) = json.loads(Path("vmmetrics-ask/frames/run.json").read_text())["sessions"]
    assert session["videos"] == f"{tmp_path / 'clips' / 'a'}, {tmp_path / 'clips' / 'b'}"


def test_nothing_is_written_beside_other_files(ask: Any) -> None:
    Path("mine").mkdir()
    Path("mine/table.md").write_text("mine")
    assert ask("--model", "random", "-o", "mine") == 2
    assert Path("mine/table.md").read_text() == "mine"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"prompt": "0099"}, "line 2: no prompt '0099' in the list of 16 prompts"),
        (
            {"kind": "middle"},
            "expected kind to be subject or before or step or end or foil or contrast but got 'middle'",
        ),
        ({"answer": "maybe"}, "line 2: expected answer to be yes or no but got 'maybe'"),
        ({"answer": True}, "with text in prompt, kind, question, answer but answer has none"),
        (
            {"question": "is Subject  of 0 seen?"},
            "question 'is Subject  of 0 seen.' twice, first in questions.jsonl, line 1",
        ),
        ({"question": "\x1b[31m", "answer": "\x1b"}, r"got '\\\\x1b'"),
    ],
)
def test_a_question_that_cannot_be_is_refused(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    write_world(tmp_path)
    first = {"prompt": "0001", "kind": "subject", "question": "Is subject of 0 seen?", "answer": "yes"}
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (first, {**first, "question": "Else?", **row})))
    with pytest.raises(SetupError, match=message):
        read_questions(path, PromptList(read_list(tmp_path / "list.json")))
    path.write_text("")
    with pytest.raises(SetupError, match="has no questions"):
        read_questions(path, PromptList(read_list(tmp_path / "list.json")))


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("A", 0), ("B.", 1), ("(A)", 0), ("Yes", 0), ("no.", 1), ("No, because the horse stops.", 1),
        ("Yes, there is no fence left.", 0), ("**No** - the glass stays full.", 1), ("A. Yes", 0), ("B) No", 1),
        ("A. No", None), ("Yes. The answer is no.", None), ("<think>Yes? No.</think>\nNo", 1),
        ("The horse leaps, so the answer is yes.", 0), ("Answer: No", 1), ("It is unclear.", None), ("", None),
        ("Yes or no, who knows", None), ("No the ball rests.", 1), ("Yes I see it.", 0), ("No, it is not there.", 1),
        ("The answer is not yes.", None), ("It is not possible to say yes", None), ("The answer isn't no", None),
        ("The question asks if the answer is yes; it is not.", None), ("Not B", None), ("It isn\u2019t B.", None),
        ("No information about that is visible.", None), ("No soup is seen.", None), ("No dog is in it", None),
        ("I don't think the answer is yes.", None), ("I can't say whether the answer is A.", None),
        ("B, since the dog does not jump.", 1), ("B because it does not jump", 1), ("B is not right", None),
        ("It does not jump. The answer is B.", 1), ("The dog does not jump so the answer is no.", 1),
        ("Not A but B", 1), ("The correct option is B", 1), ("**B**", 1), ("I pick A, as it does not fall.", 0),
    ],
)  # fmt: skip
def test_answers_are_read_by_letter_and_by_word(text: str, chosen: int | None) -> None:
    assert yes_or_no(text) == chosen


def test_the_prompt_beside_a_clip_counts_before_its_name(tmp_path: Path) -> None:
    write_world(tmp_path)
    folder = tmp_path / "clips" / "a"
    prompts = {"0001.mp4": "Thing 3 moves.", "0002.mp4": "Somebody else's prompt.", "0003.mp4": "Thing 2 moves."}
    (folder / "prompts.json").write_text(json.dumps(prompts))
    benchmark = PromptQuestions(tmp_path / "list.json")
    loaded = benchmark.load_clips(tmp_path / "questions.jsonl", discover([folder]))
    of_clip = {question.reference["clip"]: question.video for question in loaded.questions}
    assert of_clip["0001.mp4"] == "0004" and of_clip["0003.mp4"] == "0003" and of_clip["0005.mp4"] == "0005"
    assert "0002.mp4" not in of_clip
    assert loaded.problems == {"clips that state a prompt outside the list, left out": 1}
    (folder / "prompts.json").unlink()
    for file in sorted(folder.iterdir()):
        file.rename(file.with_stem(f"x{file.stem}"))
    with pytest.raises(SetupError, match=r"no question about any of the clips \(16 clips without an index of the list"):
        benchmark.load_clips(tmp_path / "questions.jsonl", discover([folder]))


def test_clips_of_one_name_and_size_are_asked_about_each(ask: Any, served: Any) -> None:
    for folder, level in (("one", clip_level("a", 0)), ("two", clip_level("b", 0))):
        Path(folder).mkdir()
        np.save(Path(folder, "0001.npy"), np.full((8, 32, 32, 3), level, np.uint8))
    model, script = served()
    words = ("--questions", "questions.jsonl", "--prompts", "list.json", "--model", model, "--yes", "--no-controls")
    answers = {"one": truth("frames")[0, 0], "two": truth("frames")[1, 0]}
    for folder, correct in answers.items():
        assert run_main("prompts", "ask", folder, *words) == 0
        assert answered_right() == correct.tolist()
    np.save("one/0001.npy", np.load("two/0001.npy"))  # made again in place
    assert run_main("prompts", "ask", "one", *words) == 0
    assert answered_right() == answers["two"].tolist()
    assert len(script.requests) == 2 * len(KINDS)  # the same clip is known wherever it lies


@pytest.mark.parametrize("name", PROMPT_LISTS)
def test_shipped_questions_go_with_every_shipped_list(name: str, tmp_path: Path) -> None:
    entries = {entry.clip: entry for entry in read_list(shipped_list(name))}
    lines = map(json.loads, shipped_questions(name).read_text("utf-8").splitlines())
    rows = [row for row in lines if row["prompt"] in entries]
    index = rows[-1]["prompt"]
    (tmp_path / f"{index}.mp4").touch()
    loaded = PromptQuestions(name).load_clips(shipped_questions(name), discover([tmp_path]))
    assert [question.text for question in loaded.questions] == [
        row["question"] for row in rows if row["prompt"] == index
    ]
    asked = questions_of([entries[index].prompt], listed=name)
    assert sum(map(len, asked.values())) == len(loaded.questions)
    (tmp_path / "list.json").write_text(json.dumps([{"index": index, "prompt": "Mine."}]))
    with pytest.raises(SetupError, match="name the list that the questions were written for"):
        PromptQuestions(tmp_path / "list.json").load_clips(shipped_questions(name), discover([tmp_path]))


def test_a_tag_that_identifies_prompts_has_no_figures(tmp_path: Path) -> None:
    write_world(tmp_path)
    entries = [
        {"index": f"{i + 1:04d}", "prompt": f"Thing {i} moves.", "tags": {"note": f"note {i}", "speed": f"{i % 99}"}}
        for i in range(100)
    ]
    (tmp_path / "list.json").write_text(json.dumps(entries))
    loaded = PromptQuestions(tmp_path / "list.json").load(tmp_path / "questions.jsonl", tmp_path / "clips" / "a")
    assert {name for question in loaded.questions for name in question.groups} == {"speed", "kind"}
    assert loaded.problems == {"tags of 100 values or more, not in the figures": 1}


def test_the_columns_of_clips_are_those_of_their_questions(tmp_path: Path) -> None:
    write_world(tmp_path)
    row = {"prompt": "0001", "kind": "contrast", "question": "Does it move left?", "answer": "yes"}
    (tmp_path / "questions.jsonl").write_text(json.dumps(row))
    benchmark = PromptQuestions(tmp_path / "list.json")
    loaded = benchmark.load(tmp_path / "questions.jsonl", tmp_path / "clips" / "a")
    key = loaded.questions[0].id
    for answer, value in (("A", 1.0), ("Perhaps", None)):
        scored = benchmark.score(loaded.questions, {key: Answered(key, answer)}, "vmmetrics")
        head, line = clip_rows(*clips_of(loaded.questions, scored))
        assert (head[-1], line[-1]) == ("right_contrast", value)


def test_controls_that_cannot_tell_do_not_fail_a_run(ask: Any, served: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def honest(body: dict[str, Any]) -> Any:
        blind = "image_url" not in json.dumps(body["messages"])
        return server.completion("I cannot tell.") if blind else scripted(body)

    model, _ = served(honest)
    assert ask("--model", model, "--yes") == 0
    out, messages = capsys.readouterr()
    assert "could not be read" not in messages and f"blind: asked: 160, not understood: {2 * PROMPTS * 5}" in out


def test_perception_without_a_measure_is_refused(ask: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("--model", "perception") == 2
    assert "none of the 160 has one" in capsys.readouterr().err and not Path("vmmetrics-ask/frames").exists()


def answered_right() -> list[float]:
    """What the first clip of the table got right, by kind."""
    with Path("vmmetrics-ask/clips.csv").open() as file:
        row = next(csv.DictReader(file))
    return [float(row[f"right_{kind}"]) for kind in KINDS]


def test_a_clip_whose_prompt_changes_is_asked_anew(tmp_path: Path) -> None:
    write_world(tmp_path)
    clip, text = tmp_path / "clips" / "a" / "0001.mp4", tmp_path / "clips" / "a" / "0001.txt"
    rows = [
        {"prompt": index, "kind": "subject", "question": question, "answer": "yes"}
        for index, question in (("0001", "Is it red?"), ("0002", "Is it red?"), ("0003", "Is it blue?"))
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    keys = []
    for prompt in ("Thing 0 moves.", "Thing 1 moves.", "Thing 2 moves.", "Thing 0 moves."):
        text.write_text(prompt)
        loaded = PromptQuestions(tmp_path / "list.json").load_clips(tmp_path / "questions.jsonl", discover([clip]))
        keys += [question.id for question in loaded.questions]
    assert len(keys) == 4 and len(set(keys[:3])) == 3 and keys[3] == keys[0]


def test_several_questions_of_a_kind_have_keys_of_their_own(tmp_path: Path) -> None:
    write_world(tmp_path)
    rows = [
        {"prompt": "0001", "kind": "step", "question": f"Does it {verb}?", "answer": "yes"} for verb in ("go", "run")
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    benchmark = PromptQuestions(tmp_path / "list.json")
    loaded = benchmark.load(tmp_path / "questions.jsonl", tmp_path / "clips" / "a")
    keys = [question.id for question in loaded.questions]
    content = hashlib.sha256((tmp_path / "clips" / "a" / "0001.mp4").read_bytes()).hexdigest()[:12]
    texts = [hashlib.sha256(f"Does it {verb}?".encode()).hexdigest()[:12] for verb in ("go", "run")]
    assert keys == [f"0001.mp4 {content} 0001 {text}" for text in texts]
    assert loaded.problems == {"clips whose prompt has no questions, left out": 15}
    answers = {key: Answered(key, letter) for key, letter in zip(keys, "AB", strict=True)}
    rows = clip_rows(*clips_of(loaded.questions, benchmark.score(loaded.questions, answers, "vmmetrics")))
    assert rows[1] == ["0001.mp4", None, "0001", 0.0, None, None, 0.5, None, None]


def test_success_becomes_a_column_of_a_run_of_the_clips(
    ask: Any, served: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def refusing(body: dict[str, Any]) -> Any:
        refused = "Is end of 4 seen" in json.dumps(body["messages"])
        return server.completion(None, refusal="no") if refused else scripted(body)

    score = ("score", "clips", "-o", "run", "--metrics", "pas", "--prompts", "list.json", "--jobs", "0")
    assert run_main(*score) == 0
    before = {row["clip"]: row for row in map(json.loads, Path("run/scores.jsonl").read_text().splitlines())}
    model, script = served(refusing)
    assert ask("--model", model, "--yes", "--no-controls", "--into", "run") == 3
    assert "written: column success of 32 clips in run" in capsys.readouterr().err
    with Path("run/scores.csv").open() as file:
        rows = {row["clip"]: row for row in csv.DictReader(file)}
    with Path("vmmetrics-ask/clips.csv").open() as file:
        assert {clip: row["success"] for clip, row in rows.items()} == {
            row["clip"]: row["success"] for row in csv.DictReader(file)
        }
    assert "a question about it has no answer" in rows["a/0005.mp4"]["missing"]
    newest = {row["clip"]: row for row in map(json.loads, Path("run/scores.jsonl").read_text().splitlines())}
    for clip, row in before.items():
        same = {name: value for name, value in newest[clip].items() if name not in ("scores", "missing", "ended")}
        assert same == {name: value for name, value in row.items() if name not in ("scores", "missing", "ended")}
        assert newest[clip]["scores"].get("pas") == row["scores"].get("pas")
    lines = Path("run/scores.jsonl").read_text()
    assert ask("--model", model, "--yes", "--no-controls", "--into", "run") == 3
    assert Path("run/scores.jsonl").read_text() == lines  # the same again adds nothing
    capsys.readouterr()
    assert run_main("leaderboard", "run", "--sort-by", "success", "--format", "json") == 0
    board = {row["model"]: row for row in json.loads(capsys.readouterr().out)["models"]}
    known = [prompt for prompt in range(PROMPTS) if prompt != 4]
    for number, name in enumerate(MODELS):
        assert board[name]["success"] == pytest.approx(truth("frames").prod(2)[number, known].mean())
        assert (board[name]["success_prompts"], board[name]["success_clips_without"]) == (15, 1)
    assert run_main("report", "run", "-o", "report") == 0
    assert '"title":"all questions about the prompt answered right"' in Path("report/data/index.js").read_text()
    assert run_main(*score) == 0
    capsys.readouterr()
    # other answers are another column of that name
    other, _ = served(lambda body: server.completion("B"))
    asked = len(script.requests)
    assert ask("--model", other.replace("eyes", "other"), "--yes", "--into", "run", "-o", "other") == 2
    assert "success" in capsys.readouterr().err and len(script.requests) == asked
    assert ask("--model", model, "--yes", "--into", "clips") == 2
    assert run_main("score", "clips/a/0001.mp4", "-o", "few", "--metrics", "pas", "--jobs", "0") == 0
    shutil.copytree("clips", "elsewhere")
    capsys.readouterr()
    words = ("--questions", "questions.jsonl", "--prompts", "list.json", "--model", "random", "--into", "few")
    assert run_main("prompts", "ask", "elsewhere", *words, "-o", "e") == 2
    assert "few has none of these clips" in capsys.readouterr().err
    assert run_main("prompts", "ask", "clips", *words, "-o", "e") == 0
    assert "column success of 1 clip in few" in capsys.readouterr().err
    # a run directory is itself a set of clips
    assert (
        run_main(
            "prompts",
            "ask",
            "run",
            "--questions",
            "questions.jsonl",
            "--prompts",
            "list.json",
            "--model",
            "random",
            "-o",
            "r",
        )
        == 0
    )
    assert json.loads(Path("r/figures.json").read_text())["views"]["frames"]["counts"]["asked"] == 160


@pytest.fixture
def column(ask: Any, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Asks the random model about scored clips, and adds the column; the exit code and messages."""
    assert run_main("score", "clips/a", "-o", "run", "--metrics", "pas", "--prompts", "list.json", "--jobs", "0") == 0

    def add(*arguments: str, out: str = "asked") -> tuple[int, str]:
        words = ("--questions", "questions.jsonl", "--prompts", "list.json", "--model", "random", "--into", "run")
        code = run_main("prompts", "ask", "clips/a", *words, "-o", out, *arguments)
        return code, capsys.readouterr().err

    return add


def success_column() -> dict[str, float]:
    newest = {row["clip"]: row for row in map(json.loads, Path("run/scores.jsonl").read_text().splitlines())}
    return {clip: row["scores"]["success"] for clip, row in newest.items() if "success" in row["scores"]}


def test_a_clip_that_changed_since_it_was_scored_takes_no_column(column: Any) -> None:
    write_video(Path("clips/a/0002.mp4"), np.full((9, 32, 32, 3), 90, np.uint8))
    code, messages = column()
    assert code == 0 and "column success of 15 clips in run" in messages
    assert "1 clip of run got no success; they have changed" in messages
    assert "0002.mp4" not in success_column() and len(success_column()) == 15
    assert "1 clip of run got no success" in column()[1]  # again, with nothing to add


def test_answers_to_another_key_are_no_column_of_the_same_name(column: Any) -> None:
    assert column()[0] == 0
    before, path = success_column(), Path("questions.jsonl")
    path.write_text(path.read_text().replace('"yes"', '"no"'))
    code, messages = column(out="other")
    assert code == 2 and "success.source.data.questions.jsonl" in messages
    assert success_column() == before


def test_scores_that_come_between_reading_and_writing_are_kept(column: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process scores one clip anew once the run is read, and has another in hand."""
    holder: list[subprocess.Popen[str]] = []
    calls: list[Path] = []

    def read(path: Path) -> Any:
        records = records_by_name(path)
        calls.append(path)
        if len(calls) == 2:  # after the check before the questions
            first, second = (record for record in records if record.clip in ("0001.mp4", "0002.mp4"))
            newer = replace(first, sha256="0" * 64, scores={"pas": 0.77}, missing={})
            line = json.dumps(newer.to_json())
            with (path / "scores.jsonl").open("a") as file:
                file.write(line + "\n")
            holder.append(subprocess.Popen([sys.executable, "-c", HOLD, str(path / "run.lock"), second.key],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))  # fmt: skip
            assert holder[0].stdout and holder[0].stdout.readline() == "held\n"
            return [first, *(record for record in records if record.clip != "0001.mp4")]
        return records

    monkeypatch.setattr("vmmetrics.scoring.outside_scores.records_by_name", read)
    _, messages = column()
    holder[0].communicate("done")
    assert "column success of 14 clips in run" in messages and "2 clips of run got no success" in messages
    newest = {record.clip: record for record in records_by_name(Path("run"))}
    assert newest["0001.mp4"].scores == {"pas": 0.77} and newest["0001.mp4"].sha256 == "0" * 64
    assert "success" not in newest["0002.mp4"].scores and "success" in newest["0003.mp4"].scores


def test_clips_at_addresses_are_refused_by_name(column: Any, capsys: pytest.CaptureFixture[str]) -> None:
    lines = Path("run/scores.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    Path("run/scores.jsonl").write_text(
        "\n".join([json.dumps({**first, "path": "https://host/x.mp4"}), *lines[1:], ""])
    )
    for clips, name in (("run", "https://host/x.mp4"), ("s3://bucket/clips", "s3://bucket/clips")):
        assert run_main("prompts", "ask", clips, "--model", "random", "--prompts", "list.json", "-o", "remote") == 2
        messages = " ".join(capsys.readouterr().err.split())
        assert f"{name} is an address" in messages and "download the clips" in messages


HOLD = """
import sys
from pathlib import Path
from vmmetrics.utils.storage.lock import ByteLocks, claim_byte
assert ByteLocks(Path(sys.argv[1])).try_acquire(claim_byte(sys.argv[2]))
print("held", flush=True)
sys.stdin.read()
"""


def run_main(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0
