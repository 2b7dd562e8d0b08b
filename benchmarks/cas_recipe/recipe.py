"""The recipe of the embedded classifier: ``python -m benchmarks.cas_recipe.recipe``; half an hour on two cores.

    python -m benchmarks.cas_recipe.recipe [--kept FOLDER] [--processes 2] [--left-out]

Makes the ladder from the train split of the footage beside the checkout and from renders, measures it, trains without
some of the sources to see how well unseen ones are put in order, trains on all, and writes the weights. ``--left-out``
prints how well each defect is told by models that never saw it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cv2
import numpy as np

from benchmarks.cas_recipe.folds import held_out_scores, kinds_left_out, order_preserved
from benchmarks.cas_recipe.groups import FILES, Table, measure_groups, plan
from benchmarks.cas_recipe.ordinal import fit
from benchmarks.cas_recipe.sources import footage_sources, rendered_sources
from vmmetrics.utils.weights.manifest import weights_folder

RENDERS = 6
FLUIDS = 16
FOLDER = Path("cas-ladder")


def measured_levels(folder: Path, processes: int) -> Table:
    """Return the whole ladder, measured; what lies in ``folder`` is not measured again."""
    groups = plan(footage_sources(FILES), rendered_sources(RENDERS, FLUIDS))
    return measure_groups(groups, None, folder, processes)


def main() -> None:
    """Run the recipe and say how well it went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kept", type=Path, default=FOLDER, help="folder for measured groups; found again on a rerun")
    parser.add_argument("--output", type=Path, default=weights_folder() / "embedded" / "cas_ladder.npz")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--left-out", action="store_true", help="train without each defect in turn")
    options = parser.parse_args()
    cv2.setNumThreads(1)  # one process per core is faster than threads within each; workers inherit it
    table = measured_levels(options.kept, options.processes)
    order = order_preserved(table, held_out_scores(table))
    low, high = order.interval()
    sys.stdout.write(f"{len(table.rungs)} clips; order kept on {order.share:.3f} [{low:.3f}, {high:.3f}] of pairs of ")
    sys.stdout.write(f"unseen sources\nwriting {options.output}\n")
    fit(table).save(options.output)
    if options.left_out:
        areas = kinds_left_out(table)
        for kind, (seen, unseen) in areas.items():
            sys.stdout.write(f"{kind:14s}{seen:6.2f}{unseen:6.2f}\n")
        means = np.mean(list(areas.values()), axis=0)
        sys.stdout.write(f"mean AUC of the defect seen {means[0]:.3f}, never seen {means[1]:.3f}\n")


if __name__ == "__main__":
    main()
