"""From what captions tell to tables: counted while they are read, joined with what is known when all are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from vmmetrics.mmpg.extract.lexicon import Known, Lexicon
from vmmetrics.mmpg.extract.nouns import singular
from vmmetrics.mmpg.extract.parsing import Deed, Found
from vmmetrics.mmpg.extract.place_lists import PlaceCategory
from vmmetrics.mmpg.extract.tally import Entry, Tally
from vmmetrics.mmpg.inflection import article
from vmmetrics.mmpg.inflection import plural as regular_plural
from vmmetrics.mmpg.metadata import Action, Place, Subject

MOST_MODIFIERS = 12
"""Modifiers, members and classes written of one thing, the most frequent."""
MOST_INFERRED = 5000
"""Nouns judged by their neighbours, the most frequent; at about 13 ms each this takes a minute."""
LEAST_CLASS = 0.1
"""Share of an action's known doers that a class must have to be written as one that can do it; what is rarer is more
often a mistake of the parser."""
_ARTICLES = frozenset(("a", "an", "the", "its", "their"))


class Tables:
    """Counts what captions tell of.

    Args:
        examples: Captions kept of each thing.

    Attributes:
        captions: How many told something or nothing, so far.
        subjects: By noun.
        actions: By verb and complement.
        places: By name.
    """

    def __init__(self, examples: int) -> None:
        self.captions = 0
        self.subjects = Tally(examples)
        self.actions = Tally(examples)
        self.places = Tally(examples)

    def add(self, found: Found) -> None:
        """Count what one caption tells of: each thing once, however often it is named there."""
        self.captions += 1
        for key, phrase in {_squashed(item.noun): item for item in found.subjects}.items():
            plural = (phrase.plural,) if phrase.plural else ()
            members = (phrase.members,) if phrase.members else ()
            self.subjects.add(key, phrase.noun, found.text, phrase.modifiers, members, plural)
        for key, deed in {_action_key(item): item for item in found.deeds}.items():
            doers = [doer.noun if not doer.members else f"{doer.noun}|{doer.members}" for doer in deed.doers]
            objects = (deed.thing.noun,) if deed.thing is not None else ()
            self.actions.add(key, deed.complement, found.text, deed.modifiers, doers, objects)
        for key, spot in {_squashed(item.name): item for item in found.spots}.items():
            self.places.add(key, spot.name, found.text, spot.modifiers, (spot.phrase,))


def subjects_of(tally: Tally, known: Lexicon, min_count: int) -> tuple[tuple[Subject, ...], Mapping[str, Known]]:
    """The subjects, the most frequent first, and what is known of every noun among them."""
    entries = [entry for _, entry in tally.items() if entry.count >= min_count]
    nouns = [_likeliest(entry.forms) for entry in entries]
    facts = [known.look_up(noun, _top(entry.links)) for noun, entry in zip(nouns, entries, strict=True)]
    unknown = [place for place, fact in enumerate(facts) if not fact.source][:MOST_INFERRED]
    for place, fact in zip(unknown, known.infer([nouns[place] for place in unknown]), strict=True):
        facts[place] = fact
    subjects = tuple(
        Subject(
            noun=noun,
            subject_class=fact.subject_class,
            modifiers=_top(entry.modifiers),
            plural=fact.plural or _irregular(noun, entry),
            attributes=fact.attributes,
            lacks=fact.lacks,
            patterns=fact.patterns,
            count=entry.count,
            examples=tuple(entry.examples),
            members=_top(entry.links),
            source=fact.source,
        )
        for noun, entry, fact in zip(nouns, entries, facts, strict=True)
    )
    return subjects, dict(zip(nouns, facts, strict=True))


def actions_of(tally: Tally, known: Lexicon, nouns: Mapping[str, Known], min_count: int) -> tuple[Action, ...]:
    """The actions, the most frequent first.

    Args:
        tally: What was counted.
        known: What is known of classes and verbs.
        nouns: What is known of the subjects.
        min_count: As in the settings of the extraction.
    """
    return tuple(_action(key, entry, known, nouns) for key, entry in tally.items() if entry.count >= min_count)


def places_of(tally: Tally, categories: Sequence[PlaceCategory], known: Lexicon, min_count: int) -> tuple[Place, ...]:
    """The places of captions, the most frequent first, then those of lists that no caption named."""
    found = {key: entry for key, entry in tally.items() if entry.count >= min_count}
    listed = {_squashed(item.name): item for item in categories}
    places = []
    for key, entry in found.items():
        name = _likeliest(entry.forms)
        like, source = known.place(name)
        setting = listed[key].setting if key in listed and listed[key].setting != "either" else like.setting
        place = Place(
            name, _likeliest(entry.links), setting, like.affords, _top(entry.modifiers), entry.count,
            tuple(entry.examples), source,
        )  # fmt: skip
        places.append(place)
    for key, item in listed.items():
        if key not in found:
            like, source = known.place(item.name)
            setting = item.setting if item.setting != "either" else like.setting
            phrase = f"{known.preposition(item.name)} {article(item.name)} {item.name}"
            places.append(Place(item.name, like.phrase or phrase, setting, like.affords, source=source))
    return tuple(places)


def _action(key: str, entry: Entry, known: Lexicon, nouns: Mapping[str, Known]) -> Action:
    """Classes, pattern and interaction by those of the doers, each with the weight of its count."""
    lemma = key.split(" ", 1)[0]
    classes: Counter[str] = Counter()
    patterns: Counter[tuple[str, str]] = Counter()
    thing = _thing(entry, known, nouns)
    for doer, number in entry.links.items():
        noun, _, member = doer.partition("|")
        fact = known.look_up(noun, (member,)) if member else nouns.get(noun) or known.look_up(noun)
        if fact.subject_class:
            classes[fact.subject_class] += number
        patterns[known.pattern(fact, thing)] += number
    if not entry.links and thing is not None:  # of "milk is poured" the milk is what moves
        patterns[known.pattern(thing)[0], "object"] += 1
    told = Counter({found: number for found, number in patterns.items() if found[0]})
    pattern, source = told.most_common(1)[0][0] if told else ("", "")
    enough = [name for name, number in classes.most_common() if number >= LEAST_CLASS * classes.total()]
    return Action(
        lemma=lemma,
        complement=_likeliest(entry.forms),
        pattern=pattern,
        classes=tuple(enough[:MOST_MODIFIERS]),
        interaction=_interaction(thing, known),
        modifiers=_top(entry.modifiers),
        count=entry.count,
        examples=tuple(entry.examples),
        source=source,
    )


def _thing(entry: Entry, known: Lexicon, nouns: Mapping[str, Known]) -> Known | None:
    """What is known of the noun that an action is mostly done to; None where it is done to nothing."""
    if not entry.others:
        return None
    noun = _likeliest(entry.others)
    return nouns.get(noun) or known.look_up(noun)


def _interaction(thing: Known | None, known: Lexicon) -> str:
    if thing is None:
        return "none"
    return "subjects" if "animate" in known.attributes_of(thing) else "object"


def _action_key(deed: Deed) -> str:
    """What makes two actions the same: verb and complement without articles and number."""
    words = [
        singular(word) if word.endswith("s") else word for word in deed.complement.split() if word not in _ARTICLES
    ]
    return " ".join([deed.lemma, *words])


def _squashed(name: str) -> str:
    """What makes two names the same: "fire truck", "fire-truck" and "firetruck"."""
    return name.replace(" ", "").replace("-", "")


def _likeliest(forms: Counter[str]) -> str:
    """The most frequent form; of equally frequent ones the shortest, so that the order of captions does not matter."""
    return min(forms, key=lambda form: (-forms[form], len(form), form)) if forms else ""


def _top(words: Counter[str]) -> tuple[str, ...]:
    ranked = sorted(words, key=lambda word: (-words[word], word))
    return tuple(ranked[:MOST_MODIFIERS])


def _irregular(noun: str, entry: Entry) -> str:
    """The plural that was seen, where it is not the regular one."""
    seen = _likeliest(entry.others)
    return seen if seen and seen != regular_plural(noun) else ""
