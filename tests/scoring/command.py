"""The command line with the fake suite, as a process of its own that a test may kill: ``command.py SUITE_LOG ARGS``."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    os.environ["FAKE_SUITE_LOG"] = sys.argv[1]
    import vmmetrics.scoring.settings
    from vmmetrics.cli.main import main

    vmmetrics.scoring.settings.SUITE = "fake_suite:FakeSuite"
    main(sys.argv[2:])
