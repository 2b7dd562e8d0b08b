"""Record what a tree of vmmetrics does, case by case, or hold two such records against each other.

compute: one JSON file per case below OUT; a case whose file is there is left alone. compare: each difference, grouped
by family; exit code 1 where there is one that the allow file does not name.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.net", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    compute = commands.add_parser("compute", help="record a tree")
    compute.add_argument("--tree", type=Path, required=True, help="folder that holds the package vmmetrics")
    compute.add_argument("--out", type=Path, required=True, help="folder for the records")
    compute.add_argument("--only", nargs="+", default=[], metavar="FAMILY", help="families, or FAMILY/NAME")
    compute.add_argument("--jobs", type=int, default=2, help="cases at a time")
    compute.add_argument("--again", action="store_true", help="also those that are there")
    compare = commands.add_parser("compare", help="print differences")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    compare.add_argument("--allow", type=Path, help="TOML with [[allow]] of case, path, text and reason")
    compare.add_argument("--most", type=int, default=12, help="differences printed per case")
    listing = commands.add_parser("list", help="print the cases")
    listing.add_argument("--only", nargs="+", default=[], metavar="FAMILY")
    given = parser.parse_args()
    from benchmarks.net.families import chosen

    if given.command == "list":
        print("\n".join(case.key for case in chosen(given.only)))
    elif given.command == "compute":
        from benchmarks.net.running import compute_all

        sys.exit(compute_all(chosen(given.only), given.tree.resolve(), given.out.absolute(), given.jobs, given.again))
    else:
        from benchmarks.net.comparing import compare_folders

        sys.exit(compare_folders(given.before, given.after, given.allow, given.most))


if __name__ == "__main__":
    main()
