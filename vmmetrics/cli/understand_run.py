"""``vmmetrics understand run``: a benchmark put to a model, its answers scored."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmmetrics.cli.bars import StepBar, agreed
from vmmetrics.cli.options import (
    KEY_VARIABLE,
    MAX_COUNT,
    BenchmarkName,
    BenchmarkPlugins,
    KeyEnv,
    MaxCost,
    PerMinute,
    Prices,
    Tokens,
    Videos,
    Yes,
    count_option,
    finite,
    jobs_option,
    seed_option,
)
from vmmetrics.cli.running import EXIT_FAILURES
from vmmetrics.cli.stopping import EXIT_INTERRUPTED, stoppable

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.models.questions import Answered, LoadedBenchmark
    from vmmetrics.understanding.harness.benchmark import Benchmark, Scoring
    from vmmetrics.understanding.harness.running import AnswerOutcome
    from vmmetrics.understanding.harness.scoring import ScoredRun
    from vmmetrics.understanding.harness.statistics import ModelDifference

    Answers = dict[str, Answered]
    from vmmetrics.models.frames import FramePolicy
    from vmmetrics.models.protocol import Model
    from vmmetrics.understanding.harness.models import ModelSettings
    from vmmetrics.understanding.harness.running import Asking, RunFolder


# What the understanding commands share: tables of figures and differences, progress, judges.

BESIDE = 3
"""Published rows shown in a terminal; the page has all."""


def scoring(text: str) -> Scoring:
    """A protocol by its name."""
    if text == "vmmetrics":
        return "vmmetrics"
    if text == "upstream":
        return "upstream"
    raise typer.BadParameter(f"expected vmmetrics or upstream but got {text!r}", param_hint="--protocol")


def reopen(
    folder: Path, data: Path | None, messages: Console
) -> tuple[dict[str, Any], Benchmark, LoadedBenchmark, Answers]:
    """A run, its benchmark, the questions it was asked, and its answers; what is damaged is said.

    Args:
        folder: Of the run.
        data: The benchmark's data; None for where the run had them.
        messages: For what is damaged.

    Raises:
        SetupError: There is no run, or the data are not those of the run.
    """
    from vmmetrics.errors import SetupError
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
    for warning in warnings:
        messages.print(f"warning: {warning}", style="yellow")
    return run, benchmark, loaded, answers


def print_result(result: ScoredRun, output: Console) -> None:
    """The figures beside published ones, and what was counted."""
    from vmmetrics.understanding.harness.scoring import HEADS, row

    keys = {(figure.measure, figure.group, figure.name) for figure in result.figures}
    known = [reference for reference in result.references if keys & set(reference.figures)][:BESIDE]
    heads = [*HEADS, *(reference.model for reference in known)]
    title = f"{result.benchmark}: {result.model}, frames {result.frames}, scored as {result.way}"
    _print_table(output, title, heads, [row(figure, known) for figure in result.figures])
    _print_notes([(f"{f.group} {f.name} {f.measure}", f.note) for f in result.figures], output)
    for name, count in result.counts.items():
        output.print(f"{name}: {count:,}")


def print_differences(found: Sequence[ModelDifference], title: str, output: Console) -> None:
    """A row for each category."""
    from vmmetrics.understanding.harness.scoring import DIFFERENCE_HEADS, difference_row

    _print_table(output, title, DIFFERENCE_HEADS, [difference_row(difference) for difference in found])
    _print_notes([(f"{d.group} {d.name}", d.note) for d in found], output)


def _print_notes(notes: Sequence[tuple[str, str]], output: Console) -> None:
    """Each note once, with the first few rows that have it; from pairs of row and note."""
    for note in dict.fromkeys(note for _, note in notes if note):
        places = [place for place, its in notes if its == note]
        shown = ", ".join(places[:4]) + (f" and {len(places) - 4} more" if len(places) > 4 else "")
        output.print(f"{shown}: {note}", style="dim")


def _print_table(output: Console, title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    shown = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for place, head in enumerate(heads):
        shown.add_column(head, justify="left" if place < 3 else "right")
    for place, cells in enumerate(rows):
        last = place + 1 == len(rows) or rows[place + 1][0] != cells[0]
        shown.add_row(*cells, end_section=last)
    output.print(shown)


def judge_of(
    text: str | None,
    folder: Path,
    tokens: int,
    prices: tuple[float, float] | None,
    max_cost: float | None,
    key_env: str,
    messages: Console,
) -> Any:
    """The judge that a command names: an endpoint's client, which shows how far it is, or what one said before."""
    from vmmetrics.understanding.harness.models import ModelSettings
    from vmmetrics.utils.endpoint import THREADS, Client

    class Judge(Client):
        def work_through(self, work: Any, items: Iterable[Any], threads: int = THREADS) -> Generator[tuple[Any, Any]]:
            todo = list(items)
            with StepBar(messages, len(todo)) as bar, closing(super().work_through(work, todo, threads)) as judged:
                for done in judged:
                    bar.step()
                    yield done
            messages.print(f"judge, this time: {self.ledger}")

    if text is None or not text.startswith("endpoint:"):
        return None if text is None else Path(text)
    try:
        settings = ModelSettings(text, tokens=tokens, prices=prices, key_variable=key_env)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--judge") from error
    return Judge(settings.endpoint(), folder / "replies", max_cost)


class AnswerProgress(StepBar):
    """Questions answered.

    Args:
        console: Where.
        total: Questions to be asked.

    Attributes:
        failed: Questions without an answer so far.
    """

    def __init__(self, console: Console, total: int) -> None:
        super().__init__(console, total)
        self.failed = 0

    def advance(self, outcome: AnswerOutcome) -> None:
        """Count a question, and say what went wrong with it."""
        answered = outcome.answered
        if answered.error is not None:
            self.failed += 1
            kind = "error" if outcome.kept else "no answer"
            self._console.print(f"{kind}: {answered.question}: {answered.error}", style="red", soft_wrap=True)
        self.step()


FOLDER = "vmmetrics-understand"
"""Where runs go that were given no folder."""
CONTROLS = {"blind": "none", "single-frame": "single"}
"""Controls, and the frames each shows."""
_LETTER_TOKENS, _WORDS_TOKENS = 8, 250  # of a usual answer: to a question with options, and a description


def run(
    name: BenchmarkName,
    model: Annotated[
        str, typer.Option(help="endpoint:MODEL@URL, hf:FOLDER, recorded:FILE, random, random:SEED, majority or oracle.")
    ],
    data: Annotated[Path, typer.Option(help="Folder or file of the benchmark, as it was released.")],
    videos: Videos = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run; goes on with what is there.")] = None,
    frames: Annotated[
        str | None,
        typer.Option(help="'8 uniform', '2 fps', adaptive, native, single, first, none; 'slowed 4', 'at most 64'."),
    ] = None,
    control: Annotated[str | None, typer.Option(help="blind: words alone; single-frame: the middle frame.")] = None,
    side: Annotated[int, typer.Option(min=16, max=MAX_COUNT, help="Longer side of the frames, pixels.")] = 448,
    form: Annotated[str, typer.Option(help="Frames as images or video; auto: as the model takes them best.")] = "auto",
    protocol: Annotated[str, typer.Option(help="Words and scoring: vmmetrics, or upstream as released.")] = "vmmetrics",
    limit: Annotated[int | None, count_option("Ask so many questions only; may grow.")] = None,
    tokens: Tokens = 512,
    temperature: Annotated[float, typer.Option(callback=finite, min=0, max=2, help="Of an endpoint.")] = 0.0,
    seed: Annotated[int | None, seed_option("Of an endpoint's sampling.")] = None,
    per_minute: PerMinute = None,
    threads: Annotated[int | None, jobs_option("Questions at once; of a local model, of torch.")] = None,
    prices: Prices = None,
    max_cost: MaxCost = None,
    key_env: KeyEnv = KEY_VARIABLE,
    again: Annotated[bool, typer.Option("--again", help="Ask anew where there was an error.")] = False,
    yes: Yes = False,
    _plugin: BenchmarkPlugins = None,
) -> None:
    """Show a model the videos of a benchmark, ask it the questions, and score what it says.

    The same command resumes; nothing is asked or paid for twice. Exit codes: 0 all answered, 3 some
    questions without an answer, 2 wrong usage or setup, 130 stopped.
    """
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.understanding import registry
    from vmmetrics.understanding.harness.models import ModelSettings
    from vmmetrics.understanding.harness.running import Asking

    output, messages = open_consoles()
    benchmark = registry.find(name)
    try:
        policy = _policy(benchmark, frames, control)
        settings = ModelSettings(
            model, form, tokens, temperature, seed, per_minute, prices, max_cost, key_env, threads  # type: ignore[arg-type]
        )  # fmt: skip
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    loaded = benchmark.load(data, videos)
    folder = out or Path(FOLDER) / _slug(f"{name}-{model}-{policy}-{protocol}")
    words, own = scoring(protocol), frames is None and control is None
    opened, loaded = _opened(settings, benchmark, loaded, words, folder)
    asking = Asking(benchmark, loaded, opened, policy, words, side, limit, own_policies=own)
    failed = _ask(asking, settings, folder, (data, videos), again, yes, messages)
    _score(asking, folder, output, messages)
    if failed:
        again_said = "the same command asks again where none came, --again also where there was an error"
        messages.print(f"{failed:,} questions got no answer; {again_said}")
        raise typer.Exit(EXIT_FAILURES)


def _policy(benchmark: Benchmark, frames: str | None, control: str | None) -> FramePolicy:
    from vmmetrics.models.frames import FramePolicy

    if control is not None and (control not in CONTROLS or frames is not None):
        raise ValueError(f"Expected --control to be one of {', '.join(CONTROLS)}, without --frames")
    return FramePolicy.parse(frames or (CONTROLS[control] if control else benchmark.policy))


def _opened(
    settings: ModelSettings, benchmark: Benchmark, loaded: LoadedBenchmark, words: Scoring, folder: Path
) -> tuple[Model, LoadedBenchmark]:
    """The model, made ready; and the benchmark, with what was wrong with a file of recorded answers."""
    from vmmetrics.understanding.harness.models import open_model

    released = partial(benchmark.read_answers, protocol=words)
    opened = open_model(settings, loaded.questions, folder / "replies", released)
    return opened, replace(loaded, problems={**loaded.problems, **getattr(opened, "problems", {})})


def _slug(text: str) -> str:
    """A name for a folder, of letters that any system takes.

    >>> _slug("favor-mcq-endpoint:org/m@http://localhost:8000/v1-2 fps-vmmetrics")
    'favor-mcq-endpoint-org-m-http-localhost-8000-v1-2-fps-vmmetrics'
    """
    return re.sub(r"[^\w.]+", "-", text).strip("-.")[-120:]


def _ask(
    asking: Asking,
    settings: ModelSettings,
    path: Path,
    sources: tuple[Path, Path | None],
    again: bool,
    yes: bool,
    messages: Console,
) -> int:
    """Ask what is left; how many questions have no answer.

    Raises:
        SetupError: No video is there.
    """
    from vmmetrics.errors import SetupError
    from vmmetrics.models.endpoint import EndpointModel
    from vmmetrics.understanding.harness.running import RunFolder, usage_of
    from vmmetrics.utils.storage.provenance import machine, recorded_versions

    found = len(asking.loaded.questions)
    if not asking.covered() and not (path / "answers.jsonl").exists():
        raise SetupError(f"The videos of all {found:,} questions are missing; --videos says where they are")
    data, videos = (None if source is None else str(source.absolute()) for source in sources)
    session: dict[str, Any] = {"model": settings.spec, "data": data, "videos": videos, "limit": asking.limit}
    session |= {"found": found, "versions": recorded_versions(), "machine": machine()}
    with RunFolder(path, asking.configuration(), session) as folder:
        for warning in folder.warnings:
            messages.print(f"warning: {warning}", style="yellow")
        if not _begin(asking, settings, folder, again, yes, messages):
            raise typer.Exit(EXIT_INTERRUPTED)
        try:
            failed = _work(asking, folder, again, messages)
        finally:
            folder.finish({"problems": dict(asking.loaded.problems), "usage": usage_of(folder.answers)})
            if isinstance(asking.model, EndpointModel):
                messages.print(f"this time: {asking.model.client.ledger}")
    return failed


def _begin(
    asking: Asking, settings: ModelSettings, folder: RunFolder, again: bool, yes: bool, messages: Console
) -> bool:
    """Say what is to be done and what it may cost; whether to go on."""
    from vmmetrics.cli.progress import count
    from vmmetrics.models.endpoint import EndpointModel

    todo, wanted = asking.remaining(folder, again), len(asking.covered(folder.answers))
    for problem, number in asking.loaded.problems.items():
        messages.print(f"{number:,} {problem}")
    before = f", {wanted - len(todo):,} of them answered before" if wanted > len(todo) else ""
    messages.print(f"{count(wanted, 'question')} to {asking.model.name}{before}")
    if not isinstance(asking.model, EndpointModel) or not todo:
        return True
    expected = _LETTER_TOKENS if todo[0].options else _WORDS_TOKENS
    conversations = [asking.turns(question) for question in todo]
    estimate = asking.model.estimate(conversations, asking.frames_each(todo), expected)
    messages.print(f"{settings.spec}: {estimate}")
    return yes or agreed(messages)


def _work(asking: Asking, folder: RunFolder, again: bool, messages: Console) -> int:
    with stoppable(), AnswerProgress(messages, len(asking.remaining(folder, again))) as progress:
        try:
            for outcome in asking.run(folder, again):
                progress.advance(outcome)
        except KeyboardInterrupt:
            progress.stop()
            messages.print(f"stopped; what was answered is in {folder.path}, the same command goes on")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    answers = folder.answers
    return sum(q.id not in answers or answers[q.id].error is not None for q in asking.covered(answers))


def _score(asking: Asking, path: Path, output: Console, messages: Console) -> None:
    """Score and print what was answered, unless that takes a judge."""
    from vmmetrics.understanding.harness.running import read_answers
    from vmmetrics.understanding.harness.scoring import score, write

    if asking.benchmark.needs_judge:
        messages.print(f"answers: {path}/answers.jsonl; 'vmmetrics understand score' has them judged")
        return
    answers, _ = read_answers(path)
    result = score(
        asking.benchmark, asking.configuration(), asking.covered(answers), answers, asking.protocol,
        problems=asking.loaded.problems,
    )  # fmt: skip
    files = write(result, path)
    print_result(result, output)
    for file in files:
        messages.print(f"written: {file}", soft_wrap=True)
