"""A benchmark of our own making: whether a clip gets brighter or darker, in a few grey clips."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.bad_inputs import write_video
from vmmetrics.errors import SetupError
from vmmetrics.models.questions import LETTERS, Answered, LoadedBenchmark, Question
from vmmetrics.understanding.harness.benchmark import Benchmark, Figure, Reference, Scored, Scoring
from vmmetrics.understanding.harness.statistics import accuracy_figures
from vmmetrics.utils.endpoint.messages import Turn


class Tiny(Benchmark):
    name = "tiny"
    data = {"policy": "4 uniform"}  # noqa: RUF012
    references = (Reference("Somebody", "made up for a test", {("accuracy", "all", "all"): 0.75}),)

    def load(self, data: Path, videos: Path | None = None) -> LoadedBenchmark:
        try:
            content = (data / "questions.json").read_bytes()
        except OSError as error:
            raise SetupError(f"{data} has no questions.json") from error
        found = []
        for row in json.loads(content):
            path = (videos or data) / row["video"]
            options = ("brighter", "darker")[:: 1 if row["answer"] == 0 else -1]
            groups = {"task": (row["task"],)}
            path_or_none = path if path.exists() else None
            found.append(
                Question(
                    row["id"], row["video"], f"How does it change? ({row['id']})", options, 0, groups, path_or_none
                )
            )
        missing = sum(question.path is None for question in found)
        problems = {"questions whose video is missing": missing} if missing else {}
        return LoadedBenchmark(tuple(found), problems, {"questions.json": hashlib.sha256(content).hexdigest()})

    def turns(self, question: Question, protocol: Scoring) -> tuple[Turn, ...]:
        options = "\n".join(f"{letter}. {o}" for letter, o in zip(LETTERS, question.options, strict=False))
        return (Turn("user", f"{question.text}\n{options}" + (" (released)" if protocol == "upstream" else "")),)

    def score(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], protocol: Scoring, judge: Any = None
    ) -> list[Scored]:
        found = []
        for question in questions:
            text = answers[question.id].text if question.id in answers else ""
            chosen = LETTERS.index(text[0]) if text[:1] in ("A", "B") else None
            if chosen is None and protocol == "upstream":
                chosen = 0  # whatever is not understood is A
            found.append(Scored(question.id, float(chosen == question.answer), chosen, chosen is not None))
        return found

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        return accuracy_figures(questions, scored, ["task"])


BENCHMARK = Tiny()


def write(folder: Path, clips: int = 6, each: int = 2) -> list[str]:
    """Clips and questions; every second clip gets darker. Returns the keys of the questions."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for clip in range(clips):
        levels = np.linspace(50 + 2 * clip, 200 + 2 * clip, 12)[:: 1 if clip % 2 == 0 else -1]
        frames = np.stack([np.full((32, 32, 3), level, np.uint8) for level in levels])
        write_video(folder / f"v{clip}.mp4", frames)
        for number in range(each):
            task = ("X", "Y")[number % 2]
            rows.append({"id": f"q{clip}_{number}", "video": f"v{clip}.mp4", "answer": clip % 2, "task": task})
    (folder / "questions.json").write_text(json.dumps(rows))
    return [row["id"] for row in rows]


def looks(body: dict[str, Any]) -> str:
    """What a model would say that sees the frames of a request: A where it is shown none, or one."""
    import av

    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return "A"
    levels = []
    for part in (part for part in content[:-1] if part["type"] == "image_url"):
        data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
        with av.open(io.BytesIO(data)) as opened:
            levels.append(next(opened.decode(video=0)).to_ndarray(format="gray").mean())
    if len(levels) < 2:
        return "A"
    change = "brighter" if levels[-1] > levels[0] else "darker"
    return next(line[0] for line in content[-1]["text"].splitlines() if change in line[:12] and line[1:2] == ".")
