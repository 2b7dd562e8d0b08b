"""Public names with their signatures, and the formulas on made-up arrays."""

from __future__ import annotations

from benchmarks.net.case import Case

CASES = [
    Case("names", "public", ("@public_names",)),
    Case("names", "formulas", ("@formulas",)),
    Case("names", "import", ("@import_time",)),
]
