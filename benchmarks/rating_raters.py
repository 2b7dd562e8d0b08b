"""Simulated raters of known kinds, many studies: ``python -m benchmarks.rating_raters --studies 50``.

Each study has 24 clips of 6 prompts by 4 models, 30 honest raters and 6 of each other kind. Prints the share of each
kind that the default rules flag, the criteria that honest raters failed, and how well qualities are recovered: mean
Spearman's ρ, root mean square error in levels and share of 95 % intervals that hold the true level (acr). Last comes
that share for panels of honest raters alone, of the studies in which qualities were recovered.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vmmetrics.rating import DESIGNS
from vmmetrics.rating.designs import design_named
from vmmetrics.rating.simulation import KINDS, dry_run
from vmmetrics.rating.study import ClipSource, Settings, new_study

PROMPTS, MODELS = 6, 4
PANELS = ((15, 6), (5, 2))  # honest raters and prompts


def sources(folder: Path, prompts: int = PROMPTS) -> list[ClipSource]:
    """Write clips that nobody looks at."""
    rng, made = np.random.default_rng(0), []
    for prompt in range(prompts):
        for model in range(MODELS):
            path = folder / f"{model}-{prompt}.npy"
            np.save(path, rng.integers(0, 40, (10, 16, 16, 3)).astype(np.uint8))
            made.append(ClipSource(path.name, path, f"model {model}", f"prompt {prompt}"))
    return made


def main(say: Callable[[str], None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=50)
    parser.add_argument("--designs", nargs="*", default=list(DESIGNS))
    options = parser.parse_args()
    for design in options.designs:
        raters, flagged, failed = Counter[str](), Counter[str](), Counter[str]()
        figures = []
        with tempfile.TemporaryDirectory() as folder:
            asks = dict.fromkeys(design_named(design).asks, "")
            settings = Settings(design, "lab", "ours", asks, reference="model 0" if design == "dcr" else "")
            study = new_study(Path(folder) / "study", sources(Path(folder)), settings)
            for seed in range(options.studies):
                run = dry_run(study, {"honest": 30, "lazy": 6, "random": 6, "reversed": 6}, seed)
                raters.update(run.raters)
                flagged.update(run.flagged)
                failed.update(run.criteria["honest"])
                figures.append([np.nan if one is None else one for one in (run.recovered, run.error, run.covered)])
        rates = ", ".join(f"{kind} {flagged[kind] / raters[kind]:.3f} of {raters[kind]}" for kind in KINDS)
        say(f"{design}: flagged: {rates}; honest failed {dict(failed)}")
        say(f"{design}: ρ, error, coverage: {np.round(np.mean(figures, axis=0), 3).tolist()}")
    for panel, prompts in PANELS:
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings("acr", "lab", "ours", {"motion": ""})
            study = new_study(Path(folder) / "study", sources(Path(folder), prompts), settings)
            shares = [dry_run(study, {"honest": panel}, seed).covered for seed in range(options.studies)]
        held = [share for share in shares if share is not None]
        say(f"acr, {panel} raters of {prompts * MODELS} clips: coverage {np.mean(held):.3f} of {len(held)} studies")


if __name__ == "__main__":
    main()
