"""``vmmetrics prompts review``: human review of prompts, agreement, and the resulting list."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vmmetrics.cli.formats import name, table, whole
from vmmetrics.cli.options import argument, check_outputs, count_option, option, out_option, seed_option
from vmmetrics.cli.stopping import EXIT_INTERRUPTED, stoppable
from vmmetrics.cli.terminal import count, open_consoles

if TYPE_CHECKING:
    from vmmetrics.prompts.review.decisions import ReviewDecision, Rule
    from vmmetrics.utils.statistics.bootstrap import Estimate

SHOWN_DIFFERENCES = 20
"""Maximum conflicts on a terminal; ``--conflicts`` writes all."""


def review(
    prompts: Annotated[str | None, argument("Prompt list to review: library, mini or a file.", metavar="LIST")] = None,
    reviewer: Annotated[str | None, option("Who decides.", show_default=False)] = None,
    decisions: Annotated[
        list[Path] | None,
        option(
            "File of decisions (JSONL), appended to; reviewers may share one. A lock file, "
            ".NAME.lock, stays beside it.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, seed_option("Random seed.")] = 0,
    show_others: Annotated[
        bool, option("Show what other reviewers decided. Default: blind to them.", "--show-others")
    ] = False,
    agreement: Annotated[
        list[Path] | None,
        option("Print the agreement of the reviewers in a file of decisions; repeatable.", metavar="D.jsonl"),
    ] = None,
    apply: Annotated[
        str | None, option("Apply the decisions to this list and write it to --out.", metavar="LIST")
    ] = None,
    out: Annotated[Path | None, out_option("List to write (.json or .jsonl).", show_default=False)] = None,
    rule: Annotated[
        Literal["unanimous", "any-drop", "majority"], option("Rule for prompts on which reviewers differ.")
    ] = "unanimous",
    reviewers: Annotated[int, count_option("Minimum decisions per prompt.")] = 1,
    conflicts: Annotated[
        Path | None,
        option("File for prompts they differ on, for a third reviewer. Default: OUT with .conflicts in its name."),
    ] = None,
) -> None:
    """Read prompts one a screen and keep, edit or drop them with single keys; ? explains them.

    Every decision is on the disk at once; re-run the same command to resume.
    New texts are checked, and problems are printed. With f a field
    is corrected; --apply takes corrections over.

    Where input or output is no terminal, commands are read as lines: keep, edit
    TEXT, set FIELD VALUE, drop REASON [WORDS], skip and undo, each with an INDEX
    before what follows, if you like, so that it cannot land on another entry; show
    [INDEX], go INDEX, find WORDS, next, on, help, quit. Each decision is answered
    by a line, and the one after it falls on the next entry that is not decided; after
    one with an INDEX, or undo, it needs an INDEX itself, or show, go or next before it.
    An invalid line stops the run (exit code 2); earlier decisions are kept.
    """
    files = [*(decisions or ()), *(agreement or ())]
    if apply is None and not agreement:
        _review(prompts, reviewer, files, seed, show_others)
        return
    if prompts is not None or reviewer is not None:
        raise typer.BadParameter(
            "--agreement (of files of decisions) and --apply LIST go without a list before them, and without --reviewer"
        )
    if (apply is None) != (out is None):
        raise typer.BadParameter("--apply LIST and --out FILE go together")
    if not files:
        raise typer.BadParameter("--apply needs the decisions: --decisions FILE")
    from vmmetrics.prompts.review.decisions import Rule, read_decisions

    made = read_decisions(dict.fromkeys(files))
    if agreement:
        _print_agreement(made)
    if apply is not None and out is not None:
        _apply(apply, made, Rule(rule), reviewers, out, conflicts, files)


def _review(prompts: str | None, reviewer: str | None, files: Sequence[Path], seed: int, show_others: bool) -> None:
    if prompts is None or not (reviewer and reviewer.strip()) or len(files) != 1:
        raise typer.BadParameter("a review needs LIST, --reviewer NAME and --decisions FILE")
    from vmmetrics.prompts.files import read_entries
    from vmmetrics.prompts.review.decisions import DecisionFile
    from vmmetrics.prompts.review.reviewing import Review
    from vmmetrics.prompts.review.screen import LineReview
    from vmmetrics.prompts.review.terminal import Keyboard, TerminalReview, usable

    output, messages = open_consoles()
    entries = read_entries(prompts)
    if not entries:
        raise typer.BadParameter(f"{prompts} holds no prompts")
    with stoppable(), DecisionFile(files[0]) as file:
        read_along = sys.stdin.isatty()
        clock = time.monotonic if read_along else lambda: 0.0  # the time of a script says nothing
        session = Review(entries, file, reviewer.strip(), seed, clock)
        by_lines = LineReview(session, output, show_others, read_along)
        try:
            if usable():
                with Keyboard() as keyboard:
                    TerminalReview(session, output, keyboard, show_others).run()
            else:
                by_lines.run(sys.stdin)
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_INTERRUPTED) from None
        finally:
            done = session.progress()
            message = (
                f"{done.done} of {done.total} decided: {done.kept} kept, {done.edited} edited, {done.dropped} dropped, "
            )
            message += f"{done.corrected} with corrected fields; run the same command again to resume"
            warned = [f"{count(by_lines.warned, 'warning')}, printed above"] if by_lines.warned else []
            messages.print(message, *warned, sep="\n", soft_wrap=True)


def _print_agreement(decisions: Sequence[ReviewDecision]) -> None:
    from vmmetrics.prompts.review.agreement import measure_review_agreement
    from vmmetrics.prompts.review.screen import decision_text

    output, _ = open_consoles()
    agreement = measure_review_agreement(decisions)
    timed = any(one.seconds is not None for one in agreement.reviewers)
    heads = ("decided", "kept", "edited", "dropped", *(["median s"] if timed else []))
    grid = table(name("reviewer"), *map(whole, heads))
    for one in agreement.reviewers:
        numbers = (one.kept + one.edited + one.dropped, one.kept, one.edited, one.dropped)
        seconds = ["-" if one.seconds is None else f"{one.seconds:.1f}"] if timed else []
        grid.add_row(one.name, *map(str, numbers), *seconds)
    output.print(grid)
    output.print(f"{count(agreement.shared, 'prompt')} decided by two or more reviewers")
    if agreement.shared:
        grid = table(name(""), *map(whole, ("same", "Cohen's κ", "Krippendorff's α", "prompts")))
        rows = [("keep, edit or drop", agreement.three), ("kept or dropped", agreement.two)]
        rows += [(f"kept or dropped: {first}, {second}", agreed) for (first, second), agreed in agreement.pairs.items()]
        for kind, agreed in rows:
            same = agreed.percent
            percent = "-" if same.value is None else f"{same.value:.0%}"
            grid.add_row(kind, percent, _figure(agreed.cohen), _figure(agreed.alpha), str(same.n))
        output.print(grid)
    if agreement.differing:
        output.print(f"{len(agreement.differing)} differ:")
    for sides in agreement.differing[:SHOWN_DIFFERENCES]:
        entry = next(iter(sides.values()))
        output.print(f"{entry.index}  {entry.prompt}", soft_wrap=True)
        for reviewer, decision in sides.items():
            output.print(f"      {reviewer}: {decision_text(decision)}", style="dim", soft_wrap=True)
    if len(agreement.differing) > SHOWN_DIFFERENCES:
        output.print(f"and {len(agreement.differing) - SHOWN_DIFFERENCES} more; --apply writes them to a file")


def _apply(
    source: str, decisions: Sequence[ReviewDecision], rule: Rule, reviewers: int, out: Path, conflicts: Path | None,
    inputs: Sequence[Path],
) -> None:  # fmt: skip
    from vmmetrics.prompts.files import read_entries, write_entries
    from vmmetrics.prompts.review.agreement import apply_decisions

    _, messages = open_consoles()
    aside = {
        "conflicts": conflicts or out.with_name(f"{out.stem}.conflicts{out.suffix}"),
        "undecided": out.with_name(f"{out.stem}.undecided{out.suffix}"),
    }
    check_outputs([source, *inputs], [out, *aside.values()])
    applied = apply_decisions(read_entries(source), decisions, rule, reviewers)
    parts = {"conflicts": applied.conflicts, "undecided": applied.undecided}
    write_entries(out, applied.kept)
    for what, path in aside.items():
        if parts[what] or path.exists():  # one of an earlier run must not outlive what it says
            write_entries(path, parts[what])
    changed = f"{applied.edited} of them edited, {applied.corrected} with corrected fields"
    lines = [f"{len(applied.kept)} kept ({changed}): {out}", f"{len(applied.dropped)} dropped"]
    lines += [f"{len(parts[what])} {what}: {aside[what]}" for what in parts if parts[what]]
    for line in lines:
        messages.print(line, soft_wrap=True)


def _figure(value: Estimate) -> str:
    if value.value is None:
        return "-"
    interval = "" if value.low is None or value.high is None else f" [{value.low:.2f}, {value.high:.2f}]"
    return f"{value.value:.2f}{interval}"
