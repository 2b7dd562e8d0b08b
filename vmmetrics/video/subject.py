"""Subject of a prompt: from spaCy where it is installed with a model, else from a rule for noun phrases."""

from __future__ import annotations

import functools
import importlib.util
import re
from typing import Any

from vmmetrics.clip import Subject
from vmmetrics.utils.text import words

_SPACY_MODEL = "en_core_web_sm"
_TOKEN = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[,.;:!?]")
_AFTER_GERUND = words.DETERMINERS | words.PREPOSITIONS | words.ADVERBS
_SENTENCE_ENDS = frozenset(".;:!?")
_LONGEST = 500  # words of a text among which a subject is looked for: what comes before one is far shorter
_MAX_PHRASE = 8  # words; a longer run without a verb or preposition is a list of tags, not a noun phrase


def find_subject(prompt: str) -> Subject | None:
    """Find the subject of a prompt.

    >>> find_subject("In a park, two small dogs run after a ball")
    Subject(noun='dogs', phrase='two small dogs', source='rule')
    """
    parser = _spacy_parser()
    if parser is not None:  # the grammatical subject of the first sentence, else its first noun chunk
        skipped = words.SHOTS | words.GROUPS
        chunks = [chunk for chunk in parser(prompt).noun_chunks if chunk.root.lower_ not in skipped]
        subjects = [chunk for chunk in chunks if chunk.root.dep_ in ("nsubj", "nsubjpass", "ROOT")]
        for chunk in subjects or chunks:
            noun = words.PRONOUNS.get(chunk.root.lower_, chunk.root.lower_)
            return Subject(noun, chunk.text.lower(), "spacy")
    return subject_of_phrase(prompt, "rule")


def subject_of(prompt: str | None, subject: Subject | str | None) -> Subject | None:
    """Return the subject that was stated, as text or found before, else that of the prompt."""
    stated = subject_of_phrase(subject, "option") if isinstance(subject, str) else subject
    return find_subject(prompt) if stated is None and prompt else stated


def subject_of_phrase(text: str, source: str) -> Subject | None:
    """Find the first noun phrase of ``text`` and its head by rule; None where there is none.

    The phrase runs from its determiner over modifiers to the word before a verb, preposition, conjunction or comma.
    Before it, what only sets the scene is skipped: "a video of", "in the park,", "there is", "the camera follows".
    Groups count as what they are groups of: "a flock of birds" is about birds.
    """
    lowered = [token.lower() for token in _TOKEN.findall(text)[:_LONGEST]]
    for start in range(_after_openings(lowered), len(lowered)):
        phrase = _noun_phrase(lowered, start)
        if phrase:
            head = phrase[-1].removesuffix("'s").removesuffix("’s")
            return Subject(words.PRONOUNS.get(head, head), " ".join(phrase), source)
    return None


def _after_openings(lowered: list[str]) -> int:
    """Return the position after what comes before the subject, as often as something is recognised."""
    start, after = -1, 0
    while start < after < len(lowered):
        start, after = after, _after_opening(lowered, after)
    return after


def _after_opening(lowered: list[str], start: int) -> int:
    """Return the position after the one opener at ``start`` ("there is", "in the park,", ...); else ``start``."""
    first, second = lowered[start], lowered[start + 1] if start + 1 < len(lowered) else ""
    if first in ",.;:!?" or first in words.ADVERBS or (first.endswith("ly") and first not in words.LY_NOUNS):
        return start + 1
    if first == "there" and second in words.AUXILIARIES:
        return start + 2
    if first in words.PREPOSITIONS or first in words.SUBORDINATORS:  # "in the park,", or the same and a noun phrase
        end = next((i for i in range(start, len(lowered)) if lowered[i] in _SENTENCE_ENDS), len(lowered))
        if "," in lowered[start:end]:
            return lowered.index(",", start) + 1
        starts = (i for i in range(start + 3, end) if lowered[i] in words.DETERMINERS)
        return next((i for i in starts if lowered[i - 1] not in words.PREPOSITIONS), start + 1)
    if first.endswith("ing") and first not in words.ING_NOUNS and second in _AFTER_GERUND:
        return start + 1  # "riding a bicycle"
    return _after_shot(lowered, start)


def _after_shot(lowered: list[str], start: int) -> int:
    """Return the position after "a slow-motion close-up of" or "the camera pans over" at ``start``."""
    for i in range(start, min(len(lowered), start + _MAX_PHRASE)):
        token = lowered[i]
        if token in words.SHOTS:
            for j in range(i + 1, min(len(lowered), i + 5)):
                if lowered[j] in words.SHOT_LINKS:
                    return j + 1
                if lowered[j] in words.DETERMINERS:
                    return j if j > i + 1 else start
            return start
        if token not in words.DETERMINERS and token not in words.ADJECTIVES and token not in words.SHOT_MODIFIERS:
            return start
    return start


def _noun_phrase(lowered: list[str], start: int) -> list[str]:
    """Return the words of the noun phrase at ``start``, or nothing; of "a flock of birds" those of the birds."""
    phrase: list[str] = []
    group: list[str] = []
    singular = nouns = False
    for position in range(start, len(lowered)):
        word = lowered[position]
        following = lowered[position + 1] if position + 1 < len(lowered) else ""
        if not phrase and word in words.DETERMINERS:
            singular = word in words.SINGULAR_DETERMINERS
            phrase = [word]
        elif word in words.DETERMINERS and not nouns:
            phrase.append(word)
        elif word == "of" and nouns and phrase[-1] in words.GROUPS:
            group, phrase = phrase, []
            singular = nouns = False
        elif word == "," and not nouns and phrase:
            continue  # "a small, brown dog"
        elif word == "and" and phrase and not nouns:
            phrase.append(word)  # "a black and white cat"
        elif word in words.PRONOUNS and not phrase:
            return [word]
        elif _ends_phrase(word, phrase, nouns, singular, following):
            break
        else:
            phrase.append(word)
            nouns |= word not in words.ADJECTIVES and not _is_form(word)
        if len(phrase) >= _MAX_PHRASE:
            break
    while phrase and phrase[-1] in ("and", *words.DETERMINERS):
        phrase.pop()
    return phrase if any(word not in words.DETERMINERS for word in phrase) else group


def _is_form(word: str) -> bool:
    """Return True if ``word`` is a verb in -ing or -ed, which before a noun only describes it."""
    return (word.endswith("ing") and word not in words.ING_NOUNS) or (
        word.endswith("ed") and word not in words.ED_NOUNS
    )


def _ends_phrase(word: str, before: list[str], nouns: bool, singular: bool, following: str) -> bool:
    """Return True if ``word`` cannot belong to the phrase that ``before`` begins."""
    if word in words.BOUNDARIES or word in words.PREPOSITIONS or word in words.AUXILIARIES or word in ",.;:!?":
        return True
    last = before[-1] if before else ""
    if not nouns:
        # "a sleeping baby smiles": what may describe or name names, if a verb in -s follows
        return last in words.NOUNLIKE_ADJECTIVES and word.endswith("s") and _is_verb(word)
    if word in words.ADVERBS or (word.endswith("ly") and word not in words.LY_NOUNS) or _is_form(word):
        return True
    if word in words.ADJECTIVES and following in words.PREPOSITIONS:
        return True  # "an island full of"
    if _is_verb(word):
        if not singular and word.endswith("s") and (following in words.VERBS or following in words.AUXILIARIES):
            return False  # "ocean waves crash"
        # "a dance teacher": a bare verb form that a noun follows is a noun itself, unless a plural came before
        plural = last.endswith("s") and last not in words.S_NOUNS and not singular
        return word.endswith("s") or plural or word in words.PAST_FORMS or following in words.AFTER_VERB
    # After "a" the head is singular, so a further word in -s is its verb.
    return singular and word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in words.S_NOUNS


def _is_verb(word: str) -> bool:
    if word in words.VERBS or word in words.PAST_FORMS:
        return True
    stems = [word.removesuffix("s"), word.removesuffix("es")]
    if word.endswith("ies"):
        stems.append(word[:-3] + "y")
    return word.endswith("s") and any(stem in words.VERBS for stem in stems)


@functools.cache
def _spacy_parser() -> Any:
    """Return the spaCy pipeline, or None where spaCy or its small English model is missing."""
    if importlib.util.find_spec("spacy") is None or importlib.util.find_spec(_SPACY_MODEL) is None:
        return None
    import spacy

    return spacy.load(_SPACY_MODEL, disable=["ner"])
