"""Which fusion paradigm reads motion best at equal decoder length: MotionBench's study at toy size, on rendered clips.

    python -m benchmarks.fusion_study --k 4 --output DIR      # likewise --k 8

Each seed's accuracies are a file in DIR, which is not made again; the table over them is printed and kept as .md.

First every paradigm is trained at every learning rate, on a seed and on clips that nothing else uses; the rate at which
it is right most often becomes its own. The reported seeds are trained at these rates alone.

Each clip of 4·k frames shows at once a disc and a ring that fly one way over a patterned ground, a bar that sweeps by
and two lamps that flash, and five questions are asked of it. Every paradigm turns it into 4 groups of tokens; the
baseline sees 4 frames at even times. All get the same clips in the same order, the same decoder, start values, steps
and batch. Encoders are timm ViTs trained from scratch together with the decoder, so this says how easily the paradigms
learn to see motion, not what they make of a pretrained encoder.

The clips are drawn here, small and as many as are asked for: those of ``vmmetrics understand synthetic`` are films for
large models, of which a training would need thousands. torch and timm are needed.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from timm.models.vision_transformer import VisionTransformer
from torch import Tensor, nn

from benchmarks.fusion_report import QUESTIONS, Tried, best_rate, mean_of, table
from vmmetrics.understanding.fusion import PARADIGMS, fuse

Floats = NDArray[np.float32]

PIXELS = 32
GROUPS = 4
"""Groups of frames in a clip, N / k, as in the paper's main ablation."""
TRAINING, TEST, TRIAL = range(3)
"""What clips are drawn for, a part of their seed."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What all paradigms have in common.

    Attributes:
        k: Frames of a group.
        steps: Optimiser steps.
        batch: Clips a step.
        rates: Peak learning rates of AdamW to choose from; a tenth of the steps leads up to it, a cosine down to none.
        trial: Seed of the trainings that choose.
        test: Clips chosen by, and others tested on, the same for all paradigms.
        patch: Side of a patch in pixels; 2 x 2 patches become one token.
        width: Of encoder and decoder.
        depth: Layers of the encoder.
        heads: Of encoder and decoder.
        decoder_layers: Layers of the decoder.
    """

    k: int
    steps: int = 300
    batch: int = 32
    rates: tuple[float, ...] = (2.5e-4, 5e-4, 1e-3)
    trial: int = 100
    test: int = 1000
    patch: int = 16
    width: int = 64
    depth: int = 2
    heads: int = 4
    decoder_layers: int = 2


# ------------------------------------------------------------------------------------------------------------- clips


def render(clips: int, frames: int, seed: Sequence[int]) -> tuple[Floats, NDArray[np.int64]]:
    """Render clips and the right options.

    Everything that moves leaves by one side and comes back by the other, so that no place in one frame tells anything.

    Args:
        clips: How many.
        frames: Of each, at times (i + 1/2) / frames of the clip.
        seed: Of the draws.

    Returns:
        Frames (clips, frames, 3, PIXELS, PIXELS), about -0.5 to 4, and options (clips, questions as in QUESTIONS).
    """
    rng = np.random.default_rng(seed)
    options = np.stack([rng.integers(len(o), size=clips) for o in QUESTIONS.values()], axis=1)
    direction, ratio, passes, first, camera = options.T
    times = (np.arange(frames) + 0.5) / frames
    steps = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    speed = rng.uniform(0.75, 1.5, clips)
    flight = steps[direction] * speed[:, None]
    ring_flight = flight * np.array([0.5, 1.0, 2.0])[ratio, None]
    disc = _distance(rng, flight, times) < 0.16
    ring = np.abs(_distance(rng, ring_flight, times) - 0.13) < 0.05
    bar_at = (rng.random(clips)[:, None] + np.array([1, 3, 5])[passes][:, None] * times) % 1
    bar = np.abs(_across(np.linspace(0, 1, PIXELS, endpoint=False)[None, None] - bar_at[..., None])) < 0.06
    pictures = np.repeat(_ground(rng, flight * camera[:, None], times)[:, :, None], 3, axis=2)
    pictures[:, :, 0] += disc
    pictures[:, :, 1] += ring
    pictures[:, :, 2] += bar[:, :, None, :]
    pictures += _lamps(rng, first, times)
    return (pictures - 0.5).astype(np.float32), options


def _across(offset: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shorter way between two places on a circle of length 1."""
    return (offset + 0.5) % 1 - 0.5


def _distance(rng: np.random.Generator, flight: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance (clips, frames, y, x) of pixels from something that flies from anywhere, in widths of the picture."""
    at = rng.random((len(flight), 1, 2)) + flight[:, None] * times[:, None]
    grid = np.linspace(0, 1, PIXELS, endpoint=False)
    x, y = (_across(grid - at[..., axis, None]) for axis in (0, 1))
    distance: NDArray[np.float64] = np.hypot(y[..., :, None], x[..., None, :])
    return distance


def _ground(rng: np.random.Generator, pan: NDArray[np.float64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """A pattern of two waves (clips, frames, y, x) that moves as told, 0.2 to 0.8."""
    grid = np.linspace(0, 1, PIXELS, endpoint=False)
    waves = rng.integers(1, 3, (len(pan), 2)) * rng.choice([-1, 1], (len(pan), 2))
    phase = rng.random((len(pan), 2))
    moved = phase[:, None] - waves[:, None] * pan[:, None] * times[:, None]  # (clips, frames, x and y)
    x, y = (np.sin(2 * math.pi * (waves[:, None, None, a] * grid + moved[..., a, None])) for a in (0, 1))
    return 0.5 + 0.15 * (y[..., :, None] + x[..., None, :])


def _lamps(rng: np.random.Generator, first: NDArray[np.int64], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Two flashes (clips, frames, 1, 1, x) of a sixteenth of the clip, each of one half of the picture."""
    length = 1 / 16
    early = rng.uniform(0, 0.75, len(first))
    late = early + rng.uniform(0.125, 0.9375 - early)
    half = np.arange(PIXELS) // (PIXELS // 2)
    light = np.zeros((len(first), len(times), PIXELS))
    for start, side in ((early, first), (late, 1 - first)):
        on = (times >= start[:, None]) & (times < start[:, None] + length)
        light += 1.5 * on[..., None] * (half == side[:, None])[:, None]
    return light[:, :, None, None]


# ------------------------------------------------------------------------------------------------------------- models


class Reader(nn.Module):
    """A fused encoder and a small decoder that answers every question from its tokens."""

    def __init__(self, paradigm: str, settings: Settings, seed: int) -> None:
        super().__init__()
        width, heads = settings.width, settings.heads
        torch.manual_seed(seed)  # decoder and encoder start alike in all paradigms, for they are made first
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
        self.decoder = nn.TransformerEncoder(layer, settings.decoder_layers, nn.LayerNorm(width), False)
        self.ask = nn.Parameter(0.02 * torch.randn(len(QUESTIONS), width))
        self.answers = nn.ModuleList(nn.Linear(width, len(options)) for options in QUESTIONS.values())
        tokens = (PIXELS // settings.patch // 2) ** 2
        self.positions = nn.Parameter(0.02 * torch.randn(GROUPS * tokens, width))
        vit = VisionTransformer(
            PIXELS,
            settings.patch,
            num_classes=0,
            global_pool="",
            class_token=False,
            embed_dim=width,
            depth=settings.depth,
            num_heads=heads,
        )
        self.step = settings.k if paradigm == "none" else 1
        self.fused = fuse(vit, paradigm, 1 if paradigm == "none" else settings.k, width)
        if paradigm == "pre-encoder":  # kernels equal for all frames suit a pretrained encoder, not this one
            self.fused.encoder.patch_convolution.reset_parameters()

    def forward(self, frames: Tensor) -> list[Tensor]:
        """Return each question's logits (clips, options) of frames (clips, GROUPS * k, 3, PIXELS, PIXELS)."""
        tokens = self.fused(frames[:, self.step // 2 :: self.step]).flatten(1, 2) + self.positions
        read = self.decoder(torch.cat([tokens, self.ask.expand(len(frames), -1, -1)], dim=1))
        return [answer(read[:, i - len(QUESTIONS)]) for i, answer in enumerate(self.answers)]


def loss(logits: Sequence[Tensor], options: Tensor) -> Tensor:
    return torch.stack([nn.functional.cross_entropy(each, options[:, i]) for i, each in enumerate(logits)]).mean()


def train(settings: Settings, seed: int, runs: Sequence[tuple[str, float]]) -> list[Reader]:
    """Train paradigms, each at its peak rate, side by side, so that each step's clips are the same for all."""
    readers = [Reader(paradigm, settings, seed) for paradigm, _ in runs]
    optimisers = [torch.optim.AdamW(reader.parameters(), fused=True) for reader in readers]
    warm = max(1, settings.steps // 10)
    for step in range(settings.steps):
        clips, options = map(torch.from_numpy, render(settings.batch, GROUPS * settings.k, (seed, TRAINING, step)))
        left = (settings.steps - step) / max(1, settings.steps - warm)
        share = min((step + 1) / warm, (1 - math.cos(math.pi * min(1.0, left))) / 2)
        for reader, optimiser, (_, peak) in zip(readers, optimisers, runs, strict=True):
            optimiser.param_groups[0]["lr"] = share * peak
            optimiser.zero_grad()
            loss(reader(clips), options).backward()
            nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
            optimiser.step()
    return readers


@torch.no_grad()
def accuracies(reader: Reader, settings: Settings, clips_for: int) -> dict[str, float]:
    """Share of right answers to each question on clips that no training saw, TRIAL's or TEST's."""
    reader.eval()
    right = []
    for start in range(0, settings.test, settings.batch):
        clips, options = render(min(settings.batch, settings.test - start), GROUPS * settings.k, (0, clips_for, start))
        chosen = [each.argmax(1).numpy() for each in reader(torch.from_numpy(clips))]
        right.append(np.stack(chosen, axis=1) == options)
    return dict(zip(QUESTIONS, np.concatenate(right).mean(axis=0).tolist(), strict=True))


# -------------------------------------------------------------------------------------------------------------- runs


def measure(
    settings: Settings, seed: int, runs: Sequence[tuple[str, float]], clips_for: int, file: Path
) -> list[dict[str, float]]:
    """Train with one seed and test, unless the file says that this was done.

    Raises:
        SystemExit: The file tells of other settings.
    """
    asked = json.loads(json.dumps({"settings": asdict(settings), "runs": runs}))
    if file.exists():
        stored = json.loads(file.read_text())
        if {name: stored[name] for name in asked} != asked:
            raise SystemExit(f"{file} was made with other settings; name another --output")
        return list(stored["accuracies"])
    started = time.process_time()
    results = [accuracies(reader, settings, clips_for) for reader in train(settings, seed, runs)]
    made = {"accuracies": results, "cpu_seconds": round(time.process_time() - started), "torch": torch.__version__}
    half = file.with_suffix(".part")
    half.write_text(json.dumps({**asked, **made}, indent=1) + "\n")
    half.replace(file)
    return results


def study(settings: Settings, seeds: Sequence[int], output: Path) -> str:
    """Choose each paradigm's rate, train and test with every seed, and return the report.

    Raises:
        SystemExit: A file in ``output`` tells of other settings, or the trial's seed is among those to report.
    """
    if settings.trial in seeds:
        raise SystemExit(f"seed {settings.trial} chooses the rates, so it is none to report")
    runs = [(paradigm, rate) for paradigm in PARADIGMS for rate in settings.rates]
    tried: Tried = {paradigm: {} for paradigm in PARADIGMS}
    trial = measure(settings, settings.trial, runs, TRIAL, output / f"k{settings.k}_trial{settings.trial}.json")
    for (paradigm, rate), right in zip(runs, trial, strict=True):
        tried[paradigm][rate] = mean_of(right)
    runs = [(paradigm, best_rate(tried[paradigm])) for paradigm in PARADIGMS]
    results: dict[str, list[dict[str, float]]] = {paradigm: [] for paradigm in PARADIGMS}
    for seed in seeds:
        reported = measure(settings, seed, runs, TEST, output / f"k{settings.k}_seed{seed}.json")
        for (paradigm, _), right in zip(runs, reported, strict=True):
            results[paradigm].append(right)
    head = (
        f"k = {settings.k}, {GROUPS * settings.k} frames (baseline {GROUPS}), {len(seeds)} seeds x {settings.steps} "
        f"steps x {settings.batch} clips"
    )
    return table(head, results, tried, settings.k)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--threads", type=int, default=1)
    for name, default in asdict(Settings(k=4)).items():
        several = isinstance(default, tuple)
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=type(default[0] if several else default),
            nargs="+" if several else None,
            default=default,
        )
    arguments = vars(parser.parse_args())
    output, seeds, threads = (arguments.pop(name) for name in ("output", "seeds", "threads"))
    settings = Settings(**{**arguments, "rates": tuple(arguments["rates"])})
    torch.set_num_threads(threads)
    output.mkdir(parents=True, exist_ok=True)
    text = study(settings, seeds, output)
    (output / f"k{settings.k}.md").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
