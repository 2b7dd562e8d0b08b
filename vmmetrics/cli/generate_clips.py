"""``vmmetrics generate-clips``: prompts in, a folder of clips out that ``vmmetrics score`` reads as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vmmetrics.cli.formats import print_result
from vmmetrics.cli.options import (
    MAX_FPS,
    MAX_SECONDS,
    Clips,
    Device,
    DryRun,
    Format,
    MaxSeconds,
    count_option,
    number_option,
    option,
    out_option,
    seed_option,
)
from vmmetrics.cli.terminal import EXIT_FAILURES, Bar, count, error, open_consoles, until_stopped, usage

if TYPE_CHECKING:
    from vmmetrics.prompts.clips.loop import Maker
    from vmmetrics.utils.storage.journal import Line


def generate_clips(
    prompts: Annotated[str, option("Prompt list: library, core, core-300, mini, pairs or a file.", show_default=False)],
    out: Annotated[Path, out_option("Folder for the clips; resumes what is there.", show_default=False)],
    pipeline: Annotated[
        str | None, option("Diffusers text-to-video pipeline: a folder, or a name that is in the local cache.")
    ] = None,
    command: Annotated[
        str | None,
        option(
            "Program to run instead: 'python gen.py --prompt={prompt} --seed {seed} --out {out}'. Run without a "
            "shell. Also {index}, {sample}, {subject}, {action}, {place}, {pattern}."
        ),
    ] = None,
    fps: Annotated[float | None, number_option("With --pipeline: frame rate of the model.", 0.1, MAX_FPS)] = None,
    frames: Annotated[int | None, count_option("With --pipeline: frames per clip.", 2)] = None,
    size: Annotated[str | None, option("With --pipeline: WIDTHxHEIGHT.")] = None,
    steps: Annotated[int | None, count_option("With --pipeline: denoising steps.")] = None,
    options: Annotated[
        list[str] | None,
        option("With --pipeline: further arguments of its call; repeatable.", "--set", metavar="NAME=VALUE"),
    ] = None,
    device: Device = None,
    dtype: Annotated[str | None, option("With --pipeline. Default: bfloat16 on cuda, float32 elsewhere.")] = None,
    timeout: Annotated[
        float | None, number_option("With --command: seconds a clip may take.", 0.1, MAX_SECONDS)
    ] = None,
    samples: Annotated[int, count_option("Clips per prompt.")] = 1,
    seed: Annotated[int, seed_option("Random seed; each clip's seed is derived from it.")] = 0,
    where: Annotated[
        list[str] | None, option("Only prompts of a motion pattern, or NAME=VALUE with a tag or index; repeatable.")
    ] = None,
    wording: Annotated[
        str | None, option("Wording that the generator gets: long or chinese, which core-300 has.", "--wording")
    ] = None,
    max_seconds: MaxSeconds = None,
    first_frames: Annotated[
        Path | None, option("Image to video: folder of first frames, 0001.png; {first_frame} in --command.")
    ] = None,
    limit: Annotated[int | None, count_option("Use only the first N of those prompts.")] = None,
    dry_run: DryRun = False,
    form: Format = "text",
) -> None:
    """Make a clip of every prompt, in the layout that 'vmmetrics score' reads without options.

    Re-run the same command to resume; several at once on one folder share the work. What made
    each clip is in generation.jsonl. Exit codes: 0 all made, 3 some failed, 2 wrong usage or setup.
    """
    from vmmetrics.prompts.clips.folder import plan_of
    from vmmetrics.prompts.clips.loop import generate
    from vmmetrics.prompts.files import read_entries

    of_pipeline = {"fps": fps, "frames": frames, "size": size, "steps": steps, "set": options, "device": device,
                   "dtype": dtype}  # fmt: skip
    maker = _maker(pipeline, command, of_pipeline, timeout)
    if command is not None and ("{first_frame}" in command) != (first_frames is not None):
        raise typer.BadParameter("--first-frames and {first_frame} in --command go together")
    entries = read_entries(prompts)
    with usage("--where"):
        plan = plan_of(entries, where or (), limit, samples, seed, max_seconds, first_frames, wording or "")
    if not plan.jobs:
        raise typer.BadParameter(f"no prompt of {prompts} matches --where and --max-seconds")
    output, messages = open_consoles()
    if dry_run:
        from vmmetrics.utils.display.tables import DisplayTable, heads

        table = DisplayTable(
            "clips", f"Clips to generate in {out}", "", heads("clip", "seed", "prompt", "state", texts=4)
        )
        for job in plan.jobs:
            there = "there" if (out / job.clip).exists() else "to generate"
            table.add(job.clip, str(job.seed), job.entry.prompt, there)
        print_result(form, [table], output)
        return
    message = f"stopped; clips made so far are in {out}; run the same command again to resume"
    with until_stopped(messages, message), _ClipProgress(messages) as progress:
        outcome = generate(out, plan, maker, progress)
    messages.print(f"{count(len(outcome.made), 'clip')} in {out}; next: vmmetrics score {out}", soft_wrap=True)
    if outcome.failed:
        error(messages, f"{count(len(outcome.failed), 'clip')} failed; run the same command again to retry")
        raise typer.Exit(EXIT_FAILURES)


def _maker(pipeline: str | None, command: str | None, options: dict[str, Any], timeout: float | None) -> Maker:
    flags = [f"--{name}" for name, value in options.items() if value is not None]
    if (pipeline is None) == (command is None):
        raise typer.BadParameter("give --pipeline or --command")
    if command is not None:
        if flags:
            raise typer.BadParameter(f"{flags[0]} goes with --pipeline; pass it in --command instead")
        from vmmetrics.prompts.clips.makers import CommandMaker

        return CommandMaker(command, timeout)
    if timeout is not None:
        raise typer.BadParameter("--timeout goes with --command")
    if options["fps"] is None:
        raise typer.BadParameter("--pipeline needs --fps, the frame rate of its model")
    from vmmetrics.prompts.clips.makers import PipelineMaker

    others = {name: options[name] for name in ("fps", "frames", "steps", "device", "dtype")}
    size = None if options["size"] is None else _size(options["size"])
    return PipelineMaker(str(pipeline), size=size, options=_options(options["set"] or ()), **others)


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]{1,5})[xX×]([0-9]{1,5})", text.strip())
    if not match or not int(match[1]) or not int(match[2]):
        raise typer.BadParameter(f"expected WIDTHxHEIGHT such as 832x480 but got {text!r}", param_hint="--size")
    return int(match[1]), int(match[2])


def _options(texts: Sequence[str]) -> dict[str, Any]:
    """Return values as JSON where they are JSON, else as text."""
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise typer.BadParameter(f"expected NAME=VALUE but got {text!r}", param_hint="--set")
        try:
            values[name.strip()] = json.loads(value)
        except ValueError:
            values[name.strip()] = value
    return values


class _ClipProgress(Bar):
    """Progress of generation: a bar on a terminal, a line per clip elsewhere; reasons of failures."""

    def begin(self, total: int, made: int) -> None:
        """Start; ``made`` clips were there before."""
        before = f", {made} of them already exist" if made else ""
        self._console.print(f"{count(total, 'clip')}{before}")
        self.start(total, made)

    def advance(self, line: Line) -> None:
        """Count a clip, and say why it failed."""
        self._done += 1
        name = str(line["clip"])
        if "error" in line:
            error(self._console, f"failed: {name}: {line['error']!s}")
        if not self.show() and "error" not in line:
            self._console.print(f"[{self._done}/{self._total}] {name}  {line.get('seconds', 0):.1f} s")


# ``vmmetrics prompts first-frames``: how well clips keep the pictures that they were to begin with.


def first_frames(
    clips: Clips,
    pictures: Annotated[Path, option("Folder of the first frames, 0001.png.", show_default=False)],
    form: Format = "text",
) -> None:
    """Compare clips with their first frames: fidelity of frame 0, its loss over time, onset of motion.

    Exit codes: 0 all compared, 3 some could not be, 2 wrong usage or setup.
    """
    from vmmetrics.scoring.first_frames import first_frame_parts, measure
    from vmmetrics.video.discover import discover, no_clips

    output, messages = open_consoles()
    if not pictures.is_dir():
        raise typer.BadParameter(f"there is no folder {pictures}", param_hint="--pictures")
    sources = discover(clips)
    if not sources:
        raise typer.BadParameter(no_clips(clips))
    kept = []
    with until_stopped(messages, "stopped; nothing was written"), Bar(messages, len(sources)) as bar:
        for source in sources:
            kept.append(measure(source, pictures))
            bar.step()
    print_result(form, first_frame_parts(kept), output)
    if failed := sum(one.error is not None for one in kept):
        error(messages, f"{count(failed, 'clip')} could not be compared; the column error has the reason")
        raise typer.Exit(EXIT_FAILURES)
