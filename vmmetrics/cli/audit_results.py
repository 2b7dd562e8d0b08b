"""``vmmetrics audit make`` and ``read``: audit a scorer that runs elsewhere, by the scores that it gives files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from vmmetrics.cli import options
from vmmetrics.cli.audit import (
    ALL_PARTS,
    STRENGTHS,
    AuditProgress,
    Checks,
    Clips,
    Compare,
    Defects,
    FailOn,
    Jobs,
    Limit,
    Out,
    Parts,
    Range,
    Strengths,
    checked_gates,
    command_words,
    finish,
    plan_of,
)
from vmmetrics.cli.options import argument, names_option, option
from vmmetrics.cli.running import parse_names
from vmmetrics.cli.terminal import open_consoles, until_stopped, usage


def make(
    folder: Annotated[Path, argument("New or empty folder for the files.", metavar="CLIPS_OUT")],
    clips: Clips = None,
    prompts: options.PromptsBeside = None,
    limit: Limit = 20,
    parts: Parts = ALL_PARTS,
    checks: Checks = None,
    defects: Defects = None,
    strengths: Strengths = STRENGTHS,
    seed: options.Seed = 0,
    jobs: Jobs = 1,
) -> None:
    """Write the clips of an audit into a folder, for a scorer that runs elsewhere; 'audit read' takes its scores."""
    from vmmetrics.alignment.audit.results import CLIPS, HARD, make_clips

    _, messages = open_consoles()
    with usage():
        plan = plan_of(parts, checks, defects, strengths, seed=seed, jobs=jobs, limit=limit)
    with until_stopped(messages, f"stopped; remove {folder} and start again"), usage(), AuditProgress(messages) as bar:
        sizes = make_clips(folder, clips=clips or (), prompts=prompts, plan=plan, listener=bar)
    lines = (
        f"written: {len(sizes)} files, {sum(sizes.values()) / 1e6:.0f} MB, and a manifest with the prompts",
        f"1. score the files of {folder / CLIPS}: each by itself, its result under its file name (clip,score in a CSV)",
        f"2. score those of {folder / HARD}, which may stop a tool: leave out those that do",
        f"then: vmmetrics audit read RESULTS --clips {folder}",
    )  # fmt: skip
    for line in lines:
        messages.print(line, soft_wrap=True, markup=False)


def read(
    results: Annotated[
        list[Path],
        argument("Scores of the files: results of VBench, or tables as align reads them.", metavar="RESULTS..."),
    ],
    clips: Annotated[Path, option("Folder that 'audit make' wrote.")],
    metrics: Annotated[str | None, names_option("Read these scores alone. Default: all.")] = None,
    clip_column: Annotated[str | None, option("Column that names the clip. Default: guessed.")] = None,
    lower_is_better: Annotated[list[str] | None, option("Score of which lower is better; repeatable.")] = None,
    amounts: Annotated[str | None, names_option("Scores of how much moves, not how well. Default: by name.")] = None,
    value_range: Range = None,
    checks: Checks = None,
    compare: Compare = None,
    fail_on: FailOn = None,
    out: Out = Path("audit"),
    form: options.Format = "text",
) -> None:
    """Audit a scorer by its scores of the files that 'audit make' wrote, and write a card.

    A file without a score counts as refused. Exit codes: 0 written, 2 wrong usage or setup, 4 --fail-on.
    """
    from vmmetrics.alignment.audit.audit import audit
    from vmmetrics.alignment.audit.card import read_card
    from vmmetrics.alignment.audit.results import Results

    def names(text: str | None) -> tuple[str, ...]:
        return () if text is None else parse_names(text)

    output, messages = open_consoles()
    gates = () if fail_on is None else checked_gates(fail_on)
    other = None if compare is None else read_card(compare)
    with (
        until_stopped(messages, "stopped; run the same command again to resume"),
        usage(),
        AuditProgress(messages) as bar,
    ):
        scores = Results(
            clips, results, metrics=names(metrics), clip_column=clip_column, lower=tuple(lower_is_better or ()),
            amount=names(amounts), value_range=value_range,
        )  # fmt: skip
        card = audit(
            scores.target, out, clips=scores.clips, prompts=scores.prompts,
            plan=scores.plan if checks is None else scores.only(parse_names(checks)), command=command_words(),
            listener=bar, scored_files=scores,
        )  # fmt: skip
    messages.print(f"{scores.scored} of {scores.files} files have a score")
    finish(card, out, other, gates, form, output, messages)
