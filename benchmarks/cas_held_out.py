"""CAS of the training windows that anchors are made of, each by a model that saw nothing of its source.

    python -m benchmarks.cas_held_out --kept cas-ladder --out held-out.csv

``--kept`` is where ``python -m benchmarks.cas_recipe.recipe`` left the measured ladder. The table has columns
``name,cas``, as ``python -m benchmarks.anchors --cas-held-out`` reads it.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from benchmarks.anchors import chosen
from benchmarks.cas_recipe.folds import fold_models, score
from benchmarks.cas_recipe.groups import measure_views, read_groups
from benchmarks.footage import window
from vmmetrics.perception.embedded.plausibility.views import Backbone


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kept", type=Path, default=Path("cas-ladder"))
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    table = read_groups(sorted(options.kept.glob("group-?????.npz")))
    network, items = Backbone(threads=1), [item for item in chosen() if item.split == "train"]
    with options.out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("name", "cas"))
        for sources, model in fold_models(table):
            for item in (item for item in items if item.source in sources):
                clip = window(item.read())
                if clip is not None:
                    writer.writerow((item.name, f"{score(model, measure_views(clip, network)).mean():.6f}"))


if __name__ == "__main__":
    main()
