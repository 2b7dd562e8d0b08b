"""Prompts extracted, made, filtered, reviewed, chosen and measured; clips made from prompts by a program."""

from __future__ import annotations

import shutil

from benchmarks.net.case import ROOT, cases_of
from benchmarks.net.inputs import data, lines, table, text

P = "prompts"
CAPTIONS = (
    "A brown dog runs across the wet sand after a tennis ball.", "two dogs run --ar 16:9 4k, highly detailed",
    "A chef pours hot chocolate from a copper pot into a white cup in a small kitchen",
    "the wind blows leaves down a street", "An excavator digs a trench on a building site", "", "12345 !!!",
    "Ein Hund läuft über die Straße und bellt laut", "dog dog dog dog dog dog dog dog dog", "собака бежит",
    "A brown dog runs across the wet sand after a tennis ball.", "a zorblat wobbles in the garden",
    "a flock of starlings wheeling above a frozen marsh at dusk, https://example.org @somebody #birds",
)  # fmt: skip
PLACES = "/b/balcony/interior 21\n/b/beach 48\n/i/ice_skating_rink/outdoor 190\n/s/street 319\n"


def entry(index: int, prompt: str, subject: str, action: str, **more: object) -> dict[str, object]:
    return {"index": f"{index:04d}", "prompt": prompt, "subject": subject, "place": "yard", "action": action, **more}


LISTED = [
    entry(1, "A grey heron spears a silver fish in the shallow creek and shakes it twice in the morning light.",
          "a grey heron", "spearing a fish", subject_noun="heron", pattern="biological motion", action_lemma="spear"),
    entry(2, "A grey heron spears a silver fish in the shallow creek and shakes it twice in the evening light.",
          "a grey heron", "spearing a fish", subject_noun="heron", pattern="biological motion", action_lemma="spear"),
    entry(3, "Down the cliff, water pours into the creek while two walkers in yellow coats watch it from a bridge.",
          "water", "pouring into the creek", subject_noun="water", pattern="fluid dynamics", action_lemma="pour",
          tags={"skeleton": "none", "speed": "fast", "seconds": 6}),
    entry(4, "Honey pours.", "honey", "pouring", subject_noun="honey", pattern="fluid dynamics"),
    entry(5, "A soldier shoots a fleeing guard in the yard, and blood runs down the wall behind the old iron gate.",
          "a soldier", "shooting"),
    entry(6, "The camera pans over a mesmerizing “display” of a wheel that turns, creating a mesmerizing display.",
          "a wheel", "turning", pattern="mechanical motion"),
    entry(7, "Lightning strikes a lone oak on the ridge and splits its trunk from the crown down to the wet ground.",
          "lightning", "striking", pattern="energy transfer", subject_noun="lightning", action_lemma="strike"),
    entry(8, "Thick fog rolls over the harbour wall and swallows the red fishing boats from the left to the right.",
          "fog", "rolling", pattern="weather phenomena", subject_noun="fog", action_lemma="roll"),
]  # fmt: skip
LIST = data("list.json", LISTED)
ANNA, BOB = (f"--reviewer {name} --decisions decisions.jsonl" for name in ("anna", "bob"))
ANNA_SAYS = (
    "keep 0001\nedit 0002 A heron waits in the creek.\ndrop 0004 implausible too short\nshow 0003\nkeep\nskip 0005\n"
    "undo\nset 0003 speed slow\nfind wheel\ndrop boring\nhelp\ngo 0007\nkeep\nquit\n"
)
BOB_SAYS = "keep 0001\nkeep 0002\ndrop 0004 unseen\ndrop 0003 unseen\nkeep 0007\nkeep 0006\nnonsense\nkeep 0008\n"
GENERATOR = """import sys
import av, numpy
prompt, seed, out = sys.argv[1:]
if "honey" in prompt.lower():
    sys.exit("no honey")
with av.open(out, "w") as written:
    stream = written.add_stream("libx264", rate=8)
    stream.width = stream.height = 64
    for n in range(8):
        picture = numpy.full((64, 64, 3), (int(seed) % 100 + n) % 256, numpy.uint8)
        picture[n : n + 20, n : n + 20] = len(prompt)
        written.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
    written.mux(stream.encode())
"""
PROGRAM = "generate-clips --out clips --command 'python in/make.py {prompt} {seed} {out}'"

CASES = [
    *cases_of("prompts", {
        "stats": ((LIST,), [
            f"{P} stats mini --picture out/mini.png --format json",
            f"{P} stats in/list.json --format json --no-parse --no-embedding",
            f"{P} stats in/list.json --picture out/list.svg", f"{P} stats in/nowhere.json",
        ]),
        "stats-library": ((), [f"{P} stats library --format json --no-parse"]),
        "select": ((LIST,), [
            f"{P} select mini --count 12 --seed 3 --out out/twelve.json --format json --draws 50",
            f"{P} select library --count 30 --out out/thirty.jsonl --draws 20 --no-balance",
            f"{P} select in/list.json --count 4 --out out/four.json",
            f"{P} select in/list.json --count 40 --out out/x.json",
            f"{P} select mini --count 5 --out out/five.txt", f"{P} select mini --count 6 --embedding --out out/e.json",
        ]),
        "compare": ((LIST,), [
            f"{P} compare mini in/list.json --format json --picture out/both.png --draws 20",
            f"{P} compare mini mini --draws 5 --subset-size 10",
        ]),
        "extract": ((text("captions.txt", "\n".join(CAPTIONS)), text("places.txt", PLACES), data("more/coco.json", {
            "annotations": [{"image_id": n, "caption": c} for n, c in enumerate(CAPTIONS[:5])]}),
            table("more/vidprom.csv", [{"uuid": n, "prompt": c} for n, c in enumerate(CAPTIONS)]),
            table("odd.csv", [{"words": c} for c in CAPTIONS[:4]])), [
            f"{P} extract in/captions.txt in/places.txt --out found",
            f"{P} extract in/more --out more --sample 8 --seed 2 --jobs 2 --keep-repeats --min-count 2 --examples 1",
            f"{P} extract in/odd.csv --out odd --column words --limit 3", f"{P} extract in/odd.csv --out none",
            f"{P} extract in/captions.txt --out other --model nonsense",
            f"{P} generate --metadata found --count 4 --out made",
        ]),
        "generate": ((), [
            f"{P} generate --count 12 --candidates 2 --seed 7 --out made",
            f"{P} generate --count 15 --candidates 2 --seed 7 --out made",
            f"{P} generate --count 5 --seed 8 --out made",
            f"{P} generate --count 6 --pattern fluid-dynamics --camera-share 0.5 --out fluid",
            f"{P} filter made/candidates.jsonl --openings 1 --out kept.jsonl --format json",
            f"{P} generate --pattern nonsense --out none", f"{P} stats made/candidates.jsonl --format json",
        ]),
        "filter": ((LIST, data("vmbench.json", [
            {"index": n, "prompt": row["prompt"], "subject": row["subject"], "place": "x", "action": row["action"]}
            for n, row in enumerate(LISTED)])), [
            f"{P} filter in/list.json --out kept.json", f"{P} filter in/list.json --out more.jsonl --without padding",
            f"{P} filter in/list.json --out against.json --against in/list.json --no-embedding --overlap 0.9 --ease 60",
            f"{P} filter in/vmbench.json --out vmbench.json --decisions out/d.jsonl",
            f"{P} filter mini --out mini.json", f"{P} filter in/list.json --out x.json --without nonsense",
        ]),
        "review": ((LIST, text("anna.txt", ANNA_SAYS), text("bob.txt", BOB_SAYS)), [
            f"{P} review in/list.json {ANNA} < in/anna.txt", f"{P} review in/list.json {BOB} --seed 2 < in/bob.txt",
            f"{P} review in/list.json {ANNA} --show-others < in/anna.txt",
            f"{P} review --agreement decisions.jsonl",
            f"{P} review --agreement decisions.jsonl --apply in/list.json --out reviewed.json --reviewers 2",
            *(f"{P} review --agreement decisions.jsonl --apply in/list.json --out {rule}.json --rule {rule}"
              for rule in ("any-drop", "majority")),
            f"{P} review", f"{P} review in/list.json < in/anna.txt",
        ]),
        "generate-clips": ((LIST, text("make.py", GENERATOR)), [
            f"{PROGRAM} --prompts in/list.json --samples 2 --seed 3",
            f"{PROGRAM} --prompts in/list.json --samples 2 --seed 3",
            f"{PROGRAM} --prompts in/list.json --seed 4",
            f"{PROGRAM.replace('--out clips', '--out mini')} --prompts mini --where skeleton=person --limit 2",
            "score clips --metrics pas,mss --out run", "generate-clips --prompts mini --out none",
            "generate-clips --prompts mini --out none --command 'python x.py {prompt} {out}' --where nonsense=1",
            "generate-clips --prompts mini --out none --command 'nothing-there {prompt} {out}' --limit 1",
            "generate-clips --prompts mini --out none --pipeline nowhere --fps 8",
        ]),
        "metadata": ((lambda folder: shutil.copytree(ROOT / "prompts" / "metadata", folder / "metadata"),), [
            f"{P} stats mini --metadata in/metadata --no-embedding --no-parse",
        ]),
    }),
    *cases_of("prompts", {
        "endpoint": ((LIST, lines("few.jsonl", LISTED[:4])), [
            f"{P} generate --count 6 --candidates 2 --out made --url {{url}} --model net --yes --threads 1",
            f"{P} generate --count 6 --candidates 2 --out made --url {{url}} --model net --yes --threads 1",
            f"{P} filter in/list.json --out kept.json --url {{url}} --model net --yes --threads 1",
            f"{P} filter in/few.jsonl -o few.json --url {{url}} --model n -y --max-cost 1e-4 --price-per-million 1 1",
        ]),
    }, endpoint=True),
]  # fmt: skip
