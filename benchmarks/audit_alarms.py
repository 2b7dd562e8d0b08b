"""How often part 3 of an audit is wrong: on sound scorers, and on scorers with a known bug.

    python -m benchmarks.audit_alarms --out FILE [--seeds 10] [--jobs 2]        # six sound scorers of this package
    python -m benchmarks.audit_alarms --folder SCORERS --out FILE [--seeds 1]   # modules listed in answers.json

Sound: SSIM, three baselines, MSS and PAS; a line graded bad is a false alarm. A folder of scorers has ``answers.json``:
a list of ``module``, ``takes`` (words), ``command``, ``higher_is_better``, ``range`` and ``bug`` (None for none). All
lines but good ones are printed; whether they name the bug is for a reader to say.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from vmmetrics.alignment.audit.breaks import breaks
from vmmetrics.alignment.audit.calls import Limits
from vmmetrics.alignment.audit.clips import sample_of, tasks_of
from vmmetrics.alignment.audit.target import Target, target_of
from vmmetrics.errors import SetupError

SOUND = ("ssim,frame_difference,flow_magnitude,warping_error", "mss,pas")


def target_in(folder: Path, entry: Mapping[str, Any]) -> Target:
    """Return the target of an entry of ``answers.json``."""
    os.chdir(folder)
    span = entry.get("range") or (None, None)
    return target_of(
        None if entry.get("command") else f"{entry['module']}:score",
        command=entry.get("command"),
        takes=() if entry.get("command") else entry["takes"].split(),
        higher_is_better=entry["higher_is_better"],
        value_range=None if None in span else tuple(span),
    )


def lines_of(work: tuple[Target, int]) -> list[dict[str, Any]]:
    """Return the lines of part 3 for a target and a seed."""
    target, seed = work
    clips = sample_of(tasks_of([]))
    with tempfile.TemporaryDirectory() as scratch:
        try:
            results = [result for _, result in breaks(target, clips, Path(scratch), Limits(), seed=seed)]
        except SetupError as error:
            return [{"grade": "error", "check": "", "verdict": str(error), "text": "", "score": None}]
    return [{**line.to_json(), "score": line.score} for result in results for line in result.lines]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print and write all lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    out = options.out.absolute()
    if options.folder is None:
        targets = {names: target_of(names) for names in SOUND}
    else:
        folder = options.folder.absolute()
        entries = json.loads((folder / "answers.json").read_text())
        targets = {entry["module"]: target_in(folder, entry) for entry in entries}
    runs = list(product(targets, range(options.seeds)))
    found: list[dict[str, Any]] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for (name, seed), lines in zip(runs, pool.map(lines_of, [(targets[n], s) for n, s in runs]), strict=True):
            found += [{"scorer": line["score"] or name, "seed": seed, **line} for line in lines]
            print(f"{name}, seed {seed}: {len(lines)} lines", flush=True)
            for line in lines:
                if line["grade"] != "good":
                    print(
                        f"  {line['grade']:5} {line['check']:14} {line['score'] or '':18} {line['verdict']}", flush=True
                    )
            out.write_text(json.dumps(found, indent=0))
    for scorer in dict.fromkeys(line["scorer"] for line in found):
        own = [line for line in found if line["scorer"] == scorer]
        bad = sum(line["grade"] == "bad" for line in own)
        print(f"{scorer}: {bad} of {len(own)} lines bad, {sum(line['grade'] == 'note' for line in own)} notes")


if __name__ == "__main__":
    main()
