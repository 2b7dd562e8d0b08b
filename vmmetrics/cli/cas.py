"""``vmmetrics cas reward``: clips in, comparisons by VideoReward out."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Literal

import typer

from vmmetrics.cli.options import PromptsBeside, argument, check_device, option, out_option, seed_option
from vmmetrics.cli.terminal import EXIT_FAILURES, count, error, open_consoles
from vmmetrics.utils.storage.atomic import write_atomically
from vmmetrics.utils.storage.journal import encode


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
    sampled: Annotated[bool, option("Draw one outcome per pair instead of weighting all three.")] = False,
    seed: Annotated[int, seed_option("Random seed.")] = 0,
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
    lines = compare_rewards(steps, sampled=sampled, seed=seed, across_prompts=across_prompts)
    write_atomically(out, b"".join(encode(line) for line in lines))
    failed = sum(step.error is not None for step in steps)
    messages.print(f"{count(len(lines), 'line')} of comparisons: {out}; rewards: {file}")
    if not lines:
        messages.print("no two clips share a prompt; use --across-prompts to compare clips of different prompts")
    if failed:
        error(messages, f"{failed} of {len(steps)} clips failed")
        raise typer.Exit(EXIT_FAILURES)
