"""Deterministic checks of a question before any cost of filtering, whoever or whatever wrote it.

A rule looks at one question with its options and its right answer, and says what is wrong with it. They err on the side
of rejecting: a question costs a fraction of a cent, and one that can be answered without seeing the video spoils a
benchmark. From the requirements that MotionBench, FAVOR-Bench, TUNA and FPS-Bench state for their questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from vmmetrics.models.questions import Question
from vmmetrics.understanding.construction.options import consensus, is_none_of_the_above, is_odd_one_out, parts, stems

_LONGER: Final = 2.0
_LONGER_BY: Final = 12
"""Least excess of the longest option over the shortest, characters, for a length fault: "left" and "to the right" are
alike."""
_STANDS_OUT: Final = 1.3
_STANDS_OUT_BY: Final = 8
"""Least excess of the right option over the next one, longer or shorter, characters, for a fault: a word or two, as
annotators' right options tend to be the most careful ones."""
_LEAK: Final = 2
"""Most words of the question that the right option may repeat beyond any wrong one."""

_NUMBER_WORDS: Final = r"(?:\d+|one|two|three|four|five|six)"
_WHEN: Final = re.compile(
    r"(?i)(?:^|[.?!;,]\s*)when,?\s+(?:exactly\s+|precisely\s+|in the (?:video|clip),?\s+)?"
    r"(?:do|does|did|is|are|was|were|will|has|have|had|can|could|in)\b"
    r"|\b(?:at|in|during|around|by)\s+(?:what|which)\s+(?:\w+\s+)?(?:times?|moments?|seconds?|timestamps?|frames?)\b"
    r"|\b(?:at|in|during)\s+(?:what|which)\s+(?:part|phase|stage|section|segment|half|third)\b"
    r"|\bat what point\b|\bwhat time\b|\bwhich timestamp\b|\bhow (?:far|long|late|early) into\b"
)
_TIMES: Final = re.compile(
    rf"(?i)\b\d+(?:\.\d+)?\s?(?:s|secs?|seconds?)\b|\b{_NUMBER_WORDS}[- ](?:second|minute)\b|\b\d{{1,2}}:\d{{2}}\b"
    r"|\b(?:milli)?seconds\b|\bminutes\b|\b(?:half|fraction of) a second\b|\bframe\s*#?\d+\b|\btimestamps?\b"
)
_NUMBERED: Final = re.compile(
    rf"(?i)\b(?:subject|person|character|object|individual|actor)s?\s*(?:#?{_NUMBER_WORDS}|(?-i:[A-F]))\b"
    r"|\b(?:man|woman|boy|girl|child)\s*#?\d+\b"
)
_TEXT: Final = re.compile(
    r"(?i)\b(?:captions?|descriptions?|annotat(?:ions?|ed|ors?)|transcripts?|narratives?|narrations?|narrators?|paragraphs?"
    r"|metadata)\b"
    r"|\b(?:as|is|are|was|were|been)\s+(?:described|mentioned|stated|noted|listed)\b"
    r"|\b(?:described|mentioned|stated)\s+(?:in|by|above|below)\b"
    r"|\bthe (?:given |provided )?(?:text|passage) (?:says|states)\b"
    r"|\b(?:according to|based on|as per) the (?:text|passage|information|context)\b"
    r"|\b(?:given|provided) (?:text|passage|information|context|details)\b"
)
_SUBJECTIVE: Final = re.compile(
    r"(?i)\b(?:beautiful|graceful|elegant|impressive|skil?lful|amazing|stunning|pretty|nice|lovely|ugly|interesting|exciting"
    r"|boring|awkward|charming|dramatic|mysterious|co[sz]y|serene|peaceful|magical|majestic|mesmeri[sz]ing|captivating"
    r"|breathtaking|cute|adorable|funny|strange|weird|seem(?:s|ed|ing|ingly)?|probabl[ey]|perhaps|apparent(?:ly)?"
    r"|presumabl[ey]|possibly|maybe|might|atmosphere|vibe)(?:ly)?\b|\bappear(?:s|ed)? to (?:be|have)\b"
    r"|\b(?:most|more|less)? ?likely\b"
)
_CAUSE: Final = re.compile(
    r"(?i)\bwhy\b|\bbecause\b|\breasons?\b|\bin order to\b|\bcaus(?:e|es|ed|ing)\b|\bpurpose\b|\bintend(?:s|ed|ing)?\b"
    r"|\bintentions?\b|\bmotivat\w+\b|\bas a result\b|\bresult(?:s|ed)? (?:in|of)\b|\bdue to\b|\bconsequences?\b"
    r"|^what (?:\w+ )?(?:makes|made|triggers|triggered|leads to|led to)\b|\blead(?:s)? to\?"
)
_LEFT_OPEN: Final = re.compile(
    r"(?i)\b(?:all|none|any|both|neither|either|some) of the above\b|\bboth [a-f] and [a-f]\b|\boptions? [a-f]\b"
    r"|^\W*[a-f] (?:and|or|&) [a-f]\W*$"
    r"|^\W*(?:all|none|any|both|neither|either|some) of (?:these|them|those|the (?:others?|options))\W*$"
    r"|\b(?:cannot|can't|can not|could not) (?:be )?(?:determined?|told|tell|say|said|seen)\b"
    r"|\bnot (?:sure|enough|clear|shown)\b|\b(?:don't|do not) know\b|\bimpossible to (?:tell|say|know)\b"
    r"|\binsufficient\b|\bunknown\b|\bunclear\b|^\s*(?:other|others|something else)\s*\.?$"
)
_LETTERED: Final = re.compile(
    r"^\s*(?:\(?(?:[A-Fa-f]|[1-6]|i{1,3}|iv|v)[).:]|[A-F]\s-|[-*\u2022]|(?:[Oo]ption|[Aa]nswer|[Cc]hoice)\s+[A-F1-6]\b\W?)\s"
)
_TWICE: Final = re.compile(r"(?i)\b(?!that\b|had\b)([a-z]+) \1\b")
_ARTICLE: Final = re.compile(r"(?:^A|\ba) (?=[aeio](?!ne\b|nce\b|u|we)[a-z])|(?:^A|\ba)n (?=[bcdfgjkpqtvwz][a-z])")
""""A" before a vowel, "an" before a consonant; u, h and ewe go by sound, acronyms are ignored."""
_PASSIVE: Final = re.compile(r"(?i)\b(?:is|are|was|were|be|been|being|gets?|got) (?:\w+ly )?\w+ed\b")
_NUMERALS: Final = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "once": "1 time", "twice": "2 times", "thrice": "3 times",
}  # fmt: skip
_BROKEN: Final = re.compile(r"[\ufffd\u0000-\u0008\u000b\u000c\u000e-\u001f]|Ã.|â€")
_EXCLUDING: Final = frozenset(
    ("not", "no", "never", "without", "neither", "nor", "only", "than", "less", "fewer", "least", "most", "except")
)
"""Words that keep a text from implying the text without them."""


def faults(question: Question, rules: Sequence[str]) -> list[str]:
    """Check a question by some rules and return its faults, each as ``rule: why``; empty if there are none.

    Args:
        question: With its options and its right answer.
        rules: Names of :data:`RULES`.

    Raises:
        KeyError: A rule is unknown.
    """
    shape = _one_answer(question)
    if shape is not None:  # the other rules take it for granted
        return [f"one answer: {shape}"]
    return [f"{name}: {why}" for name in rules if (why := RULES[name](question)) is not None]


def _one_answer(question: Question) -> str | None:
    """Check for a question, at least two options, and exactly one right option."""
    if question.answer is None or len(question.options) < 2:
        return "there is no right option" if question.options else "there are no options"
    return None if question.text.strip() else "the question is empty"


def _distinct(question: Question) -> str | None:
    """Check for empty options, and options that say the same in other words."""
    seen: dict[tuple[str, ...], str] = {}
    for option in question.options:
        key = _digest(option)
        if not key:
            return f"an option is empty: {option!r}"
        if key in seen:
            return f"{option!r} says the same as {seen[key]!r}"
        seen[key] = option
    return None


def _digest(option: str) -> tuple[str, ...]:
    """Return the stems of an option's content words, numbers as digits; all its words if it has none.

    Passives are marked: being pushed is not pushing, though the content words are the same.
    """
    stemmed = stems(" ".join(_NUMERALS.get(word, word) for word in option.lower().split()))
    if not stemmed:
        return tuple(re.findall(r"\w+", option.lower()))
    return ("passive", *stemmed) if _PASSIVE.search(option) else stemmed


def _contained(question: Question) -> str | None:
    """Check for a right option that contains a wrong one or is part of it: both are then nearly right."""
    answer = question.answer or 0
    right, own = stems(question.options[answer]), set(parts(question.options[answer]))
    for index, option in enumerate(question.options):
        wrong = stems(option)
        shorter, longer = sorted((right, wrong), key=len)
        if index == answer or not shorter or len(shorter) == len(longer) or _EXCLUDING & set(longer) - set(shorter):
            continue
        runs = (longer[i : i + len(shorter)] for i in range(len(longer) - len(shorter) + 1))
        members = parts(option)
        if shorter in runs or (len(members) > 1 and (own < set(members) or set(members) < own)):
            return f"the right option {question.options[answer]!r} and {option!r} contain one another"
    return None


def _like_length(question: Question) -> str | None:
    """Check that options have similar lengths, the right one included."""
    lengths = [len(option) for option in question.options if not is_none_of_the_above(option)]
    if max(lengths) > _LONGER * min(lengths) + _LONGER_BY:
        return f"options of {min(lengths)} to {max(lengths)} characters"
    answer = question.answer or 0
    right = len(question.options[answer])
    wrong = [len(o) for index, o in enumerate(question.options) if index != answer and not is_none_of_the_above(o)]
    if not wrong or is_none_of_the_above(question.options[answer]):
        return None
    for ahead, next_one, word in ((right, max(wrong), "longest"), (min(wrong), right, "shortest")):
        if ahead > _STANDS_OUT * next_one and ahead - next_one > _STANDS_OUT_BY:
            return f"the right option is by far the {word}"
    return None


def _revealed(question: Question) -> str | None:
    """Check whether the frequency of parts in the options reveals the right one."""
    answer = question.answer or 0
    part = consensus(question.options, answer)
    if part is not None:
        return f"{part!r} of the right option is in more options than any part of a wrong one"
    odd = is_odd_one_out(question.options, answer)
    return "the wrong options are alike and the right one is not" if odd else None


def _leaked(question: Question) -> str | None:
    """Check for words of the question that only the right option repeats."""
    question_stems, answer = set(stems(question.text)), question.answer or 0
    common = [len(question_stems & set(stems(option))) for option in question.options]
    rival = max(count for index, count in enumerate(common) if index != answer)
    leaked = common[answer] - rival >= _LEAK
    return "the right option repeats words of the question that no wrong one does" if leaked else None


def _left_open(question: Question) -> str | None:
    others = question.options[: len(question.options) - is_none_of_the_above(question.options[-1])]
    match = next((option for option in others if _LEFT_OPEN.search(option)), None)
    return None if match is None else f"{match!r} refers to other options, or to what is unknown"


def _lettered(question: Question) -> str | None:
    match = next((option for option in question.options if _LETTERED.match(option)), None)
    return None if match is None else f"{match!r} begins with its own letter"


def _asks(question: Question) -> str | None:
    """Check for one line that ends with a question mark."""
    text = question.text.strip()
    if not text.endswith("?"):
        return "it does not end with a question mark"
    return None if text[0].isupper() or not text[0].isalpha() else "it does not begin with a capital letter"


def _language(question: Question) -> str | None:
    """Return a language fault that needs no dictionary."""
    for text in (question.text, *question.options):
        if _BROKEN.search(text):
            return f"characters that were decoded wrongly in {text!r}"
        match = _TWICE.search(text)
        if match:
            return f"a word twice in {text!r}: {match[0]!r}"
        if _ARTICLE.search(text):
            return f"a wrong article in {text!r}"
        if text.count("(") != text.count(")") or text.count('"') % 2:
            return f"brackets or quotation marks that do not match in {text!r}"
    return None


def _no(pattern: re.Pattern[str], what: str, options: bool = True) -> Callable[[Question], str | None]:
    """Return a check for forbidden words, in the question and optionally in the options."""

    def rule(question: Question) -> str | None:
        for text in (question.text, *(question.options if options else ())):
            match = pattern.search(text)
            if match:
                return f"{what}: {' '.join(match[0].split())!r}"
        return None

    return rule


RULES: Final[Mapping[str, Callable[[Question], str | None]]] = {
    "one answer": _one_answer,
    "question": _asks,
    "distinct": _distinct,
    "contained": _contained,
    "length": _like_length,
    "lettered": _lettered,
    "left open": _left_open,
    "given away": _revealed,
    "leaked": _leaked,
    "when": _no(_WHEN, "it asks when something happens", options=False),
    "times": _no(_TIMES, "it names times"),
    "numbered": _no(_NUMBERED, "it numbers subjects instead of saying how they look"),
    "text": _no(_TEXT, "it mentions a text that nobody sees"),
    "subjective": _no(_SUBJECTIVE, "it judges or guesses"),
    "cause": _no(_CAUSE, "it asks for causes"),
    "language": _language,
}
"""Checks by name; each returns the fault as text, or None."""
WRITTEN: Final = tuple(name for name in RULES if name != "cause")
"""Rules for questions made from captions."""
DYNAMICS: Final = tuple(RULES)
"""Rules for questions on what moves and how, not why: MotionBench's."""
