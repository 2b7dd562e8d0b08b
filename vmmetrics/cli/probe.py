"""``vmmetrics probe``: good clips in, what every metric notices of defects put into them out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmmetrics.cli.options import MAX_COUNT, MAX_FPS, MAX_SECONDS, Plugins, PromptsFound, Seed, finite, jobs_option
from vmmetrics.cli.running import EXIT_FAILURES, TimeoutOption, parse_names
from vmmetrics.cli.stopping import EXIT_INTERRUPTED, stoppable
from vmmetrics.metrics.registry import METRICS, load_plugins

if TYPE_CHECKING:
    from rich.console import Console

    from vmmetrics.alignment.probe.cases import Plan
    from vmmetrics.alignment.probe.results import ProbeReport

OURS = ",".join(METRICS)
FOLDER = "vmmetrics-probe"
"""Where a probe goes that was given no directory."""
NO_NAMES = "none"


MetricNames = Annotated[
    str, typer.Option(help=f"Some of {','.join(METRICS)}, baselines by name, 'baselines' for all of them, or none.")
]
OwnFunctions = Annotated[
    list[str] | None,
    typer.Option(help="A metric of your own, as module:name, from a Clip to a score; may be given again."),
]
HarmlessStrengths = Annotated[
    str | None, typer.Option(help="Of the harmless changes. Default: 1/3, 2/3 and 1, x264 at CRF 18, 23 and 28.")
]


def probe(
    clips: Annotated[
        list[Path],
        typer.Argument(help="Files, folders of clips, or folders of frames: good clips.", show_default=False),
    ],
    metrics: MetricNames = OURS,
    function: OwnFunctions = None,
    defects: Annotated[str | None, typer.Option(help="Some of the defects, or none. Default: all.")] = None,
    strengths: Annotated[str, typer.Option(help="Of the defects, each above 0 and up to 1.")] = "0.25,0.5,1",
    invariances: Annotated[
        str | None, typer.Option(help="Some of the harmless changes, or none. Default: all.")
    ] = None,
    harmless_strengths: HarmlessStrengths = None,
    rates: Annotated[bool, typer.Option(help="Look for the lowest frame rate of each metric.")] = True,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0.01, max=MAX_SECONDS, callback=finite, help="Taken from the middle of every clip. Default: all."
        ),
    ] = None,
    short_side: Annotated[
        int | None, typer.Option(min=32, max=MAX_COUNT, help="Larger clips are made this small, pixels.")
    ] = None,
    most_fps: Annotated[
        float | None,
        typer.Option(min=0.01, max=MAX_FPS, callback=finite, help="Of faster clips every second, third, ... frame."),
    ] = None,
    tolerance: Annotated[
        tuple[float, float], typer.Option(callback=finite, help="For harmless changes: of the mean, and of one clip.")
    ] = (0.03, 0.10),
    preset: Annotated[str, typer.Option(help="Which models.")] = "embedded",
    prompts: PromptsFound = None,
    subject: Annotated[str | None, typer.Option(help="What every clip is about.")] = None,
    seed: Seed = 0,
    jobs: Annotated[int, jobs_option("Worker processes. Scores do not depend on it.")] = 1,
    timeout: TimeoutOption = None,
    plugin: Plugins = None,
    out: Annotated[Path, typer.Option(help="Directory for everything found; resumes what is there.")] = Path(FOLDER),
    charts: Annotated[bool, typer.Option(help="Draw the pictures.")] = True,
) -> None:
    """Put defects into good clips, one at a time and stronger and stronger, and see which metric notices.

    Running the same command again resumes; strengths, defects and clips may be added. Exit codes:
    0 all done, 3 something failed, 2 wrong usage or setup.
    """
    given = {} if harmless_strengths is None else {"harmless_strengths": _numbers(harmless_strengths)}
    plan = _plan(
        **given,
        defects=_names(defects), strengths=_numbers(strengths), invariances=_names(invariances), rates=rates,
        seconds=seconds, short_side=short_side, most_fps=most_fps, seed=seed,
    )  # fmt: skip
    from vmmetrics.alignment.probe.results import Tolerance
    from vmmetrics.alignment.probe.session import probe as run_probe
    from vmmetrics.cli.progress import CaseProgress, open_consoles

    output, messages = open_consoles()
    plugins = [str(path.absolute()) for path in plugin or ()]
    wanted = [*(_names(metrics) or ()), *load_plugins(plugins), *(function or ())]
    if not wanted:
        raise typer.BadParameter("no metric is wanted")
    with stoppable(), CaseProgress(messages) as progress:
        try:
            report = run_probe(
                list(clips), wanted, plan=plan, preset=preset, tolerance=Tolerance(*tolerance), out=out, jobs=jobs,
                timeout=timeout, prompts=prompts, subject=subject, plugins=plugins, listener=progress,
            )  # fmt: skip
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        except KeyboardInterrupt:
            progress.stop()
            messages.print(f"stopped; what was done is in {out}, the same command goes on")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    if not report.clips:
        raise typer.BadParameter(f"no clips in {', '.join(map(str, clips))}")
    _print(report, output)
    _write(report, out, charts)
    messages.print(f"written: {out}", soft_wrap=True)
    if report.failures:
        raise typer.Exit(EXIT_FAILURES)


def _names(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return () if text.strip().lower() == NO_NAMES else parse_names(text)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return finite(tuple(float(part) for part in parse_names(text)))
    except ValueError as error:
        raise typer.BadParameter(f"expected numbers between commas but got {text!r}") from error


def _plan(**given: Any) -> Plan:
    from vmmetrics.alignment.probe.cases import Plan

    try:
        return Plan(**given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _print(report: ProbeReport, output: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from vmmetrics.alignment.probe.results import grids

    for grid in grids(report):
        shown = Table(title=grid.title, title_justify="left", box=SIMPLE_HEAD)
        for place, head in enumerate(grid.heads):
            shown.add_column(Text(head), justify="left" if place == 0 else "right", overflow="fold")
        for row in grid.rows:
            shown.add_row(*row)
        output.print(shown)
        for note in grid.notes:
            output.print(note, style="dim", soft_wrap=True)


def _write(report: ProbeReport, out: Path, charts: bool) -> None:
    from vmmetrics.alignment.probe import results
    from vmmetrics.utils.storage.atomic import write_json, write_text

    write_json(out / "report.json", report.to_json())
    files = {
        "report.md": results.to_markdown(report),
        "curves.csv": results.curves_csv(report),
        "invariances.csv": results.invariances_csv(report),
        "minfps.csv": results.rates_csv(report),
    }
    for name, text in files.items():
        write_text(out / name, text)
    if charts:
        from vmmetrics.alignment.probe.charts import draw_charts
        from vmmetrics.utils.display.canvas import save_charts

        save_charts(draw_charts(report), out)
