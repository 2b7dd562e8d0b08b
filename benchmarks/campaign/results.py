"""What became of each case of a family: a journal that a second start goes on with, counts, and a table."""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmmetrics.utils.storage.journal import Journal

OK = "ok"
FAIL = "FAIL"


@dataclass
class Campaign:
    """One family at work.

    Attributes:
        family: Its name.
        out: Folder for journals, counts and reproducers.
        scratch: Folder for clips and runs; removed afterwards.
        seed: Everything random.
        kills: How many kills are wanted.
        minutes: How long the fuzzer works.
    """

    family: str
    out: Path
    scratch: Path
    seed: int = 0
    kills: int = 1000
    minutes: float = 60
    cases: dict[str, dict[str, Any]] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        self._journal = Journal(self.out / f"{self.family}.jsonl")
        self._journal.cut_torn_tail()
        self.cases = {line["key"]: line for line in self._journal.read_new()}

    def rng(self, key: str) -> random.Random:
        """Random numbers that depend on the seed and on the case alone."""
        return random.Random(f"{self.seed} {self.family} {key}")

    def done(self, key: str) -> bool:
        """Whether this case was tried before."""
        return key in self.cases

    def add(self, row: str, key: str, fault: str = "", outcome: str = OK, **figures: int) -> None:
        """Record a case.

        Args:
            row: Line of the table that counts it.
            key: Unique name.
            fault: What is wrong; empty for nothing.
            outcome: Class where nothing is wrong.
            **figures: Counts that are added up.
        """
        line = {"key": key, "row": row, "outcome": FAIL if fault else outcome, "fault": fault, "figures": figures}
        self._journal.append([json.loads(json.dumps(line).encode("utf-8", "backslashreplace"))])
        self.cases[key] = line
        failed = sum(case["outcome"] == FAIL for case in self.cases.values())
        seconds = time.monotonic() - self.begun
        text = f"{self.family}: {len(self.cases)} cases, {failed} failed, {seconds:.0f} s; {key}"
        ending = "\n" if fault or (not sys.stderr.isatty() and len(self.cases) % 50 == 0) else "\r"
        text += f": {fault}" if fault else ""
        if sys.stderr.isatty() or ending == "\n":
            sys.stderr.write(ascii(text)[1:-1][: 300 if fault else 110].ljust(110) + ending)
            sys.stderr.flush()

    def table(self) -> str:
        """The counts as Markdown: a line for each row, a column for each outcome and figure."""
        rows: dict[str, Counter[str]] = {}
        columns: dict[str, None] = {}
        for case in self.cases.values():
            counts = rows.setdefault(case["row"], Counter())
            for name, count in (("cases", 1), (case["outcome"], 1), *case["figures"].items()):
                counts[name] += count
                columns.setdefault(name)
        columns.setdefault(FAIL)
        rows["sum"] = sum(rows.values(), Counter())
        names = [name for name in columns if name != FAIL] + [FAIL]
        lines = [f"| {self.family} | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        lines += [f"| {row} | {' | '.join(str(counts[name]) for name in names)} |" for row, counts in rows.items()]
        return "\n".join(lines)

    def finish(self) -> str:
        """Write the counts and the faults as JSON; the table."""
        rows: dict[str, Counter[str]] = {}
        for case in self.cases.values():
            rows.setdefault(case["row"], Counter()).update({case["outcome"]: 1, **case["figures"]})
        faults = {case["key"]: case["fault"] for case in self.cases.values() if case["fault"]}
        content = {"family": self.family, "seed": self.seed, "cases": len(self.cases), "rows": rows, "faults": faults}
        (self.out / f"{self.family}.json").write_text(json.dumps(content, indent=1) + "\n")
        return self.table()
