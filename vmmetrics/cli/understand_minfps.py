"""``vmmetrics understand minfps``: the lowest frame rate at which each question can be answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import count_option, option, out_option
from vmmetrics.cli.terminal import EXIT_FAILURES, agree, count, error, open_consoles, until_stopped
from vmmetrics.errors import ClipError
from vmmetrics.utils.schema import plain
from vmmetrics.utils.storage.atomic import write_json

if TYPE_CHECKING:
    from vmmetrics.models.endpoint import EndpointModel
    from vmmetrics.models.questions import Question
    from vmmetrics.understanding.harness.benchmark import Benchmark
    from vmmetrics.understanding.harness.models import ModelSettings
    from vmmetrics.understanding.minfps import QuestionRate
    from vmmetrics.understanding.minfps.asking import Annotator

PERSON = "person:"
_LETTER_TOKENS = 8  # of a usual answer
_SAMPLE = 20
"""Questions sampled for the cost estimate."""


def minfps(
    name: options.BenchmarkName,
    data: Annotated[Path, option("Folder or file of the benchmark.")],
    annotator: Annotated[
        str, option("Who answers: person:NAME, frame-reader (synthetic suite), or a model as for 'run'.")
    ],
    cost: options.CostOptions,
    videos: options.Videos = None,
    out: Annotated[Path, out_option("Folder of the answers; resumes what is there.")] = Path("vmmetrics-minfps"),
    repeats: Annotated[int, count_option("Correct answers required per rate, options shuffled.")] = 4,
    limit: Annotated[int | None, count_option("Use only the first N questions.")] = None,
    group_by: Annotated[str, option("Grouping of the table.")] = "task",
    play: Annotated[bool, option("Open each clip for the person at the terminal.", "--play")] = False,
    page: Annotated[bool, option("Ask the person on a page in a browser of this machine.", "--page")] = False,
    form: options.Format = "text",
    _plugin: options.BenchmarkPlugins = None,
) -> None:
    """Find the lowest frame rate at which each question can be answered (minFPS).

    Run it again with another --annotator and the same --out for a second annotator; the minimum counts. Re-run the
    same command to resume. Exit codes: 0 all done, 3 some videos cannot be shown or some questions get no answer,
    2 wrong usage or setup, 130 stopped.
    """
    from vmmetrics.understanding import registry
    from vmmetrics.understanding.harness.models import ModelSettings
    from vmmetrics.understanding.minfps import distributions
    from vmmetrics.understanding.minfps.asking import Asked, rates_found
    from vmmetrics.utils.storage.job_folder import check_folder

    output, messages = open_consoles()
    benchmark = registry.find(name)
    loaded = benchmark.load(data, videos)
    questions = [question for question in loaded.questions if question.options][:limit]
    if not questions:
        raise typer.BadParameter(f"{name} has no questions with options in {data}")
    if (play or page) and not annotator.startswith(PERSON):
        raise typer.BadParameter(f"--play and --page are for a person: --annotator {PERSON}NAME")
    check_folder(out, holds="rates")
    about = {"benchmark": name, "data": sorted(loaded.source.values())}
    if annotator.startswith(PERSON) and annotator != PERSON:
        opened = _person(annotator.removeprefix(PERSON), out, questions, play, page, messages)
    else:
        try:
            asking = {"prices": cost.price_per_million, "max_cost": cost.max_cost, "key_variable": cost.key_env}
            settings = None if annotator == "frame-reader" else ModelSettings(annotator, **asking)  # type: ignore[arg-type]
        except ValueError as refused:
            raise typer.BadParameter(f"{refused}; or person:NAME", param_hint="--annotator") from refused
        opened = _model(settings, benchmark, questions, out, repeats, cost.yes, messages)
    failed = 0
    message = "stopped; answers are kept; run the same command again to resume"
    with opened as who, Asked(out, who, about) as asked, until_stopped(messages, message):
        for index, (question, rate, why) in enumerate(asked.work_through(questions), 1):
            failed += why is not None
            text = f"{rate:g} fps" if rate is not None else "at no rate"
            line = f"[{index}/{len(questions)}] {question.id}: "
            if why is None:
                messages.print(line + text, soft_wrap=True)
            else:
                error(messages, line + why)
    rates = rates_found(out, questions)
    rows = [{**plain(question), "min_fps": question.min_fps} for question in rates]
    figures = {"questions": rows, "distribution": plain(distributions(rates, group_by))}
    _show(rates, name, group_by, form, figures, output)
    write_json(out / "minfps.json", figures)
    messages.print(f"written: {out}", soft_wrap=True)
    if failed:
        error(messages, f"{count(failed, 'question')} failed; run the same command again to retry")
        raise typer.Exit(EXIT_FAILURES)


@contextmanager
def _person(
    name: str, out: Path, questions: Sequence[Question], play: bool, page: bool, messages: Console
) -> Iterator[Annotator]:
    from vmmetrics.understanding.minfps import in_words
    from vmmetrics.understanding.minfps.asking import person_annotator

    if page:
        from vmmetrics.understanding.minfps.page import Page

        with Page(questions) as asking:
            instruction = f"open {asking.url} in a browser on this machine; Ctrl-C stops, answers are kept"
            messages.print(instruction, soft_wrap=True)
            yield person_annotator(name, out / "clips", asking.ask)
        return

    def ask(question: Question, path: Path, rate: float) -> bool:
        shown = (question.text, *question.lettered)
        messages.print("", f"{path} shows {in_words(rate)}", *shown, sep="\n", soft_wrap=True)
        if play:
            typer.launch(str(path))
        try:
            return typer.confirm("Can it be answered from this?", err=True)
        except typer.Abort:
            raise KeyboardInterrupt from None

    yield person_annotator(name, out / "clips", ask)


@contextmanager
def _model(
    settings: ModelSettings | None, benchmark: Benchmark, questions: Sequence[Question], out: Path, asks: int,
    yes: bool, messages: Console,
) -> Iterator[Annotator]:  # fmt: skip
    """Return a model; one behind an endpoint once its cost is agreed to. No settings are the frame reader's."""
    from vmmetrics.models.endpoint import EndpointModel
    from vmmetrics.understanding.harness.models import open_model
    from vmmetrics.understanding.minfps.asking import model_annotator, rates_found, reader_annotator

    if settings is None:
        yield reader_annotator()
        return
    model = open_model(settings, questions, out / "replies")
    if not isinstance(model, EndpointModel):
        yield model_annotator(model, benchmark, asks)
        return
    done = {rate.question for rate in rates_found(out, questions) if model.name in rate.by}
    todo = [question for question in questions if question.id not in done]
    if todo:
        _say_cost(model, benchmark, todo, messages)
        agree(messages, yes)
    try:
        yield model_annotator(model, benchmark, asks)
    finally:
        messages.print(f"this time: {model.client.ledger}")


def _say_cost(model: EndpointModel, benchmark: Benchmark, questions: Sequence[Question], messages: Console) -> None:
    """Print the cost if every question is asked at every rate once; a wrong answer at a rate ends it."""
    from vmmetrics.understanding.minfps import frames_on_the_way
    from vmmetrics.understanding.minfps.asking import extent_of

    each = []
    for question in questions[:: -(-len(questions) // _SAMPLE)]:
        try:
            each.append(frames_on_the_way(*extent_of(question)))
        except ClipError:
            continue
    if not each:
        return
    rates, frames = (sum(numbers) / len(each) for numbers in zip(*each, strict=True))
    turns = [benchmark.turns(question, "vmmetrics") for question in questions for _ in range(round(rates))]
    estimate = model.estimate(turns, frames / rates, _LETTER_TOKENS)
    messages.print(f"{model.name}, at most: {estimate}", soft_wrap=True)


def _show(
    rates: Sequence[QuestionRate], name: str, group: str, form: str, data: Mapping[str, Any], output: Console
) -> None:
    from vmmetrics.understanding.minfps import agreement, distributions
    from vmmetrics.utils.display.tables import DisplayTable, Lines, Part, figure, heads

    rows = distributions(rates, group)
    buckets = list(rows[0].buckets)[:-1]  # the last is "never" again
    annotators = sorted({who for question in rates for who in question.by})
    caption = f"minimum over {', '.join(annotators) or 'no annotator'}"
    grid = DisplayTable("minfps", f"{name}: minFPS", caption, heads(group, "n", "never", "mean", "quartiles", *buckets))
    for row in rows:
        quartiles = "" if row.quartiles is None else " / ".join(f"{value:g}" for value in row.quartiles)
        counts = [str(row.buckets[bucket]) for bucket in buckets]
        grid.add(row.name, str(row.n), str(row.never), figure(row.mean), quartiles, *counts)
    lines = []
    alike = agreement(rates)
    if alike is not None:
        lines.append(f"all annotators in one bucket: {alike:.1%} of the questions with two or more")
    stated_rates = [(q.min_fps, q.known) for q in rates if q.known is not None and q.min_fps is not None]
    if stated_rates:
        same = sum(abs(rate - stated) < 1e-6 for rate, stated in stated_rates)
        lower = sum(rate < stated - 1e-6 for rate, stated in stated_rates)
        lines.append(f"as stated by the benchmark: {same} of {len(stated_rates)}; lower {lower}")
    parts: list[Part] = [grid, *([Lines("agreement", "Agreement", tuple(lines))] if lines else [])]
    print_result(form, parts, output, data=lambda: data)
