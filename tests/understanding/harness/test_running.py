"""Whole runs by the command line: a small benchmark, a server that answers by looking, and everything that fails."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_benchmark

from tests import endpoint_server as server
from vmmetrics.cli import options
from vmmetrics.cli.main import main
from vmmetrics.understanding import registry
from vmmetrics.understanding.harness.running import asked_of
from vmmetrics.utils.endpoint import wire
from vmmetrics.utils.endpoint.messages import KEY_VARIABLE, Turn

HERE = Path(__file__).parents[1]
KEY = "sk-never-to-be-written-0123456789"


@pytest.fixture
def understand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command in an empty folder that has the tiny benchmark's data in ``data``; its exit code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VMMETRICS_ENDPOINT_KEY", KEY)
    monkeypatch.setattr(wire, "LONGEST_PAUSE", 0.0)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setitem(registry._REGISTERED, "tiny", tiny_benchmark.BENCHMARK)
    tiny_benchmark.write(tmp_path / "data")

    def run(*arguments: object) -> int:
        try:
            main(["understand", *map(str, arguments)])
        except SystemExit as stop:
            return int(stop.code or 0)
        return 0

    return run


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[..., tuple[str, Any]]]:
    """A server; the name of its model. The key is never on the disk."""
    stops = []

    def start(*steps: Any, answer: Any = None) -> tuple[str, Any]:
        script = server.Script(list(steps), answer)
        url, stop = server.serve(script)
        stops.append(stop)
        return f"endpoint:eyes@{url}", script

    yield start
    for stop in stops:
        stop()
    assert not [f for f in tmp_path.rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()]


def seeing(body: dict[str, Any]) -> Any:
    return server.completion(tiny_benchmark.looks(body), usage={"prompt_tokens": 100, "completion_tokens": 1})


def rows(folder: str, name: str = "scores.jsonl") -> dict[str, Any]:
    return {row["question"]: row for row in map(json.loads, Path(folder, name).read_text().splitlines())}


def figures(folder: str, name: str = "figures.json") -> dict[tuple[str, str, str], dict[str, Any]]:
    found = json.loads(Path(folder, name).read_text())["figures"]
    return {(row["measure"], row["group"], row["name"]): row for row in found}


OVERALL = ("accuracy", "all", "all")


def test_a_model_behind_an_endpoint_from_clips_to_table(
    understand: Any, served: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    model, script = served(answer=seeing)
    assert (
        understand("run", "tiny", "--model", model, "--data", "data", "-o", "r", "-y", "--price-per-million", 1, 2) == 0
    )
    assert len(script.requests) == 12
    out, messages = capsys.readouterr()
    assert "tiny: eyes, frames 4 uniform" in out
    assert "Somebody" in out
    assert "12 requests, about" in messages
    overall = figures("r")[OVERALL]
    assert (overall["value"], overall["n"], overall["clusters"], overall["chance"]) == (1.0, 12, 6, 0.5)
    answers = rows("r", "answers.jsonl")
    assert len(answers["q0_0"]["shown"]["seconds"]) == 4
    assert answers["q0_0"]["shown"]["policy"] == "4 uniform"
    assert answers["q0_0"]["usage"] == {"input_tokens": 100, "output_tokens": 1, "cost": pytest.approx(102e-6)}
    run = json.loads(Path("r/run.json").read_text())
    assert run["configuration"]["frames"] == {"policy": "4 uniform", "side": 448}
    assert run["configuration"]["model"]["url"].startswith("http://127.0.0.1")
    assert run["configuration"]["data"]["questions.json"]
    assert run["sessions"][0]["usage"]["input_tokens"] == 1200
    assert "av" in run["configuration"]["versions"]
    with Path("r/figures.csv").open() as file:
        assert [row["name"] for row in csv.DictReader(file)] == ["all", "all", "X", "Y"]
    page = Path("r/table.md").read_text()
    assert "| all | all | accuracy | 1.000" in page
    assert "| 0.750 |" in page
    # the same again asks nothing, nor whether the cost is fine
    assert understand("run", "tiny", "--model", model, "--data", "data", "--out", "r") == 0
    assert len(script.requests) == 12


def test_controls_show_whether_motion_was_needed(understand: Any, served: Any) -> None:
    model, script = served(answer=seeing)
    common = ("run", "tiny", "--model", model, "--data", "data", "--yes")
    assert understand(*common, "--control", "blind", "--out", "blind") == 0
    said = [body["messages"][-1]["content"] for _, body in script.requests]
    assert all(text.endswith("not shown the video: choose the option that is most likely right.") for text in said)
    script.requests.clear()
    assert understand(*common, "--control", "single-frame", "--out", "single") == 0
    assert all(str(body).count("data:image/jpeg") == 1 for _, body in script.requests)
    assert "not shown" not in str(script.requests[-1][1])
    assert rows("blind", "answers.jsonl")["q0_0"]["shown"]["policy"] == "none"
    # A is always right here, so answering A without looking is too: the majority letter says so
    assert figures("blind")[OVERALL]["value"] == figures("single")[OVERALL]["value"] == 1.0
    assert understand("run", "tiny", "--model", "majority", "--data", "data", "--out", "majority") == 0
    assert figures("majority")[OVERALL]["value"] == 1.0
    assert understand(*common, "--control", "blind", "--frames", "8 uniform") == 2


def test_a_question_may_be_shown_in_its_own_way(understand: Any, served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def policy_for(self: Any, question: Any) -> str | None:
        return "3 fps slowed 2" if question.id.startswith("q2") else None

    monkeypatch.setattr(type(registry.find("tiny")), "policy_for", policy_for, raising=False)
    model, _ = served(answer=seeing)
    common = ("run", "tiny", "--model", model, "--data", "data", "--yes")
    assert understand(*common, "--out", "own") == 0
    shown = {key: row["shown"]["policy"] for key, row in rows("own", "answers.jsonl").items()}
    assert {policy for key, policy in shown.items() if key.startswith("q2")} == {"3 fps slowed 2"}
    assert {policy for key, policy in shown.items() if not key.startswith("q2")} == {"4 uniform"}
    assert len(rows("own", "answers.jsonl")["q2_0"]["shown"]["seconds"]) == 8  # 1.2 s, 6 frames a second
    assert understand(*common, "--out", "same", "--frames", "2 uniform") == 0
    assert {row["shown"]["policy"] for row in rows("same", "answers.jsonl").values()} == {"2 uniform"}


def test_times_are_told_and_recorded_and_runs_without_them_are_told_apart(
    understand: Any, served: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    model, script = served(answer=seeing)
    common = ("run", "tiny", "--model", model, "--data", "data", "--yes")
    words = "Video: 1.2 s, 10 frames per second. Shown: 4 of its frames, at 0.1, 0.4, 0.7, 1 s."
    assert understand(*common, "--out", "told") == 0
    assert {row["shown"]["told"] for row in rows("told", "answers.jsonl").values()} == {words}
    assert words in str(script.requests[0][1])
    script.requests.clear()
    assert understand(*common, "--out", "untold", "--no-times") == 0
    assert understand(*common, "--out", "released", "--protocol", "upstream") == 0  # the released words have none
    assert "Shown:" not in str(script.requests)
    assert "told" not in rows("untold", "answers.jsonl")["q0_0"]["shown"]
    assert figures("untold")[OVERALL]["value"] == 1.0
    assert understand(*common, "--out", "again", "--protocol", "upstream", "--times") == 0
    assert understand("score", "again") == 0
    assert json.loads(Path("again/run.json").read_text())["configuration"]["model"]["times"] == "in words"
    capsys.readouterr()
    assert understand("compare", "told", "untold") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "not every model was told the times of its frames" in said
    assert "eyes, 4 uniform, times not told (second) minus eyes, 4 uniform (first)" in said
    assert understand("leaderboard", "told", "untold", "--format", "markdown") == 0
    page = capsys.readouterr().out
    assert "4 uniform, times not told" in page
    assert "not every model was told" in page
    capsys.readouterr()
    assert understand("compare", "told", "again") == 0
    assert "not every model was told" not in " ".join(capsys.readouterr().out.split())
    # a run from before times were told: it is not gone on with, and compared under its true name
    record = Path("untold/run.json")
    old = json.loads(record.read_text())
    del old["configuration"]["model"]["times"]
    record.write_text(json.dumps(old))
    assert understand(*common, "--out", "untold") == 2
    assert "times" in capsys.readouterr().err
    assert understand("compare", "untold", "told") == 0
    assert "not every model was told" in " ".join(capsys.readouterr().out.split())


def test_thoughts_that_were_cut_off_are_counted(
    understand: Any, served: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def thinking(body: dict[str, Any]) -> Any:
        text = str(body["messages"][-1]["content"])
        if "(q0_" in text or ("(q1_" in text and body["max_tokens"] <= 50):
            return server.completion("<think>brighter, A, or", finish="length", usage={"completion_tokens": 50})
        return seeing(body)

    model, script = served(answer=thinking)
    common = ("run", "tiny", "--model", model, "--data", "data", "--out", "r", "--yes", "--max-tokens", 50)
    assert understand(*common, "--reasoning-effort", "low", "--extra-body", '{"top_k": 1}') == 3
    assert len(script.requests) == 12 + 4
    assert all(body["reasoning_effort"] == "low" and body["top_k"] == 1 for _, body in script.requests)
    out = capsys.readouterr().out
    assert "answers cut off for their length: 2" in out
    assert "of these still thinking, so without an answer: 2" in out
    assert "asked a second time with more tokens: 4" in out
    assert figures("r")[OVERALL]["value"] == pytest.approx(10 / 12)
    run = json.loads(Path("r/run.json").read_text())
    assert run["configuration"]["model"]["extra"] == {"top_k": 1, "reasoning_effort": "low"}
    assert understand(*common) == 2  # another effort is another run
    assert "extra" in capsys.readouterr().err


def test_an_endpoint_that_misbehaves_costs_time_not_answers(understand: Any, served: Any) -> None:
    turn = iter(range(1000))

    def answer(body: dict[str, Any]) -> Any:
        step = next(turn) % 5
        bad = {0: (503, {}, b"busy"), 1: server.hang_up, 2: (429, {"Retry-After": "0"}, b""), 3: server.truncated}
        return bad.get(step) or seeing(body)

    model, _ = served(answer=answer)
    common = ("run", "tiny", "--model", model, "--data", "data", "--out", "r", "--yes")
    for _ in range(9):  # what got no answer in its six tries gets one another time
        code = understand(*common, "--threads", 2)
        assert code in (0, 3)
        if code == 0:
            break
    assert code == 0
    assert figures("r")[OVERALL]["value"] == 1.0


def test_an_endpoint_that_is_gone_stops_the_run_and_keeps_what_was_answered(
    understand: Any, served: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    model, script = served((500, {}, b"down"))
    common = ("run", "tiny", "--model", model, "--data", "data", "--out", "r", "--yes")
    assert understand(*common) == 2
    assert "8 questions in a row" in capsys.readouterr().err
    assert understand(*common[:-1], "--limit", 2, "--yes") == 3
    assert "without an answer yet, counted as wrong: 2" in capsys.readouterr().out
    assert not Path("r/answers.jsonl").exists()
    script.answer = seeing
    assert understand(*common) == 0
    assert len(rows("r", "answers.jsonl")) == 12


def test_what_the_endpoint_does_not_take_is_an_error_of_that_question(
    understand: Any, served: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if "(q3_" in str(body["messages"][-1]["content"]):
            return 400, {}, b"maximum context length is 10 tokens"
        return seeing(body)

    model, script = served(answer=answer)
    common = ("run", "tiny", "--model", model, "--data", "data", "--out", "r", "--yes", "--threads", 1)
    assert understand(*common) == 3
    errors = [row for row in rows("r", "answers.jsonl").values() if "error" in row]
    assert [row["question"] for row in errors] == ["q3_0", "q3_1"]
    assert all("context length" in row["error"] for row in errors)
    assert figures("r")[OVERALL]["answered"] == pytest.approx(10 / 12)
    script.answer = seeing
    capsys.readouterr()
    assert understand(*common, "--quiet") == 3  # they are answers, until they are asked for again
    assert capsys.readouterr().err.startswith("2 questions got no answer; ")
    assert understand(*common, "--retry-errors") == 0


def test_videos_that_are_missing_or_broken_are_counted(
    understand: Any, served: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data" / "v0.mp4").unlink()
    (tmp_path / "data" / "v1.mp4").write_bytes(b"not a video")
    model, _ = served(answer=seeing)
    assert understand("run", "tiny", "--model", model, "--data", "data", "--out", "r", "--yes") == 3
    out, messages = capsys.readouterr()
    assert "2 questions whose video is missing" in messages
    assert "questions whose video is missing: 2" in out
    answers = rows("r", "answers.jsonl")
    assert set(answers) == {f"q{c}_{n}" for c in range(1, 6) for n in range(2)}
    assert "cannot be shown" in answers["q1_0"]["error"]
    assert "left out, because the video cannot be read: 2" in out
    overall = figures("r")[OVERALL]  # neither says anything of the model
    assert (overall["n"], overall["value"], overall["answered"]) == (8, 1.0, 1.0)
    assert understand("score", "r", "--protocol", "upstream") == 0
    released = json.loads((tmp_path / "r" / "figures-upstream.json").read_text())["figures"][0]
    assert released["n"] == 10  # whose code knows no reason for silence


KILLED = """
import sys; sys.path[:0] = [{here!r}, {root!r}]
import tiny_benchmark
from vmmetrics.understanding import register
register(tiny_benchmark.BENCHMARK)
from vmmetrics.cli.main import main
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on(understand: Any, served: Any, tmp_path: Path) -> None:
    tiny_benchmark.write(tmp_path / "data", clips=20, each=1)

    def answer(body: dict[str, Any]) -> Any:
        return server.slow(0.3, seeing(body))  # so that it can be killed half-way

    model, script = served(answer=answer)
    arguments = ["understand", "run", "tiny", "--model", model, "--data", "data", "--out", "r", "--yes"]
    program = KILLED.format(here=str(HERE), root=str(HERE.parents[1]))
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments, "--threads", "2"], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    journal = tmp_path / "r" / "answers.jsonl"
    until = time.monotonic() + 120
    while time.monotonic() < until and not (journal.exists() and journal.read_bytes().count(b"\n") >= 3):
        threading_wait()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = len(rows("r", "answers.jsonl"))
    asked = len(script.requests)
    assert 3 <= before < 20
    with journal.open("ab") as file:
        file.write(b'{"question":"q19_0","text":"torn')  # what a kill in the middle of a line leaves
    assert understand(*arguments[1:]) == 0
    assert len(rows("r", "answers.jsonl")) == 20
    assert len(script.requests) - asked <= 20 - before
    assert figures("r")[OVERALL]["value"] == 1.0
    assert len(json.loads(Path("r/run.json").read_text())["sessions"]) == 2


def threading_wait() -> None:
    import threading

    threading.Event().wait(0.02)


def test_a_folder_belongs_to_one_way_of_asking(understand: Any, capsys: pytest.CaptureFixture[str]) -> None:
    common = ("run", "tiny", "--data", "data", "--out", "r")
    assert understand(*common, "--model", "random") == 0
    assert understand(*common, "--model", "random:1") == 2
    assert "model.random: 1 (now), 0 (the run)" in capsys.readouterr().err
    Path("other").mkdir()
    Path("other/file.txt").write_text("mine")
    assert understand("run", "tiny", "--data", "data", "--model", "random", "--out", "other") == 2
    assert "other files" in capsys.readouterr().err
    rewritten = json.loads(Path("data/questions.json").read_text())[:-1]
    Path("data/questions.json").write_text(json.dumps(rewritten))
    assert understand(*common, "--model", "random") == 2
    assert understand("score", "r") == 2
    assert "not those" in capsys.readouterr().err


def test_recorded_answers_are_scored_by_either_protocol(understand: Any) -> None:
    keys = [f"q{c}_{n}" for c in range(6) for n in range(2)]
    recorded = {key: "A" if number < 6 else "who knows" for number, key in enumerate(keys)}
    Path("answers.json").write_text(json.dumps(recorded))
    assert understand("run", "tiny", "--model", "recorded:answers.json", "--data", "data", "--out", "r") == 3
    overall = figures("r")[OVERALL]
    assert (overall["value"], overall["answered"]) == (0.5, 0.5)
    assert understand("score", "r", "--protocol", "upstream") == 0
    assert figures("r", "figures-upstream.json")[OVERALL]["value"] == 1.0
    assert figures("r")[OVERALL]["value"] == 0.5
    # our own answers are recorded answers too
    assert understand("run", "tiny", "--model", "recorded:r/answers.jsonl", "--data", "data", "--out", "s") == 3
    assert {k: v["value"] for k, v in rows("r").items()} == {k: v["value"] for k, v in rows("s").items()}


def test_two_runs_are_compared_video_by_video(understand: Any, capsys: pytest.CaptureFixture[str]) -> None:
    keys = [f"q{c}_{n}" for c in range(6) for n in range(2)]
    Path("all.json").write_text(json.dumps(dict.fromkeys(keys, "A")))
    Path("none.json").write_text(json.dumps(dict.fromkeys(keys[:10], "B")))
    for name in ("all", "none"):
        common = ("--data", "data", "--out", name)
        assert understand("run", "tiny", "--model", f"recorded:{name}.json", *common) == (3 if name == "none" else 0)
    capsys.readouterr()
    assert understand("compare", "none", "all") == 0
    assert "recorded: all.json (second) minus recorded: none.json (first)" in capsys.readouterr().out
    assert understand("compare", "none", "all", "--format", "json") == 0
    first, *tasks = json.loads(capsys.readouterr().out)["differences"]
    assert (first["difference"], first["n"], first["clusters"], first["only_second"]) == (1.0, 12, 6, 12)
    assert first["p"] == pytest.approx(2 / 2**6)  # six videos, all one way
    assert [(row["name"], row["p_holm"]) for row in tasks] == [("X", 0.0625), ("Y", 0.0625)]
    assert understand("compare", "none", "all", "--protocol", "upstream") == 2
    assert "is not scored" in capsys.readouterr().err
    for name, model in (("r0", "random"), ("r1", "random:1")):
        assert understand("run", "tiny", "--model", model, "--data", "data", "--out", name) == 0
    capsys.readouterr()
    assert understand("compare", "r0", "r1") == 0
    assert "random, r1 (second) minus random, r0 (first)" in capsys.readouterr().out  # of one name, told apart
    hidden = [json.dumps(row | {"value": None}) + "\n" for row in rows("r1").values()]
    Path("r1/scores.jsonl").write_text("".join(hidden))
    assert understand("compare", "r0", "r1") == 2
    assert "both have a score for" in capsys.readouterr().err.replace("\n", " ")


def test_nothing_is_sent_before_the_cost_is_agreed_on(understand: Any, served: Any) -> None:
    model, script = served(answer=seeing)
    common = ("run", "tiny", "--model", model, "--data", "data", "--out", "r", "--max-tokens", 512)
    assert understand(*common, "--price-per-million", 1, 1) == 1  # nobody there to say yes
    assert script.requests == []
    assert understand(*common, "--price-per-million", 1000, 1000, "--max-cost", 4, "--yes", "--threads", 1) == 2
    assert 0 < len(rows("r", "answers.jsonl")) < 12
    assert understand(*common, "--max-cost", 4) == 2  # a bound without prices


def test_the_key_is_where_the_client_looks_for_it() -> None:
    assert options.KEY_VARIABLE == KEY_VARIABLE


def test_fewer_questions_are_a_part_of_more(understand: Any) -> None:
    common = ("run", "tiny", "--model", "random", "--data", "data", "--out", "r")
    assert understand(*common, "--limit", 4) == 0
    few = set(rows("r"))
    assert len(few) == 4
    assert understand(*common, "--limit", 8) == 0
    assert few < set(rows("r"))
    assert understand("score", "r") == 0
    assert len(rows("r")) == 8
    loaded = tiny_benchmark.BENCHMARK.load(Path("data")).questions
    assert len(asked_of(loaded, None, True)) == 12


def test_damaged_lines_are_said_and_asked_again(understand: Any, capsys: pytest.CaptureFixture[str]) -> None:
    common = ("run", "tiny", "--model", "random", "--data", "data", "--out", "r")
    assert understand(*common) == 0
    journal = Path("r/answers.jsonl")
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(["{broken\n", '{"no": "question"}\n', *lines[2:]]))
    assert understand(*common) == 0
    assert "damaged" in capsys.readouterr().err
    assert len({json.loads(line)["question"] for line in journal.read_text().splitlines()[2:]}) == 12


def test_where_every_video_is_missing_nothing_is_begun(understand: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    common = ("run", "tiny", "--data", "data", "--videos", "empty", "--out", "r")
    assert understand(*common, "--model", "endpoint:m@http://127.0.0.1:9/v1") == 2
    assert "videos of all 12 questions are missing" in capsys.readouterr().err
    assert not Path("r").exists()
    assert understand(*common, "--model", "random") == 0


def test_what_is_handed_in_is_of_the_data_of_the_run(
    understand: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = type(registry.find("tiny"))
    monkeypatch.setattr(kind, "submission", lambda self, questions, answers, protocol: "mine", raising=False)
    assert understand("run", "tiny", "--model", "random", "--data", "data", "--out", "r") == 0
    assert understand("submission", "r", "--out", "absent/file.json") == 2
    assert "Cannot write absent/file.json" in capsys.readouterr().err
    assert understand("submission", "r", "--out", "file.json") == 0
    assert Path("file.json").read_text() == "mine"
    Path("data/questions.json").write_text(Path("data/questions.json").read_text() + " ")
    assert understand("submission", "r", "--out", "file.json") == 2
    assert "not those" in capsys.readouterr().err


def test_answers_outlive_their_videos(understand: Any, served: Any) -> None:
    model, script = served(answer=seeing)
    common = ("run", "tiny", "--model", model, "--data", "data", "--out", "r", "--yes")
    assert understand(*common) == 0
    for clip in range(3):
        Path("data", f"v{clip}.mp4").unlink()
    assert understand(*common) == 0
    assert figures("r")[OVERALL]["n"] == 12
    assert len(script.requests) == 12


def test_answers_of_nobody_knows_what_are_not_taken_for_a_run(
    understand: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ("run", "tiny", "--data", "data", "--out", "r")
    assert understand(*common, "--model", "random") == 0
    Path("r/run.json").unlink()
    assert understand(*common, "--model", "random:1") == 2
    assert "other files" in capsys.readouterr().err
    Path("mine").mkdir()
    Path("mine/table.md").write_text("mine")  # a file of ours by its name alone
    assert understand("run", "tiny", "--data", "data", "--model", "random", "--out", "mine") == 2
    assert Path("mine/table.md").read_text() == "mine"


def test_answers_cut_off_are_counted(understand: Any, served: Any, capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = served(answer=lambda body: server.completion(None, finish="length"))
    assert understand("run", "tiny", "--model", model, "--data", "data", "--out", "r", "--yes", "--limit", 2) == 3
    out, err = capsys.readouterr()
    assert "answers cut off for their length: 2" in out
    assert "empty answers: 2" in out
    assert "not understood: 2" in out
    assert "2 answers could not be read" in err


def test_a_run_goes_on_wherever_its_data_lie_but_not_in_other_words(
    understand: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ("run", "tiny", "--model", "random", "--out", "r")
    assert understand(*common, "--data", "data") == 0
    Path("data").rename("moved")
    assert understand(*common, "--data", "moved") == 0
    turns = tiny_benchmark.Tiny.turns
    kind = type(registry.find("tiny"))
    monkeypatch.setattr(kind, "turns", lambda self, q, p: (*turns(self, q, p), Turn("user", "Please.")))
    assert understand(*common, "--data", "moved") == 2
    assert "questions:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "nothing", "--model", "random", "--data", "data"), "No benchmark is called"),
        (("run", "tiny", "--model", "gpt", "--data", "data"), "Expected a model"),
        (("run", "tiny", "--model", "random", "--data", "data", "--extra-body", "{}"), "A reasoning effort"),
        (("run", "tiny", "--model", "random", "--data", "absent"), "no questions.json"),
        (("run", "tiny", "--model", "random", "--data", "data", "--frames", "often"), "Expected a frame policy"),
        (("run", "tiny", "--model", "random", "--data", "data", "--protocol", "theirs"), "vmmetrics or upstream"),
        (("run", "tiny", "--model", "hf:absent", "--data", "data"), "absent|torch"),
        (("score", "absent"), "run.json is missing"),
        (("compare", "absent", "absent"), "run.json is missing"),
    ],
)
def test_wrong_usage_is_said(
    understand: Any, arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    import re

    assert understand(*arguments) == 2
    assert re.search(said, capsys.readouterr().err.replace("\n", " "))


def test_benchmarks_are_listed(understand: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert understand("list") == 0
    assert "4 uniform" in capsys.readouterr().out
