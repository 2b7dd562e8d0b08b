"""Run families of the reliability campaign, print a table of each, and write its counts as JSON.

A second start with the same folder goes on where the first one ended. Linux only: processes are forked, and watched
through ``/proc``. As root, ``faults`` mounts small file systems and drops its rights for the cases on permissions.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = ("inputs", "steps", "kills", "runs", "files", "waits", "terminal", "faults", "net", "fuzz")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.campaign", description=__doc__)
    parser.add_argument("families", nargs="*", choices=[*FAMILIES, []], metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--out", type=Path, required=True, help="folder for counts, journals and reproducers")
    parser.add_argument("--seed", type=int, default=0, help="of everything random")
    parser.add_argument("--kills", type=int, default=1000, help="how many, in all")
    parser.add_argument("--minutes", type=float, default=60, help="of fuzzing")
    arguments = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "scoring")]  # the fake suite lies with the tests of the run
    from benchmarks.campaign.results import Campaign

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what is under way ends, and the table is printed
    failed = 0
    for family in arguments.families or FAMILIES:
        scratch = Path(tempfile.mkdtemp(prefix=f"campaign-{family}-"))
        out = arguments.out.absolute()
        campaign = Campaign(family, out, scratch, arguments.seed, arguments.kills, arguments.minutes)
        try:
            import_module(f"benchmarks.campaign.{family}").run(campaign)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            print("\n" + campaign.finish(), flush=True)
        failed += sum(bool(case["fault"]) for case in campaign.cases.values())
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
