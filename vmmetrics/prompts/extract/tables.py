"""Tables of metadata: counts of what captions contain, joined with the lexicon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vmmetrics.prompts.entry import Action, Place, SubjectEntry
from vmmetrics.prompts.extract.grammar import singular
from vmmetrics.prompts.extract.lexicon import Lexicon
from vmmetrics.prompts.extract.parsing import Deed, ParsedCaption
from vmmetrics.utils.text.inflection import article
from vmmetrics.utils.text.inflection import plural as regular_plural

# Counts of very many different things in memory that has a bound, and what was seen with each.

MOST_ENTRIES = 150_000
"""Entries counted at once, about 1.5 kB each, a quarter of a GiB. A corpus of a million captions has fewer distinct
nouns; of actions with their complements it may have more."""
MOST_WORDS = 64
"""Distinct forms, modifiers or links stored per entry."""
LONGEST_EXAMPLE = 200
"""Longest example caption, characters."""


Words = Iterable[str]


@dataclass(slots=True)
class TallyEntry:
    """Counts of one subject, action or place.

    Attributes:
        count: Times it was seen.
        forms: Spellings.
        modifiers: Its modifiers.
        links: Members of a collective, agents of an action.
        others: Objects of an action, plural forms of a noun.
        examples: The shortest captions it was seen in, distinct, the shortest first.
    """

    count: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    modifiers: Counter[str] = field(default_factory=Counter)
    links: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)


class BoundedTally:
    """Counts by key, in bounded memory.

    Where there are too many, the rarest are forgotten. A thing forgotten and seen again counts from 0, so a count may
    be too small by :attr:`short`, never too large: whatever is left out was seen that seldom between two clearings.

    Args:
        examples: Captions kept of each.
        most: Different things at once.

    Attributes:
        short: Upper bound of what a count may lack.
        forgotten: Times something was forgotten.
    """

    def __init__(self, examples: int, most: int = MOST_ENTRIES) -> None:
        self.short = 0
        self.forgotten = 0
        self._most = most
        self._examples = examples
        self._entries: dict[str, TallyEntry] = {}

    def items(self) -> Iterator[tuple[str, TallyEntry]]:
        """Return keys and entries, the most frequent first, ties by key."""
        yield from sorted(self._entries.items(), key=lambda item: (-item[1].count, item[0]))

    def add(
        self, key: str, form: str, example: str, modifiers: Words = (), links: Words = (), others: Words = ()
    ) -> None:
        """Count an occurrence in a caption, the example."""
        entry = self._entries.get(key)
        if entry is None:
            if len(self._entries) >= self._most:
                self._forget()
            entry = self._entries[key] = TallyEntry()
        entry.count += 1
        seen = ((entry.forms, (form,)), (entry.modifiers, modifiers), (entry.links, links), (entry.others, others))
        for counter, words in seen:
            counter.update(words)
            if len(counter) > 2 * MOST_WORDS:
                frequent = counter.most_common(MOST_WORDS)
                counter.clear()
                counter.update(dict(frequent))
        longest = len(entry.examples[-1]) - 1 if len(entry.examples) == self._examples > 0 else LONGEST_EXAMPLE
        if len(example) <= longest and example not in entry.examples:
            shortest_first = sorted([*entry.examples, example], key=lambda text: (len(text), text))
            entry.examples = shortest_first[: self._examples]

    def _forget(self) -> None:
        """Forget the rarest, at least a quarter of all."""
        counts = sorted(entry.count for entry in self._entries.values())
        limit = counts[len(counts) // 4]
        remaining = {key: entry for key, entry in self._entries.items() if entry.count > limit}
        self.forgotten += len(self._entries) - len(remaining)
        self.short += limit
        self._entries = remaining


MOST_MODIFIERS = 12
"""Most modifiers, members and classes written per entry, by frequency."""
MOST_INFERRED = 5000
"""Most nouns classified by their neighbours, by frequency; at about 13 ms each this takes a minute."""
LEAST_CLASS = 0.1
"""Least share of an action's known agents for a class to be listed; rarer ones are mostly parser errors."""
_ARTICLES = frozenset(("a", "an", "the", "its", "their"))


class Tables:
    """Counts of subjects, actions and places over captions.

    Args:
        examples: Captions kept of each thing.

    Attributes:
        captions: Captions counted so far, with and without content.
        subjects: By noun.
        actions: By verb and complement.
        places: By name.
    """

    def __init__(self, examples: int) -> None:
        self.captions = 0
        self.subjects, self.actions, self.places = (BoundedTally(examples) for _ in range(3))

    def add(self, caption: ParsedCaption) -> None:
        """Count the contents of a caption, each entry once."""
        self.captions += 1
        for key, phrase in {_squashed(item.noun): item for item in caption.subjects}.items():
            plural = (phrase.plural,) if phrase.plural else ()
            members = (phrase.members,) if phrase.members else ()
            self.subjects.add(key, phrase.noun, caption.text, phrase.modifiers, members, plural)
        for key, deed in {_action_key(item): item for item in caption.deeds}.items():
            doers = [doer.noun if not doer.members else f"{doer.noun}|{doer.members}" for doer in deed.doers]
            objects = (deed.thing.noun,) if deed.thing is not None else ()
            self.actions.add(key, deed.complement, caption.text, deed.modifiers, doers, objects)
        for key, spot in {_squashed(item.name): item for item in caption.spots}.items():
            self.places.add(key, spot.name, caption.text, spot.modifiers, (spot.phrase,))


def subjects_of(tally: BoundedTally, lexicon: Lexicon, min_count: int) -> tuple[SubjectEntry, ...]:
    """Return the subjects, the most frequent first, with their lexicon data."""
    entries = [entry for _, entry in tally.items() if entry.count >= min_count]
    nouns = [_likeliest(entry.forms) for entry in entries]
    facts = [lexicon.look_up(noun, _top(entry.links)) for noun, entry in zip(nouns, entries, strict=True)]
    unknown = [index for index, fact in enumerate(facts) if not fact.source][:MOST_INFERRED]
    for index, fact in zip(unknown, lexicon.infer([nouns[index] for index in unknown]), strict=True):
        facts[index] = fact
    return tuple(
        replace(
            fact,
            noun=noun,
            modifiers=_top(entry.modifiers),
            plural=fact.plural or ("" if (seen := _likeliest(entry.others)) == regular_plural(noun) else seen),
            count=entry.count,
            examples=tuple(entry.examples),
            members=_top(entry.links),
        )
        for noun, entry, fact in zip(nouns, entries, facts, strict=True)
    )


def actions_of(
    tally: BoundedTally, lexicon: Lexicon, subjects: Sequence[SubjectEntry], min_count: int
) -> tuple[Action, ...]:
    """Return the actions, the most frequent first.

    Args:
        tally: The counts.
        lexicon: Lexicon of classes and verbs.
        subjects: Entries of their agents.
        min_count: As in the settings of the extraction.
    """
    nouns = {subject.noun: subject for subject in subjects}
    return tuple(_action(key, entry, lexicon, nouns) for key, entry in tally.items() if entry.count >= min_count)


def places_of(tally: BoundedTally, categories: Sequence[Place], lexicon: Lexicon, min_count: int) -> tuple[Place, ...]:
    """Return the places of captions, the most frequent first, then listed places that no caption names."""
    frequent = {key: entry for key, entry in tally.items() if entry.count >= min_count}
    listed = {_squashed(item.name): item for item in categories}
    places = []
    for key in dict.fromkeys((*frequent, *listed)):
        entry, item = frequent.get(key, TallyEntry()), listed.get(key)
        name = _likeliest(entry.forms) if key in frequent else listed[key].name
        like, source = lexicon.place(name)
        setting = item.setting if item is not None and item.setting != "either" else like.setting
        phrase = _likeliest(entry.links)
        if key not in frequent:
            phrase = like.phrase or f"{lexicon.preposition(name)} {article(name)} {name}"
        modifiers, examples = _top(entry.modifiers), tuple(entry.examples)
        places.append(Place(name, phrase, setting, like.affords, modifiers, entry.count, examples, source))
    return tuple(places)


def _action(key: str, entry: TallyEntry, lexicon: Lexicon, nouns: Mapping[str, SubjectEntry]) -> Action:
    """Return an action with classes, pattern and interaction from its agents, weighted by count."""
    classes: Counter[str] = Counter()
    patterns: Counter[tuple[str, str]] = Counter()
    thing, interaction = None, "none"
    if done_to := _likeliest(entry.others):
        thing = nouns.get(done_to) or lexicon.look_up(done_to)
        interaction = "subjects" if "animate" in lexicon.attributes_of(thing) else "object"
    for doer, number in entry.links.items():
        noun, _, member = doer.partition("|")
        fact = lexicon.look_up(noun, (member,)) if member else nouns.get(noun) or lexicon.look_up(noun)
        if fact.subject_class:
            classes[fact.subject_class] += number
        patterns[lexicon.pattern(fact, thing)] += number
    if not entry.links and thing is not None:  # of "milk is poured" the milk is what moves
        patterns[lexicon.pattern(thing)[0], "object"] += 1
    decided = Counter({pair: number for pair, number in patterns.items() if pair[0]})
    pattern, source = decided.most_common(1)[0][0] if decided else ("", "")
    enough = [name for name, number in classes.most_common() if number >= LEAST_CLASS * classes.total()]
    return Action(
        lemma=key.split(" ", 1)[0],
        complement=_likeliest(entry.forms),
        pattern=pattern,
        classes=tuple(enough[:MOST_MODIFIERS]),
        interaction=interaction,
        modifiers=_top(entry.modifiers),
        count=entry.count,
        examples=tuple(entry.examples),
        source=source,
    )


def _action_key(deed: Deed) -> str:
    """Return the key of an action: verb and complement without articles and number."""
    words = (word for word in deed.complement.split() if word not in _ARTICLES)
    return " ".join([deed.lemma, *(singular(word) if word.endswith("s") else word for word in words)])


def _squashed(name: str) -> str:
    """Return the key of a name, equal for "fire truck", "fire-truck" and "firetruck"."""
    return name.replace(" ", "").replace("-", "")


def _likeliest(forms: Counter[str]) -> str:
    """Return the most frequent form, ties by length, independent of the captions' order."""
    return min(forms, key=lambda form: (-forms[form], len(form), form)) if forms else ""


def _top(words: Counter[str]) -> tuple[str, ...]:
    ranked = sorted(words, key=lambda word: (-words[word], word))
    return tuple(ranked[:MOST_MODIFIERS])
