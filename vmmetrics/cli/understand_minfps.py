"""``vmmetrics understand minfps``: the lowest frame rate at which each question can be answered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmmetrics.cli.running import EXIT_FAILURES, EXIT_INTERRUPTED, stoppable

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.understanding.benchmark import Benchmark
    from vmmetrics.understanding.minfps import Distribution, QuestionRate
    from vmmetrics.understanding.minfps_asking import Annotator, Asked
    from vmmetrics.understanding.questions import Question

PERSON = "person:"


def minfps(
    name: Annotated[str, typer.Argument(help="The benchmark; 'vmmetrics understand list' has them.")],
    data: Annotated[Path, typer.Option(help="Folder or file of the benchmark.")],
    by: Annotated[str, typer.Option(help="Who says: person:NAME, oracle (synthetic suite), or a model as for 'run'.")],
    videos: Annotated[Path | None, typer.Option(help="Folder of the videos. Default: with the data.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of what was said; goes on with it.")] = Path("vmmetrics-minfps"),
    asks: Annotated[int, typer.Option(min=1, help="Times a model must be right, options shuffled.")] = 4,
    limit: Annotated[int | None, typer.Option(min=1, help="The first so many questions only.")] = None,
    group: Annotated[str, typer.Option(help="Grouping of the table.")] = "task",
    play: Annotated[bool, typer.Option("--play", help="Open each clip for the person.")] = False,
    picture: Annotated[Path | None, typer.Option(help="File for the picture (.png, .svg).")] = None,
) -> None:
    """Find the lowest frame rate of each question: from 1 fps up by 1 until it can be answered, or down by halves.

    Run it again with another --by and the same --out for a second annotator; the minimum counts. The same command goes
    on where it stopped. Exit codes: 0 all done, 3 some videos cannot be shown, 2 wrong usage or setup, 130 stopped.
    """
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.cli.prompts_stats import check_picture
    from vmmetrics.understanding.benchmarks import registry
    from vmmetrics.understanding.minfps_asking import Asked, rates_found

    check_picture(picture)
    output, messages = open_consoles()
    benchmark = registry.find(name)
    loaded = benchmark.load(data, videos)
    questions = [question for question in loaded.questions if question.options][:limit]
    if not questions:
        raise typer.BadParameter(f"{name} has no questions with options in {data}")
    annotator = _annotator(by, benchmark, questions, out, asks, play, messages)
    asked = Asked(out, annotator, {"benchmark": name, "data": sorted(loaded.source.values())})
    failed = _work(asked, questions, messages)
    found = rates_found(out, questions)
    _show(found, name, group, output, picture)
    _write(found, group, out)
    messages.print(f"written: {out}", markup=False, highlight=False, soft_wrap=True)
    if failed:
        raise typer.Exit(EXIT_FAILURES)


def _annotator(
    by: str, benchmark: Benchmark, questions: Sequence[Question], out: Path, asks: int, play: bool, messages: Console
) -> Annotator:
    from vmmetrics.understanding.minfps_asking import ModelAnnotator, OracleAnnotator, PersonAnnotator
    from vmmetrics.understanding.models import ModelSettings, open_model

    if by == "oracle":
        return OracleAnnotator()
    if by.startswith(PERSON) and by != PERSON:

        def ask(question: Question, path: Path, rate: float) -> bool:
            return _ask(question, path, rate, play, messages)

        return PersonAnnotator(by.removeprefix(PERSON), out / "clips", ask)
    try:
        settings = ModelSettings(by)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; or person:NAME", param_hint="--by") from error
    return ModelAnnotator(open_model(settings, questions, out / "replies"), benchmark, asks)


def _ask(question: Question, path: Path, rate: float, play: bool, messages: Console) -> bool:
    """Put a question to the person at the terminal."""
    from vmmetrics.report.markup import clean

    shown = "\n".join(clean(line) for line in (question.text, *question.lettered))
    messages.print(f"\n{path} shows {rate:g} frames a second\n{shown}", markup=False, highlight=False, soft_wrap=True)
    if play:
        typer.launch(str(path))
    try:
        return typer.confirm("Can it be answered from this?", err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None


def _work(asked: Asked, questions: Sequence[Question], messages: Console) -> int:
    """Ask what was not asked before; how many questions could not be."""
    from vmmetrics.report.markup import clean

    failed = 0
    with stoppable():
        try:
            for number, (question, rate, why) in enumerate(asked.work_through(questions), 1):
                failed += why is not None
                said = f"{rate:g} fps" if rate is not None else "at no rate"
                text = f"[{number}/{len(questions)}] {clean(question.id)}: {said if why is None else clean(why)}"
                messages.print(text, markup=False, highlight=False, soft_wrap=True)
        except KeyboardInterrupt:
            messages.print("stopped; what was said is kept, the same command goes on", markup=False)
            raise typer.Exit(EXIT_INTERRUPTED) from None
    return failed


def _show(found: Sequence[QuestionRate], name: str, group: str, output: Console, picture: Path | None) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from vmmetrics.cli.prompts_stats import save_picture
    from vmmetrics.report.markup import clean
    from vmmetrics.understanding.minfps import agreement, distributions

    rows = distributions(found, group)
    grid = Table(title=Text(clean(f"{name}: minFPS")), title_justify="left", box=SIMPLE_HEAD)
    for place, head in enumerate((group, "n", "never", "mean", "quartiles", *rows[0].buckets)):
        grid.add_column(Text(clean(head)), justify="left" if place == 0 else "right")
    for row in rows:
        grid.add_row(*(Text(clean(cell)) for cell in _cells(row)))
    output.print(grid)
    annotators = sorted({who for question in found for who in question.by})
    output.print(Text(clean(f"minimum over {', '.join(annotators) or 'nobody'}"), "dim"))
    alike = agreement(found)
    if alike is not None:
        output.print(Text(f"all annotators in one bucket: {alike:.1%} of the questions with two or more"))
    known = [(q.min_fps, q.known) for q in found if q.known is not None and q.min_fps is not None]
    if known:
        same = sum(abs(rate - stated) < 1e-6 for rate, stated in known)
        lower = sum(rate < stated - 1e-6 for rate, stated in known)
        output.print(Text(f"as stated by the benchmark: {same} of {len(known)}; lower {lower}"))
    if picture is not None and found:
        from vmmetrics.report.minfps_chart import minfps_chart

        save_picture(minfps_chart(rows, f"{name}: minFPS by {', '.join(annotators)}"), picture)


def _cells(row: Distribution) -> list[str]:
    mean = "" if row.mean is None else f"{row.mean:.2f}"
    quartiles = "" if row.quartiles is None else " / ".join(f"{value:g}" for value in row.quartiles)
    return [row.name, f"{row.n}", f"{row.never}", mean, quartiles, *(str(count) for count in row.buckets.values())]


def _write(found: Sequence[QuestionRate], group: str, out: Path) -> None:
    from vmmetrics.plain import plain
    from vmmetrics.run.atomic import write_json
    from vmmetrics.understanding.minfps import distributions

    questions = [{**plain(question), "min_fps": question.min_fps} for question in found]
    write_json(out / "minfps.json", {"questions": questions, "distribution": plain(distributions(found, group))})
