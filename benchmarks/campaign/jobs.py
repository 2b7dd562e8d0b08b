"""The commands that resume, each small enough to be killed a hundred times, and the server that they ask."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.bad_inputs import moving_frames, write_video
from tests.endpoint_server import Script, completion, hang_up, serve, slow, truncated
from tests.reliability.warm import fork_workers
from tests.reliability.watched import command, fork

KEY = "sk-never-to-be-written-0123456789"
COUNT = 8


@dataclass(frozen=True)
class Job:
    """One command that resumes.

    Attributes:
        name: Row of the table.
        arguments: From the folder of a run to the arguments of ``vmmetrics``.
        victim: Who is killed: ``"parent"``, ``"group"``, ``"worker"`` or ``"two"`` for one of two processes.
        journals: From each journal to the keys of a line that no two lines share, where the line has no error.
        fake: Whether the fake suite scores, in no time.
        resumed: Exit codes of a run that was killed and went on to the end.
        share: Share of the kills.
        spawned: Whether its workers are always started as users have them, not forked.
    """

    name: str
    arguments: Callable[[Path], list[object]]
    victim: str = "parent"
    journals: tuple[tuple[str, tuple[str, ...]], ...] = ()
    fake: bool = False
    resumed: tuple[int, ...] = (0,)
    share: float = 1.0
    spawned: bool = False

    def start(self, out: Path, log: int, before: Callable[[], None] | None = None, *, spawn: bool = False) -> int:
        """Start the command in a session of its own; the process number.

        Args:
            out: Folder of the run.
            log: Descriptor for what it prints.
            before: Called in the process first.
            spawn: Whether its workers are started as users have them, not forked.
        """

        def work() -> int:
            self.prepare(spawn=spawn)
            if before:
                before()
            return command(self.arguments(out))

        return fork(work, log)

    def prepare(self, *, spawn: bool = False) -> None:
        """Set up this process as every run of the job has it."""
        os.environ["VMMETRICS_ENDPOINT_KEY"] = KEY
        if self.fake:
            import vmmetrics.scoring.settings

            vmmetrics.scoring.settings.SUITE = "fake_suite:FakeSuite"
        if not spawn and not self.spawned:
            fork_workers()


@dataclass(frozen=True)
class Material:
    """What the commands work on: clips, a suite of questions, prompts, and the address of the server."""

    clips: Path
    names: Path
    suite: Path
    prompts: Path
    metadata: Path
    captions: Path
    maker: Path
    recorded: Path
    url: str

    @classmethod
    def make(cls, folder: Path, url: str) -> Material:
        """Write everything below ``folder``."""
        material = cls(*(folder / name for name in cls.__dataclass_fields__ if name != "url"), url=url)
        for place, slowed in ((material.clips, ""), (material.names, "slow")):
            place.mkdir(parents=True)
            for number in range(COUNT):
                write_video(place / f"c{number}{slowed}.mp4", moving_frames(6, seed=number))
        from tests.prompts.generate.combine_sample import metadata
        from vmmetrics.prompts.files import write_metadata

        write_metadata(material.metadata, metadata())
        _write_prompts(material.prompts)
        material.captions.write_text("".join(f"A {animal} runs over a field.\n" for animal in _ANIMALS))
        material.maker.write_text("import shutil, sys, time\ntime.sleep(0.05)\nshutil.copy(sys.argv[1], sys.argv[2])\n")
        return material


_ANIMALS = ("dog", "cat", "horse", "heron", "goose", "trout", "pony", "gull", "fox", "hare", "cow", "goat")


def _write_prompts(path: Path) -> None:
    from vmmetrics.prompts.files import read_entries, write_entries
    from vmmetrics.utils.weights.manifest import shipped_list

    write_entries(path, read_entries(shipped_list("mini"))[:10])


SCORES = (("scores.jsonl", ("clip",)),)
ANSWERS = (("answers.jsonl", ("question",)),)
CASES = (("cases.jsonl", ("clip", "kind", "strength")),)


def jobs(material: Material) -> list[Job]:
    """Every command that resumes and that this machine has what it needs for."""
    m = material

    def score(*more: object) -> Callable[[Path], list[object]]:
        return lambda out: ["score", m.clips, "--out", out, "--metrics", "pas", *more]

    def scored_slowly(*more: object) -> Callable[[Path], list[object]]:
        return lambda out: ["score", m.names, "--out", out, *more]

    def understand(*model: object) -> Callable[[Path], list[object]]:
        few = ("--frames", "2 uniform", "--max-size", "64", "--yes")
        return lambda out: ["understand", "run", "synthetic", "--data", m.suite, "--out", out, "--model", *model, *few]

    def probe(*more: object) -> Callable[[Path], list[object]]:
        few = ["--defects", "flicker,reversal", "--strengths", "0.5,1", "--invariances", "none", "--no-rates"]
        return lambda out: ["probe", m.clips, "--out", out, "--metrics", "ssim", *few, "--no-charts", *more]

    asking = ["--url", m.url, "--model", "m", "--yes", "--threads", "2"]
    made = f"'{sys.executable}' -I -S '{m.maker}' '{m.clips}/c0.mp4' {{out}} {{prompt}}"
    all_jobs = [
        Job("score, real metric", score(), "parent", SCORES),
        Job("score", scored_slowly(), "parent", SCORES, fake=True, share=2),
        Job("score, process group", scored_slowly(), "group", SCORES, fake=True, share=2),
        Job("score --jobs 2", scored_slowly("--jobs", 2), "parent", SCORES, fake=True, share=2),
        Job("score --jobs 2, a worker", scored_slowly("--jobs", 2), "worker", SCORES, fake=True, share=2),
        Job("score, two processes", scored_slowly(), "two", SCORES, fake=True, share=2),
        Job("baselines", lambda out: ["baselines", m.clips, "--out", out, "--metrics", "ssim"], "parent", SCORES),
        Job("probe", probe(), "parent", CASES),
        Job("probe --jobs 2", probe("--jobs", 2), "group", CASES, spawned=True, share=0.5),
        Job("understand run random", understand("random"), "parent", ANSWERS),
        Job("understand run recorded:", understand(f"recorded:{m.recorded}"), "parent", ANSWERS),
        Job("understand run endpoint", understand(f"endpoint:m@{m.url}"), "group", ANSWERS),
        Job(
            "generate-clips --command",
            lambda out: ["generate-clips", "--prompts", m.prompts, "--out", out, "--command", made],
            "group",
            (("generation.jsonl", ("clip",)),),
        ),
        Job(
            "prompts generate",
            lambda out: ["prompts", "generate", "--metadata", m.metadata, "--out", out, "--count", 10, *asking],
            "parent",
            (("combinations.jsonl", ("number",)), ("candidates.jsonl", ("index",))),
        ),
        Job(
            "prompts filter",
            lambda out: ["prompts", "filter", m.prompts, "--out", out / "kept.json", "--no-embedding", *asking],
            resumed=(0, 3),
        ),
    ]
    if find_spec("spacy") and find_spec("en_core_web_sm"):
        all_jobs.append(
            Job(
                "prompts extract", lambda out: ["prompts", "extract", m.captions, "--out", out, "--no-infer"], share=0.5
            )
        )
    return all_jobs


def prepare_suite(material: Material, folder: Path) -> None:
    """Render the suite of questions, and record the answers of a run for ``recorded:``."""
    command(["understand", "synthetic", "--out", material.suite, "--count", "10"])
    few = ("--frames", "2 uniform", "--max-size", "64")
    run = folder / "recorded-run"
    command(["understand", "run", "synthetic", "--data", material.suite, "--out", run, "--model", "random", *few])
    shutil.copy(run / "answers.jsonl", material.recorded)


def start_server(port_file: Path) -> int:
    """Start the server in a process of its own, which writes its address; the process number."""

    def work() -> int:
        url, _ = serve(Script(answer=_Moody()))
        port_file.with_suffix(".part").write_text(url)
        port_file.with_suffix(".part").replace(port_file)
        while True:
            time.sleep(60)

    return fork(work)


class _Moody:
    """An honest model whose first reply to a question may come to harm on the way; the next one does not."""

    def __init__(self) -> None:
        self._tries: Counter[str] = Counter()

    def __call__(self, body: dict[str, Any]) -> Any:
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self._tries[digest] += 1
        mood = int(digest[:4], 16) % 12 if self._tries[digest] == 1 else 11
        harm = [
            (500, {}, b"boom"),
            (429, {"Retry-After": "0.05"}, b"slow down"),
            truncated,
            hang_up,
            (200, {}, b"<html>no JSON</html>"),
            (503, {}, b""),
        ]
        return harm[mood] if mood < len(harm) else slow(0.03, _honest(body))


def _honest(body: dict[str, Any]) -> Any:
    from tests.prompts.generate import generate_model

    try:
        return generate_model.honest(body)
    except (AssertionError, KeyError, IndexError, TypeError, ValueError, AttributeError):
        pass
    text = body["messages"][-1]["content"]
    text = text if isinstance(text, str) else " ".join(part.get("text", "") for part in text)
    _, asked, shape = text.rpartition("nothing else: ")
    answer = "A"
    if asked:
        answer = json.dumps(_of_shape(json.loads(shape), hashlib.sha256(text.encode()).digest()))
    return completion(answer, usage={"prompt_tokens": 50, "completion_tokens": 20})


def _of_shape(shape: dict[str, Any], digest: bytes) -> Any:
    """A value of a JSON schema, always the same for the same digest."""
    if "enum" in shape:
        return shape["enum"][digest[0] % len(shape["enum"])]
    kind = shape.get("type")
    if kind == "object":
        return {name: _of_shape(part, digest[1:] + digest[:1]) for name, part in shape.get("properties", {}).items()}
    if kind == "array":
        return [_of_shape(shape.get("items", {}), digest) for _ in range(max(1, shape.get("minItems", 1)))]
    return {"boolean": True, "integer": shape.get("minimum", 1), "number": shape.get("minimum", 1)}.get(kind, "fine")
