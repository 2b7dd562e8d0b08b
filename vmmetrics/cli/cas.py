"""``vmmetrics cas``: comparisons of clips by VideoReward, labels from them, and the classifier trained on those."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from vmmetrics.cli import options
from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import (
    PromptsBeside,
    argument,
    check_device,
    check_outputs,
    count_option,
    jobs_option,
    names_option,
    number_option,
    numbers,
    option,
    out_option,
    seed_option,
    share_option,
)
from vmmetrics.cli.terminal import EXIT_FAILURES, Bar, count, error, open_consoles, until_stopped, usage
from vmmetrics.utils.display.markup import listed
from vmmetrics.utils.storage.atomic import write_atomically, write_json
from vmmetrics.utils.storage.journal import encode

if TYPE_CHECKING:
    from vmmetrics.cas.label.comparisons import Comparisons
    from vmmetrics.cas.label.label import Labelling
    from vmmetrics.cas.train.settings import Epoch


def reward(
    clips: Annotated[list[Path], argument("Files and folders of clips.")],
    model: Annotated[Path, option("Folder with KwaiVGI/VideoReward.", show_default=False)],
    base: Annotated[Path, option("Folder with Qwen/Qwen2-VL-2B-Instruct.", show_default=False)],
    out: Annotated[Path, out_option("Comparisons to write (JSONL).", show_default=False)],
    instruction: Annotated[
        Path | None, option("VideoAlign's prompt_template.py. Default: looked for in and above --model.")
    ] = None,
    prompts: PromptsBeside = None,
    rewards: Annotated[
        Path | None, option("Rewards (JSONL); resumes what is there. Default: OUT.rewards.jsonl.")
    ] = None,
    across_prompts: Annotated[bool, option("Compare clips of different prompts too.")] = False,
    device: Annotated[str, option("Device of the model: cpu, cuda, cuda:1, ...", callback=check_device)] = "cpu",
    dtype: Annotated[Literal["bfloat16", "float16", "float32"], option("Precision.")] = "bfloat16",
) -> None:
    """Score motion quality with VideoReward and write pairwise comparisons for 'vmmetrics cas label'.

    Runs from local folders only. Re-run the same command to resume. Exit codes: 0 all scored, 3 some clips
    failed, 2 wrong usage or setup.
    """
    from vmmetrics.cas.label.videoreward import RewardStep, VideoReward, compare_rewards, reward_clips
    from vmmetrics.cas.label.videoreward_files import weights_hash
    from vmmetrics.utils.storage.job_folder import check_folder
    from vmmetrics.video.discover import discover, no_clips
    from vmmetrics.video.prompts import Prompts

    _, messages = open_consoles()
    sources = discover(clips)
    if not sources:
        raise typer.BadParameter(no_clips(clips))
    prompt_list = Prompts(prompts, next((source.root for source in sources if source.root is not None), None))
    check_folder(out.parent, holds="comparisons")
    scorer = VideoReward.load(model, base, instruction=instruction, device=device, dtype=dtype)
    steps: list[RewardStep] = []
    file = out.with_suffix(".rewards.jsonl") if rewards is None else rewards
    text = hashlib.sha256(scorer.text.encode()).hexdigest()[:12]
    identity = f"VideoReward {weights_hash(model)} {dtype} text {text}"
    for step in reward_clips(sources, prompt_list, scorer, identity, file):
        steps.append(step)
        outcome = f"failed: {step.error}" if step.error else f"{step.reward:+.3f}{' (cached)' if step.cached else ''}"
        line = f"[{len(steps)}/{len(sources)}] {step.clip}  {outcome}"
        if step.error:
            error(messages, line)
        else:
            messages.print(line, soft_wrap=True)
    lines = compare_rewards(steps, across_prompts=across_prompts)
    write_atomically(out, b"".join(encode(line) for line in lines))
    failed = sum(step.error is not None for step in steps)
    messages.print(f"{count(len(lines), 'line')} of comparisons: {out}; rewards: {file}")
    if not lines:
        messages.print("no two clips share a prompt; use --across-prompts to compare clips of different prompts")
    if failed:
        error(messages, f"{failed} of {len(steps)} clips failed")
        raise typer.Exit(EXIT_FAILURES)


Precision = Literal["fp32", "fp16", "bf16"]


# ``vmmetrics cas eval``: a classifier against labelled clips.


def evaluate(
    classifier: Annotated[str, argument("best.pt of a training run, VMBench's checkpoint, or 'embedded'.")],
    clips: options.ClipFolder,
    labels: Annotated[Path, argument("JSONL, CSV or TSV: clip, level, prompt, group.")],
    out: Annotated[Path | None, out_option("JSON with all figures and every clip's probabilities.")] = None,
    include_seen: Annotated[
        bool, option("Include clips of prompts that the checkpoint was trained on.", "--include-seen")
    ] = False,
    device: options.Device = None,
    form: options.Format = "text",
    precision: Annotated[
        Precision | None,
        option("Precision of matrix products. Default: fp16 on a GPU, as the released code, else fp32."),
    ] = None,
) -> None:
    """Print accuracy, error in levels, rank correlation and calibration error, for all clips and by group."""
    from vmmetrics.cas.evaluate.evaluation import evaluate_classifier, load_judge
    from vmmetrics.cas.evaluate.model_card import agreement_table
    from vmmetrics.cas.labelled_clips import read_labelled_clips

    output, messages = open_consoles()
    data = read_labelled_clips([clips], labels)
    with Bar(messages) as bar:
        judge = load_judge(classifier, device, precision)
        progress = partial(bar.phase, "judging clips")
        evaluated = evaluate_classifier(judge, data, include_seen=include_seen, progress=progress)
    for clip, reason in evaluated.failed:
        messages.print(f"left out: {clip}: {reason}", soft_wrap=True)
    if evaluated.seen:
        prompts = f"{count(len(evaluated.seen), 'clip')} of training prompts"
        messages.print(f"left out: {prompts}; use --include-seen to include them", soft_wrap=True)
    print_result(form, [agreement_table(evaluated.report)], output, data=evaluated.to_json)
    if out is not None:
        write_json(out, evaluated.to_json())


def train(
    clips: options.ClipFolder,
    labels: Annotated[Path, argument("JSONL, CSV or TSV: clip, level, prompt, group; what 'cas label' writes.")],
    out: Annotated[Path, out_option("Directory of the run; resumes what is there.", show_default=False)],
    start: Annotated[
        Path | None, option("Checkpoint, pre-trained or fine-tuned. Default: from scratch.", "--from")
    ] = None,
    model_size: Annotated[
        Literal["small", "base", "large", "huge", "giant"] | None,
        option("Size of a network from scratch. Default: small."),
    ] = None,
    epochs: Annotated[int | None, count_option("Maximum number of epochs. Default: 30.")] = None,
    batch_size: Annotated[int | None, count_option("Batch size per process. Default: 8.")] = None,
    lr: Annotated[float | None, share_option("Learning rate of the head. Default: 5e-4.")] = None,
    layer_decay: Annotated[float | None, share_option("Layer-wise decay of the learning rate. Default: 0.75.")] = None,
    weight_decay: Annotated[float | None, share_option("Weight decay of AdamW. Default: 0.05.")] = None,
    warmup: Annotated[float | None, share_option("Share of steps for warm-up. Default: 0.1.")] = None,
    mixup: Annotated[float | None, number_option("Alpha of mixup; 0 for none. Default: 0.2.", 0, 1000)] = None,
    smoothing: Annotated[float | None, share_option("Label smoothing. Default: 0.1.")] = None,
    balance: Annotated[float | None, number_option("Class balancing: 0 none, 1 full. Default: 1.", 0, 10)] = None,
    drop_path: Annotated[float | None, share_option("Stochastic depth of the last block. Default: 0.1.")] = None,
    held_out: Annotated[float | None, share_option("Share of clips held out by prompt. Default: 0.2.")] = None,
    patience: Annotated[
        int | None, count_option("Stop after this many epochs without improvement. Default: 8.")
    ] = None,
    stride: Annotated[int | None, count_option("Frame stride. Default: 4.")] = None,
    precision: Annotated[Precision | None, option("Precision of matrix products. Default: fp32.")] = None,
    checkpointing: Annotated[
        bool | None, option("Gradient checkpointing: less memory, about 33% slower.", "--checkpointing")
    ] = None,
    save_every: Annotated[int | None, count_option("Steps between saves. Default: 200.")] = None,
    seed: Annotated[int | None, seed_option("Random seed. Default: 0.")] = None,
    device: options.Device = None,
    jobs: Annotated[int, jobs_option("Data loading processes per training process.", 0)] = 2,
) -> None:
    """Train the commonsense classifier on clips with levels.

    A fifth of the clips, in whole prompts, is held out for early stopping and evaluation. Writes best.pt, a model card
    with figures and plots, and last.pt to resume from. On several GPUs: torchrun --nproc-per-node N -m vmmetrics cas
    train ...
    """
    chosen: dict[str, Any] = {
        "epochs": epochs, "batch": batch_size, "lr": lr, "layer_decay": layer_decay, "weight_decay": weight_decay,
        "warmup": warmup, "mixup": mixup, "smoothing": smoothing, "balance": balance, "drop_path": drop_path,
        "held_out": held_out, "patience": patience, "rate": stride, "checkpointing": checkpointing,
        "save_every": save_every, "seed": seed, "precision": precision,
    }  # fmt: skip
    if start is not None and model_size is not None:
        raise typer.BadParameter("--model-size is for training from scratch; drop it with --from")
    from vmmetrics.cas.labelled_clips import read_labelled_clips
    from vmmetrics.cas.train.settings import TrainSettings
    from vmmetrics.cas.train.trainer import train as train_classifier

    with usage():
        settings = TrainSettings(**{name: value for name, value in chosen.items() if value is not None})
    output, messages = open_consoles()
    data = read_labelled_clips([clips], labels)
    origin = start or model_size or "small"
    message = f"stopped; progress is saved in {out}; run the same command again to resume"
    with until_stopped(messages, message), Bar(messages) as bar:
        progress = _TrainingProgress(messages, bar)
        trained = train_classifier(data, out, settings, origin, device=device, workers=jobs, watcher=progress)
    if trained is not None:
        from vmmetrics.cas.evaluate.model_card import agreement_table
        from vmmetrics.utils.display.tables import print_parts

        output.print(f"best epoch: {trained.best.number} of {len(trained.history)}; on held-out prompts:")
        print_parts([agreement_table(trained.report)], output)
        output.print(f"{trained.checkpoint}, {out / 'card.md'}", soft_wrap=True)


class _TrainingProgress:
    """Progress of training, with a line per epoch."""

    def __init__(self, console: Console, bar: Bar) -> None:
        self._console, self._bar = console, bar

    def notice(self, text: str) -> None:
        """Print a line."""
        self._console.print(text, soft_wrap=True)

    def reading(self, done: int, total: int) -> None:
        """Show how many clips were tried."""
        self._bar.phase("reading clips", done, total)

    def step(self, step: int, steps: int, loss: float) -> None:
        """Show how many steps are done."""
        self._bar.phase("training", step, steps, f", loss {loss:.3f}")

    def epoch(self, history: Sequence[Epoch]) -> None:
        """Print what the newest epoch came to."""
        epoch = history[-1]
        self.notice(
            f"epoch {epoch.number}: loss {epoch.loss:.4f}, held out {epoch.held_out_loss:.4f}, "
            f"accuracy {epoch.held_out_accuracy:.3f}"
        )


# ``vmmetrics cas label``: comparisons in, labelled clips out.

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
