"""Baselines that need no download, the judge behind an endpoint, and what metrics notice of defects."""

from __future__ import annotations

from benchmarks.net.case import cases_of
from benchmarks.net.inputs import fetv, film, real, samples, text

TWO = (samples("zeroscope"), film("small.mp4", 3))
OWN = "import numpy\n\ndef score(clip):\n    return float(numpy.asarray(clip.frames).mean() / 255)\n"
PROBE = "probe in/real/mmpose_dog.mp4 --seconds 1 --short-side 96 --max-fps 10"

CASES = [
    *cases_of("baselines", {
        "four": ((samples("zeroscope"), fetv(1), real(1)), [
            "baselines in --out run", "baselines in --out run", "leaderboard run", "merge run --out merged",
        ]),
        "some": (TWO, [
            "baselines in --metrics niqe --out run", "baselines in --metrics niqe,ssim --out run",
            "baselines in --metrics nonsense", "baselines in --metrics raft",
            "baselines in --weights raft=nowhere.pth --out x",
            "baselines in --metrics ssim --shard 1/2 --out part", "baselines in/nowhere",
            "baselines in --judge nowhere",
            "baselines in/samples --metrics ssim", "show run small.mp4 --out x.png",
        ]),
        "probe": ((real(12, 5, 6), text("own.py", OWN)), [
            f"{PROBE} --metrics mss,pas,ssim --defects blur,noise,reversal,freeze_jump --strengths 0.5,1 --out probe"
            " --invariances mirror,brightness --harmless-strengths 1",
            "probe in/real --defects nonsense", "probe in/nowhere",
        ]),
        "probe-all": ((real(12, 5, 6),), [
            f"{PROBE} --metrics frame_difference --strengths 1 --harmless-strengths 1 --out probe --no-rates",
        ]),
    }),
    *cases_of("baselines", {
        "judge": (TWO, [
            "baselines in --judge net --judge-url {url} --metrics vlm_judge --out run --judge-frames 3",
            "baselines in --judge net --judge-url {url} --metrics vlm_judge --out run --judge-frames 4",
        ]),
    }, endpoint=True),
]  # fmt: skip
