"""``vmmetrics cas label``: comparisons in, five levels out, and which pairs to ask next."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vmmetrics.cli.options import MAX_COUNT, finite, seed_option

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from vmmetrics.cas.label.comparisons import Comparisons, ListedClip
    from vmmetrics.cas.label.label import Labelling

SHOWN_CLIPS = 40
"""Rows on the screen; all of them are in the file."""
SHOWN_COMPONENTS = 5


class Ties(StrEnum):
    """Models of ties."""

    DAVIDSON = "davidson"
    RAO_KUPPER = "rao-kupper"


class Prior(StrEnum):
    """When to use a prior."""

    AUTO = "auto"
    NONE = "none"
    ALWAYS = "always"


class CutOption(StrEnum):
    """Ways to cut."""

    QUANTILE = "quantile"
    NORMAL = "normal"
    FIXED = "fixed"


class ScopeOption(StrEnum):
    """What is cut together."""

    AUTO = "auto"
    POOLED = "pooled"
    PROMPT = "prompt"
    COMPONENT = "component"


class RepeatsOption(StrEnum):
    """What repeats count for."""

    SHARE = "share"
    KEEP = "keep"


def label(
    comparisons: Annotated[
        list[Path] | None,
        typer.Argument(
            help="JSONL, CSV or TSV: a, b, winner (a, b or tie), or winner, loser, tie.", show_default=False
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Labels to write (JSONL).", show_default=False)] = None,
    clips: Annotated[
        Path | None, typer.Option(help="The pool: clip, and prompt and group (model). Default: the clips compared.")
    ] = None,
    ties: Annotated[Ties, typer.Option(help="Model of ties.")] = Ties.DAVIDSON,
    prior: Annotated[
        Prior, typer.Option(help="Normal prior on strengths: auto is only where the data do not pin them down.")
    ] = Prior.AUTO,
    prior_sd: Annotated[
        float | None, typer.Option(callback=finite, help="Its standard deviation, log odds. Default: 1.5.")
    ] = None,
    cut: Annotated[CutOption, typer.Option(help="quantile: equal shares; normal: quintiles; fixed: --at.")] = (
        CutOption.QUANTILE
    ),
    at: Annotated[str | None, typer.Option(help="The four strengths to cut at, such as -1.5,-0.5,0.5,1.5.")] = None,
    scope: Annotated[
        ScopeOption, typer.Option(help="What is cut together: auto is all where linked, else each component.")
    ] = ScopeOption.AUTO,
    repeats: Annotated[
        RepeatsOption, typer.Option(help="A rater's judgements of one pair share one voice, or each count.")
    ] = RepeatsOption.SHARE,
    ask: Annotated[int, typer.Option(min=0, max=MAX_COUNT, help="How many pairs to ask next.")] = 0,
    pairs_out: Annotated[Path | None, typer.Option(help="Where to write them (JSONL).", show_default=False)] = None,
    across_prompts: Annotated[bool, typer.Option(help="Also ask about clips of different prompts.")] = False,
    seed: Annotated[int, seed_option("For sides and order of the pairs asked.")] = 0,
) -> None:
    """Turn pairwise comparisons into five levels, Bad to Perfect, with their certainty.

    Writes one line per clip to --out and the record of how they came about to the .meta.json beside it. Without
    comparisons, --clips and --ask choose the first pairs.
    """
    inputs = [*(comparisons or ()), *([] if clips is None else [clips])]
    _check(bool(comparisons), clips, ask, inputs, out, pairs_out)
    from vmmetrics.cas.label.comparisons import read_clip_list, read_comparisons
    from vmmetrics.cas.label.label import LabelSettings, label_clips, write_labels
    from vmmetrics.cli.progress import open_consoles
    from vmmetrics.utils.statistics.bradley_terry import DEFAULT_PRIOR_SD

    output, messages = open_consoles()
    listed = None if clips is None else read_clip_list(clips)
    settings = LabelSettings(
        ties=ties.value,
        prior=prior.value,
        prior_sd=DEFAULT_PRIOR_SD if prior_sd is None else prior_sd,
        cut=cut.value,
        fixed_cuts=None if at is None else _numbers(at),
        scope=scope.value,
        repeats=repeats.value,
    )
    labelling = None
    if comparisons:
        read = read_comparisons(comparisons)
        labelling = label_clips(read.rows, listed, settings)
        _print(labelling, read, output)
        if out is not None:
            write_labels(out, labelling, settings, read, inputs)
            messages.print(f"labels: {out}, how they came about: {out.with_suffix('.meta.json')}")
    if pairs_out is not None:
        _ask(labelling, listed or [], ask, pairs_out, across_prompts, seed, messages)


def _check(
    compared: bool, clips: Path | None, ask: int, inputs: Sequence[Path], out: Path | None, pairs_out: Path | None
) -> None:
    """Refuse combinations of options that ask for nothing, or for what cannot be."""
    if bool(ask) != (pairs_out is not None):
        raise typer.BadParameter("--ask and --pairs-out go together")
    if not compared and (clips is None or not ask or out is not None):
        raise typer.BadParameter("give comparisons, or --clips and --ask to choose the first pairs")
    if compared and out is None and not ask:
        raise typer.BadParameter("give --out for labels, --ask and --pairs-out for pairs, or both")
    if {path.resolve() for path in inputs} & {path.resolve() for path in (out, pairs_out) if path is not None}:
        raise typer.BadParameter("an output would overwrite an input")


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return finite(tuple(float(part) for part in text.split(",")))
    except ValueError as error:
        raise typer.BadParameter(f"expected four numbers with commas between but got {text!r}") from error


def _print(labelling: Labelling, read: Comparisons, output: Console) -> None:
    """Clips, raters, fit, and what to mind."""
    from vmmetrics.cli.progress import count

    output.print(_clips(labelling))
    if len(labelling.clips) > SHOWN_CLIPS:
        output.print(f"and {count(len(labelling.clips) - SHOWN_CLIPS, 'more clip')}, in the file")
    if labelling.raters:
        output.print(_raters(labelling))
    for line in _summary(labelling, read):
        output.print(line, soft_wrap=True)


def _clips(labelling: Labelling) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    table.add_column("clip", overflow="fold")
    for name in ("level", "P(level)", "strength", "95 % interval", "comparisons"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in sorted(labelling.rows(), key=lambda row: (row["component"], -(row["strength"] or 0)))[:SHOWN_CLIPS]:
        cells = ["-"] * 4
        if row["level"] is not None:
            likely = f"{row['level_probs'][row['level']]:.2f}"
            cells = [row["level_name"], likely, f"{row['strength']:+.2f}", f"[{row['low']:+.2f}, {row['high']:+.2f}]"]
        table.add_row(row["clip"], *cells, f"{row['comparisons']:g}")
    return table


def _raters(labelling: Labelling) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    table.add_column("rater", overflow="fold")
    for name in ("comparisons", "agree with others", "steady on repeats", "agree with strengths"):
        table.add_column(name, justify="right", no_wrap=True)
    for rater in labelling.raters:
        shares = [rater.agreed, rater.steady, rater.with_fit]
        shown = ["-" if share is None else f"{share:.0%}" for share in shares]
        table.add_row(rater.rater, str(rater.comparisons), *shown)
    return table


def _summary(labelling: Labelling, read: Comparisons) -> list[str]:
    from vmmetrics.cli.progress import count

    meta, fit = labelling.meta(), labelling.fit
    lines = [f"{count(len(read.rows), 'comparison')} of {count(len(labelling.clips), 'clip')}; "
             + ", ".join(f"{name} {share:.0%}" for name, share in meta["level_shares"].items())]  # fmt: skip
    if fit.has_ties:
        lines.append(f"{fit.model.name} tie parameter, {fit.model.parameter}: {fit.tau:.3f}, s.e. {fit.tau_error:.3f}")
    quality = meta["fit"]
    lines.append(
        f"log-likelihood {quality['log_likelihood']:.2f}, of equal strengths {quality['log_likelihood_equal']:.2f}; "
        f"the stronger clip won {quality['decided_right']:.0%} of decisions; ties observed/predicted: "
        + ", ".join(f"{b['pairs']} {b['observed']:.0%}/{b['predicted']:.0%}" for b in quality["ties"])
    )
    components = meta["components"]
    if len(components) > 1 or not meta["maximum_without_prior"]:
        lines += [
            f"component {c['component']}: {count(c['clips'], 'clip')} with {c['first']}, "
            f"{count(c['strong_parts'], 'strongly connected part')}"
            for c in components[:SHOWN_COMPONENTS]
        ]
        if len(components) > SHOWN_COMPONENTS:
            lines.append(f"and {count(len(components) - SHOWN_COMPONENTS, 'more component')}, in the record")
    if labelling.repeats.repeated:
        lines.append(
            f"{labelling.repeats.repeated} comparisons repeat a pair of the same rater, who contradicted "
            f"themselves on {count(labelling.repeats.contradicted, 'pair')}"
        )
    if read.ignored_columns:
        lines.append(f"columns without a meaning here: {', '.join(read.ignored_columns)}")
    uncertain = labelling.uncertain()
    if uncertain:
        names = ", ".join(labelling.clips[number].clip for number in uncertain[:3])
        more = ", ..." if len(uncertain) > 3 else ""
        lines.append(f"uncertain: the level of {count(len(uncertain), 'clip')} is less likely than not ({names}{more})")
    return lines + [f"note: {note}" for note in labelling.notes]


def _ask(
    labelling: Labelling | None,
    listed: Sequence[ListedClip],
    number: int,
    out: Path,
    across_prompts: bool,
    seed: int,
    messages: Console,
) -> None:
    from vmmetrics.cas.label.ask import choose_pairs
    from vmmetrics.cas.label.label import write_questions
    from vmmetrics.cli.progress import count

    clips = sorted(listed, key=lambda entry: entry.clip) if labelling is None else labelling.clips
    groups = ["" if across_prompts else entry.prompt for entry in clips]
    fit = None if labelling is None else labelling.fit
    questions = choose_pairs([entry.clip for entry in clips], groups, fit, number, seed=seed)
    write_questions(out, questions, clips)
    linking = sum(question.reason == "connect" for question in questions)
    messages.print(f"{count(len(questions), 'pair')} to ask, {linking} of them to link clips: {out}")
