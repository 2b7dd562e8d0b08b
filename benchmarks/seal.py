"""Which prompts of fetv-dev may be looked at while the metrics are changed, and the log of every look at the others.

    python -m benchmarks.seal            # prints the two halves

Nine prompts are open, eight are sealed; the hash below decided, and it was committed before any rating was looked at
for this purpose. (CAS had been chosen on all seventeen before; docs/cas.md says so.) Every evaluation on sealed prompts
appends a line to ``sealed_log.jsonl`` beside this file: when, why, which code, and what came out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vmmetrics.utils.schema import plain

SALT = "vmmetrics, human alignment, first seal"
OPEN_PROMPTS = 9
LOG = Path(__file__).with_name("sealed_log.jsonl")


def order(prompt_ids: Iterable[str]) -> list[str]:
    """Prompt ids by the SHA-256 of salt and id: the first nine are open."""
    return sorted(set(prompt_ids), key=lambda i: hashlib.sha256(f"{SALT}:{int(i)}".encode()).hexdigest())


def halves(prompt_ids: Iterable[str]) -> tuple[list[str], list[str]]:
    """The open and the sealed prompt ids."""
    ordered = order(prompt_ids)
    return sorted(ordered[:OPEN_PROMPTS], key=int), sorted(ordered[OPEN_PROMPTS:], key=int)


def log(why: str, code: str, figures: Mapping[str, Any]) -> None:
    """Append what an evaluation on sealed prompts found, before anybody reads it."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    line = {"time": now, "why": why, "code": code, "figures": plain(figures)}
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def main() -> None:
    from benchmarks.fetv_dev import RATINGS, rated_clips

    opened, sealed = halves(row["prompt_id"] for row in rated_clips(RATINGS))
    print("open:  ", " ".join(opened))
    print("sealed:", " ".join(sealed))


if __name__ == "__main__":
    main()
