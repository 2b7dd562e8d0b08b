"""``vmmetrics probe``: good clips in, what every metric notices of defects put into them out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.options import (
    argument,
    count_option,
    jobs_option,
    names_option,
    number_option,
    numbers,
    option,
    out_option,
)
from vmmetrics.cli.running import parse_names
from vmmetrics.cli.terminal import EXIT_FAILURES, Bar, count, error, open_consoles, until_stopped, usage
from vmmetrics.metrics.registry import METRICS, load_plugins

if TYPE_CHECKING:
    from vmmetrics.alignment.probe.cases import Plan
    from vmmetrics.alignment.probe.results import ProbeReport

OURS = ",".join(METRICS)
FOLDER = "vmmetrics-probe"
"""Default directory of a probe."""

Changes = Annotated[tuple[float, float], number_option("Tolerance for harmless changes: of the mean, and of one clip.")]
Functions = Annotated[
    list[str] | None, option("Your own metric as module:name, a function from a Clip to a score; repeatable.")
]
HarmlessStrengths = Annotated[
    str | None,
    names_option("Strengths of the harmless changes. Default: 1/3, 2/3 and 1, x264 at CRF 18, 23 and 28."),
]
Seconds = Annotated[
    float | None,
    number_option("Use only this many seconds from the middle of every clip. Default: all.", 0.01, options.MAX_SECONDS),
]
MaxFps = Annotated[float | None, number_option("Subsample clips above this frame rate.", 0.01, options.MAX_FPS)]


def probe(
    clips: Annotated[list[Path], argument("Files, folders of clips, or folders of frames: good clips.")],
    metrics: Annotated[
        str, names_option(f"Some of {OURS}, baselines by name, 'baselines' for all of them, or none.")
    ] = OURS,
    function: Functions = None,
    defects: Annotated[str | None, names_option("Use only these defects, or none. Default: all.")] = None,
    strengths: Annotated[str, names_option("Strengths of the defects, each above 0 and up to 1.")] = "0.25,0.5,1",
    invariances: Annotated[str | None, names_option("Use only these harmless changes, or none. Default: all.")] = None,
    harmless_strengths: HarmlessStrengths = None,
    rates: Annotated[bool, option("Find the lowest sufficient frame rate of each metric.")] = True,
    seconds: Seconds = None,
    short_side: Annotated[
        int | None, count_option("Downscale so the short side is at most this many pixels.", 32)
    ] = None,
    max_fps: MaxFps = None,
    tolerance: Changes = (0.03, 0.10),
    preset: Annotated[str, option("Models to use.")] = "embedded",
    prompts: options.PromptsBeside = None,
    subject: Annotated[str | None, option("Subject of every clip.")] = None,
    seed: options.Seed = 0,
    jobs: Annotated[int, jobs_option("Worker processes. Scores do not depend on it.")] = 1,
    timeout: options.Timeout = None,
    plugin: options.Plugins = None,
    out: Annotated[Path, out_option("Directory of the results; resumes what is there.")] = Path(FOLDER),
    charts: Annotated[bool, option("Draw the charts.")] = True,
    device: options.Device = None,
    limit: options.Limit = None,
    dry_run: options.DryRun = False,
    form: options.Format = "text",
) -> None:
    """Inject defects of growing strength into good clips and report which metrics respond.

    Re-run the same command to resume; strengths, defects and clips may be added. Exit codes:
    0 all done, 3 something failed, 2 wrong usage or setup.
    """
    from vmmetrics.alignment.probe.cases import HARMLESS_STRENGTHS, Plan
    from vmmetrics.alignment.probe.results import Tolerance
    from vmmetrics.alignment.probe.session import probe as run_probe

    with usage():
        plan = Plan(
            harmless_strengths=HARMLESS_STRENGTHS if harmless_strengths is None else _numbers(harmless_strengths),
            defects=_names(defects), strengths=_numbers(strengths), invariances=_names(invariances), rates=rates,
            seconds=seconds, short_side=short_side, most_fps=max_fps, seed=seed,
        )  # fmt: skip
    output, messages = open_consoles()
    plugins = [str(path.absolute()) for path in plugin or ()]
    selected = [*(_names(metrics) or ()), *load_plugins(plugins), *(function or ())]
    if not selected:
        raise typer.BadParameter("expected at least one metric: set --metrics, --function or --plugin")
    if device is not None and device != "cpu" and preset == "embedded":
        raise typer.BadParameter("--preset embedded runs on the CPU; use --device with --preset vmbench")
    if dry_run:
        _show_plan(clips, prompts, subject, limit, plan, selected, out, form, output)
        return
    message = f"stopped; results so far are in {out}; run the same command again to resume"
    with until_stopped(messages, message), usage(), CaseProgress(messages) as progress:
        report = run_probe(
            list(clips), selected, plan=plan, preset=preset, tolerance=Tolerance(*tolerance), out=out, jobs=jobs,
            timeout=timeout, prompts=prompts, subject=subject, plugins=plugins, listener=progress, limit=limit,
        )  # fmt: skip
    if not report.clips:
        from vmmetrics.video.discover import no_clips

        raise typer.BadParameter(no_clips(clips))
    _report(report, out, charts, form, output)
    messages.print(f"written: {out}", soft_wrap=True)
    if report.failures:
        raise typer.Exit(EXIT_FAILURES)


def _show_plan(
    clips: list[Path], prompts: Path | None, subject: str | None, limit: int | None, plan: Plan, metrics: list[str],
    out: Path, form: str, output: Console,
) -> None:  # fmt: skip
    from vmmetrics.cli.formats import print_result
    from vmmetrics.cli.running import clip_table
    from vmmetrics.scoring.tasks import prompt_sources, tasks_of_paths
    from vmmetrics.utils.display.tables import Lines

    tasks = tasks_of_paths(list(clips), (), prompts, subject)[0][:limit]
    if not tasks:
        raise typer.BadParameter(f"no clips in {', '.join(map(str, clips))}")
    defects, harmless = (", ".join(names) if names is not None else "all" for names in (plan.defects, plan.invariances))
    changes = [f"defects: {defects}, at {', '.join(map(str, plan.strengths))}", f"harmless changes: {harmless}"]
    lines = (
        f"{count(len(tasks), 'clip')}; metrics: {', '.join(metrics)}",
        prompt_sources(tasks),
        *changes,
        f"results: {out}",
    )
    print_result(form, [Lines("plan", "Planned probe", tuple(filter(None, lines))), clip_table(tasks, form)], output)


def _names(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return () if text.strip().lower() == "none" else parse_names(text)


def _numbers(text: str) -> tuple[float, ...]:
    return numbers(parse_names(text), text, "numbers between commas")


def _report(report: ProbeReport, out: Path, charts: bool, form: str, output: Console) -> None:
    from vmmetrics.alignment.probe import results
    from vmmetrics.cli.formats import print_result
    from vmmetrics.utils.display.tables import to_markdown
    from vmmetrics.utils.storage.atomic import write_json, write_text

    tables = results.probe_tables(report)
    print_result(form, tables, output, data=report.to_json)
    write_json(out / "report.json", report.to_json())
    write_text(out / "report.md", "\n".join(map(to_markdown, tables)))
    write_text(out / "curves.csv", results.curves_csv(report))
    write_text(out / "invariances.csv", results.invariances_csv(report))
    write_text(out / "minfps.csv", results.rates_csv(report))
    if charts:
        from vmmetrics.alignment.probe.charts import draw_charts
        from vmmetrics.utils.display.canvas import save_charts

        save_charts(draw_charts(report), out)


class CaseProgress(Bar):
    """Progress of a probe: a bar on a terminal, a line for every tenth case elsewhere."""

    def begin(self, total: int, settled: int) -> None:
        """Start; ``settled`` cases were done before."""
        self._ends: list[float] = []  # when the cases of this session were done
        before = f", {settled} of them done before" if settled else ""
        self._console.print(f"{count(total, 'case')}{before}")
        self.start(total, settled)

    def advance(self, line: dict[str, Any]) -> None:
        """Count a case, and say what went wrong with it."""
        self._ends.append(time.monotonic())
        wrong = [line["error"]] if "error" in line else [f"{m}: {why}" for m, why in line.get("errors", {}).items()]
        for why in wrong:
            text = f"failed: {line['clip']}, {line['kind']} {line['strength']:.3g}: {why}"
            error(self._console, text)
        since, cases = (self._ends[0], len(self._ends) - 1) if len(self._ends) > 1 else (self._start, 1)
        left = (self._ends[-1] - since) / cases * (self._total - self._done - 1)  # without the start of the workers
        self.step(detail=f"{left / 60:.0f} min left")
