"""Levels from comparisons, the shipped classifier held against them, and what is said where torch is missing."""

from __future__ import annotations

from benchmarks.net.case import cases_of
from benchmarks.net.inputs import drawn, lines, samples, shipped, table, text

SAMPLES = (samples(), shipped("comparisons.csv", "samples/prompts.csv"))
LABEL = "cas label in/comparisons.csv --clips in/prompts.csv"
CLIPS = [f"m{n % 2}/{n}.mp4" for n in range(10)]


def judged(number: int) -> list[dict[str, object]]:
    """Make comparisons in which a clip with a lower number mostly wins."""
    rows = []
    for turn in range(number):
        a = drawn(turn, "a", most=10)
        b = (a + 1 + drawn(turn, "b", most=9)) % 10
        winner = "tie" if drawn(turn, "t", most=6) == 0 else "a" if (a < b) == (drawn(turn, "w", most=5) > 0) else "b"
        rows.append({"a": CLIPS[a], "b": CLIPS[b], "winner": winner, "rater": f"r{turn % 4}"})
    return rows


MANY = lines("many.jsonl", judged(150))
ISLANDS = [{"winner": CLIPS[n], "loser": CLIPS[n + 1], "prompt": f"p{n}"} for n in (0, 2, 4, 6)]
WRONG = {
    "self": {"a": "x", "b": "x", "winner": "a"},
    "word": {"a": "x", "b": "y", "winner": "z"},
    "none": {"a": "x", "b": "y"},
}

CASES = [
    *cases_of("cas", {
        "samples": (SAMPLES, [
            f"{LABEL} --out labels.jsonl",
            f"{LABEL} --out kept.jsonl --ties rao-kupper --repeat-votes keep --cut normal",
            f"{LABEL} --ask 5 --pairs-out next.jsonl --seed 2", f"{LABEL} --ask 4 --pairs-out x.jsonl --across-prompts",
            "cas label --clips in/prompts.csv --ask 3 --pairs-out first.jsonl",
            "cas eval embedded in/samples labels.jsonl --out eval.json",
            "cas eval embedded in/samples in/nowhere.jsonl",
            "cas eval nowhere.pt in/samples labels.jsonl",
            "cas train in/samples labels.jsonl --out cas --epochs 1",
            "cas reward in/samples --model nowhere --base nowhere --out r.jsonl",
            "score in/samples --cas-model nowhere.pt --out run",
        ]),
        "label": ((MANY, lines("islands.jsonl", ISLANDS), table("sides.tsv", judged(40), "\t")), [
            "cas label in/many.jsonl --out a.jsonl", "cas label in/many.jsonl --ties rao-kupper --out b.jsonl",
            "cas label in/many.jsonl --cut fixed --at=-1.5,-0.5,0.5,1.5 --out c.jsonl --prior always --prior-sd 1",
            "cas label in/many.jsonl --prior none", "cas label in/islands.jsonl --out d.jsonl",
            "cas label in/islands.jsonl --prior none", "cas label in/islands.jsonl --scope pooled --out e.jsonl",
            "cas label in/islands.jsonl --scope prompt --out f.jsonl", "cas label in/sides.tsv --scope component",
            "cas label in/sides.tsv in/many.jsonl --out g.jsonl", "cas label in/many.jsonl --cut fixed",
            "cas label in/many.jsonl --ask 12 --pairs-out next.jsonl",
        ]),
        "wrong": ((*(lines(f"{name}.jsonl", [row]) for name, row in WRONG.items()), text("torn.jsonl", '{"a": "x"')), [
            *(f"cas label in/{name}.jsonl" for name in (*WRONG, "torn", "nowhere")), "cas label",
        ]),
    }),
]  # fmt: skip
