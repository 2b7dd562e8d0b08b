"""Clauses of a parsed sentence: subjects and actions, passives, participles, relative clauses, bare nouns."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from vmmetrics.prompts.extract import words

# What a parsed noun phrase names: its noun, what goes before it, and the members of a collective.

Token = Any
"""spaCy's token; typed as Any so that the module imports without spaCy."""

_NOUNS = ("NOUN", "PROPN")
_LONGEST_NAME = 3
"""Most words of a name; longer runs of nouns are titles or parsing errors."""


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun phrase, reduced to its name.

    Attributes:
        noun: Head noun in the singular, with the nouns that make one name with it ("fire truck").
        modifiers: Adjectives and the like before it, in lower case and order.
        members: Singular of a collective's members ("bird"); else empty.
        plural: How the noun stood there where it was in the plural; else empty.
    """

    noun: str
    modifiers: tuple[str, ...] = ()
    members: str = ""
    plural: str = ""


class NounReader:
    """Reader of noun phrases.

    Args:
        names: Names of several words that are known ("polar bear"): an adjective in one of them is no modifier.
    """

    def __init__(self, names: Collection[str] = ()) -> None:
        self._names = words.NAMES | {name for name in names if " " in name}

    def read(self, head: Token) -> NounPhrase:
        """Read the phrase around its head noun."""
        head = without_quantity(head)
        before = _before(head)
        start = self._start(head, before)
        parts = [word.lower_ for word in before[start:]]
        noun = " ".join([*parts, lemma_of(head)])
        modifiers = [_hyphenated(word) for word in before[:start] if _describes(word)]
        several = head.tag_ in ("NNS", "NNPS") and head.lower_ != lemma_of(head)
        plural = " ".join([*parts, head.lower_]) if several else ""
        return NounPhrase(noun, tuple(dict.fromkeys(modifiers)), members_of(head), plural)

    def _start(self, head: Token, before: list[Token]) -> int:
        """Return the index in ``before`` at which the noun's name begins."""
        for start in range(max(0, len(before) - _LONGEST_NAME), len(before)):
            if " ".join([*(word.lower_ for word in before[start:]), lemma_of(head)]) in self._names:
                return start
        start = len(before)
        for word in before[:-_LONGEST_NAME:-1]:
            if word.dep_ != "compound" or word.pos_ not in _NOUNS or word.lower_ in words.MODIFIER_NOUNS:
                break
            start -= 1
        return start


def lemma_of(token: Token) -> str:
    """Return the singular of a noun or the base form of a verb, in lower case.

    The models leave capitalised and rare plurals as they are, and take some singulars for plurals; both are mended.
    """
    lemma = token.lemma_.lower().strip("-'") or token.lower_
    lemma = words.PERSON_WORDS.get(lemma, lemma)
    if token.pos_ == "VERB":
        return str(words.LEMMAS.get(lemma, lemma))
    if token.tag_ in ("NNS", "NNPS") and lemma == token.lower_ and lemma.endswith("s"):
        return singular(lemma)
    return str(lemma)


def singular(plural: str) -> str:
    """Return the regular singular of a noun in -s.

    >>> singular("ponies"), singular("foxes"), singular("drones"), singular("glass")
    ('pony', 'fox', 'drone', 'glass')
    """
    if plural.endswith("ies") and len(plural) > 4:
        return plural[:-3] + "y"
    if plural.endswith(("ches", "shes", "sses", "xes", "zes")):
        return plural[:-2]
    return plural if plural.endswith(("ss", "us", "is")) or len(plural) < 4 else plural.removesuffix("s")


def members_of(head: Token) -> str:
    """Return the singular of a collective's members ("bird" of "a flock of birds"); empty for other nouns."""
    inner = of_what(head) if lemma_of(head) in words.COLLECTIVES else None
    return lemma_of(inner) if inner is not None and inner.pos_ in _NOUNS else ""


def of_what(head: Token, deps: Collection[str] = ("pobj", "pcomp")) -> Token | None:
    """Return the head noun after "of" that depends on a noun, or None."""
    ofs = (child for child in head.children if child.dep_ == "prep" and child.lower_ == "of")
    return next((inner for child in islice(ofs, 1) for inner in child.children if inner.dep_ in deps), None)


def without_quantity(head: Token) -> Token:
    """Return the noun behind a quantity or view: "a couple of", "dozens of", "a video of"."""
    passed = words.QUANTITIES | words.FRAMES
    for _ in range(4):
        inner = of_what(head)
        if inner is None or inner.pos_ not in ("NOUN", "PROPN", "NUM", "ADJ", "DET"):
            return head
        if lemma_of(head) not in passed and head.pos_ not in ("NUM", "DET", "PRON"):
            return head
        head = inner
    return head


def whole_of(head: Token) -> Token:
    """Return the collective or quantity that a noun belongs to ("flock" of "birds"), or the noun itself."""
    while head.dep_ == "pobj" and head.head.lower_ == "of":
        outer = head.head.head
        if lemma_of(outer) not in words.COLLECTIVES | words.QUANTITIES or outer.pos_ not in _NOUNS:
            break
        head = outer
    return head


def _before(head: Token) -> list[Token]:
    """Return the words before the head that describe it, without article and numbers."""
    left = [child for child in head.lefts if child.dep_ in ("compound", "amod", "nmod", "npadvmod", "poss")]
    tokens: list[Token] = []
    for child in left:
        if child.dep_ == "compound":
            tokens += [word for word in child.subtree if word.i < child.i and word.dep_ in ("compound", "amod")]
        if child.dep_ != "poss":
            tokens.append(child)
        tokens += [word for word in child.children if word.dep_ == "conj" and word.i < head.i]
    return sorted((word for word in tokens if word.is_alpha or "-" in word.text), key=lambda word: word.i)


def _describes(word: Token) -> bool:
    """Return True if a word before a noun is a modifier, not a number, determiner or verb."""
    if word.like_num or word.lower_ in words.QUANTITIES or (word.is_stop and word.pos_ in ("DET", "PRON")):
        return False
    return not (word.tag_ == "VBG" and word.lower_ not in words.ADJECTIVES_IN_ING)


def _hyphenated(word: Token) -> str:
    """Return a modifier with the words hyphenated to it ("snow-covered")."""
    parts = [word.lower_]
    index = word.i
    while index >= 2 and word.doc[index - 1].text == "-" and not word.doc[index - 1].whitespace_:
        parts.insert(0, word.doc[index - 2].lower_)
        index -= 2
    return "-".join(parts)


_SUBJECTS = ("nsubj", "nsubjpass", "csubj")
_ANTECEDENTS = ("nsubj", "nsubjpass", "ROOT", "attr")
_FOLLOWING = ("xcomp", "advcl", "conj", "dep", "ccomp", "acl")
"""Dependencies of a verb without subject on the verb whose subject it shares."""


@dataclass(frozen=True, slots=True)
class ParsedClause:
    """A verb with its agents and patients.

    Attributes:
        verb: The verb.
        doers: Heads of the agents; empty if not mentioned.
        patients: Heads of the patients of a passive verb.
    """

    verb: Token
    doers: tuple[Token, ...]
    patients: tuple[Token, ...] = ()


def clauses(document: Token, verbs: Collection[str] = ()) -> Iterator[ParsedClause]:
    """Return the action clauses of a parsed caption, in the order of their verbs.

    Args:
        document: The parsed caption.
        verbs: Verbs that are known and no nouns for what moves; see :func:`misread`.
    """
    for token in document:
        if (doer := misread(token, verbs)) is not None:
            yield ParsedClause(token, tuple(_resolved([doer])))
        elif not is_deed(token):
            continue
        elif token.dep_ == "amod":
            yield ParsedClause(token, (whole_of(token.head),))
        elif is_passive(token):
            yield ParsedClause(token, tuple(_agents(token)), tuple(_subjects(token)))
        else:
            yield ParsedClause(token, tuple(_subjects(token)))


def misread(token: Token, verbs: Collection[str]) -> Token | None:
    """Return the subject of a verb tagged as a plural noun ("smoke curls out of the chimney"); else None.

    Small models read a noun and a rare verb as a compound. It is a verb if that is how it is known, nothing in its
    sentence is a finite verb, and the noun before it has no plural.
    """
    if token.tag_ != "NNS" or token.dep_ != "ROOT" or lemma_of(token) not in verbs or token.i == 0:
        return None
    before = token.nbor(-1)
    compound = before.dep_ == "compound" and before.head.i == token.i and before.tag_ in ("NN", "NNP")
    return before if compound and not any(other.tag_ in ("VBZ", "VBP", "VBD") for other in token.sent) else None


def subjects(document: Token, verbs: Collection[str] = ()) -> list[Token]:
    """Return the heads of the grammatical subjects of a parsed caption, each once, in order.

    Of a caption without verb, or one that only shows or asks for something, it is the noun phrases themselves.
    """
    parts = clauses(document, verbs)
    by_index = {head.i: head for clause in parts for head in (*clause.doers, *clause.patients)}
    for token in document:
        heads: list[Token] = []
        if token.dep_ in ("nsubj", "nsubjpass"):
            heads = [token] if token.dep_ == "nsubj" or token.head.pos_ != "X" else []
            shows = lemma_of(token) in words.NOT_SUBJECTS or token.pos_ == "PRON"
            if shows and token.head.lemma_ in words.REQUESTS | {"show", "feature", "depict", "capture"}:
                heads = [child for child in token.head.children if child.dep_ in ("dobj", "obj")]
            elif token.pos_ == "PRON":
                heads = [child for child in token.head.children if child.dep_ == "attr"]
        elif token.dep_ == "attr" and any(child.dep_ == "expl" for child in token.head.children):
            heads = [token]
        elif token.dep_ == "ROOT" and token.pos_ in _NOUNS:
            heads = [] if misread(token, verbs) is not None or has_subject(token) else [token]
        elif token.dep_ == "ROOT" and token.pos_ == "VERB" and lemma_of(token) in words.REQUESTS:
            heads = [child for child in token.children if child.dep_ in ("dobj", "obj")]
        for head in _with_conjuncts(heads):
            head = whole_of(without_quantity(head))
            by_index[head.i] = head
    return [by_index[index] for index in sorted(by_index) if names_something(by_index[index])]


def names_something(head: Token) -> bool:
    """Return True if a head is a noun for something that could move."""
    lemma = lemma_of(head)
    if lemma in words.PEOPLE_PRONOUNS:
        return True
    if head.pos_ not in _NOUNS or lemma in words.NOT_SUBJECTS or head.like_num:
        return False
    if any(child.dep_ == "compound" and child.lower_ in words.CAMERA_WORDS for child in head.children):
        return False
    return lemma.replace("-", "").isalpha() and len(lemma) > 1


def is_deed(token: Token) -> bool:
    """Return True if a token is an action verb in a position where it predicates a subject."""
    lemma = lemma_of(token)
    if lemma in words.STATIVE or not (token.is_alpha or "-" in token.text):
        return False
    if token.dep_ in ("amod", "compound"):
        moving = token.tag_ == "VBG" and token.dep_ == "amod" and token.lower_ not in words.ADJECTIVES_IN_ING
        return bool(moving and token.head.pos_ in _NOUNS and (token.i == 0 or token.nbor(-1).text != "-"))
    if token.pos_ != "VERB" and not has_subject(token):
        return False
    if lemma in words.PHASES and any(child.dep_ == "xcomp" and child.pos_ == "VERB" for child in token.children):
        return False
    if lemma in words.REQUESTS and token.dep_ == "ROOT" and not any(c.dep_ in _SUBJECTS for c in token.children):
        return False
    return token.dep_ not in ("aux", "auxpass", "prep", "case")


def has_subject(token: Token) -> bool:
    """Return True if a noun has a subject, as only a verb can: "an owl flies", tagged as a plural noun."""
    return token.tag_ == "NNS" and token.dep_ == "ROOT" and any(child.dep_ == "nsubj" for child in token.children)


def is_passive(verb: Token) -> bool:
    """Return True if a verb's patient is its subject or stands before its participle ("leaves blown by wind")."""
    if any(child.dep_ in ("nsubjpass", "auxpass") for child in verb.children):
        return True
    if verb.dep_ == "conj" and verb.tag_ == "VBN" and not any(child.dep_ == "nsubj" for child in verb.children):
        return is_passive(verb.head)
    perfect = any(child.dep_ == "aux" and lemma_of(child) == "have" for child in verb.children)
    return bool(verb.tag_ == "VBN" and verb.dep_ in ("acl", "advcl", "ROOT", "relcl") and not perfect)


def _agents(verb: Token) -> Iterator[Token]:
    for child in verb.children:
        if child.dep_ == "agent" or (child.dep_ == "prep" and child.lower_ == "by"):
            yield from _resolved(_with_conjuncts([inner for inner in child.children if inner.dep_ == "pobj"]))


def _subjects(verb: Token) -> list[Token]:
    """Return the heads of a verb's subjects: its own, the noun it modifies, or those of its governing verb."""
    own = [child for child in verb.children if child.dep_ in ("nsubj", "nsubjpass") and child.i != verb.i]
    if verb.dep_ == "relcl" and all(child.pos_ == "PRON" and child.tag_ in ("WDT", "WP") for child in own):
        return _resolved([verb.head])
    if own:
        return _resolved(_with_conjuncts(own))
    existing = [child for child in verb.children if child.dep_ == "attr"]
    if existing and any(child.dep_ == "expl" for child in verb.children):
        return _resolved(_with_conjuncts(existing))
    governor = verb.head
    if verb.dep_ == "acl" and governor.pos_ in ("NOUN", "PROPN", "PRON", "NUM"):
        return _resolved(_joined_before(governor))
    if verb.dep_ in _FOLLOWING and governor.i != verb.i:
        if governor.pos_ in ("VERB", "AUX"):
            objects = [child for child in governor.children if child.dep_ == "dobj" and child.i < verb.i]
            if (objects and verb.dep_ in ("xcomp", "ccomp")) or (objects and lemma_of(governor) in words.REQUESTS):
                return _resolved(objects)
            return _subjects(governor)
        if governor.pos_ in _NOUNS:
            return _resolved(_joined_before(governor))
    if verb.dep_ == "pcomp" and (inner := [child for child in governor.children if child.dep_ == "pobj"]):
        return _resolved(inner)
    if verb.dep_ == "pcomp" and governor.head.pos_ in ("VERB", "AUX"):
        return _subjects(governor.head)
    return []


def _joined_before(head: Token) -> list[Token]:
    """Return a noun and those conjoined before it: in "a boy and a girl dancing" both dance."""
    joined = [head]
    while head.dep_ == "conj" and head.head.pos_ in _NOUNS and head.i - head.head.i <= _NEAR:
        joined.insert(0, head := head.head)
    return joined


_NEAR = 5
"""Most words between two conjoined nouns that share a participle."""


def _with_conjuncts(heads: list[Token]) -> list[Token]:
    return [*heads, *(other for head in heads for other in following_conjuncts(head))]


def following_conjuncts(head: Token) -> Iterator[Token]:
    """Return the nouns conjoined after a noun."""
    return (other for other in head.conjuncts if other.i > head.i and other.pos_ in _NOUNS)


def _resolved(heads: list[Token]) -> list[Token]:
    """Resolve heads to nouns: quantities to their noun, members to collectives, pronouns to antecedents."""
    nouns: dict[int, Token] = {}
    for head in heads:
        noun = head
        if head.pos_ == "PRON" and head.lower_ in words.PRONOUNS:  # the last subject before it
            before = reversed(head.doc[: head.i])
            noun = next((token for token in before if token.pos_ in _NOUNS and token.dep_ in _ANTECEDENTS), None)
        if noun is None:
            continue
        noun = whole_of(without_quantity(noun))
        if lemma_of(noun) in words.FRAMES and (inner := of_what(noun)) is not None:
            noun = inner
        if names_something(noun):
            nouns[noun.i] = noun
    return list(nouns.values())
