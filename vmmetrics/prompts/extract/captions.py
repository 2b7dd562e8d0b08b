"""Cleaning of captions and prompts into sentences for a parser, or dropping them with a reason."""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

import numpy as np

from vmmetrics.utils.text.words import words_of

DROPPED = {
    "empty": "no word in it",
    "symbols": "mostly signs or digits",
    "script": "not in the Latin alphabet",
    "language": "not in English",
    "repetitive": "the same words over and over",
    "long": "longer than a caption",
    "repeat": "seen before",
}
"""Reasons for dropping a caption."""

LONGEST_WORDS = 300
"""Most words of a caption: dense captions have up to about 200; longer texts are documents or spam."""
LEAST_LETTERS = 0.5
"""Least share of letters among characters other than white space."""
LEAST_LATIN = 0.7
"""Least share of Latin letters: an English caption may have names and single words in other scripts."""
LEAST_DISTINCT, REPETITIVE_FROM = 0.35, 12
"""Least share of distinct words in captions of at least so many words; English prose of 300 words has more."""

_FLAGS = words_of(
    "ar aspect seed motion fps gs guidance neg negative camera no v version q quality s stylize style niji chaos c "
    "weird tile iw stop zoom pan tilt rotate upbeta uplight hd test creative video raw ratio steps cfg sampler size "
    "w h width height strength relax fast turbo repeat profile loop end style_raw image res duration"
)
_VALUE = r"(?:[-+]?\d[\w.:/×x-]*|in|out|up|down|left|right|cw|ccw|acw|raw|pan|zoom|tilt|rotate|none|true|false)"
_FLAG = re.compile(
    rf"(?<!\S)(?:--?|[—–])(?:(?:{'|'.join(sorted(_FLAGS))})\b(?:[\s=:]*{_VALUE}(?![\w'’]))*"
    rf"|[a-z_]{{1,20}}[\s=:]+\d[\d.:]*)",
    re.IGNORECASE,
)
_OPEN = re.compile(r"(?<!\S)(?:--?|[—–])(?:no|neg|negative)\b.*?(?=(?<!\S)(?:--?|[—–])[a-z]|$)", re.IGNORECASE)
"""Flags whose value extends to the next flag."""
_TAGS_AT_END = re.compile(r"(?:\s*#\w+)+\s*$")
_STEPS = (
    ("links", re.compile(r"<?\b(?:https?://|www\.)\S*", re.IGNORECASE)),
    ("mentions", re.compile(r"<[@#:][^<>]{1,80}>|(?<!\S)@\w+|<(?:lora|lyco|hypernet):[^<>]*>", re.IGNORECASE)),
    ("mentions", re.compile(r"</?[a-z][^<>]{0,80}>", re.IGNORECASE)),
    ("mentions", re.compile(r"\b(?:image|message|video)s?\s*:?\s*\d+\s+attachments?\b", re.IGNORECASE)),
    ("mentions", re.compile(r"^\s*(?:/\w+\s+)?(?:(?:prompt|caption|description|scene)\s*\d*\s*:\s*)?", re.IGNORECASE)),
    ("hash tags", _TAGS_AT_END),
    ("hash tags", re.compile(r"#(?=\w)")),
    ("parameters", _OPEN),
    ("parameters", _FLAG),
    ("hash tags", _TAGS_AT_END),
    ("weights", re.compile(r"(?:::\s*-?\d+(?:\.\d+)?|:\d+\.\d+)(?=[\s)\],]|$)|::")),
)
"""Patterns removed from a caption, in this order, each with its name."""
_BRACKETS = re.compile(r"[()\[\]{}<>|*_~`\\]+")
_QUALITY = re.compile(
    r"(?:\d+\s*k|\d+\s*fps|(?:u|f|q)?hd|uhd|hdr|\d{3,4}p|(?:ultra|hyper|super|photo|highly|very|extremely)?[\s-]*"
    r"(?:realistic|realism|detailed|detail|photorealistic|quality|resolution|res|cinematic|cinema|sharp|definition|hd)"
    r"|(?:high|best|top|full)[\s-]*(?:quality|resolution|res|definition|detail|details|hd)|masterpiece|award[\s-]winning"
    r"|octane(?:\s+render)?|unreal(?:\s+engine)?(?:\s*\d)?|(?:3d|vray|blender|cg)(?:\s+render(?:ing)?)?|anime(?:\s+style)?"
    r"|cinematic(?:\s+(?:lighting|shot|style|view|look))?|trending on artstation|artstation|depth of field|bokeh"
    r"|intricate|slow[\s-]motion|(?:volumetric|dramatic|soft|studio|natural)\s+light(?:ing)?|film grain|sharp focus"
    r"|vivid colou?rs?|16:9|9:16|photorealism|pixar(?:\s+style)?|disney(?:\s+style)?|loop(?:ing)?|\d+\s*mm(?:\s+lens)?"
    r"|hyperrealism)",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_RUN = re.compile(r"([!?.,;:-])\1+")

_ENGLISH = words_of(
    "a an the of in on at with and is are to from by for his her its their through over under into while as up down "
    "around across near along it they he she behind man woman dog cat people person water two one"
)
_FOREIGN = words_of(
    "una uno un el los las del con por que para y en su sobre mientras la le les des une dans avec sur et qui au aux "
    "est du il elle der das und ein eine einen einer einem mit auf ist im den dem von zu unter che di della nel per "
    "gli dei alla uma os da na em com dos ao pelo het een van op met niet aan w się jest z ve bir bu için ile dan "
    "yang dengan sebuah seorang som och på ett att av med og til er det"
)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Result of cleaning a caption.

    Attributes:
        text: The caption, ready for a parser; empty where it was dropped.
        dropped: Why, a key of :data:`DROPPED`; empty where it was kept.
        changes: What was removed, each once: "parameters", "links", "mentions", "hash tags", "weights",
            "quality words".
    """

    text: str
    dropped: str = ""
    changes: tuple[str, ...] = ()


def clean_caption(raw: str) -> Cleaned:
    """Remove everything but the description from a caption, and check that the rest is English prose.

    >>> clean_caption("a dog running on the beach, 4k, cinematic --ar 16:9 -motion 2 #dog").text
    'a dog running on the beach'
    """
    if len(raw) > 50 * LONGEST_WORDS:
        return Cleaned("", "long")
    text = unicodedata.normalize("NFKC", html.unescape(raw))
    # Control characters, stray bytes, emoji and other pictures are no words; line breaks are spaces.
    text = "".join(
        " " if unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn", "So", "Cf") or c == "\ufffd" else c for c in text
    )
    changes = []
    for name, pattern in _STEPS:
        before, text = text, pattern.sub(" ", text)
        if text.split() != before.split():
            changes.append(name)
    text = _BRACKETS.sub(" ", text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"'))
    text = _RUN.sub(r"\1", _SPACE.sub(" ", text))
    text = re.sub(r"\s+([,.;:!?])", r"\1", text).strip(" ,;:-–—/\"'+")
    parts = re.split(r"(?<=[,.;])\s+", text)
    remaining = [part for part in parts if not _is_praise(part.rstrip(",.;"))]
    shorter = " ".join(remaining).strip(" ,;") if len(remaining) < len(parts) else text
    if shorter != text:
        changes.append("quality words")
    reason = _objection(shorter)
    return Cleaned("" if reason else shorter, reason, tuple(dict.fromkeys(changes)))


def _is_praise(part: str) -> bool:
    """Return True if a comma-separated part only praises the picture ("4k, highly detailed")."""
    left = _QUALITY.sub(" ", part)
    return left != part and not re.sub(r"\b(?:and|in|with|of|the|a|style|render|rendering)\b|[\W\d_]", "", left)


def _objection(text: str) -> str:
    """Return the reason to drop a cleaned caption, a key of :data:`DROPPED`; empty if it is usable."""
    letters = [c for c in text if c.isalpha()]
    if len(letters) < 2:
        return "symbols" if letters or any(not c.isspace() for c in text) else "empty"
    if sum(c.isascii() or "LATIN" in unicodedata.name(c, "") for c in letters) < LEAST_LATIN * len(letters):
        return "script"
    if len(letters) < LEAST_LETTERS * sum(not c.isspace() for c in text):
        return "symbols"
    words = [word.casefold() for word in _WORD.findall(text)]
    if len(words) > LONGEST_WORDS:
        return "long"
    if len(words) >= REPETITIVE_FROM and len(set(words)) < LEAST_DISTINCT * len(words):
        return "repetitive"
    # more little words of other languages than of English, and at least two
    foreign = sum((word in _FOREIGN) + (not word.isascii()) for word in words)
    return "language" if foreign >= 2 and foreign > sum(word in _ENGLISH for word in words) else ""


class Seen:
    """Detects repeated captions in bounded memory.

    A direct-mapped table of 64-bit hashes: a new caption is never taken for a repeat (hash collisions apart); a repeat
    whose slot another caption has overwritten since counts as new.

    Args:
        slots: Of the table, 8 bytes each. The default misses about one repeat in nine where a million other captions
            lie between the two.
    """

    def __init__(self, slots: int = 2**23) -> None:
        self._slots = np.zeros(slots, np.uint64)

    def again(self, text: str) -> bool:
        """Return True if the caption was seen before, ignoring case and punctuation; record it otherwise."""
        plain = " ".join(re.findall(r"\w+", text.casefold()))
        number = int.from_bytes(hashlib.blake2b(plain.encode(), digest_size=8).digest(), "little") | 1
        slot = (number >> 1) % len(self._slots)
        if int(self._slots[slot]) == number:
            return True
        self._slots[slot] = number
        return False


class Cleaner:
    """Cleans captions and counts the outcomes.

    Args:
        keep_repeats: True to keep repeated captions.

    Attributes:
        read: Captions so far.
        dropped: Captions dropped, by reason.
        changed: Captions by kind of removed text.
    """

    def __init__(self, keep_repeats: bool = False) -> None:
        self.read = 0
        self.dropped: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()
        self._seen = None if keep_repeats else Seen()

    def __call__(self, raw: str) -> str:
        """Return the cleaned caption; empty if it is dropped."""
        self.read += 1
        cleaned = clean_caption(raw)
        reason = cleaned.dropped
        if not reason and self._seen is not None and self._seen.again(cleaned.text):
            reason = "repeat"
        if reason:
            self.dropped[reason] += 1
            return ""
        self.changed.update(cleaned.changes)
        return cleaned.text
