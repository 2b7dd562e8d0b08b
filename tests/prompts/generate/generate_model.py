"""An honest model behind the server that misbehaves, and the command run against it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.cli.main import main
from vmmetrics.prompts.files import write_metadata
from vmmetrics.prompts.generate.writing import REQUIREMENTS, REVIEWER, WRITER
from vmmetrics.utils.endpoint import wire
from vmmetrics.utils.text.inflection import ing_form

TESTS = Path(__file__).parents[2]
KEY = "sk-never-to-be-written-9876543210"


def _load(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


server = _load("endpoint_server", TESTS / "endpoint_server.py")
sample = _load("combine_sample", Path(__file__).with_name("combine_sample.py"))
GENERATE = ("prompts", "generate", "--metadata", "metadata", "--out", "out")
USAGE = {"prompt_tokens": 900, "completion_tokens": 400}


def model(body: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """An honest model: what it answers to a request, as an object."""
    shape = json.loads(body["messages"][1]["content"].rpartition("nothing else: ")[2])
    if body["messages"][0]["content"].startswith(REVIEWER[:40]):
        count = shape["properties"]["verdicts"]["minItems"]
        passed = dict.fromkeys(REQUIREMENTS, True)
        return {"verdicts": [{"number": n, **passed, "why": ""} | changed for n in range(1, count + 1)]}
    assert body["messages"][0]["content"] == WRITER
    listed = shape["properties"]["candidates"]
    fields = listed["items"]["properties"]
    noun, lemma = fields["subject_noun"]["enum"][0], fields["action_lemma"]["enum"][0]
    camera = fields["tags"]["properties"]["camera"]["enum"][0]
    moved = "" if camera == "unspecified" else ", and the camera follows slowly"
    written = []
    for n in range(listed["maxItems"]):
        given = {name: part["enum"][0] for name, part in fields.items() if "enum" in part}
        text = (
            f"Somewhere at the {fields['place']['enum'][0]}, number {n} of the {noun} kind begins to {lemma} in one go"
        )
        tags = {"subjects": "one", "interaction": "none", "speed": "fast", "amplitude": "large", "skeleton": "none"}
        free = {"prompt": f"{text}{moved}.", "subject": f"the {noun}", "outcome": "it is done"}
        free["action"] = f"{ing_form(lemma)} there"
        written.append(given | free | {"tags": tags | {"camera": camera, "seconds": 3}} | changed)
    return {"plausible": True, "why": "", "candidates": written}


def honest(body: dict[str, Any]) -> Any:
    return server.completion(json.dumps(model(body)), usage=USAGE)


def reviews(body: dict[str, Any]) -> bool:
    return body["messages"][0]["content"].startswith(REVIEWER[:40])


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Generate with the answers given; the exit code, the script of the server, and what was printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VMMETRICS_ENDPOINT_KEY", KEY)
    monkeypatch.setattr(wire, "LONGEST_PAUSE", 0.0)
    write_metadata(tmp_path / "metadata", sample.metadata())
    stops = []

    def generate(answer: Any, *options: object, url: str | None = None) -> tuple[int, Any, str]:
        script = server.Script(answer=answer)
        address, stop = server.serve(script)
        stops.append(stop)
        code = 0
        try:
            main([*GENERATE, "--model", "some", "--yes", "--threads", "2", "--url", url or address, *map(str, options)])
        except SystemExit as stop_:
            code = int(stop_.code or 0)
        shown = capsys.readouterr()
        return code, script, " ".join((shown.out + shown.err).split())

    generate.address = lambda answer: _started(answer, stops)
    yield generate
    for stop in stops:
        stop()
    assert not [f for f in tmp_path.rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()]


def _started(answer: Any, stops: list[Any]) -> tuple[str, Any]:
    script = server.Script(answer=answer)
    address, stop = server.serve(script)
    stops.append(stop)
    return address, script


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("out", f"{name}.jsonl").read_text().splitlines()]
