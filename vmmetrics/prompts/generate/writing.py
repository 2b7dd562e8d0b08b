"""Writing of prompts: the questions to a language model, and sentences by grammar without one."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vmmetrics.prompts.checks import LONGEST, SHORTEST, form, length, repeats, words
from vmmetrics.prompts.entry import CHOICES, LONGEST_SECONDS, Tags
from vmmetrics.prompts.generate.combine import Combination
from vmmetrics.prompts.generate.rules import conform
from vmmetrics.utils.endpoint.asking import in_words, list_shape, object_shape
from vmmetrics.utils.endpoint.client import AskedQuestion
from vmmetrics.utils.endpoint.messages import Turn
from vmmetrics.utils.text.inflection import article, ing_form, third_person

# Our instructions for a language model that writes prompts, and for the second pass that looks over them.

VERSION = 1
"""Version of the instructions; a run with other instructions is another run."""

WRITER = f"""You write prompts for models that turn text into video. Each prompt is used to find out whether a model \
can show one particular motion, so a viewer of the finished clip must be able to say whether that motion took place.

You are given what to combine: a subject, what it does, where, and what should be visible when it is done. Write \
several prompts for the one combination; let them differ in how the sentence is built, how it opens and which details \
it picks, not in what happens.

Every prompt
- has {SHORTEST} to {LONGEST} words in one or two sentences, in the present tense, in plain English that reads well \
aloud, in plain ASCII characters;
- describes a single uninterrupted shot at one place, a few seconds long: nothing is cut, nothing is skipped, and \
nothing happens "later";
- says physically what moves, along what path, against or with what, and how it visibly ends;
- keeps the subject and the verb that are given: the noun (or its plural) and a form of the verb stand in the text;
- is possible on this earth, for this body, with these things, at this place;
- leaves out thoughts, feelings, sounds, smells, names, brands, written words, comparisons and praise of the picture;
- uses no words of the film trade, and mentions a camera only where a camera motion is asked for, and then in \
everyday words;
- shows nothing hurtful, sexual or political, and no real person.

You may add a fitting detail (a colour, a surface, an obstacle) and bend the given wording so that it sounds natural. \
If no honest sentence can make the combination plausible (this subject cannot do it, or not at that place), say so: \
set "plausible" to false, give the reason in "why", and leave the list of candidates empty.

Beside each prompt, "subject" repeats the moving noun phrase of your sentence with its article or number, "action" \
says what it does in a phrase that begins with the -ing form of the verb, and "outcome" says in a short clause what \
must be visible at the end.

The tags describe the prompt as you wrote it: how many subjects move; whether they touch nothing, an object or \
another subject; the speed on screen; whether the motion stays in place (small), takes part of the picture (medium) \
or much of it (large); whose joints are plainly visible; and the seconds the shot needs until the motion has visibly \
succeeded."""

REVIEWER = """You look over prompts for models that turn text into video, which are used to test whether a model can \
show one particular motion. You are strict: a prompt with a fault you can name does not pass. For every prompt, answer \
each of these with true or false, and name the fault in a few words in "why" (empty where there is none):
"""

REQUIREMENTS: Mapping[str, str] = {
    "one_shot": "it is a single uninterrupted shot at one place, with no cut, no change of scene and no time skipped",
    "motion_visible": "the motion can be seen, and a viewer can check at the end of the clip whether it succeeded",
    "kept": "the given subject does the given action, and both are what the sentence is about",
    "plain_words": "it has no words of the film trade, and a camera motion only where one was asked for",
    "possible": "what happens is physically possible for this subject with these things at this place",
}
"""Requirements that the verification checks for every prompt."""


_CHOICES = {name: CHOICES[name] for name in ("subjects", "interaction", "speed", "amplitude", "skeleton")}


def writing_shape(combination: Combination, count: int) -> dict[str, Any]:
    """Return the JSON schema of candidates: every field of an entry; given values can only be repeated."""
    tags: dict[str, Any] = {name: {"type": "string", "enum": list(choices)} for name, choices in _CHOICES.items()}
    tags["camera"] = {"type": "string", "enum": [combination.camera]}
    tags["seconds"] = {"type": "number", "minimum": 1, "maximum": LONGEST_SECONDS}
    fields: dict[str, Any] = {name: {"type": "string", "minLength": 1} for name in ("prompt", "subject", "action")}
    fields |= {name: {"type": "string", "enum": [value]} for name, value in combination.fields.items() if value}
    fields |= {"outcome": {"type": "string"}, "tags": object_shape(tags)}
    listed = list_shape(object_shape(fields), 0, count)
    return object_shape({"plausible": {"type": "boolean"}, "why": {"type": "string"}, "candidates": listed})


def writing_question(
    combination: Combination, count: int, seed: int, temperature: float | None
) -> AskedQuestion[Combination]:
    """Return the question that asks for candidates.

    Args:
        combination: Content of the prompts.
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
    return AskedQuestion(combination, turns, shape, _contradiction, seed + combination.number, temperature)


def _contradiction(answer: dict[str, Any]) -> str | None:
    """Return a fault if a plausible combination has no candidates, or an implausible one has some."""
    if answer["plausible"] == bool(answer["candidates"]):
        return None
    return f'"plausible" is {"true but there are no" if answer["plausible"] else "false but there are"} candidates'


def reviewing_question(combination: Combination, prompts: Sequence[str]) -> AskedQuestion[Combination]:
    """Return the question that verifies prompts; decoded greedily, for reproducible verdicts.

    Args:
        combination: Content that the prompts should have.
        prompts: Their texts; at least one.
    """
    count = len(prompts)
    verdict: dict[str, Any] = {"number": {"type": "integer", "minimum": 1, "maximum": count}}
    verdict |= {**{name: {"type": "boolean"} for name in REQUIREMENTS}, "why": {"type": "string"}}
    shape = object_shape({"verdicts": list_shape(object_shape(verdict), count, count)})
    asked_of = "\n".join(f'- "{name}": {text}' for name, text in REQUIREMENTS.items())
    numbered = "\n".join(f"{number}. {prompt}" for number, prompt in enumerate(prompts, start=1))
    asked = f"This was to be shown:\n{_described(combination)}\nThe prompts:\n{numbered}\n{in_words(shape)}"

    def each_once(answer: dict[str, Any]) -> str | None:
        numbers = sorted(int(verdict["number"]) for verdict in answer["verdicts"])
        return None if numbers == list(range(1, count + 1)) else f"each number from 1 to {count} once"

    turns = (Turn("system", REVIEWER + asked_of), Turn("user", asked))
    return AskedQuestion(combination, turns, shape, each_once, temperature=0.0)


def faults_of(verdict: Mapping[str, Any]) -> list[str]:
    """Return the faults of a verdict as text; empty if it passes."""
    failed = [name.replace("_", " ") for name in REQUIREMENTS if not verdict[name]]
    why = " ".join(str(verdict["why"]).split())
    return [f"not {', not '.join(failed)}" + (f": {why}" if why else "")] if failed else []


def written_by_model(candidate: Mapping[str, Any], combination: Combination) -> dict[str, Any]:
    """Return the entry fields of a model's candidate, which has the form of :func:`writing_shape`."""
    tags, prompt = candidate["tags"], " ".join(candidate["prompt"].split())
    chosen = {name: tags[name] for name in _CHOICES}
    fields = {name: candidate[name] for name in ("subject", "action", "outcome")}
    return fields | {
        "prompt": prompt,
        "tags": Tags(**chosen, camera=combination.camera, seconds=float(tags["seconds"])),
    }


def _described(combination: Combination) -> str:
    action = combination.action
    description = {
        "subject": combination.noun_phrase,
        "action": f"{action.lemma} {action.complement}".strip(),
        "place": combination.place.phrase or combination.place.name,
        "seen at the end": action.outcome,
        "kind of motion": combination.pattern,
        "speed": action.speed,
        "camera": "" if combination.camera == "unspecified" else f"asked for: {combination.camera}",
    }
    return json.dumps({name: text for name, text in description.items() if text}, ensure_ascii=False)


# Acceptable English from metadata alone: sentences for a combination where no language model is at hand.
#
# Several patterns of sentence; a pattern that the parts do not allow, or that
# comes out too short or too long, is passed over. Such sentences let the pipeline run anywhere; no library is made of
# them unedited.

_MANNERS = {
    "slow": ("slowly", "without haste", "little by little"),
    "moderate": ("steadily", "at an even pace", "without a pause"),
    "fast": ("quickly", "at full speed", "in rapid succession"),
}
_LIGHTS = {
    "indoor": ("in bright light", "under even light", "by the light of a window"),
    "outdoor": ("in clear daylight", "under an overcast sky", "in low sunlight"),
    "either": ("in bright light", "in full view"),
}
_CLOSINGS = (
    "The whole movement can be followed from beginning to end.",
    "Nothing hides the movement from view.",
    "Every stage of the motion is plain to see.",
)
_CAMERAS = {
    "static": "The camera does not move.",
    "pan": "The camera pans along with the motion.",
    "tilt": "The camera tilts slowly upward.",
    "track": "The camera moves along beside it.",
    "zoom": "The camera slowly moves closer.",
    "orbit": "The camera circles around it slowly.",
    "handheld": "The camera is held by hand and sways slightly.",
}


_PATTERNS = (
    "{subject} {verb} {place}",
    "{place}, {subject} {verb}",
    "{subject} {place} {verb}",
    "{place}, {subject} {be} {doing}",
    "there {be} {subject} {place}, {doing}",
    "{subject} {be} {doing} {place}",
)
_BETWEEN = _PATTERNS[2]
"""Sentence pattern for short places, which stand between subject and verb."""
_MOST_BETWEEN = 5
_ENDINGS = (" until {}.", ". In the end, {}.", ", and in the end {}.")


def realise(combination: Combination, seed: int) -> Iterator[str]:
    """Yield sentences for a combination in random order by seed, each of another pattern.

    Args:
        combination: Content of the sentences.
        seed: Of the choice.

    Yields:
        Texts of 12 to 35 words that are not alike.
    """
    draw = random.Random(f"{seed} {combination.key}")  # noqa: S311  (chance, not secrets)
    action, place = combination.action, combination.place
    many = combination.quantity != "one"
    finite = action.lemma if many else third_person(action.lemma)
    following = conform(action.complement, "base" if many else "third")
    doing = conform(action.complement, "ing")
    parts = {
        "subject": combination.noun_phrase,
        "verb": f"{finite} {action.complement if following is None else following}".strip(),
        "doing": "" if doing is None else f"{ing_form(action.lemma)} {doing}".strip(),
        "be": "are" if many else "is",
        "place": place.phrase or f"in {article(place.name)} {place.name}",
    }
    ending = _fitting_ending(combination)
    for pattern in draw.sample(_PATTERNS, len(_PATTERNS)):
        unsaid = "{doing}" in pattern and not parts["doing"]
        if unsaid or (pattern == _BETWEEN and len(parts["place"].split()) > _MOST_BETWEEN):
            continue
        clause = pattern.format(**parts)
        endings = [one.format(ending) for one in draw.sample(_ENDINGS, len(_ENDINGS))] if ending else []
        texts = (_finished(clause, one, combination, draw) for one in (*endings, "."))
        fitting = next((text for text in texts if not (length(text) or form(text) or repeats(text))), None)
        if fitting is not None:
            yield fitting


def _fitting_ending(combination: Combination) -> str:
    """Return the outcome as a bare clause, if its subject is the subject or the object of the action."""
    complement = combination.action.complement
    outcome = combination.action.outcome.rpartition(": ")[2].rstrip(".")  # "the jump succeeds:" is not to be seen
    if combination.quantity != "one" or _OF_A_PERSON.search(outcome) or "until" in complement.split():
        return ""
    vocabulary = set(words(f"{combination.subject.noun} {complement}".lower()))
    named = _FIRST_NAMED.match(outcome.lower())
    fits = named is not None and {named[1], named[2], f"{named[1]}s", named[1].removesuffix("s")} & vocabulary
    return outcome if fits else ""


_OF_A_PERSON = re.compile(r"\b(?:his|her|he|she|their|they)\b")
_FIRST_NAMED = re.compile(
    r"(?:(?:the|both|all|each|every|a|an|one|two|three)(?: of)?(?: the)? )?([\w'-]+)(?: ([\w'-]+))?"
)


def _finished(clause: str, ending: str, combination: Combination, draw: random.Random) -> str:
    """Return the sentence, lengthened if short, with the camera motion if one is asked for."""
    manner = draw.choice(_MANNERS[combination.action.speed])
    light = draw.choice(_LIGHTS[combination.place.setting])
    closing = draw.choice(_CLOSINGS)
    camera = _CAMERAS.get(combination.camera, "")
    plain = not set(combination.place.affords) & {"dark", "underwater"}
    longer = [clause, *([f"{clause} {light}"] if plain and combination.place.setting != "either" else [])]
    if not any(word.endswith("ly") for word in clause.split()):
        longer.append(f"{clause} {manner}")
    for body in longer:
        text = f"{body[:1].upper()}{body[1:]}{ending} {camera}".rstrip()
        if len(words(text)) >= SHORTEST:
            return text
    return f"{text.removesuffix(camera).rstrip()} {closing} {camera}".rstrip()
