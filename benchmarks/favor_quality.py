"""How our LLM-free score of FAVOR-Bench does beside the released one, on the user's copy of the released annotations.

    python -m benchmarks.favor_quality FAVOR_gt_annotations.json [--dictionaries action_extraction_dicts.pkl]

Each annotation is scored against itself, another video's, itself with parts dropped, exchanged, invented or moved, and
a hand-made set against its paraphrases; both scores use the same text similarity and the released code's own word lists
where they are given. ``--captions`` scores the human captions by our first step, ``--calibrate`` prints what the
similarity's bounds were taken from, ``--texts`` scores hand-made texts and needs no annotations. Annotations are for
research only: nothing of them is kept.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.understanding.benchmarks.favor.extraction import EXTRACTION, extract
from vmmetrics.understanding.benchmarks.favor.released_similarity import ReleasedSimilarity
from vmmetrics.understanding.benchmarks.favor.scores import ActingSubject, Structure, read_structure, score, texts_of
from vmmetrics.understanding.benchmarks.favor.similarity import Similarity, installed_similarity
from vmmetrics.understanding.benchmarks.favor.upstream import open_similarity, released_scores
from vmmetrics.utils.text.embedding import embed

PARAPHRASES = Path(__file__).with_name("favor_paraphrases.toml")
SHARES = (0.25, 0.5, 0.75)
COLUMNS = ("camera f1", "subject f1", "subject order", "chronology f1", "chronology order", "composite")
Pair = tuple[Structure, Structure]


def consistent(structure: Structure) -> Structure:
    """With each subject's actions as the chronological list has them, so that both lists can be changed alike."""
    numbers = dict.fromkeys(who for _, who in structure.chronology)
    subjects = {
        who: ActingSubject(
            structure.subjects[who].description if who in structure.subjects else f"Subject {who}",
            tuple(action for action, other in structure.chronology if other == who),
        )
        for who in sorted(numbers)
    }
    return replace(structure, subjects=subjects)


def with_chronology(structure: Structure, chronology: Sequence[tuple[str, int]]) -> Structure:
    return consistent(replace(structure, chronology=tuple(chronology)))


def changed(structure: Structure, share: float, how: str, others: Sequence[str], seed: str) -> Structure:
    """With a share of its actions dropped, exchanged for another video's, moved, or as many more invented."""
    rng = random.Random(seed)
    actions = list(structure.chronology)
    places = list(range(len(actions)))
    rng.shuffle(places)
    count = round(share * len(actions))
    chosen = sorted(places[:count])
    if how == "dropped":
        actions = [action for place, action in enumerate(actions) if place not in chosen]
    elif how == "exchanged":
        for place in chosen:
            actions[place] = (rng.choice(others), actions[place][1])
    elif how == "moved":
        for place, source in zip(chosen, rng.sample(chosen, count), strict=True):
            actions[place] = structure.chronology[source]
    else:
        for _ in range(count):
            actions.insert(rng.randint(0, len(actions)), (rng.choice(others), rng.choice(structure.chronology)[1]))
    return with_chronology(structure, actions)


def reversed_lists(structure: Structure) -> Structure:
    return with_chronology(replace(structure, camera=structure.camera[::-1]), structure.chronology[::-1])


def paraphrases() -> list[Pair]:
    """The hand-made scenes and the same in other words; subjects take turns action by action."""

    def structure(camera: list[str], subjects: list[tuple[str, list[str]]]) -> Structure:
        acting = {number: ActingSubject(name, tuple(actions)) for number, (name, actions) in enumerate(subjects, 1)}
        longest = max(len(subject.actions) for subject in acting.values())
        turns = [(s.actions[i], n) for i in range(longest) for n, s in acting.items() if i < len(s.actions)]
        return Structure(tuple(camera), acting, tuple(turns))

    scenes = tomllib.loads(PARAPHRASES.read_text("utf-8"))["scene"]
    return [(structure(s["camera"], s["subjects"]), structure(s["told_camera"], s["told"])) for s in scenes]


def conditions(structures: Sequence[Structure], seed: int) -> dict[str, list[Pair]]:
    rng = random.Random(seed)
    other = list(structures)
    while any(a is b for a, b in zip(structures, other, strict=True)):
        rng.shuffle(other)
    pool = [action for structure in structures for action, _ in structure.chronology]
    pairs_by_condition = {
        "identity": [(structure, structure) for structure in structures],
        "paraphrase (hand-made)": paraphrases(),
        "reversed": [(structure, reversed_lists(structure)) for structure in structures],
        "unrelated": list(zip(structures, other, strict=True)),
        "empty": [(structure, Structure()) for structure in structures],
    }
    for how in ("dropped", "exchanged", "invented", "moved"):
        for share in SHARES:
            pairs = [(s, changed(s, share, how, pool, f"{seed} {i}")) for i, s in enumerate(structures)]
            pairs_by_condition[f"{how} {share:.0%}"] = pairs
    return pairs_by_condition


def table(pairs_by_condition: dict[str, list[Pair]], similarity: Similarity, released: ReleasedSimilarity) -> None:
    def ours(reference: Structure, answer: Structure) -> dict[str, float]:
        scores = score(similarity, reference, answer)
        return scores.parts() | {"composite": scores.composite}

    def theirs(reference: Structure, answer: Structure) -> dict[str, float]:
        return released_scores(released, reference.to_released(), answer.to_released())

    similarity.prepare(
        texts_of(structure for pairs in pairs_by_condition.values() for pair in pairs for structure in pair)
    )
    print(f"{'':24}" + "".join(f"{name:>18}" for name in COLUMNS) + "    (ours / released)")
    for name, pairs in pairs_by_condition.items():
        rows: list[list[dict[str, float]]] = [[by(*pair) for pair in pairs] for by in (ours, theirs)]
        cells = ["{:.3f} / {:.3f}".format(*(np.mean([row[c] for row in some]) for some in rows)) for c in COLUMNS]
        print(f"{name:24}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def captions(annotations: dict[str, dict[str, str]], similarity: Similarity) -> None:
    """Human captions by our two steps against the human annotation of the same video, and of another."""
    began = time.perf_counter()
    answers = {name: extract(entry["caption"]) for name, entry in annotations.items()}
    took = time.perf_counter() - began
    references = {name: read_structure(entry) for name, entry in annotations.items()}
    similarity.prepare(texts_of([*answers.values(), *references.values()]))
    names = list(references)
    same = [score(similarity, references[name], answers[name]) for name in names]
    other = [score(similarity, references[name], answers[names[i - 1]]) for i, name in enumerate(names)]
    whole = time.perf_counter() - began
    print(f"human captions by our first step ({len(answers)} in {took:.1f} s; with all scoring {whole:.1f} s)")
    for label, some in (("same video", same), ("another video", other)):
        rows = [entry.parts() | {"composite": entry.composite} for entry in some]
        print(f"  {label:14}" + "  ".join(f"{name} {np.mean([row[name] for row in rows]):.3f}" for name in COLUMNS))


def told_wrong(caption: dict[str, Any], wording: str, pool: Sequence[str], rng: random.Random) -> dict[str, list[str]]:
    """The sentences of a caption with half of them gone, exchanged or as many invented, in reverse, or opposite."""
    camera, *body = caption[wording]
    half = len(body) // 2
    dropped = sorted(rng.sample(range(len(body)), len(body) - half))
    invented, exchanged = list(body), list(body)
    for sentence in rng.sample(pool, half):
        invented.insert(rng.randint(0, len(invented)), sentence)
    for place, sentence in zip(rng.sample(range(len(body)), half), rng.sample(pool, half), strict=True):
        exchanged[place] = sentence
    opposite = [caption["opposites"][wording].get(str(n), text) for n, text in enumerate(caption[wording])]
    bodies = {"reversed": body[::-1], "half dropped": [body[n] for n in dropped]}
    bodies |= {"half invented": invented, "half exchanged": exchanged}
    return {how: [camera, *sentences] for how, sentences in bodies.items()} | {"opposites": opposite}


def texts(similarity: Similarity, seed: int) -> None:
    """Whole texts: how often free right paraphrases score above wrong texts, and what the first step misses."""
    rng, captions = random.Random(seed), tomllib.loads(PARAPHRASES.read_text("utf-8"))["caption"]
    above: dict[tuple[str, str], list[float]] = {}
    lost = subjects = sentences = 0
    for number, caption in enumerate(captions):
        actions = tuple((action, who) for action, who in caption["actions"])
        acting = {
            who: ActingSubject(name, tuple(action for action, other in actions if other == who))
            for who, name in enumerate(caption["subjects"], 1)
        }
        reference = Structure(tuple(caption["camera"]), acting, actions)
        told = extract(" ".join(caption["paraphrase"]))
        right = score(similarity, reference, told).composite
        subjects += len(told.subjects) == len(acting)
        sentences += len(caption["paraphrase"]) - 1
        lost += sum(not extract(sentence).chronology for sentence in caption["paraphrase"][1:])
        for wording in ("paraphrase", "original"):
            pool = [text for other in captions if other is not caption for text in other[wording][1:]]
            wrong = told_wrong(caption, wording, pool, rng) | {"another's": captions[number - 1][wording]}
            for how, text in wrong.items():
                value = score(similarity, reference, extract(" ".join(text))).composite
                above.setdefault((wording, how), []).append((right > value) + 0.5 * (right == value))
    print(f"{EXTRACTION}: {lost} of {sentences} sentences without an action, {subjects} of {len(captions)} with the "
          "right number of subjects; share of comparisons that the paraphrase wins")  # fmt: skip
    for wording in ("paraphrase", "original"):
        shares = {how: float(np.mean(values)) for (name, how), values in above.items() if name == wording}
        cells = "  ".join(f"{how} {share:.2f}" for how, share in shares.items())
        print(f"  against wrong texts in the words of the {wording:10} {np.mean(list(shares.values())):.2f}: {cells}")


def released_captions(annotations: dict[str, dict[str, str]], released: ReleasedSimilarity) -> None:
    """The same by our first step and the released second one."""
    answers = {name: extract(entry["caption"]).to_released() for name, entry in annotations.items()}
    print("by our first step and the released second one")
    names = list(answers)
    for label, shift in (("same video", 0), ("another video", 1)):
        rows = [released_scores(released, annotations[name], answers[names[i - shift]]) for i, name in enumerate(names)]
        print(f"  {label:14}" + "  ".join(f"{name} {np.mean([row[name] for row in rows]):.3f}" for name in COLUMNS))


def calibrate(structures: Sequence[Structure], seed: int) -> None:
    rng = random.Random(seed)
    texts = sorted({action for structure in structures for action, _ in structure.chronology})
    vectors = dict(zip(texts, embed(texts), strict=True))
    cosines = []
    for _ in range(3000):
        first, second = rng.sample(list(structures), 2)
        rows, columns = ([vectors[action] for action, _ in s.chronology] for s in (first, second))
        if rows and columns:
            cosines += (np.stack(rows) @ np.stack(columns).T).ravel().tolist()
    apart = dict(zip((50, 75, 90, 92, 95), np.percentile(cosines, (50, 75, 90, 92, 95)).round(2).tolist(), strict=True))
    print("percentiles of cosines of two videos' actions:", apart)
    pairs = [
        pair
        for reference, paraphrase in paraphrases()
        for number, subject in reference.subjects.items()
        for pair in zip(subject.actions, paraphrase.subjects[number].actions, strict=True)
    ]
    alike = (embed([first for first, _ in pairs]) * embed([second for _, second in pairs])).sum(axis=1)
    print(
        "of paraphrases:",
        dict(zip((10, 25, 50, 75), np.percentile(alike, (10, 25, 50, 75)).round(2).tolist(), strict=True)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("annotations", type=Path, nargs="?", help="the user's copy of FAVOR_gt_annotations.json")
    parser.add_argument("--texts", action="store_true", help="measure on the hand-made texts alone")
    parser.add_argument("--dictionaries", type=Path, help="the user's copy of action_extraction_dicts.pkl")
    parser.add_argument("--similarity", choices=("embedding", "words"))
    parser.add_argument("--sample", type=int, default=250, help="videos for the table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--captions", action="store_true")
    parser.add_argument("--calibrate", action="store_true")
    options = parser.parse_args()
    if options.texts:
        texts(installed_similarity(options.similarity), options.seed)
        return
    if options.annotations is None:
        parser.error("expected annotations, or --texts")
    annotations = json.loads(options.annotations.read_text("utf-8"))
    names = sorted(annotations)
    if options.sample < len(names):
        names = sorted(random.Random(options.seed).sample(names, options.sample))
    references = [consistent(read_structure(annotations[name])) for name in names]
    if options.calibrate:
        calibrate(references, options.seed)
        return
    similarity = installed_similarity(options.similarity)
    cache: dict[str, np.ndarray] = {}

    def embed_once(texts: Sequence[str]) -> np.ndarray:
        missing = [text for text in dict.fromkeys(texts) if text not in cache]
        cache.update(zip(missing, embed(missing), strict=True))
        return np.stack([cache[text] for text in texts])

    embedding: Callable[[Sequence[str]], np.ndarray] | None = None if similarity.embed is None else embed_once
    similarity = Similarity(embedding, similarity.name)
    released = open_similarity(options.dictionaries, embedding)
    verbs = "its own" if options.dictionaries else "ours"
    print(f"text similarity: {similarity.name}")
    print(f"released code's words: {released.words}; verbs: {verbs}; {len(names)} videos")
    if options.captions:
        some = {name: annotations[name] for name in names}
        captions(some, similarity)
        released_captions(some, released)
    else:
        table(conditions(references, options.seed), similarity, released)


if __name__ == "__main__":
    main()
