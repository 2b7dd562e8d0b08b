"""What a language model is asked when it writes prompts, and when it looks over what it wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vmmetrics.endpoint import Question, Turn, in_words
from vmmetrics.mmpg.entry import (
    AMPLITUDES,
    INTERACTIONS,
    LONGEST_SECONDS,
    SKELETONS,
    SPEEDS,
    SUBJECTS,
    PromptEntry,
    Tags,
)
from vmmetrics.mmpg.generate.combine import Combination
from vmmetrics.mmpg.generate.instructions import REQUIREMENTS, REVIEWER, WRITER

_CHOICES: Mapping[str, Sequence[str]] = {
    "subjects": SUBJECTS, "interaction": INTERACTIONS, "speed": SPEEDS, "amplitude": AMPLITUDES, "skeleton": SKELETONS,
}  # fmt: skip


def writing_shape(combination: Combination, count: int) -> dict[str, Any]:
    """JSON schema of the candidates for a combination: every field of an entry; what is given can only be repeated."""
    given = {
        "subject_noun": combination.subject.noun,
        "place": combination.place.name,
        "pattern": combination.pattern,
        "action_lemma": combination.action.lemma,
        "subject_class": combination.subject.subject_class,
    }
    tags: dict[str, Any] = {name: {"type": "string", "enum": list(choices)} for name, choices in _CHOICES.items()}
    tags["camera"] = {"type": "string", "enum": [combination.camera]}
    tags["seconds"] = {"type": "number", "minimum": 1, "maximum": LONGEST_SECONDS}
    fields: dict[str, Any] = {name: {"type": "string", "minLength": 1} for name in ("prompt", "subject", "action")}
    fields |= {name: {"type": "string", "enum": [value]} for name, value in given.items() if value}
    fields |= {"outcome": {"type": "string"}, "tags": _closed(tags)}
    listed = {"type": "array", "items": _closed(fields), "minItems": 0, "maxItems": count}
    return _closed({"plausible": {"type": "boolean"}, "why": {"type": "string"}, "candidates": listed})


def writing_question(
    combination: Combination, count: int, seed: int, temperature: float | None
) -> Question[Combination]:
    """Ask for candidates.

    Args:
        combination: What they are to be about.
        count: How many.
        seed: Of the sampling; each combination's own is derived from it.
        temperature: Of the sampling.
    """
    shape = writing_shape(combination, count)
    asked = (
        f"Write {count} {'prompt' if count == 1 else 'prompts'} for this combination:\n{_described(combination)}\n"
        f"{in_words(shape)}"
    )
    turns = (Turn("system", WRITER), Turn("user", asked))
    return Question(combination, turns, shape, _contradiction, seed + combination.number, temperature)


def _contradiction(answer: dict[str, Any]) -> str | None:
    """Nothing written although it is plausible, or the other way round."""
    if answer["plausible"] and not answer["candidates"]:
        return '"plausible" is true but there are no candidates'
    if not answer["plausible"] and answer["candidates"]:
        return '"plausible" is false but there are candidates'
    return None


def reviewing_shape(count: int) -> dict[str, Any]:
    """JSON schema of the verdicts on so many prompts."""
    verdict: dict[str, Any] = {"number": {"type": "integer", "minimum": 1, "maximum": count}}
    verdict |= {name: {"type": "boolean"} for name in REQUIREMENTS}
    verdict["why"] = {"type": "string"}
    listed = {"type": "array", "items": _closed(verdict), "minItems": count, "maxItems": count}
    return _closed({"verdicts": listed})


def reviewing_question(combination: Combination, prompts: Sequence[str]) -> Question[Combination]:
    """Ask whether prompts are what was wanted; greedy, so that a verdict can be had again.

    Args:
        combination: What they were to be about.
        prompts: Their texts; at least one.
    """
    shape = reviewing_shape(len(prompts))
    asked_of = "\n".join(f'- "{name}": {text}' for name, text in REQUIREMENTS.items())
    numbered = "\n".join(f"{number}. {prompt}" for number, prompt in enumerate(prompts, start=1))
    asked = f"This was to be shown:\n{_described(combination)}\nThe prompts:\n{numbered}\n{in_words(shape)}"

    def each_once(answer: dict[str, Any]) -> str | None:
        numbers = sorted(int(verdict["number"]) for verdict in answer["verdicts"])
        return None if numbers == list(range(1, len(prompts) + 1)) else f"each number from 1 to {len(prompts)} once"

    turns = (Turn("system", REVIEWER + asked_of), Turn("user", asked))
    return Question(combination, turns, shape, each_once, temperature=0.0)


def faults_of(verdict: Mapping[str, Any]) -> list[str]:
    """What a verdict finds wrong, in words; empty where it passes."""
    failed = [name.replace("_", " ") for name in REQUIREMENTS if not verdict[name]]
    why = " ".join(str(verdict["why"]).split())
    return [f"not {', not '.join(failed)}" + (f": {why}" if why else "")] if failed else []


def entry_of(
    written: Mapping[str, Any], combination: Combination, index: str, provenance: Mapping[str, Any]
) -> PromptEntry:
    """The entry that a model's candidate makes.

    Args:
        written: A candidate of the shape of :func:`writing_shape`.
        combination: What it was to be about.
        index: Its index.
        provenance: Where it comes from.
    """
    tags = written["tags"]
    return PromptEntry(
        index=index,
        prompt=" ".join(written["prompt"].split()),
        subject=written["subject"],
        subject_noun=combination.subject.noun,
        place=combination.place.name,
        action=written["action"],
        pattern=combination.pattern,
        action_lemma=combination.action.lemma,
        subject_class=combination.subject.subject_class,
        outcome=written["outcome"],
        tags=Tags(**{name: tags[name] for name in _CHOICES}, camera=combination.camera, seconds=float(tags["seconds"])),
        provenance=provenance,
    )


def _described(combination: Combination) -> str:
    action = combination.action
    told = {
        "subject": combination.noun_phrase,
        "action": f"{action.lemma} {action.complement}".strip(),
        "place": combination.place.phrase or combination.place.name,
        "seen at the end": action.outcome,
        "kind of motion": combination.pattern,
        "speed": action.speed,
        "camera": "" if combination.camera == "unspecified" else f"asked for: {combination.camera}",
    }
    return json.dumps({name: text for name, text in told.items() if text}, ensure_ascii=False)


def _closed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """An object with exactly these fields, as structured output wants it."""
    return {"type": "object", "properties": dict(fields), "required": list(fields), "additionalProperties": False}
