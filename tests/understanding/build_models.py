"""Models that write, watch, filter, guess and proofread questions, behind the server that misbehaves."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import endpoint_server as server
from tests.bad_inputs import write_video
from vmmetrics.cli.main import main
from vmmetrics.utils.endpoint import wire

KEY = "sk-never-to-be-written-5550123"
USAGE = {"prompt_tokens": 500, "completion_tokens": 100}
RIGHT = ("it turns over", "it slides off", "it swings back", "it drops down", "it bounces up", "it rolls out")
"""Right options, by which models here know them; wrong ones are of other words."""
WRONG = ("something burns", "nothing moves", "somebody sleeps", "water boils")


def item(number: int, wrong: int = 3, about: str = "", **more: Any) -> dict[str, Any]:
    written = {"question": f"What is seen of part {number}{about}?", "right": RIGHT[number % len(RIGHT)]}
    return written | {"wrong": list(WRONG[:wrong])} | more


PAIRS = [("human action", "order"), ("human position", "count"), ("object state", "occurrence"), ("camera", "order"),
         ("object trajectory", "appearance"), ("animal action", "count")]  # fmt: skip


def system(body: dict[str, Any]) -> str:
    first = body["messages"][0]
    return first["content"] if first["role"] == "system" else ""


def user(body: dict[str, Any]) -> str:
    """Words of the first thing said to the model."""
    content = next(m["content"] for m in body["messages"] if m["role"] == "user")
    return content if isinstance(content, str) else content[-1]["text"]


def pictures(body: dict[str, Any]) -> int:
    content = body["messages"][-1]["content"]
    return 0 if isinstance(content, str) else sum(part["type"] == "image_url" for part in content)


def kind(body: dict[str, Any]) -> str:
    """What a request is for."""
    said = system(body)
    for name, words in (
        ("proofread", "proofread questions"), ("watch", "evenly spaced"), ("tuna", "places where another model"),
        ("motionbench", "Each joins one thing"),
    ):  # fmt: skip
        if words in said:
            return name
    return "view" if pictures(body) else "blind"


def options(body: dict[str, Any]) -> dict[str, str]:
    """Options of a question that is put to a viewer, by letter."""
    return dict(re.findall(r"^([A-H])\. (.*)$", user(body), re.MULTILINE))


def letter(body: dict[str, Any], right: bool) -> str:
    """The letter of the right option, or of a wrong one."""
    return next(name for name, text in options(body).items() if (text in RIGHT) == right)


def written(body: dict[str, Any]) -> dict[str, Any]:
    """What an honest writer answers."""
    name = kind(body)
    if name == "proofread":
        return {"clear": True, "options": True, "language": True, "why": ""}
    if name == "watch":
        return {"points": [{"content_frame": "it burns", "content_description": "it turns over"}]}
    if name == "tuna":
        tasks = ["Action Sequence", "Camera Motion", "Action Recognition", "Object Location", "Scene Transition"]
        return {"questions": [item(n, task=task) for n, task in enumerate(tasks)]}
    pairs = enumerate(PAIRS)
    return {"questions": [item(n, content=c, logic=logic, task="MR") for n, (c, logic) in pairs]}


def honest(body: dict[str, Any]) -> Any:
    """Writers write, viewers are wrong."""
    name = kind(body)
    text = letter(body, right=False) if name in ("view", "blind") else json.dumps(written(body))
    return server.completion(text, usage=USAGE)


def say(text: Any) -> Any:
    return server.completion(text if isinstance(text, str) else json.dumps(text), usage=USAGE)


def write_clips(folder: Path, count: int = 3) -> Path:
    """Videos of 20 frames in two seconds, and captions of them."""
    rows = []
    for number in range(count):
        frames = np.full((20, 32, 48, 3), 40 + 30 * number, np.uint8)
        frames += np.arange(20, dtype=np.uint8)[:, None, None, None]
        write_video(folder / f"v{number}.mp4", frames)
        rows.append({"video": f"v{number}", "caption": f"Caption {number}: it turns over, then it slides off."})
    path = folder / "captions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run_main(arguments: list[str]) -> int:
    try:
        main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Any]]:
    """Build with a server that answers so; the exit code, its script, and what was printed."""
    monkeypatch.setenv("VMMETRICS_ENDPOINT_KEY", KEY)
    monkeypatch.setattr(wire, "LONGEST_PAUSE", 0.0)
    monkeypatch.chdir(tmp_path)
    write_clips(tmp_path)
    now: list[Any] = [None]
    script = server.Script(answer=lambda body: now[0](body))
    url, stop = server.serve(script)  # one for all, so that a build can go on

    def build(answer: Any, recipe: str, source: str, *options: object, model: str | None = "w") -> tuple[int, Any, str]:
        now[0] = answer
        script.requests.clear()
        named = [] if model is None else ["--model", model]
        given = ["--out", "out", "--yes", "--url", url, *named, *map(str, options)]
        code = run_main(["understand", "build", recipe, source, *given])
        shown = capsys.readouterr()
        return code, script, " ".join((shown.out + shown.err).replace("\u2502", " ").split())

    yield build
    stop()
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()


def out(name: str) -> list[dict[str, Any]]:
    return lines(Path("out") / name)


def summary() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("out/summary.json").read_text())
    return found


def requests(script: Any) -> Counter[tuple[str, str]]:
    return Counter((kind(body), body["model"]) for _, body in script.requests)
