"""Checks of a prompt without a model: functions from a text or an entry to a fault, or None.

``faults(entry)`` asks them all; :data:`CHECKS` has them by name, so that a caller can take some. The words they
look for are those that prompts of text-to-video models are full of and a motion prompt has no use for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.utils.text.inflection import article, ing_form, plural, verb_forms

SHORTEST, LONGEST = 12, 35
"""Fewest and most words of a prompt (MMPG's bounds)."""
SENTENCES = 2
"""Most sentences of a prompt."""

_WORD = re.compile(r"[A-Za-z0-9]+(?:['’.-][A-Za-z0-9]+)*")
_END = re.compile(r"[.!?]+(?=\s|$)")

_JARGON = re.compile(
    r"\b(close-?ups?|(?:wide|long|medium|tracking|establishing|overhead|aerial|drone|dolly|low-angle|high-angle|pov"
    r"|static|single|one|opening|crane|handheld|macro|panning) shots?|shot (?:of|from|in|on|with)|footage|videos?"
    r"|(?:film|video|movie) clip|first-person view|point[- ]of[- ]view|pov|slow[- ]motion|slo-?mo|time-?lapse"
    r"|hyper-?lapse|fast[- ]forward|bokeh|depth of field|(?:shallow|soft|out of) focus|lens flares?|fish-?eye"
    r"|cinematic(?:ally)?|photo-?realistic|hyper-?realistic|ultra-?realistic|(?:4|8)k|uhd|hdr|high[- ]resolution"
    r"|\d+ ?fps|anamorphic|dolly|steadicam|in frame|out of frame|(?:into|leaves|enters|fills|across) the frame"
    r"|foreground|background|voice-?over|fade[sd]? to (?:black|white)|masterpiece|highly detailed|render(?:ed|ing)?)\b",
    re.IGNORECASE,
)
_CAMERA = re.compile(
    r"\b(the camera|camera (?:pans?|tilts?|zooms?|moves?|follows?|tracks?|orbits?|circles?|angle|movement)"
    r"|(?:zoom(?:s|ing)?|pan(?:s|ning)?|tilt(?:s|ing)?) (?:in|out|left|right|up|down) (?:on|to|with|across|over)"
    r"|the (?:view|lens) (?:pans?|tilts?|zooms?|moves?|follows?))\b",
    re.IGNORECASE,
)
_CUTS = re.compile(
    r"\b(cuts? (?:to|away to)|(?:the )?scene (?:changes?|shifts?|switches|opens|transitions)|transitions? (?:to|into)"
    r"|montage|split[- ]screen|(?:minutes?|hours?|days?|weeks?|months?|years?|moments?) (?:later|pass(?:es)?)"
    r"|meanwhile|the next (?:day|morning|night|scene)|later (?:that|on)|flash-?backs?|elsewhere"
    r"|from (?:dawn|sunrise|morning) to (?:dusk|sunset|night|evening)|as the (?:days|seasons|years))\b",
    re.IGNORECASE,
)
_PADDING = re.compile(
    r"\b(mesmeri[sz]ing(?:ly)?|showcas(?:es?|ing)|testament|breath-?taking(?:ly)?|awe-?inspiring|captivating"
    r"|stunning(?:ly)?|enchanting|majestic(?:ally)?|ethereal|serene(?:ly)?|symphony|tapestry|bustling|vibrant"
    r"|picturesque|creating an? (?:\w+ )?(?:display|spectacle|atmosphere|scene|dance|illusion|pattern of)"
    r"|a sense of|in a dance of|dance of|exud(?:es|ing)|embod(?:ies|ying)|capturing|evok(?:es|ing)|as if)\b",
    re.IGNORECASE,
)
_NO_PLAIN_TEXT = re.compile(r"[^\x20-\x7e]|[<>{}\[\]|*_#`~\\@]|https?:|--")
"""Characters that some text encoders drop, and markup."""
_ARTICLE = re.compile(r"\b(an?) ([A-Za-z0-9][\w'-]*)", re.IGNORECASE)
_TWICE = re.compile(r"\b(\w+) \1\b", re.IGNORECASE)


def words(text: str) -> list[str]:
    """Return the words of a text; a hyphen, apostrophe or point joins words.

    >>> words("A 2.5-metre wave doesn't break - it rolls.")
    ['A', '2.5-metre', 'wave', "doesn't", 'break', 'it', 'rolls']
    """
    return _WORD.findall(text)


def length(text: str) -> str | None:
    """Check the number of words."""
    count = len(words(text))
    return None if SHORTEST <= count <= LONGEST else f"{count} words, expected {SHORTEST} to {LONGEST}"


def form(text: str) -> str | None:
    """Check for one or two sentences, from a capital letter or number to a full stop."""
    if not text[:1].isupper() and not text[:1].isdigit():
        return "it does not begin with a capital letter"
    if not text.endswith((".", "!", "?")):
        return "it does not end with a full stop"
    count = len(_END.findall(text))
    return None if count <= SENTENCES else f"{count} sentences, expected one or two"


def articles(text: str) -> str | None:
    """Check that every "a" or "an" fits the sound of the next word.

    >>> articles("A owl lands on an branch.")
    "expected 'an owl' but got 'A owl'"
    """
    for match in _ARTICLE.finditer(text):
        expected = article(match[2])
        if match[1].lower() != expected and not (len(match[2]) == 1 and match[2].isupper()):
            return f"expected {expected + ' ' + match[2]!r} but got {match[0]!r}"
    return None


def repeats(text: str) -> str | None:
    """Check for a word twice in a row."""
    match = _TWICE.search(text)
    return None if match is None or match[1].lower() in ("that", "had") else f"{match[1]!r} is repeated"


def without(pattern: re.Pattern[str], what: str, text: str) -> str | None:
    """Check that nothing in a text matches a pattern: ``what`` is wrong with it, else."""
    match = pattern.search(text)
    return None if match is None else f"{what}: {match[0]!r}"


def camera_jargon(text: str, camera: str = "unspecified") -> str | None:
    """Check for film terms; plain words for a camera motion are allowed where one is asked for.

    Args:
        text: The prompt.
        camera: The camera motion that is asked for, as :class:`vmmetrics.prompts.entry.Tags` has it.

    >>> camera_jargon("A low-angle shot of a horse."), camera_jargon("The camera pans left.", "pan")
    ("camera jargon: 'low-angle shot'", None)
    """
    match = _JARGON.search(text) or (_CAMERA.search(text) if camera == "unspecified" else None)
    if match is not None:
        return f"camera jargon: {match[0]!r}"
    if camera not in ("unspecified", "static", "handheld") and "camera" not in text.lower():
        return f"the requested camera motion is not mentioned: {camera}"
    return None


def missing_noun(text: str, noun: str, of_plural: str = "") -> str | None:
    """Check that the subject's noun is in the text, in the singular or plural.

    Args:
        text: The prompt.
        noun: The noun, in the singular; of a name of several words its head will do.
        of_plural: Its plural, where the rules do not give it.
    """
    head = noun.partition(" of ")[0].rpartition(" ")[2]
    forms = {noun, head, plural(noun), plural(head), *([of_plural] if of_plural not in ("", "-") else [])}
    return None if _any_of(forms, text) else f"the subject is not named: {noun!r}"


def missing_verb(text: str, lemma: str) -> str | None:
    """Check that the verb is in the text, in any of its forms.

    >>> missing_verb("A top spun across the table.", "spin"), missing_verb("A top turns.", "spin")
    (None, "the action is not named: 'spin'")
    """
    return None if _any_of(verb_forms(lemma), text) else f"the action is not named: {lemma!r}"


def fields_agree(entry: PromptEntry) -> str | None:
    """Check that the subject phrase has the noun, and the action begins with the verb's -ing form, where given."""
    if entry.subject and entry.subject_noun and missing_noun(entry.subject, entry.subject_noun, _own_plural(entry)):
        return f"the subject {entry.subject!r} is not of {entry.subject_noun!r}"
    done = words(entry.action.lower())
    if entry.action_lemma and done:
        ings = {form for form in verb_forms(entry.action_lemma) if form.endswith("ing")}
        if not done[0].endswith("ing") or ings.isdisjoint(done):
            return f"the action {entry.action!r} is not a phrase of {ing_form(entry.action_lemma)!r}"
    return None


def _own_plural(entry: PromptEntry) -> str:
    """Return the plural in the entry's subject phrase ("two young pizzaioli"), if it begins as the noun does."""
    head = entry.subject.rpartition(" ")[2].lower()
    return head if head[:_SAME] == entry.subject_noun.rpartition(" ")[2].lower()[:_SAME] else ""


_SAME = 3  # first letters that a noun and its plural share, but for those that inflection knows


def _any_of(forms: set[str] | frozenset[str], text: str) -> bool:
    pattern = "|".join(re.escape(form) for form in sorted(forms))
    return re.search(rf"(?<![\w])(?:{pattern})(?![\w])", text, re.IGNORECASE) is not None


Check = Callable[[PromptEntry], str | None]

CHECKS: Mapping[str, Check] = {
    "length": lambda entry: length(entry.prompt),
    "form": lambda entry: form(entry.prompt),
    "plain text": lambda entry: without(_NO_PLAIN_TEXT, "not plain text", entry.prompt),
    "articles": lambda entry: articles(entry.prompt),
    "repeats": lambda entry: repeats(entry.prompt),
    "one shot": lambda entry: without(_CUTS, "more than one shot", entry.prompt),
    "camera": lambda entry: camera_jargon(entry.prompt, entry.tags.camera if entry.tags else "unspecified"),
    "padding": lambda entry: without(_PADDING, "padding", entry.prompt),
    "noun": lambda entry: (
        missing_noun(entry.prompt, entry.subject_noun, _own_plural(entry)) if entry.subject_noun else None
    ),
    "fields": fields_agree,
    "verb": lambda entry: missing_verb(entry.prompt, entry.action_lemma) if entry.action_lemma else None,
}
"""Checks of an entry by name; noun and verb only where the entry has them."""


def faults(entry: PromptEntry) -> list[str]:
    """Return all faults of an entry as text; empty if there are none."""
    return [reason for check in CHECKS.values() if (reason := check(entry)) is not None]


# How easily a prompt reads: its words, and Flesch's reading ease with a syllable counter of our own.
#
# Flesch, "A new readability yardstick" (1948): 206.835 − 1.015 × words per sentence − 84.6 × syllables per word; about
# 100 for very easy texts, 60 to 70 for plain English, below 30 for what only graduates read with ease.

_SPOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|$)")
_POSSESSIVE = re.compile(r"['’]s?$")
_HISSING = re.compile(r"(?:[sxz]|ch|sh|[cgsz]e)$")

_VOWELS = re.compile(r"[aeiouy]+")
_SILENT_END = re.compile(
    r"(?:[^aeiouyl]|[aeiouy]ll?)e$"  # make, pole; but table
    r"|(?:[^aeiouylscgxzh]|[^aeiouycs]h|[aeiouy]l)es$"  # makes, bathes; but boxes, tables
    r"|(?:[^aeiouytdlr]|[aeiouy][lr]{1,2}|[aeiouy]rl)ed$"  # jumped, sailed, whirled; but wanted, tumbled
)
_SILENT_INSIDE = re.compile(
    r"^(?:bare|base|bike|bone|cable|cake|care|cave|cheese|close|cone|crane|cube|face|fire|five|fore|game|gate|globe|grape"
    r"|grave|here|home|horse|house|ice|lace|lake|life|like|lime|line|make|mile|more|name|nine|note|pine|pipe|plane|plate"
    r"|pole|race|rope|rose|safe|sale|shore|side|skate|slate|smoke|some|space|stone|tape|there|tide|tile|time|trade|tube"
    r"|type|ware|wave|whale|where|wide|wire)"
    r"(?=[bcdfghjklmnpqrstvwxz][a-z]*[aeiouy])(?!pette|lement|str(?:y|ies)|ning|rings?|ved|ness|ly)"  # sideways
    r"|^every|[^aeiouy]e(?:ly|ful|fully|less|lessly|ment|ments|ness|some|ty)$"  # closely, movement, safety
    r"|ically$"
)
_TWO_SOUNDS = re.compile(
    r"[aeiouy]ing|[aou]y(?:[aio]|e(?!d|s))|eyor|oey"  # seeing, player
    r"|(?:[^aeiou]{2}|[^aeiou][aeiou][^aeiou])i(?:er|ers|est)$"  # happier
    r"|(?<![tcsgx])ia(?!ge)|(?<![tcsgxnh])io|nious|neous|iu(?!m$)|(?<=[aeiou][cn])iu|(?<![gq])ua(?!r[dy]|y)"
    r"|(?<![gq])uo(?!u)|uou|eo(?!p|us|n$|ns$|g)|uism|uist|eism|iet|(?<![tc])ien[ct]|sms?$|thms?$"
    r"|creat|^reals?$|theat|^idea|area|[^qg]uet|ruin|fluid|poet|coax|^rea(?!l|d|c?h|p|r|son)|^reen|ium"
)
_NOT_TWO = re.compile(r"soldier|cashier|^pier|iage")
_EXCEPTIONS: Final = {
    "tongue": 1, "tongues": 1, "giant": 2, "giants": 2, "lion": 2, "lions": 2, "neon": 2, "onion": 2, "onions": 2,
    "science": 2, "scientist": 3, "scientists": 3, "museum": 3, "museums": 3, "evening": 2, "evenings": 2,
    "chocolate": 3, "vegetable": 4, "vegetables": 4, "business": 2, "carriage": 2, "carriages": 2, "rugged": 2,
    "ragged": 2, "jagged": 2, "naked": 2, "wicked": 2, "crooked": 2, "sacred": 2, "unique": 2, "antique": 2,
    "technique": 2, "techniques": 2, "picturesque": 3, "cafe": 2, "cafes": 2, "chaos": 2,
    "koala": 3, "koalas": 3, "drawer": 1, "drawers": 1, "ukulele": 4, "patio": 3, "patios": 3, "companion": 3,
    "companions": 3, "convenient": 3, "peculiar": 3, "metre": 2, "metres": 2, "centre": 2, "centres": 2, "fibre": 2,
    "fibres": 2, "theatre": 3, "theatres": 3, "acre": 2, "acres": 2, "rhythmically": 4, "aluminium": 5, "fashion": 2,
    "cushion": 2, "cushions": 2, "coordinated": 5, "kayak": 2, "kayaks": 2, "hedgehog": 2,
    "someone": 2, "tapestry": 3, "subtly": 2, "everyone": 3, "colleague": 2, "colleagues": 2, "diaper": 2,
    "recipe": 3, "recipes": 3, "karate": 3, "coyote": 3, "coyotes": 3, "canoe": 2, "canoes": 2,
}  # fmt: skip
"""Syllables of words that the rules get wrong, from our prompts and similar words."""


def sentences_in(text: str) -> int:
    """Count the sentences, at least 1; punctuation without a word is none.

    >>> sentences_in('It holds 1.5 litres. "Full!" It tips')
    3
    """
    return max(1, sum(bool(words(part)) for part in _SENTENCE_END.split(text)))


@lru_cache(maxsize=65536)
def syllables_of(word: str) -> int:
    """Count the syllables of an English word, at least 1; a number counts its digits.

    Right for 94.8 % of 16,745 common words of the CMU Pronouncing Dictionary that no rule was made for, and never
    off by more than a few; over a prompt's words that moves its reading ease by 0.3 on average (measured).

    >>> [syllables_of(word) for word in ("horse", "horse's", "tumbled", "rhythm", "fire-eater")]
    [1, 2, 2, 2, 3]
    """
    parts = [part for part in re.split(r"[-/.,]", word.lower()) if _SPOKEN.search(part)]
    return max(1, sum(map(_syllables, parts)))


def _syllables(word: str) -> int:
    bare = "".join(_SPOKEN.findall(word)).replace("’", "'")
    whole = _POSSESSIVE.sub("", bare)
    more = int(bare.endswith("'s") and _HISSING.search(whole) is not None)
    if whole in _EXCEPTIONS:
        return _EXCEPTIONS[whole] + more
    if whole.isdigit():
        return len(whole)
    count = len(_VOWELS.findall(whole))
    if count > 1:
        count -= bool(_SILENT_END.search(whole)) + bool(_SILENT_INSIDE.search(whole))
    count += sum(1 for match in _TWO_SOUNDS.finditer(whole)) - len(_NOT_TWO.findall(whole))
    return max(1, count) + more


def reading_ease(text: str) -> float:
    """Return Flesch's reading ease; NaN for a text without words.

    Returns:
        121.22 for one word of one syllable, without bound below.
    """
    tokens = words(text)
    if not tokens:
        return float("nan")
    syllables = sum(map(syllables_of, tokens))
    return 206.835 - 1.015 * len(tokens) / sentences_in(text) - 84.6 * syllables / len(tokens)
