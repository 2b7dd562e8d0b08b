"""``vmmetrics understand run``: evaluate a model on a benchmark."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.options import count_option, number_option, option, out_option, seed_option, threads_option
from vmmetrics.cli.running import ClusterOptions
from vmmetrics.cli.terminal import EXIT_FAILURES, Bar, agree, count, error, open_consoles, until_stopped, usage, warn
from vmmetrics.errors import SetupError

if TYPE_CHECKING:
    from vmmetrics.models.protocol import Model
    from vmmetrics.models.questions import Answered, LoadedBenchmark
    from vmmetrics.understanding.harness.benchmark import Benchmark, Scoring
    from vmmetrics.understanding.harness.models import ModelSettings
    from vmmetrics.understanding.harness.running import Asking, RunFolder
    from vmmetrics.understanding.harness.scoring import ScoredRun
    from vmmetrics.utils.endpoint.messages import CostEstimate

BESIDE = 3
"""Maximum published rows on a terminal; the page has all."""


def scoring(text: str) -> Scoring:
    """Return a protocol by its name."""
    if text not in ("vmmetrics", "upstream"):
        raise typer.BadParameter(f"expected vmmetrics or upstream but got {text!r}", param_hint="--protocol")
    return cast("Scoring", text)


def reopen(
    folder: Path, data: Path | None, messages: Console
) -> tuple[dict[str, Any], Benchmark, LoadedBenchmark, dict[str, Answered]]:
    """Reopen a run: its benchmark, the questions it was asked, and its answers; report damage.

    Args:
        folder: Of the run.
        data: The benchmark's data; None for where the run had them.
        messages: For what is damaged.

    Raises:
        SetupError: There is no run, or the data are not those of the run.
    """
    from vmmetrics.understanding import registry
    from vmmetrics.understanding.harness.running import read_answers, read_run

    run = read_run(folder)
    configuration, session = run["configuration"], run["sessions"][-1]
    benchmark = registry.find(configuration["benchmark"])
    videos = session.get("videos")
    loaded = benchmark.load(data or Path(session["data"]), None if videos is None else Path(videos))
    if sorted(loaded.source.values()) != sorted(configuration["data"].values()):
        raise SetupError(f"The data of {benchmark.name} are not those that the run in {folder} was asked from")
    answers, warnings = read_answers(folder)
    warn(messages, warnings)
    return run, benchmark, loaded, answers


def finish_run(result: ScoredRun, folder: Path, output: Console, messages: Console, form: str) -> None:
    """Write a scored run, and print its figures beside published ones and what was counted."""
    from dataclasses import astuple, fields

    from vmmetrics.cli.formats import print_result
    from vmmetrics.understanding.harness.benchmark import Figure
    from vmmetrics.understanding.harness.scoring import page_parts, write
    from vmmetrics.utils.display.markup import csv_text

    files = write(result, folder)
    rows = [[part.name for part in fields(Figure)], *map(astuple, result.figures)]
    parts = page_parts(result, BESIDE) if form == "text" else page_parts(result)
    print_result(form, parts, output, data=result.to_json, csv=lambda: csv_text(rows))
    for file in files:
        messages.print(f"written: {file}", soft_wrap=True)


def judge_of(text: str | None, folder: Path, messages: Console, cost: options.CostOptions, tokens: int) -> Any:
    """Return the judge that a command names: an endpoint's client with progress, or recorded verdicts."""
    from vmmetrics.understanding.harness.models import ModelSettings
    from vmmetrics.utils.endpoint.client import THREADS, Client

    class Judge(Client):
        def work_through(self, work: Any, items: Iterable[Any], threads: int = THREADS) -> Generator[tuple[Any, Any]]:
            todo = list(items)
            with Bar(messages, len(todo)) as bar, closing(super().work_through(work, todo, threads)) as judged:
                for done in judged:
                    bar.step()
                    yield done
            messages.print(f"judge, this time: {self.ledger}")

    if text is None or not text.startswith("endpoint:"):
        return None if text is None else Path(text)
    with usage("--judge"):
        settings = ModelSettings(text, tokens=tokens, prices=cost.price_per_million, key_variable=cost.key_env)
    return Judge(settings.endpoint(), folder / "replies", cost.max_cost)


FOLDER = "vmmetrics-understand"
"""Default folder of runs."""
CONTROLS = {"blind": "none", "single-frame": "single"}
"""Controls, and the frames each shows."""
CLUSTER_KINDS = ("hf", "frame-reader")
"""Kinds of models that run on a Ray cluster."""
_LETTER_TOKENS, _WORDS_TOKENS = 8, 250  # of a usual answer: to a question with options, and a description


@dataclass
class ModelOptions:
    """Options of the commands that ask a video language model."""

    frames: Annotated[
        str | None, option("'8 uniform', '2 fps', adaptive, native, single, first, none; 'slowed 4', 'at most 64'.")
    ] = None
    max_size: Annotated[int, count_option("Longer side of the frames, pixels.", 16)] = 448
    video_format: Annotated[str, option("Send frames as images or video; auto: as the model prefers.")] = "auto"
    times: Annotated[
        bool | None,
        option("Tell clip length, rate and frame times with images. Default: yes, but not in upstream's wording."),
    ] = None
    max_tokens: Annotated[int, count_option("Maximum tokens per answer, thinking included.")] = 8192
    temperature: Annotated[float, number_option("Sampling temperature of an endpoint.", 0, 2)] = 0.0
    seed: Annotated[int | None, seed_option("Random seed sent to an endpoint.")] = None
    per_minute: options.PerMinute = None
    threads: Annotated[int | None, threads_option("Concurrent requests; threads of a local model.")] = None
    reasoning_effort: Annotated[
        str | None, option("Reasoning effort of an endpoint: low, medium, high or another value.")
    ] = None
    extra_body: Annotated[str | None, option("JSON object of further request fields for an endpoint.")] = None
    batch_size: Annotated[int, count_option("Batch size of a local model.")] = 1
    dtype: Annotated[str, option("Data type of a local model: auto, float32, float16 or bfloat16.")] = "auto"
    device: options.Device = None
    retry_errors: Annotated[bool, option("Retry questions that ended in an error.", "--retry-errors")] = False

    def settings(self, model: str, cost: options.CostOptions, times: bool = True) -> ModelSettings:
        """Return the settings of a model; ``times`` is the default of the option.

        Raises:
            ValueError: As :class:`~vmmetrics.understanding.harness.models.ModelSettings`.
        """
        from vmmetrics.understanding.harness.models import ModelSettings

        return ModelSettings(
            model, self.video_format, times if self.times is None else self.times, self.max_tokens, self.temperature,  # type: ignore[arg-type]
            self.seed, self.per_minute, cost.price_per_million, cost.max_cost, cost.key_env, self.threads,
            self.reasoning_effort, self.extra_body, self.batch_size, self.dtype, self.device,
        )  # fmt: skip


def run(
    name: options.BenchmarkName,
    model: Annotated[
        str,
        option(
            "endpoint:MODEL@URL, hf:FOLDER, hf:ORG/NAME, recorded:FILE, random, random:SEED, majority, frame-reader, "
            "perception."
        ),
    ],
    data: Annotated[Path, option("Folder or file of the benchmark, as it was released.")],
    where: ClusterOptions,
    cost: options.CostOptions,
    of_model: ModelOptions,
    videos: options.Videos = None,
    out: Annotated[Path | None, out_option("Folder of the run; resumes what is there.")] = None,
    control: Annotated[str | None, option("blind: text only; single-frame: the middle frame.")] = None,
    protocol: Annotated[str, option("Wording and scoring: vmmetrics, or upstream as released.")] = "vmmetrics",
    limit: Annotated[int | None, count_option("Use only the first N questions (can be raised on resume).")] = None,
    jobs: Annotated[int, options.jobs_option("Ray: workers, each with the whole model.")] = 1,
    dry_run: options.DryRun = False,
    form: options.Format = "text",
    plugin: options.BenchmarkPlugins = None,
) -> None:
    """Evaluate a video language model on a benchmark: ask its questions and score the answers.

    Re-run the same command to resume; nothing is asked or paid for twice. Exit codes: 0 all answered, 3 some
    questions without an answer that can be read, 1 declined, 2 wrong usage or setup, 130 stopped.
    """
    from vmmetrics.models.frames import FramePolicy
    from vmmetrics.understanding import registry
    from vmmetrics.understanding.harness.models import open_model
    from vmmetrics.understanding.harness.running import Asking, RunFolder

    output, messages = open_consoles()
    benchmark = registry.find(name)
    frames = of_model.frames
    with usage():
        if control is not None and (control not in CONTROLS or frames is not None):
            raise ValueError(f"Expected --control to be one of {', '.join(CONTROLS)}, without --frames")
        policy = FramePolicy.parse(frames or (CONTROLS[control] if control else benchmark.policy))
        settings = of_model.settings(model, cost, protocol != "upstream")
    cluster = where.cluster()
    if cluster is not None and settings.kind not in CLUSTER_KINDS:
        raise typer.BadParameter(f"--engine ray is for hf: models; {settings.kind} takes no GPU of ours")
    loaded = benchmark.load(data, videos)
    folder = out or Path(FOLDER) / _slug(f"{name}-{model}-{policy}-{protocol}")
    RunFolder.check(folder)
    if dry_run:
        _show_plan(loaded, model, f"{policy}", limit, data, videos, folder, form, output)
        return
    words = scoring(protocol)
    shown: dict[str, Any] = {
        "policy": policy,
        "protocol": words,
        "side": of_model.max_size,
        "own_policies": frames is None and control is None,
    }
    opened: AbstractContextManager[Model]
    if cluster is None:
        released = partial(benchmark.read_answers, protocol=words)
        opened = nullcontext(open_model(settings, loaded.questions, folder / "replies", released))
    else:
        from vmmetrics.understanding.harness.cluster_model import ClusterModel, QuestionSettings

        there = QuestionSettings(name, settings, shown, tuple(str(path.absolute()) for path in plugin or ()))
        opened = closing(ClusterModel(there, jobs, cluster, lambda text: warn(messages, [text])))
    with opened as of:
        loaded = replace(loaded, problems={**loaded.problems, **getattr(of, "problems", {})})
        asking = Asking(benchmark, loaded, of, limit=limit, **shown)
        folders = {"data": str(data.absolute()), "videos": videos and str(videos.absolute())}
        session = {"model": model, "batch_size": of_model.batch_size, **folders}
        with open_run(asking, folder, session) as opened_run:
            if (estimate := announce(asking, opened_run, of_model.retry_errors, messages)) is not None:
                messages.print(f"{model}: {estimate}")
                agree(messages, cost.yes)
            failed = ask_remaining(asking, opened_run, of_model.retry_errors, messages)
    unread = _score(asking, folder, output, messages, form)
    if settings.kind == "frame-reader":
        unread = 0  # it does not answer what its frames do not show
    if unread:
        error(messages, f"{count(unread, 'answer')} could not be read and {benchmark.unanswered}")
    report_unanswered(failed, messages)
    if failed or unread:
        raise typer.Exit(EXIT_FAILURES)


def report_unanswered(failed: int, messages: Console) -> None:
    """Print how many questions have no answer, and what to do."""
    if failed:
        advice = "run the same command again to retry those without a reply, with --retry-errors also errors"
        error(messages, f"{count(failed, 'question')} got no answer; {advice}")


def _show_plan(
    loaded: LoadedBenchmark, model: str, policy: str, limit: int | None, data: Path, videos: Path | None, folder: Path,
    form: str, output: Console,
) -> None:  # fmt: skip
    """Print what would be asked, of whom, and where answers would go."""
    from vmmetrics.cli.formats import print_result
    from vmmetrics.understanding.harness.running import read_answers
    from vmmetrics.utils.display.tables import Lines

    answered = len(read_answers(folder)[0]) if (folder / "answers.jsonl").exists() else 0
    lines = [
        f"{count(len(loaded.questions[:limit]), 'question')} to {model}, frames: {policy}",
        f"data: {data}; videos: {videos or 'with the data'}",
        *(f"{times:,} {problem}" for problem, times in loaded.problems.items()),
        f"answers: {folder}, which has {answered}" if answered else f"answers: {folder}, new",
    ]
    print_result(form, [Lines("plan", "Planned questions", tuple(lines))], output)


def _slug(text: str) -> str:
    """Return a name for a folder, of letters that any system takes.

    >>> _slug("favor-mcq-endpoint:org/m@http://localhost:8000/v1-2 fps-vmmetrics")
    'favor-mcq-endpoint-org-m-http-localhost-8000-v1-2-fps-vmmetrics'
    """
    return re.sub(r"[^\w.]+", "-", text).strip("-.")[-120:]


def open_run(asking: Asking, path: Path, start: dict[str, Any]) -> RunFolder:
    """Open the folder of a run, new or to resume; ``start`` is noted with the session.

    Raises:
        SetupError: No video is there, or the folder is of another run.
    """
    from vmmetrics.understanding.harness.running import RunFolder
    from vmmetrics.utils.storage.provenance import invocation, machine, recorded_versions

    questions = len(asking.loaded.questions)
    if not asking.covered() and not (path / "answers.jsonl").exists():
        raise SetupError(f"The videos of all {questions:,} questions are missing; set --videos to their folder")
    session = {
        **start,
        **invocation(),
        "limit": asking.limit,
        "found": questions,
        "versions": recorded_versions(),
        "machine": machine(),
    }
    return RunFolder(path, asking.configuration(), session)


def announce(asking: Asking, folder: RunFolder, again: bool, messages: Console) -> CostEstimate | None:
    """Print what is to be done, and return its expected cost where it has one."""
    from vmmetrics.models.endpoint import EndpointModel
    from vmmetrics.understanding.harness.statistics import too_few_videos

    warn(messages, folder.warnings)
    todo, total = asking.remaining(folder, again), len(asking.covered(folder.answers))
    for problem, times in asking.loaded.problems.items():
        messages.print(f"{times:,} {problem}")
    before = f", {total - len(todo):,} of them answered before" if total > len(todo) else ""
    messages.print(f"{count(total, 'question')} to {asking.model.name}{before}")
    warn(messages, too_few_videos(asking.covered(folder.answers), asking.benchmark.cluster))
    if not isinstance(asking.model, EndpointModel) or not todo:
        return None
    expected = _LETTER_TOKENS if todo[0].options else _WORDS_TOKENS
    return asking.model.estimate([asking.turns(question) for question in todo], asking.frames_each(todo), expected)


def ask_remaining(asking: Asking, folder: RunFolder, again: bool, messages: Console) -> int:
    """Ask the remaining questions, with progress; return how many have no answer."""
    from vmmetrics.models.endpoint import EndpointModel
    from vmmetrics.understanding.harness.running import usage_of

    stopped = f"stopped; answers so far are in {folder.path}; run the same command again to resume"
    try:
        with until_stopped(messages, stopped), Bar(messages, len(asking.remaining(folder, again))) as bar:
            for outcome in asking.run(folder, again):
                answered = outcome.answered
                if answered.failed:
                    kind = "error" if outcome.kept else "no answer"
                    error(messages, f"{kind}: {answered.question}: {answered.error}")
                bar.step()
    finally:
        folder.finish({"problems": dict(asking.loaded.problems), "usage": usage_of(folder.answers)})
        if isinstance(asking.model, EndpointModel):
            messages.print(f"this time: {asking.model.client.ledger}")
    answers = folder.answers
    return sum(q.id not in answers or answers[q.id].failed for q in asking.covered(answers))


def _score(asking: Asking, path: Path, output: Console, messages: Console, form: str) -> int:
    """Score and print what was answered, unless that takes a judge; return how many answers could not be read."""
    if asking.benchmark.needs_judge:
        messages.print(f"answers: {path}/answers.jsonl; to judge them, run 'vmmetrics understand score'")
        return 0
    result = scored_run(asking, path)
    finish_run(result, path, output, messages, form)
    return result.counts.get("not understood", 0)


def scored_run(asking: Asking, path: Path) -> ScoredRun:
    """Return the scores of what was answered in a run's folder."""
    from vmmetrics.understanding.harness.running import read_answers
    from vmmetrics.understanding.harness.scoring import score

    answers, _ = read_answers(path)
    return score(
        asking.benchmark, asking.configuration(), asking.covered(answers), answers, asking.protocol,
        problems=asking.loaded.problems,
    )  # fmt: skip
