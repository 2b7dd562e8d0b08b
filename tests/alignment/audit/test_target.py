"""Forms of a target, how it takes clips, and what commands and addresses are handed and answer."""

from __future__ import annotations

import json
import math
import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.alignment.audit import runner
from vmmetrics.alignment.audit.calls import Answer, Caller, Item, Limits
from vmmetrics.alignment.audit.runner import RefusedError, filled, parsed, scores_of
from vmmetrics.alignment.audit.target import Target, target_of
from vmmetrics.errors import SetupError

LIMITS = Limits(seconds=30)


def called(target: Target, items: list[Item], route: str) -> list[Answer]:
    with Caller(target, LIMITS) as caller:
        return caller(items, route)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Forms.


@pytest.mark.parametrize(
    ("text", "command", "message"),
    [
        (None, None, "Expected one target"),
        ("m:f", "score {clip}", "Expected one target"),
        (None, "score.py", "{clip} or {folder}"),
        (None, "score.py {clip} {folder}", "{clip} or {folder}"),
        ("no_such_module:f", None, "No module 'no_such_module'"),
        ("no.such.module:f", None, "No module 'no.such.module'"),
        (":f", None, "No module ''"),
        ("scorer:absent", None, "No function 'absent'"),
        ("scorer:nothing", None, "nothing in .* has no parameter"),
        ("scorer:unclear", None, "--takes"),
        ("faulty:f", None, "faulty.py"),
        ("math:sin", None, "--takes"),
        ("no_such_metric", None, "no_such_metric"),
    ],
)
def test_refused_targets(text: str | None, command: str | None, message: str) -> None:
    Path("scorer.py").write_text("def nothing():\n    return 1\n\ndef unclear(x):\n    return 1\n")
    Path("faulty.py").write_text("def f(path:\n")
    with pytest.raises(SetupError, match=message):
        target_of(text, command=command)


def test_unknown_way_of_taking_clips() -> None:
    with pytest.raises(ValueError, match="'pixels'"):
        target_of("m:f", takes=["path", "pixels"])


@pytest.mark.parametrize(
    ("parameter", "takes"),
    [
        ("path", "path"), ("video_path", "path"), ("clip", "clip"), ("frames", "frames"), ("images", "frames"),
        ("paths", "paths"), ("video_paths", "paths"), ("videos", "videos"), ("x: str", "path"),
        ("x: 'pathlib.Path'", None), ("x: pathlib.Path", "path"), ("x: list[str]", "paths"), ("x: int", None),
    ],
)  # fmt: skip
def test_guesses_by_the_parameter(parameter: str, takes: str | None) -> None:
    Path("scorer.py").write_text(f"import pathlib\nclass C:\n    def f(self, {parameter}, fps=1):\n        return 1\n")
    if takes is None:
        with pytest.raises(SetupError, match="Cannot tell how"):
            target_of("scorer:C.f")
    else:
        target = target_of("scorer:C.f")
        assert (target.takes, target.label, target.kind) == ((takes,), "f", "function")
        assert takes in target.notes[0]
        assert target_of("scorer.py:C.f").text == target.text == "scorer:C.f"  # as a file is named


@pytest.mark.parametrize("module", ["scorer", "package.scorer"])
def test_guessing_runs_nothing(module: str, here: Path) -> None:
    Path("package").mkdir()
    for file in ("scorer.py", "package/__init__.py", "package/scorer.py"):
        Path(file).write_text("open('ran', 'w')\nraise SystemExit(3)\n\n\ndef f(path):\n    return 1\n")
    assert target_of(f"{module}:f").takes == ("path",)
    assert not (here / "ran").exists()
    assert not any(name.startswith("package") for name in sys.modules)


def test_metrics_state_their_direction_and_range() -> None:
    target = target_of("pas, flow_magnitude")
    assert target.kind == "metric"
    assert target.is_amount("pas")
    assert target.takes[0] == "path"
    assert target.direction("flow_magnitude") is not None


@pytest.mark.parametrize(
    ("address", "own"),
    [
        ("http://localhost:8000/score", True), ("http://127.0.0.1/score", True), ("http://127.9.9.9:80", True),
        ("http://[::1]:8000/", True), ("https://localhost", True), ("http://0.0.0.0/", False),
        ("http://10.0.0.1/", False), ("http://example.com/", False), ("http://localhost.example.com/", False),
        ("http://127.0.0.1.example.com/", False), ("http://127.0.0.1@example.com/", False),
        ("http://2130706433/", False), ("http:///score", False),
    ],
)  # fmt: skip
def test_hosts_other_than_this_machine_are_named(address: str, own: bool) -> None:
    if own:
        assert target_of(address).takes == ("path", "paths")
        assert target_of(address, body="{}").takes == ("path",)
    else:
        with pytest.raises(SetupError, match="is not this machine"):
            target_of(address)
    assert target_of("http://example.com/score", hosts=["example.com"]).kind == "http"
    with pytest.raises(SetupError, match="not this machine"):
        target_of("http://example.org/score", hosts=["example.com"])


# Commands.

ECHO = "import json, sys; print(json.dumps({str(n): len(a) for n, a in enumerate(sys.argv[1:])}), file=sys.stderr); " \
       "open(sys.argv[1], 'a').write(json.dumps(sys.argv[2:]) + chr(10)); print(len(sys.argv))"  # fmt: skip


def command_target(*words: str) -> Target:
    return target_of(None, command=shlex.join([sys.executable, *words]))


@pytest.mark.parametrize(
    "name",
    ["with space.mp4", "it's \"quoted\".mp4", "$(touch x).mp4", "`touch x`.mp4", "a; touch x;.mp4", "-rf.mp4",
     "& touch x", "{prompt}.mp4", "a\nb.mp4", "*.mp4", "~.mp4", "$HOME.mp4"],
)  # fmt: skip
def test_names_and_prompts_are_arguments(name: str, here: Path) -> None:
    log = here / "log"
    (here / "folder").mkdir()
    clip = here / "folder" / name
    clip.write_bytes(b"")
    target = command_target("-c", ECHO, str(log), "{clip}", "--prompt={prompt}", "{fps}", "{clip}")
    with Caller(target, LIMITS) as caller:
        answers = caller([Item(path=str(clip), prompt=f"{name} of {{clip}}", fps=8.0)], "path")
    assert answers == [Answer({"score": 6})]
    assert json.loads(log.read_text()) == [str(clip), f"--prompt={name} of {{clip}}", "8.0", str(clip)]
    assert sorted(path.name for path in here.iterdir()) == ["folder", "log"]
    assert [path.name for path in clip.parent.iterdir()] == [name]


def test_a_prompt_is_no_option_of_a_command(here: Path) -> None:
    log = here / "log"
    target = command_target("-c", ECHO, str(log), "{clip}", "{prompt}")
    with Caller(target, LIMITS) as caller:
        refused, taken = (caller([Item(path="x", prompt=text)], "path")[0] for text in ("--help me", "help me"))
    assert refused.refused and "--prompt={prompt}" in refused.refused
    assert taken.scores
    assert json.loads(log.read_text()) == ["x", "help me"]


@pytest.mark.parametrize(
    ("text", "options", "ignored"),
    [
        ("mss", {"higher_is_better": True}, "direction"), ("mss", {"value_range": (0.0, 1.0)}, "range"),
        ("mss", {"amount": True}, "amount"), ("mss", {"key": "a"}, "key"), ("mss", {"hosts": ["h"]}, "allow-host"),
        ("mss", {"body": "{}"}, "body"), ("planted:healthy", {"key": "a"}, "key"),
        ("planted:healthy", {"plugins": ["p.py"]}, "plugin"), ("http://localhost/s", {"plugins": ["p.py"]}, "plugin"),
        (None, {"command": "score {clip}", "takes": ["path"]}, "takes"),
    ],
)  # fmt: skip
def test_options_that_say_nothing_of_a_target(text: str | None, options: dict[str, Any], ignored: str) -> None:
    with pytest.raises(SetupError, match=f"^--{ignored} says nothing of a"):
        target_of(text, **options)


def test_values_are_not_filled_again() -> None:
    values = {"clip": "{prompt}", "prompt": "{clip}{fps}", "fps": "8"}
    assert filled("{clip}-{prompt}-{fps}-{other}-{clip}", values) == "{prompt}-{clip}{fps}-8-{other}-{prompt}"
    assert filled("{{clip}}", {"clip": "a"}) == "{a}"
    assert filled("", values) == ""


def test_files_of_the_users_folder_are_found(here: Path) -> None:
    Path("score.py").write_text("import sys; print(len(sys.argv))")
    Path("echo").mkdir()  # not the program of that name
    with Caller(target_of(None, command=f"{sys.executable} score.py {{clip}}"), LIMITS) as caller:
        assert caller([Item(path="x")], "path") == [Answer({"score": 2})]
    with Caller(target_of(None, command="echo {clip} '' 5"), LIMITS) as caller:
        assert caller([Item(path="x")], "path") == [Answer({"score": 5})]
    words = target_of(None, command="echo '' score.py --x {clip}").spec(1)["words"]
    assert words == ["echo", "", str(here / "score.py"), "--x", "{clip}"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise SystemExit('no weights')", "no weights"),
        ("print('x'); raise SystemExit(4)", "exit code 4: x"),
        ("pass", "no output"),
        ("print('none')", "'none'"),
        ('print(\'{"a": "b"}\')', "no number but str"),
        ("import os; os.kill(os.getpid(), 9)", "exit code -9"),
    ],
)
def test_failing_commands(code: str, why: str) -> None:
    answer = called(command_target("-c", code, "{clip}"), [Item(path="x")], "path")[0]
    assert not answer.failed
    assert why in str(answer.refused)


def test_absent_program() -> None:
    answer = called(target_of(None, command="no-such-program {clip}"), [Item(path="x")], "path")[0]
    assert "no-such-program" in str(answer.refused)


def test_command_of_a_folder(here: Path) -> None:
    code = (
        "import os, sys, json; names = os.listdir(sys.argv[1]); "
        "print(json.dumps({os.path.splitext(name)[0]: len(name) for name in names} | {'b.mp4': 7}))"
    )
    for name in ("a.mp4", "b.mp4", "c.d.mp4"):
        (here / name).write_bytes(b"")
    with Caller(command_target("-c", code, "{folder}"), LIMITS) as caller:
        answers = caller([Item(path=str(here / name)) for name in ("b.mp4", "c.d.mp4", "a.mp4", "no.mp4")], "folder")
    assert [answer.scores.get("score") for answer in answers] == [7, 7, 5, None]


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("3.5", None, 3.5), ("loading\nscore: 0.25\n\n", None, 0.25), ("score -1e-3", None, -1e-3),
        ("nan", None, math.nan), ('{"a": 1, "b": 2}', None, {"a": 1, "b": 2}), ('log\n{"a": 1}', None, {"a": 1}),
        ('{"a":\n {"b": [5, 6]}}', "a.b.1", 6),
        ('x\n[{"s": 0.5}]', "0.s", 0.5), ("1\n2", None, 2.0), ("null", None, None),
    ],
)  # fmt: skip
def test_numbers_at_the_end_of_an_output(text: str, key: str | None, value: object) -> None:
    assert parsed(text, key) == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", None),
        ("done", None),
        ("0.5%", None),
        ("0.5", "a"),
        ('{"a": 1}', "b"),
        ('{"a": 1}', "a.b"),
        ("[1]", "1"),
        ("[1]", "x"),
    ],
)
def test_outputs_without_a_number(text: str, key: str | None) -> None:
    with pytest.raises(RefusedError):
        parsed(text, key)


@pytest.mark.parametrize(
    ("value", "scores"),
    [
        (1, {"": 1}),
        (np.float32(0.5), {"": 0.5}),
        (np.array([[2]]), {"": 2}),
        (True, {"": 1}),
        ({"a": 1, "b": None}, {"a": 1}),
        ({"score": 0.5, "frames": 16, "of_frames": [0.4, 0.6], "model": "x"}, {"score": 0.5}),
    ],
)
def test_scores_of_what_is_returned(value: object, scores: dict[str, float]) -> None:
    assert scores_of(value) == {"scores": scores}


@pytest.mark.parametrize("value", ["0.5", [1, 2], object(), 1j, np.array([]), {"a": "b"}, b"1"])
def test_values_that_are_no_scores(value: object) -> None:
    with pytest.raises(runner.MalformedError):
        scores_of(value)


def test_no_score() -> None:
    assert (
        scores_of(None)
        == scores_of({})
        == scores_of({"a": None})
        == scores_of({"score": None, "at": 3})
        == {"missing": "no score"}
    )


# Addresses.


@contextmanager
def serving(answer: Any) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """A server that answers each POST by ``answer(path, body)``: status, headers and body; and what it was asked."""
    asked: list[tuple[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            asked.append((f"GET {self.path}", None))
            self.send_error(404)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.path, body))
            status, headers, content = answer(self.path, body)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # the client had enough
                self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


ITEMS = [Item(path="/clips/a.mp4", prompt='A "red" {clip}\n'), Item(path="/clips/b.mp4")]


def unirl(_: str, body: Any) -> tuple[int, dict[str, str], bytes]:
    results = [
        {"motion": {"score": len(request["history"][0]["video_path"]), "none": None}, "text": float(n)}
        if "b.mp4" not in request["history"][0]["video_path"] else {}
        for n, request in enumerate(body["requests"])
    ]  # fmt: skip
    errors = [{} if result else {"motion": "no such file"} for result in results]
    return 200, {}, json.dumps({"results": results, "errors": errors}).encode()


@pytest.mark.parametrize("route", ["path", "paths"])
def test_score_endpoint(route: str) -> None:
    with serving(unirl) as (url, asked):
        first, second = called(target_of(f"{url}/score?x=1"), ITEMS, route)
    assert first == Answer({"motion.score": 12, "text": 0})
    assert second.scores == {}
    assert "no such file" in str(second.refused)
    assert [path for path, _ in asked] == ["/score?x=1"] * (1 if route == "paths" else 2)
    requests = [request for _, body in asked for request in body["requests"]]
    texts = [request["history"] for request in requests]
    assert texts == [
        [{"text": ITEMS[0].prompt, "video_path": "/clips/a.mp4"}],
        [{"text": "", "video_path": "/clips/b.mp4"}],
    ]


def test_body_template(here: Path) -> None:
    clip = here / 'a "b".mp4'
    clip.write_bytes(b"\x00\xff")
    body = '{"file": "{clip}", "text": "{prompt}", "fps": {fps}, "data": "{video_b64}"}'
    items = [Item(path=str(clip), prompt='say "{clip}"\\', fps=8.0), Item(path=str(clip))]
    with serving(lambda *_: (200, {}, b'{"scores": [{"motion": 0.5}]}')) as (url, asked):
        answers = called(target_of(url, body=body, key="scores.0.motion"), items, "path")
        missing = called(target_of(url, body=body, key="scores.1"), items[:1], "path")
    assert answers == [Answer({"score": 0.5})] * 2
    assert "no scores.1" in str(missing[0].refused)
    assert [path for path, _ in asked] == ["/"] * 3
    assert asked[0][1] == {"file": str(clip), "text": 'say "{clip}"\\', "fps": 8.0, "data": "AP8="}
    assert (asked[1][1]["text"], asked[1][1]["fps"]) == ("", None)  # and no prompt that reads "null"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((302, {"Location": "/elsewhere"}, b""), "HTTP 302"),
        ((307, {"Location": "http://example.com/"}, b""), "HTTP 307"),
        ((500, {}, b"no <b>weights</b>"), "HTTP 500: no <b>weights</b>"),
        ((200, {}, b"x" * ((1 << 24) + 1)), "an answer of more than 16777216 bytes"),
        ((200, {"Content-Length": str(1 << 40)}, b"x" * (1 << 25)), "an answer of more than 16777216 bytes"),
        ((200, {}, b"no JSON"), "JSON"),
        ((200, {}, b'{"results": [{}, {}]}'), "no list of results"),
        ((200, {}, b'[{"a": 1}]'), "no list of results"),
        ((200, {}, b'{"results": [[1]]}'), ""),
    ],
)
def test_answers_that_are_refused(answer: tuple[int, dict[str, str], bytes], why: str) -> None:
    with serving(lambda *_: answer) as (url, asked):
        answers = called(target_of(f"{url}/score"), ITEMS[:1], "path")
    assert answers[0].scores == {}
    assert not answers[0].failed
    assert why in str(answers[0].refused)
    assert [path for path, _ in asked] == ["/score"]  # redirects are not followed


def test_nobody_listens() -> None:
    with serving(unirl) as (url, _):
        pass
    assert "refused" in str(called(target_of(url), ITEMS[:1], "path")[0].refused).lower()
