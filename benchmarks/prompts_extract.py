"""Measure ``vmmetrics prompts extract``: against captions read by hand, and what it infers against what is known.

Run ``python -m benchmarks.prompts_extract`` (``--lexicon FOLDER`` for other metadata than the shipped). Prints

- precision and recall on ``tests/prompts/extract/extract_gold.jsonl``: part a was looked at while
  the rules were written, part b was not, but for one caption (the hummingbird's);
- recall of the subject and the action that the library names of each of its prompts, which are long and choose rare
  verbs;
- for each noun of the lexicon, left out in turn, how often its nearest nouns have its class and its attributes right,
  by the least share of the vote: where the thresholds of ``vmmetrics.prompts.extract.lexicon`` come from;
- for every fifth action of the lexicon, left out in turn, how often its pattern is right, by what told it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vmmetrics.prompts.entry import Metadata, PromptEntry, SubjectEntry
from vmmetrics.prompts.extract.grammar import NounPhrase
from vmmetrics.prompts.extract.lexicon import Lexicon, Vote
from vmmetrics.prompts.extract.parsing import CaptionParser
from vmmetrics.prompts.files import read_entries, read_metadata
from vmmetrics.utils.text.embedding import embed, embedding_installed
from vmmetrics.utils.weights.manifest import shipped_list

GOLD = Path(__file__).resolve().parents[1] / "tests" / "mmpg" / "extract_gold.jsonl"
SHARES = (0.0, 0.4, 0.5, 0.6, 0.7, 0.8)
STEP = 5
"""Every fifth action is left out; the lexicon is made anew for each."""
COSINES = (0.0, 0.4, 0.5, 0.6)


def measure_gold(lexicon: Lexicon) -> None:
    rows = [json.loads(line) for line in GOLD.read_text("utf-8").splitlines()]
    parser = CaptionParser(None, lexicon.nouns, lexicon.places, lexicon.verbs)
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row, parsed in zip(rows, parser.parse([row["text"] for row in rows]), strict=True):
        names = {
            "subjects": {item.noun for item in parsed.subjects},
            "actions": {item.lemma for item in parsed.deeds},
            "places": {item.name for item in parsed.spots},
        }
        for kind, here in names.items():
            expected = set(row[kind])
            counts[row["part"], kind].update(right=len(here & expected), found=len(here), wanted=len(expected))
    print(f"gold set of {len(rows)} captions, {parser.versions}")
    for (part, kind), n in sorted(counts.items()):
        precision, recall = n["right"] / n["found"], n["right"] / n["wanted"]
        print(f"  part {part}  {kind:8}  precision {precision:.2f}  recall {recall:.2f}  of {n['wanted']}")


def measure_prompts(lexicon: Lexicon, entries: Sequence[PromptEntry]) -> None:
    parser = CaptionParser(None, lexicon.nouns, lexicon.places, lexicon.verbs)
    nouns = actions = 0
    for entry, parsed in zip(entries, parser.parse([entry.prompt for entry in entries]), strict=True):
        names = {" ".join(words[start:]) for words in map(_words, parsed.subjects) for start in range(len(words))}
        nouns += entry.subject_noun.lower() in names
        actions += entry.action_lemma in {deed.lemma for deed in parsed.deeds}
    total = len(entries)
    print(f"{total} prompts: subject found in {nouns / total:.2f}, action in {actions / total:.2f}")


def _words(phrase: NounPhrase) -> list[str]:
    return [*phrase.modifiers, *phrase.noun.split(" ")]


def measure_nouns(lexicon: Lexicon, metadata: Metadata) -> None:
    nouns = sorted({item.noun for item in metadata.subjects if item.subject_class in lexicon.classes})
    entries = [lexicon.look_up(noun) for noun in nouns]
    votes = lexicon.votes(nouns)
    print(f"\n{len(nouns)} nouns, each left out: share told, share of those right; attributes: precision, recall")
    for cosine in COSINES:
        near = [pair for pair in zip(entries, votes, strict=True) if pair[1].near[0][1] >= cosine]
        for share in SHARES:
            classes = _class_figures(near, share, len(nouns))
            print(
                f"  cosine {cosine:.1f}  share {share:.1f}  class {classes}  {_attribute_figures(lexicon, near, share)}"
            )


def _class_figures(pairs: Sequence[tuple[SubjectEntry, Vote]], share: float, total: int) -> str:
    best = [(max(vote.classes.items(), key=lambda item: item[1]), entry) for entry, vote in pairs]
    decided = [(name, entry) for (name, weight), entry in best if weight >= share]
    right = sum(name == entry.subject_class for name, entry in decided)
    return f"told {len(decided) / total:.2f} right {right / max(1, len(decided)):.2f}"


def _attribute_figures(lexicon: Lexicon, pairs: Sequence[tuple[SubjectEntry, Vote]], share: float) -> str:
    right = extracted = expected = 0
    for entry, vote in pairs:
        truth = lexicon.attributes_of(entry)
        here = {name for name, weight in vote.attributes.items() if weight >= share}
        right, extracted, expected = right + len(here & truth), extracted + len(here), expected + len(truth)
    return f"attributes {right / max(1, extracted):.2f}, {right / max(1, expected):.2f}"


def measure_patterns(metadata: Metadata) -> None:
    counts: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    for index, action in list(enumerate(metadata.actions))[::STEP]:
        if not action.classes or not action.pattern:
            continue
        rest = replace(metadata, actions=metadata.actions[:index] + metadata.actions[index + 1 :])
        pattern, source = Lexicon(rest).pattern(SubjectEntry("", action.classes[0]))
        counts[source or "nothing"][pattern == action.pattern] += 1
    print("\nactions, every fifth left out: what told the pattern, how often, share right")
    for source, n in sorted(counts.items()):
        print(f"  {source:15}  {n.total():5}  {n[True] / n.total():.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--lexicon", type=Path, help="folder of metadata; default: the shipped")
    parser.add_argument("--prompts", help="list with subject and action of each; default: the shipped library")
    options = parser.parse_args()
    metadata = read_metadata(options.lexicon)
    lexicon = Lexicon(metadata, embed if embedding_installed() else None)
    measure_gold(lexicon)
    prompts = shipped_list(options.prompts or "library")
    if prompts.is_file():
        measure_prompts(lexicon, [entry for entry in read_entries(prompts) if entry.action_lemma])
    if embedding_installed():
        measure_nouns(lexicon, metadata)
    measure_patterns(metadata)


if __name__ == "__main__":
    main()
