"""Export of a benchmark's questions as an lmms-eval task, to use its model servers.

A task is a YAML file, the questions as JSON Lines, and the functions of :mod:`.lmms_task` in a file beside them.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from vmmetrics.errors import SetupError
from vmmetrics.models.frames import FramePolicy
from vmmetrics.models.questions import LoadedBenchmark, Question
from vmmetrics.understanding.harness import lmms_task
from vmmetrics.understanding.harness.benchmark import Benchmark, Scoring
from vmmetrics.utils.storage.atomic import write_text
from vmmetrics.utils.storage.job_folder import prepare

FUNCTIONS = "vmmetrics_tasks.py"
"""File with the functions of all tasks of a folder."""
TOKENS = 8192
"""Most tokens of an answer, thought included. There is no other stop: lmms-eval's blank line would end a thought."""
_YAML = """# Written by 'vmmetrics understand lmms-eval'; {about}
task: {task}
dataset_path: json
dataset_kwargs:
  data_files:
    test: {questions}
test_split: test
output_type: generate_until
doc_to_visual: !function {module}.doc_to_visual
doc_to_text: !function {module}.doc_to_text
doc_to_target: !function {module}.doc_to_target
process_results: !function {module}.process_results
generation_kwargs:
  max_new_tokens: {tokens}
  temperature: 0
  do_sample: false
  until: []
metric_list:
  - metric: vmmetrics_accuracy
    aggregation: !function {module}.mean
    higher_is_better: true
lmms_eval_specific_kwargs:
  default:
    pre_prompt: ""
    post_prompt: ""
metadata:
  version: 1.0
"""


class LmmsTask(NamedTuple):
    """A written task.

    Attributes:
        name: As lmms-eval's ``--tasks`` takes it.
        questions: How many were written.
        left_out: Why others were not, to how many.
    """

    name: str
    questions: int
    left_out: Counter[str]


def write_task(
    benchmark: Benchmark, loaded: LoadedBenchmark, folder: Path, protocol: Scoring = "vmmetrics"
) -> LmmsTask:
    """Write the task of a benchmark; other tasks in the folder are unchanged.

    Args:
        benchmark: The benchmark.
        loaded: Its questions.
        folder: New, empty, or with tasks of this kind.
        protocol: Protocol of the prompts.

    Raises:
        SetupError: No question can be asked by lmms-eval, or the folder holds other files or cannot be written.
    """
    checked = [(question, _why_not(benchmark, question)) for question in loaded.questions]
    asked = [question for question, reason in checked if reason is None]
    left_out = Counter(reason for _, reason in checked if reason is not None)
    written = LmmsTask(f"vmmetrics_{re.sub(r'[^0-9a-z]+', '_', benchmark.name.casefold())}", len(asked), left_out)
    if not asked:
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in left_out.items())
        raise SetupError(f"lmms-eval can ask no question of {benchmark.name}: {reasons}")
    # not resolved: a link of the Hub's cache has the suffix that the file behind it lacks
    paths = [question.path.absolute() for question in asked if question.path is not None]
    videos = Path(os.path.commonpath([path.parent for path in paths]))
    prepare(folder, FUNCTIONS, (), "tasks of lmms-eval")
    write_text(folder / FUNCTIONS, Path(lmms_task.__file__).read_text("utf-8"))
    rows = [_row(benchmark, question, path, videos, protocol) for question, path in zip(asked, paths, strict=True)]
    questions = folder / f"{written.name}.jsonl"
    write_text(questions, "".join(json.dumps(row) + "\n" for row in rows))
    about = f"{len(rows)} questions of {benchmark.name}, protocol {protocol}"
    text = _YAML.format(
        about=about,
        task=written.name,
        questions=json.dumps(str(questions.resolve())),
        module=Path(FUNCTIONS).stem,
        tokens=TOKENS,
    )
    write_text(folder / f"{written.name}.yaml", text)
    return written


def _why_not(benchmark: Benchmark, question: Question) -> str | None:
    """Return the reason lmms-eval cannot ask a question; None if it can."""
    policies = (benchmark.policy_for(question), benchmark.policy)
    if question.path is None:
        return "questions whose video is missing"
    if question.start is not None or question.end is not None:
        return "questions about a part of a video, which lmms-eval would show whole"
    if question.path.is_dir():
        return "questions about a folder of frames, which lmms-eval does not read"
    if any(policy is not None and FramePolicy.parse(policy).slowed != 1 for policy in policies):
        return "questions about a slowed video, which lmms-eval would show at its own speed"
    return None


def _row(benchmark: Benchmark, question: Question, path: Path, videos: Path, protocol: Scoring) -> dict[str, Any]:
    """Return the line of a question, in one form for all, so that they fit a table."""
    return {
        "id": question.id,
        "video": question.video,
        "file": path.relative_to(videos).as_posix(),
        "path": str(path),
        "prompt": "\n\n".join(turn.text for turn in benchmark.turns(question, protocol)),
        "options": list(question.options),
        "answer": question.letter or "",
    }
