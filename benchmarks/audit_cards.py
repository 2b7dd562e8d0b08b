"""Card of our scores and baselines as the documentation has it: docs/cards.json and docs/cards.md.

vmmetrics audit cas,mss,ois,pas,tcs,motion_index,baselines --jobs 2 --out CARD && python -m benchmarks.audit_cards CARD
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vmmetrics.alignment.audit.card import read_card
from vmmetrics.alignment.audit.lines import GRADES
from vmmetrics.metrics.registry import label
from vmmetrics.viewer.card import PARTS

DOCS = Path(__file__).parents[1] / "docs"
SIGNS = {"good": "✓", "bad": "✗", "open": "?", "note": "•", "error": "!"}


def without_clips(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return a card without clips to look at, commands, and paths of this machine."""
    scores = [{**s, "lines": [_bare(line) for line in s["lines"]]} for s in card["scores"]]
    settings = {key: value for key, value in card["settings"].items() if key != "versions"}
    return {**card, "scores": scores, "settings": settings}


def _bare(line: Mapping[str, Any]) -> dict[str, Any]:
    text = re.sub(r"/tmp/[^/ ]+/", "", line["text"])  # noqa: S108
    return {**line, "text": text, "looks": [], "repeat": ""}


def page(card: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of docs/cards.md."""
    scores = card["scores"]
    yield "# Cards of our scores and baselines\n"
    signs = ", ".join(f"{sign} {grade}" for grade, sign in SIGNS.items())
    yield f"`vmmetrics audit` ([how](audit.md)) on the clips that ship: {signs}. All figures: `docs/cards.json`."
    for part, title in PARTS.items():
        worst: dict[tuple[str, int], str] = {}
        for n, score in enumerate(scores):
            for line in score["lines"]:
                if line["part"] == part:
                    key = (line["check"], n)
                    worst[key] = min(worst.get(key, "good"), line["grade"], key=GRADES.index)
        if not worst:
            continue
        yield f"\n## {title}\n"
        yield "| | " + " | ".join(label(score["name"]) for score in scores) + " |"
        yield "|---" * (len(scores) + 1) + "|"
        for check in dict.fromkeys(check for check, _ in worst):
            cells = [SIGNS[worst[check, n]] if (check, n) in worst else "" for n in range(len(scores))]
            yield f"| {check} | {' | '.join(cells)} |"
        counts = [Counter(worst[key] for key in worst if key[1] == n) for n in range(len(scores))]
        yield f"| **✗** | {' | '.join(str(of['bad']) for of in counts)} |"


def main(folder: Path) -> None:
    """Write the files."""
    card = without_clips(read_card(folder))
    (DOCS / "cards.json").write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (DOCS / "cards.md").write_text("\n".join(page(card)) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
