"""Who does what in a parsed sentence: clauses, passive ones, participles, relative clauses, bare noun phrases."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from vmmetrics.mmpg.extract import words
from vmmetrics.mmpg.extract.nouns import Token, lemma_of, of_what, whole_of, without_quantity

_SUBJECTS = ("nsubj", "nsubjpass", "csubj")
_FOLLOWING = ("xcomp", "advcl", "conj", "dep", "ccomp", "acl")
"""How a verb without subject can hang on the one whose subject it shares."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb, who does it and to what.

    Attributes:
        verb: The verb.
        doers: Heads of what does it; empty where that is not said.
        patients: Heads of what it is done to, where the verb is passive.
    """

    verb: Token
    doers: tuple[Token, ...]
    patients: tuple[Token, ...] = ()


def clauses(document: Token, verbs: Collection[str] = ()) -> Iterator[Clause]:
    """Clauses of a parsed caption that tell of something done, in the order of their verbs.

    Args:
        document: The parsed caption.
        verbs: Verbs that are known and no nouns for what moves; see :func:`misread`.
    """
    for token in document:
        if (doer := misread(token, verbs)) is not None:
            yield Clause(token, tuple(_resolved([doer])))
            continue
        if not is_deed(token):
            continue
        if token.dep_ == "amod" or token.dep_ == "compound":
            yield Clause(token, (whole_of(token.head),))
            continue
        if is_passive(token):
            yield Clause(token, tuple(_agents(token)), tuple(_subjects(token)))
        else:
            yield Clause(token, tuple(_subjects(token)))


def misread(token: Token, verbs: Collection[str]) -> Token | None:
    """The doer, where what was read as a plural noun is a verb: "smoke curls out of the chimney"; else None.

    Small models read a noun and a rare verb as a compound. It is a verb if that is how it is known, nothing in its
    sentence is a finite verb, and the noun before it has no plural.
    """
    if token.tag_ != "NNS" or token.dep_ != "ROOT" or lemma_of(token) not in verbs or token.i == 0:
        return None
    before = token.nbor(-1)
    if before.dep_ != "compound" or before.head.i != token.i or before.tag_ not in ("NN", "NNP"):
        return None
    if any(other.tag_ in ("VBZ", "VBP", "VBD") for other in token.sent):
        return None
    return before


def subjects(document: Token, verbs: Collection[str] = ()) -> list[Token]:
    """Heads of the grammatical subjects of a parsed caption, each once, in order.

    Of a caption without verb, or one that only shows or asks for something, it is the noun phrases themselves.
    """
    found: dict[int, Token] = {}
    for clause in clauses(document, verbs):
        for head in (*clause.doers, *clause.patients):
            found[head.i] = head
    for token in document:
        heads: list[Token] = []
        if token.dep_ in ("nsubj", "nsubjpass"):
            heads = [token] if token.dep_ == "nsubj" or token.head.pos_ != "X" else []
            if token.head.lemma_ in words.REQUESTS | {"show", "feature", "depict", "capture"} and _shows(token):
                heads = [child for child in token.head.children if child.dep_ in ("dobj", "obj")]
            elif token.pos_ == "PRON":
                heads = [child for child in token.head.children if child.dep_ == "attr"]
        elif token.dep_ == "attr" and any(child.dep_ == "expl" for child in token.head.children):
            heads = [token]
        elif token.dep_ == "ROOT" and token.pos_ in ("NOUN", "PROPN"):
            heads = [] if misread(token, verbs) is not None or has_subject(token) else [token]
        elif token.dep_ == "ROOT" and token.pos_ == "VERB" and lemma_of(token) in words.REQUESTS:
            heads = [child for child in token.children if child.dep_ in ("dobj", "obj")]
        for head in _with_conjuncts(heads):
            head = whole_of(without_quantity(head))
            found[head.i] = head
    return [found[place] for place in sorted(found) if names_something(found[place])]


def names_something(head: Token) -> bool:
    """Whether a head is a noun for something that could move."""
    lemma = lemma_of(head)
    if lemma in words.PEOPLE_PRONOUNS:
        return True
    if head.pos_ not in ("NOUN", "PROPN") or lemma in words.NOT_SUBJECTS or head.like_num:
        return False
    if any(child.dep_ == "compound" and child.lower_ in words.CAMERA_WORDS for child in head.children):
        return False
    return lemma.replace("-", "").isalpha() and len(lemma) > 1


def is_deed(token: Token) -> bool:
    """Whether a token is a verb for something done, in a place where it says what a subject does."""
    lemma = lemma_of(token)
    if not token.is_alpha and "-" not in token.text:
        return False
    if token.dep_ in ("amod", "compound"):
        return bool(
            token.tag_ == "VBG"
            and token.dep_ == "amod"
            and token.lower_ not in words.ADJECTIVES_IN_ING
            and lemma not in words.STATIVE
            and token.head.pos_ in ("NOUN", "PROPN")
            and (token.i == 0 or token.nbor(-1).text != "-")
        )
    if (token.pos_ != "VERB" and not has_subject(token)) or lemma in words.STATIVE:
        return False
    if lemma in words.PHASES and any(child.dep_ == "xcomp" and child.pos_ == "VERB" for child in token.children):
        return False
    if lemma in words.REQUESTS and token.dep_ == "ROOT" and not any(c.dep_ in _SUBJECTS for c in token.children):
        return False
    return token.dep_ not in ("aux", "auxpass", "prep", "case")


def has_subject(token: Token) -> bool:
    """Whether a noun has a subject, which only a verb can have: "an owl flies", read as several flies."""
    return token.tag_ == "NNS" and token.dep_ == "ROOT" and any(child.dep_ == "nsubj" for child in token.children)


def is_passive(verb: Token) -> bool:
    """Whether what a verb is done to stands as its subject, or before its participle ("leaves blown by the wind")."""
    if any(child.dep_ in ("nsubjpass", "auxpass") for child in verb.children):
        return True
    if verb.dep_ == "conj" and verb.tag_ == "VBN" and not any(child.dep_ == "nsubj" for child in verb.children):
        return is_passive(verb.head)
    return bool(verb.tag_ == "VBN" and verb.dep_ in ("acl", "advcl", "ROOT", "relcl") and not _has_aux(verb))


def _has_aux(verb: Token) -> bool:
    return any(child.dep_ == "aux" and lemma_of(child) == "have" for child in verb.children)


def _shows(subject: Token) -> bool:
    return lemma_of(subject) in words.NOT_SUBJECTS or subject.pos_ == "PRON"


def _agents(verb: Token) -> Iterator[Token]:
    for child in verb.children:
        if child.dep_ == "agent" or (child.dep_ == "prep" and child.lower_ == "by"):
            yield from _resolved(_with_conjuncts([inner for inner in child.children if inner.dep_ == "pobj"]))


def _subjects(verb: Token) -> list[Token]:
    """Heads of the subjects of a verb: its own, the noun it describes, or those of the verb it hangs on."""
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
        if governor.pos_ in ("NOUN", "PROPN"):
            return _resolved(_joined_before(governor))
    if verb.dep_ == "pcomp" and (inner := [child for child in governor.children if child.dep_ == "pobj"]):
        return _resolved(inner)
    if verb.dep_ == "pcomp" and governor.head.pos_ in ("VERB", "AUX"):
        return _subjects(governor.head)
    return []


def _joined_before(head: Token) -> list[Token]:
    """A noun with those joined to it before: in "a boy and a girl dancing" both dance."""
    joined = [head]
    while head.dep_ == "conj" and head.head.pos_ in ("NOUN", "PROPN") and head.i - head.head.i <= _NEAR:
        head = head.head
        joined.insert(0, head)
    return joined


_NEAR = 5
"""Words between two joined nouns that can share a participle; further apart the first has words of its own."""


def _with_conjuncts(heads: list[Token]) -> list[Token]:
    found = list(heads)
    for head in heads:
        found += [other for other in head.conjuncts if other.i > head.i and other.pos_ in ("NOUN", "PROPN")]
    return found


def _resolved(heads: list[Token]) -> list[Token]:
    """Nouns for heads: past quantities, up to collectives, and pronouns by what they most likely stand for."""
    found: dict[int, Token] = {}
    for head in heads:
        noun = _antecedent(head) if head.pos_ == "PRON" and head.lower_ in words.PRONOUNS else head
        if noun is None:
            continue
        noun = whole_of(without_quantity(noun))
        if lemma_of(noun) in words.FRAMES and (inner := of_what(noun)) is not None:
            noun = inner
        if names_something(noun):
            found[noun.i] = noun
    return list(found.values())


def _antecedent(pronoun: Token) -> Token | None:
    """The subject that a pronoun takes up: the last one before it."""
    before = [
        token
        for token in pronoun.doc[: pronoun.i]
        if token.pos_ in ("NOUN", "PROPN") and token.dep_ in ("nsubj", "nsubjpass", "ROOT", "attr")
    ]
    return before[-1] if before else None
