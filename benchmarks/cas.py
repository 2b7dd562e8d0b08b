"""The embedded CAS classifier: order on the ladder, agreement with people's ratings, and what each input adds.

    python -m benchmarks.cas --kept cas-ladder [--ratings ../shared/fetv-dev] [--ablation]

``--kept`` is where ``python -m benchmarks.cas_recipe.recipe`` left the measured ladder. The order is that of models
which saw nothing of the source. Ratings are compared with the weights that ship, over all prompts (a line in the seal's
log, benchmarks/seal.py), and in the ablation with models trained on the whole ladder, over the open prompts. Nothing is
fitted to ratings. Intervals are 95 %: over sources for the ladder, over prompts for ratings. The null is the same score
against ratings shuffled within each generator: what recognising generators would give.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.stats import spearmanr

from benchmarks.cas_recipe.folds import held_out_scores, order_preserved, score
from benchmarks.cas_recipe.groups import Table, measure_views, read_groups
from benchmarks.cas_recipe.harmless import HARMLESS, RECORDED
from benchmarks.cas_recipe.ladder import CLEAN
from benchmarks.cas_recipe.ordinal import Settings, fit
from benchmarks.fetv_dev import RATINGS, mean_rating, rated_clips, read
from benchmarks.seal import halves, log
from vmmetrics.clip import Clip
from vmmetrics.perception.embedded.plausibility.plausibility import (
    CONDITIONS,
    LEVEL_COUNT,
    NAMES,
    WEIGHTS,
    OrdinalModel,
)
from vmmetrics.perception.embedded.plausibility.views import Backbone
from vmmetrics.types import FloatArray
from vmmetrics.utils.weights.manifest import weight_path

ROUNDS = 2000
KINDS = ("other kind", "foreign kind", "kinds that change")
SEARCHED = ("new fine", "new middle", "missing fine", "missing middle")
DEEP = ("drift", "foreign", "new", "missing", "rough", "crooked", "uneven change", "worst change", "repeating", *KINDS)
ABSOLUTE = ("jerk in pixels", "strain")
WORST = ("worst tenth", "worst place")
BEST = ("best quarter", "calm moment")
NATURE = ("flames", "sparks")
PLAIN = ("cut", "camera", "mirror", "light")


@dataclass(frozen=True)
class Rated:
    """Rated clips: numbers of their views, and what people said."""

    numbers: list[FloatArray]
    sources: NDArray[np.str_]
    prompts: NDArray[np.str_]
    ratings: NDArray[np.float64]


def one_format(clip: Clip) -> Clip:
    """Bring a clip to 16 frames, 8 fps, 160 pixels and one palette (216 even colours, dithered)."""
    indices = np.linspace(0, len(clip) - 1, 16).round().astype(int)
    factor = 160 / max(clip.width, clip.height)
    size = round(clip.width * factor), round(clip.height * factor)
    palette = Image.new("P", (1, 1))
    steps = range(0, 256, 51)
    palette.putpalette([v for r in steps for g in steps for b in steps for v in (r, g, b)])
    frames = [Image.fromarray(cv2.resize(clip.frames[i], size, interpolation=cv2.INTER_AREA)) for i in indices]
    dithered = [f.quantize(palette=palette, dither=Image.Dither.FLOYDSTEINBERG).convert("RGB") for f in frames]
    return Clip(np.stack([np.asarray(f) for f in dithered]), np.arange(16) / 8.0, 8.0)


def measure(folder: Path, change: Callable[[Clip], Clip]) -> Rated:
    rows = rated_clips(folder)
    network = Backbone()
    numbers = []
    for number, row in enumerate(rows, 1):
        numbers.append(measure_views(change(read(folder, row)), network))
        print(f"\r{number}/{len(rows)} {row['clip']:32s}", end="", flush=True)
    print()
    sources, prompts = (np.array([r[key] for r in rows]) for key in ("source", "prompt_id"))
    return Rated(numbers, sources, prompts, np.array([mean_rating(r) for r in rows]))


def of_open_prompts(rated: Rated) -> Rated:
    """Leave out the sealed prompts."""
    opened, _ = halves(rated.prompts.tolist())
    keep = np.isin(rated.prompts, opened)
    numbers = [views for views, kept in zip(rated.numbers, keep, strict=True) if kept]
    return Rated(numbers, rated.sources[keep], rated.prompts[keep], rated.ratings[keep])


def agreement(scores: NDArray[np.float64], rated: Rated, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return pooled ρ, mean ρ within generators, pooled ρ without the lowest-rated generator, AUC of real clips."""
    source, rating, value = rated.sources[rows], rated.ratings[rows], scores[rows]
    made = source != "real"
    names = sorted(set(rated.sources) - {"real"})
    lowest = min(names, key=lambda name: rated.ratings[rated.sources == name].mean())

    def rho(which: NDArray[np.bool_]) -> float:
        return float(spearmanr(value[which], rating[which]).statistic) if len(set(rating[which])) > 1 else np.nan

    within = float(np.nanmean([rho(source == name) for name in names]))
    real, generated = value[~made], value[made]
    wins = (real[:, None] > generated).mean() + 0.5 * (real[:, None] == generated).mean()
    return np.array([rho(made), within, rho(made & (source != lowest)), wins])


def interval(scores: NDArray[np.float64], rated: Rated) -> NDArray[np.float64]:
    """Return (2, 4): 95 % intervals of :func:`agreement`, prompts drawn anew."""
    rng = np.random.default_rng(0)
    of_prompt = [np.flatnonzero(rated.prompts == p) for p in np.unique(rated.prompts)]
    drawn = [np.concatenate([of_prompt[i] for i in rng.integers(len(of_prompt), size=len(of_prompt))])
             for _ in range(ROUNDS)]  # fmt: skip
    return np.nanquantile([agreement(scores, rated, rows) for rows in drawn], (0.025, 0.975), axis=0)


def null(scores: NDArray[np.float64], rated: Rated) -> NDArray[np.float64]:
    """Return (2, 4): mean and 95th percentile of :func:`agreement` with ratings shuffled within each generator."""
    rng = np.random.default_rng(1)
    agreements = []
    for _ in range(ROUNDS):
        ratings = rated.ratings.copy()
        for name in np.unique(rated.sources):
            rows = np.flatnonzero(rated.sources == name)
            ratings[rows] = ratings[rng.permutation(rows)]
        shuffled = Rated(rated.numbers, rated.sources, rated.prompts, ratings)
        agreements.append(agreement(scores, shuffled, np.arange(len(ratings))))
    return np.stack([np.mean(agreements, axis=0), np.quantile(agreements, 0.95, axis=0)])


def clip_scores(model: OrdinalModel, rated: Rated) -> NDArray[np.float64]:
    return np.array([score(model, views).mean() for views in rated.numbers])


def report_levels(table: Table) -> None:
    scores = held_out_scores(table)
    order = order_preserved(table, scores)
    low, high = order.interval()
    filmed = (np.char.find(order.sources, "render") < 0) & (np.char.find(order.sources, "fluid") < 0)
    sources = len(np.unique(table.sources))
    print(f"corruption levels: {len(table.rungs)} clips, {sources} sources, {len(order.preserved)} pairs")
    print(
        f"order preserved, source unseen: {order.share:.3f} [{low:.3f}, {high:.3f}]; "
        f"footage alone {order.preserved[filmed].mean():.3f}"
    )
    for better, worse in sorted(
        set(zip(order.first_severities.tolist(), order.second_severities.tolist(), strict=True))
    ):
        here = (order.first_severities == better) & (order.second_severities == worse)
        first = f"severity {better}" if better else "clean"
        print(f"  {first} against severity {worse}: {order.preserved[here].mean():.3f}")
    for kind in sorted(set(order.kinds), key=lambda k: order.preserved[order.kinds == k].mean()):
        print(f"  {kind:14s}{order.preserved[order.kinds == kind].mean():6.2f}")
    means = [f"{scores[table.rungs == severity].mean():.2f}" for severity in range(5)]
    print(f"mean score, clean to severity 4: {', '.join(means)}")


def report_ratings(model: OrdinalModel, formats: dict[str, Rated]) -> None:
    titles = ("pooled ρ", "within ρ", "ρ without lowest", "AUC real")
    for name, rated in formats.items():
        scores = clip_scores(model, rated)
        agreed = agreement(scores, rated, np.arange(len(scores)))
        bounds, chance = interval(scores, rated), null(scores, rated)
        print(f"fetv-dev, {name}:")
        for i, title in enumerate(titles):
            shuffled = (
                f"; shuffled within generator {chance[0, i]:+.2f}, 95 % below {chance[1, i]:+.2f}" if i < 3 else ""
            )
            print(f"  {title:18s}{agreed[i]:+.2f} [{bounds[0, i]:+.2f}, {bounds[1, i]:+.2f}]{shuffled}")
        log(
            f"benchmarks.cas, {name}",
            "weights that ship",
            {"cas": dict(zip(titles, agreed.round(3).tolist(), strict=True))},
        )
        for source in sorted(set(rated.sources)):
            here = rated.sources == source
            rho = spearmanr(scores[here], rated.ratings[here]).statistic
            print(
                f"  {source:18s}mean score {scores[here].mean():.2f}, mean rating {rated.ratings[here].mean():.2f}, "
                f"ρ {rho:+.2f}"
            )


@dataclass(frozen=True)
class Variant:
    """A training: the numbers that count, its settings, and the harmless changes left out of the ladder."""

    chosen: NDArray[np.bool_]
    settings: Settings = field(default_factory=Settings)
    left_out: tuple[str, ...] = ()
    fluids: bool = True


def variants() -> dict[str, Variant]:
    def named(*parts: str) -> NDArray[np.bool_]:
        return np.array([any(part in name for part in parts) for name in NAMES])

    usable = ~np.isin(NAMES, CONDITIONS)
    deep = np.array([name.startswith(DEEP) for name in NAMES])
    return {
        "as shipped": Variant(usable),
        "without fluids": Variant(usable, fluids=False),
        "without kinds of things": Variant(usable & ~named(*KINDS)),
        "without both": Variant(usable & ~named(*KINDS), fluids=False),
        "without search": Variant(usable & ~named(*SEARCHED)),
        "without unsteady light": Variant(usable & ~named("unsteady light")),
        "conditions not allowed for": Variant(usable, Settings(by_conditions=False)),
        "deep features only": Variant(usable & deep),
        "flow only": Variant(usable & ~deep),
        "without amounts": Variant(usable & ~named(*ABSOLUTE)),
        "without best quarter and calm moment": Variant(usable & ~named(*BEST)),
        "best quarter alone": Variant(usable & named(BEST[0])),
        "without worst tenth and place": Variant(usable & ~named(*WORST)),
        "cut, camera, mirror, light alone harmless": Variant(
            usable, left_out=(*(name for name in HARMLESS if name not in PLAIN), *RECORDED)
        ),
        "without recordings": Variant(usable, left_out=RECORDED),
        "without flames and sparks": Variant(usable, left_out=NATURE),
        "clean as frequent as each level": Variant(usable, Settings(clean_share=1 / LEVEL_COUNT)),
        "no ranking": Variant(usable, Settings(ranking=0.0)),
        "ranking × 3": Variant(usable, Settings(ranking=3.0)),
        "decay × 10": Variant(usable, Settings(decay=10 * Settings().decay)),
    }


def report_ablation(table: Table, formats: dict[str, Rated]) -> None:
    heads = "".join(f"{f'{name}: ρ, within, AUC':>28s}" for name in formats)
    print(f"{'variant':44s}{'order':>7s}{heads}")
    for name, variant in variants().items():
        left_out = np.isin(table.kinds, [f"{CLEAN}: {kind}" for kind in variant.left_out])
        solid = np.char.find(table.sources, "fluid") < 0
        trained = table.take(~left_out & (solid | variant.fluids))
        order = order_preserved(trained, held_out_scores(trained, variant.settings, variant.chosen)).share
        model = fit(trained, variant.settings, variant.chosen)
        line = f"{name:44s}{order:7.3f}"
        for rated in formats.values():
            scores = clip_scores(model, rated)
            pooled, within, _, auc = agreement(scores, rated, np.arange(len(scores)))
            line += f"{pooled:+14.2f}{within:+7.2f}{auc:7.2f}"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kept", type=Path, default=Path("cas-ladder"))
    parser.add_argument("--ratings", type=Path, default=RATINGS)
    parser.add_argument("--ablation", action="store_true")
    options = parser.parse_args()
    files = sorted(options.kept.glob("group-?????.npz"))
    table = read_groups(files) if files else None
    if table is not None:
        report_levels(table)
    else:
        print(f"no measured ladder in {options.kept}; run python -m benchmarks.cas_recipe.recipe")
    if not (options.ratings / "ratings.csv").is_file():
        raise SystemExit(f"{options.ratings} has no ratings.csv; name the folder with --ratings")
    formats = {
        "as they are": measure(options.ratings, lambda clip: clip),
        "one format": measure(options.ratings, one_format),
    }
    report_ratings(OrdinalModel.load(weight_path(WEIGHTS)), formats)
    if options.ablation and table is not None:
        report_ablation(table, {name: of_open_prompts(rated) for name, rated in formats.items()})


if __name__ == "__main__":
    main()
