"""``vmmetrics cas label``: comparisons in, five levels out, and which pairs to ask next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import (
    argument,
    check_outputs,
    count_option,
    names_option,
    number_option,
    numbers,
    option,
    out_option,
    seed_option,
)
from vmmetrics.cli.terminal import count, open_consoles
from vmmetrics.utils.display.markup import listed

if TYPE_CHECKING:
    from vmmetrics.cas.label.comparisons import Comparisons
    from vmmetrics.cas.label.label import Labelling

SHOWN_CLIPS = 40
"""Maximum rows on a terminal; the file has all."""
SHOWN_COMPONENTS = 5


def label(
    comparisons: Annotated[
        list[Path] | None, argument("JSONL, CSV or TSV: a, b, winner (a, b or tie), or winner, loser, tie.")
    ] = None,
    out: Annotated[Path | None, out_option("Labels to write (JSONL).", show_default=False)] = None,
    clips: Annotated[
        Path | None, option("List of clips: clip, prompt, group (model). Default: the compared clips.")
    ] = None,
    ties: Annotated[Literal["davidson", "rao-kupper"], option("Model of ties.")] = "davidson",
    prior: Annotated[
        Literal["auto", "none", "always"],
        option("Normal prior on strengths; auto: only where the data need one."),
    ] = "auto",
    prior_sd: Annotated[float | None, number_option("Standard deviation of the prior, log odds. Default: 1.5.")] = None,
    cut: Annotated[
        Literal["quantile", "normal", "fixed"], option("quantile: equal shares; normal: quintiles; fixed: --at.")
    ] = "quantile",
    at: Annotated[str | None, names_option("The four strengths to cut at, such as -1.5,-0.5,0.5,1.5.")] = None,
    scope: Annotated[
        Literal["auto", "pooled", "prompt", "component"],
        option("Clips cut together; auto: all if linked by comparisons, else each component."),
    ] = "auto",
    repeat_votes: Annotated[
        Literal["share", "keep"],
        option("Repeated judgements of a pair by one rater: share one vote, or keep one each."),
    ] = "share",
    form: options.Format = "text",
    ask: Annotated[int, count_option("Number of pairs to ask next.", 0)] = 0,
    pairs_out: Annotated[Path | None, option("File for the pairs to ask (JSONL).", show_default=False)] = None,
    across_prompts: Annotated[bool, option("Also ask about clips of different prompts.")] = False,
    seed: Annotated[int, seed_option("Random seed of sides and order of the pairs.")] = 0,
) -> None:
    """Turn pairwise comparisons into five levels, Bad to Perfect, with their certainty.

    Writes one line per clip to --out and the record of how they came about to the .meta.json beside it. Without
    comparisons, --clips and --ask choose the first pairs.
    """
    inputs = [*(comparisons or ()), *([] if clips is None else [clips])]
    if bool(ask) != (pairs_out is not None):
        raise typer.BadParameter("--ask and --pairs-out go together")
    if not comparisons and (clips is None or not ask or out is not None):
        raise typer.BadParameter("give comparisons, or --clips and --ask to choose the first pairs")
    if comparisons and out is None and not ask:
        raise typer.BadParameter("give --out for labels, --ask and --pairs-out for pairs, or both")
    check_outputs(inputs, [out, pairs_out])
    from vmmetrics.cas.label.comparisons import read_clip_list, read_comparisons
    from vmmetrics.cas.label.label import LabelSettings, label_clips, write_labels, write_questions
    from vmmetrics.utils.statistics.bradley_terry import DEFAULT_PRIOR_SD
    from vmmetrics.utils.statistics.pair_choice import choose_pairs

    output, messages = open_consoles()
    listed = None if clips is None else read_clip_list(clips)
    sd = DEFAULT_PRIOR_SD if prior_sd is None else prior_sd
    cuts = None if at is None else numbers(at.split(","), at, "four numbers with commas between")
    settings = LabelSettings(ties, prior, sd, cut, cuts, scope, repeat_votes)
    labelling = None
    if comparisons:
        read = read_comparisons(comparisons)
        labelling = label_clips(read.rows, listed, settings)
        _print(labelling, read, form, output)
        if out is not None:
            write_labels(out, labelling, settings, read, inputs)
            messages.print(f"wrote {out} (provenance in {out.with_suffix('.meta.json')})", soft_wrap=True)
    if pairs_out is not None:
        pool = sorted(listed or [], key=lambda entry: entry.clip) if labelling is None else labelling.clips
        groups = ["" if across_prompts else entry.prompt for entry in pool]
        fit = None if labelling is None else labelling.fit
        questions = choose_pairs([entry.clip for entry in pool], groups, fit, ask, seed=seed)
        write_questions(pairs_out, questions, pool)
        linking = sum(question.reason == "connect" for question in questions)
        messages.print(f"{count(len(questions), 'pair')} to ask, {linking} of them to link clips: {pairs_out}")


def _print(labelling: Labelling, read: Comparisons, form: str, output: Console) -> None:
    """Print clips, raters, fit and warnings."""
    from vmmetrics.utils.display.tables import DisplayCell, DisplayTable, Lines, figure, heads

    rows = sorted(labelling.rows(), key=lambda row: (row["component"], -(row["strength"] or 0)))
    more = len(rows) - SHOWN_CLIPS if form == "text" else 0
    caption = f"and {count(more, 'more clip')}, in the file" if more > 0 else ""
    columns = heads("clip", "level", "P(level)", "strength", "comparisons", texts=2)
    clips = DisplayTable("clips", "Clips", caption, columns)
    for row in rows[:SHOWN_CLIPS] if form == "text" else rows:
        if row["level"] is None:
            clips.add(row["clip"], "-", "-", "-", f"{row['comparisons']:g}")
            continue
        ends = (row["low"], row["high"])
        below = f"[{row['low']:+.2f}, {row['high']:+.2f}]"
        strength = DisplayCell(f"{row['strength']:+.2f}", below, value=row["strength"], interval=ends)
        likely = figure(row["level_probs"][row["level"]])
        clips.add(row["clip"], row["level_name"], likely, strength, f"{row['comparisons']:g}")
    names = heads("rater", "comparisons", "agree with others", "consistent on repeats", "agree with strengths")
    raters = DisplayTable("raters", "Raters", "", names)
    for one in labelling.raters:
        shares = [figure(s, "-" if s is None else f"{s:.0%}") for s in (one.agreed, one.steady, one.with_fit)]
        raters.add(one.rater, str(one.comparisons), *shares)
    lines = Lines("summary", "Fit", tuple(_summary(labelling, read)))
    print_result(form, [clips, *([raters] if raters.rows else []), lines], output)


def _summary(labelling: Labelling, read: Comparisons) -> list[str]:
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
        lines.append(f"ignored columns: {', '.join(read.ignored_columns)}")
    uncertain = labelling.uncertain()
    if uncertain:
        names = listed([labelling.clips[number].clip for number in uncertain], 3)
        lines.append(f"uncertain: the level of {count(len(uncertain), 'clip')} has a probability below 0.5 ({names})")
    return lines + [f"note: {note}" for note in labelling.notes]
