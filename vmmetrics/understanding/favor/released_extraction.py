"""FAVOR-Bench's first step as released: a description to its structure, by its word lists and patterns.

Equal to the released code where that is the same in every run (:class:`ReleasedMentions` says where it is not), without
NLTK's tagger, which it asks in a late fallback only. Our own first step is :mod:`.extraction`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from vmmetrics.errors import SetupError
from vmmetrics.understanding.benchmarks.favor.dictionaries import Dictionaries
from vmmetrics.understanding.favor import released_patterns as patterns
from vmmetrics.understanding.favor.released_mentions import Mention, ReleasedMentions
from vmmetrics.understanding.favor.released_verbs import ReleasedVerbs

_NEEDED: Final = ("ANIMATE_NOUNS", "COMMON_VERBS", "PHRASAL_VERBS", "CAMERA_TERMS", "DESCRIPTIVE_ADJECTIVES",
                  "COLOR_TERMS", "CLOTHING_TERMS")  # fmt: skip
_NEEDED_FORMS: Final = ("SUBJECT_SYNONYMS", "PLURAL_FORMS", "IRREGULAR_VERB_FORMS")
_PARTS: Final = re.compile(r"\s+and\s+|\s*,\s*|\s*;\s*")
_LOOSE_PARTS: Final = re.compile(r",\s+|\s+and\s+|\s+then\s+|;\s+")
_FALLBACK_PARTS: Final = re.compile(r",\s+|\s+and\s+|\s+then\s+|\.\s+|;\s+")
_LINKS: Final = ("while", "as", "when", "and", "but", "or", "after", "before", "since", "because")
_TOO_GENERAL: Final = ("characters", "individuals", "subjects")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")
_PRONOUN: Final = re.compile(" (?:he|she|they|it|him|her|them) ")
_KEY: Final = 50
"""Characters of a text by which the released code keeps what it found about it: alike beginnings share an answer."""


class ReleasedExtraction:
    """The released first step.

    Args:
        lists: The released word lists.

    Attributes:
        listed: Verbs that the second step counts as actions.

    Raises:
        SetupError: One of the lists is missing.
    """

    def __init__(self, lists: Dictionaries) -> None:
        missing = [n for n in _NEEDED if n not in lists.words] + [n for n in _NEEDED_FORMS if n not in lists.forms]
        if missing:
            raise SetupError(f"The word lists of FAVOR-Bench have no {', '.join(missing)}")
        words = lists.words
        self.verbs = ReleasedVerbs(words["COMMON_VERBS"], words["PHRASAL_VERBS"], lists.forms["IRREGULAR_VERB_FORMS"])
        self.mentions = ReleasedMentions(lists, self.verbs)
        self.listed = frozenset((*words["COMMON_VERBS"], *words["PHRASAL_VERBS"]))
        self.camera_terms = frozenset(words["CAMERA_TERMS"])
        self.adjectives = frozenset(words["DESCRIPTIVE_ADJECTIVES"])

    def extract(self, text: str) -> dict[str, str]:
        """The released output: ``camera_motion, num_subjects, motion_list, chronological_motion_list``."""
        return _Caption(self, text).output()


class _Caption:
    """One description being read."""

    def __init__(self, step: ReleasedExtraction, text: str) -> None:
        self._step, self._verbs = step, step.verbs
        self._sentences = [sentence for sentence in _SENTENCE.split(text.strip()) if sentence]
        self._clear: dict[str, bool] = {}
        self._pronoun: dict[str, bool] = {}
        self._taken: dict[str, list[str]] = {}
        self._whose: dict[tuple[int, int], int | None] = {}
        self._subjects: dict[int, tuple[str, list[Mention]]] = {}
        self._actions: dict[int, list[str]] = {}
        self._order: list[tuple[str, int]] = []
        self._motions: list[str] = []
        self._filmed: list[str] = []

    def output(self) -> dict[str, str]:
        for sentence in self._sentences:
            self._film(sentence)
        cleaned = [self._without_camera(sentence) for sentence in self._sentences]
        mentions = self._mentioned(cleaned)
        self._act(cleaned, mentions)
        if not self._subjects:
            found = self._step.mentions.generic(self._sentences, [text for text in cleaned if text.strip()])
            self._subjects = {number: (noun, [mention]) for number, (noun, mention) in enumerate(found, 1)}
            self._act(cleaned, [mention for _, mention in found])
        count = len(self._subjects)
        lists = [
            f"Subject {number}: {noun.capitalize()} [{', '.join(self._actions[number])}]"
            for number, (noun, _) in self._subjects.items()
        ]
        return {
            "camera_motion": ", ".join(self._motions),
            "num_subjects": "Single subject" if count == 1 else f"Multiple subjects ({count})",
            "motion_list": "\n".join(lists),
            "chronological_motion_list": ", ".join(f"{action} (Subject {number})" for action, number in self._order),
        }

    def _film(self, sentence: str) -> None:
        """Camera motions of a sentence, in the order of the patterns."""
        if not any(term in sentence.lower() for term in self._step.camera_terms):
            return
        spans: list[tuple[int, int]] = []
        found: list[str] = []
        for pattern in patterns.CAMERA:
            for match in pattern.finditer(sentence):
                if any(start <= match.start() < end for start, end in spans):
                    continue
                end = _camera_end(sentence, match.end())
                spans.append((match.start(), end))
                said = sentence[match.start() : end].strip()
                motion = _as_camera(said)
                if motion not in found:
                    found.append(motion)
                    self._filmed.append(said)
        self._motions += found

    def _without_camera(self, text: str) -> str:
        if not self._filmed:
            return text
        for said in self._filmed:
            text = text.replace(said, "").strip()
        text = re.sub(r"\s+", " ", text).strip()
        text = re.sub(r"^(?:as|while|when|and|then)\s+", "", text).strip()
        return re.sub(r"^\s*[,;:]\s*", "", text).strip()

    def _mentioned(self, cleaned: Sequence[str]) -> list[Mention]:
        """All mentions, of the sentences as they are and without the camera; subjects are made of them."""
        found: list[Mention] = []
        for number, (sentence, rest) in enumerate(zip(self._sentences, cleaned, strict=True)):
            for text in dict.fromkeys((sentence, rest)):
                if text.strip() and not self._is_scene(text):
                    for mention in self._step.mentions.find(text, number):
                        if all((m.start, m.sentence) != (mention.start, number) for m in found):
                            found.append(mention)
        groups = self._step.mentions.groups(found)
        for number, group in enumerate(groups, 1):
            if group[0].noun.lower() not in _TOO_GENERAL or len(groups) == 1:
                self._subjects[number] = (group[0].noun, group)
        return found

    def _act(self, cleaned: Sequence[str], mentions: Sequence[Mention]) -> None:
        """Actions of all subjects, sentence by sentence; what nobody is named for goes to who acted last."""
        self._actions = {number: [] for number in self._subjects}
        by_sentence: dict[int, list[Mention]] = defaultdict(list)
        for mention in mentions:
            by_sentence[mention.sentence].append(mention)
        current: int | None = None
        for number, sentence in enumerate(cleaned):
            if not sentence.strip() or self._is_scene(sentence):
                continue
            named = sorted(by_sentence[number], key=lambda mention: mention.start)
            for mention in named:
                subject = self._subject_of(mention)
                if subject is not None:
                    current = subject
                    actions = self._of_mention(sentence, mention, named)
                    self._add(subject, [*actions, *self._states(sentence, mention, actions)])
                    self._add_clauses(subject, sentence)
            if not named and current is not None:
                self._add(current, self._of_nobody(sentence))

    def _of_nobody(self, sentence: str) -> list[str]:
        if " as " in sentence:
            clause = sentence.split(" as ", 1)[1]
            return self._of_as_clause(clause) if self._is_clear(clause) else []
        if self._has_pronoun(sentence):
            return self._of_pronoun(sentence)
        if self._is_clear(sentence):
            parts = (part.strip() for part in _LOOSE_PARTS.split(sentence))
            lead = r"^\s*(?:also|then|finally|next|afterwards|subsequently)\s+"
            return [re.sub(lead, "", part).strip() for part in parts if part and self._verbs.there(part)]
        return []

    def _add(self, subject: int, actions: Iterable[str]) -> None:
        """Add what is an action, cleaned; the same one again is not added."""
        for action in actions:
            if action.strip() and not self._describes(action) and not _is_compound(action):
                cleaned = _cleaned(action)
                if cleaned and cleaned not in self._actions[subject]:
                    self._actions[subject].append(cleaned)
                    self._order.append((cleaned, subject))

    def _subject_of(self, mention: Mention) -> int | None:
        key = (mention.sentence, mention.start)
        if key not in self._whose:
            owners = (n for n, (_, group) in self._subjects.items() if any((m.sentence, m.start) == key for m in group))
            self._whose[key] = next(owners, None)
        return self._whose[key]

    def _of_mention(self, sentence: str, mention: Mention, named: Sequence[Mention]) -> list[str]:
        """What stands between a mention and the next; places are those in the sentence the mention was found in."""
        end = min((other.start for other in named if mention.end < other.start < len(sentence)), default=len(sentence))
        text = sentence[mention.end : end].strip()
        text = re.sub(r"^(?:and|then|also)\s+", "", text[1:].strip() if text.startswith((",", ".")) else text)
        if not text:
            return []
        before, link, after = text.partition(" while ")
        if link and patterns.SOMEBODY.search(after):
            text = before.strip()
        main, link, clause = text.partition(" as ")
        clause = clause.strip()
        extra = self._of_clause(clause) if link and clause.startswith(("he ", "she ", "they ")) else []
        actions = [*self._parts(main.strip() if link else text), *extra]
        for said in _stated(text):
            if said not in actions:
                actions.append(said)
        return self._searched(text) if not actions and self._verbs.there(text) else actions

    def _parts(self, text: str) -> list[str]:
        parts = (part.strip() for part in _PARTS.split(text))
        return [part for part in parts if part and self._verbs.there(part)]

    def _states(self, sentence: str, mention: Mention, known: Sequence[str]) -> list[str]:
        if len(sentence) < 10:
            return []
        text = sentence[mention.end :] if mention.end < len(sentence) else sentence
        return [said for said in dict.fromkeys(_stated(text)) if said and said not in known]

    def _of_clause(self, clause: str) -> list[str]:
        pronoun = re.match(r"(?:he|she|they|it)\s+", clause, re.IGNORECASE)
        if pronoun and clause.lower().startswith(("he ", "she ", "they ", "it ")):
            text = clause[pronoun.end() :].strip()
            if self._verbs.there(text):
                return self._searched(text)
        for word, pattern in patterns.INDICATORS:
            match = pattern.search(clause) if word in clause.lower() else None
            if match:
                return [match[0]]
        words = clause.split()
        at = next((place for place, word in enumerate(words) if self._verbs.could_be(word)), None)
        return [] if at is None else [" ".join(words[at : at + 6])]

    def _searched(self, text: str) -> list[str]:
        """Actions by fixed patterns, else by parts."""
        key = text[:_KEY]
        if key not in self._taken:
            self._taken[key] = self._search(text.strip())
        return list(self._taken[key])

    def _search(self, text: str) -> list[str]:
        for pattern in patterns.ACTIONS:
            match = pattern.search(text)
            if match:
                return [match[0]]
        cleaned = (_cleaned(part.strip()) for part in _FALLBACK_PARTS.split(text) if part.strip())
        return [
            action
            for action in cleaned
            if action and not _is_compound(action) and self._verbs.there(action) and not self._describes(action)
        ]

    def _of_pronoun(self, text: str) -> list[str]:
        pronoun = re.search(r"\b(?:he|she|they|it|him|her|them)\b", text.lower())
        rest = text[pronoun.end() :].strip() if pronoun else ""
        rest = rest[1:].strip() if rest.startswith((",", ".")) else rest
        for link in (" as ", " while "):
            main, found, clause = rest.partition(link)
            if found:
                return [*self._searched(main), *self._of_clause(clause.strip())]
        actions = self._parts(rest)
        for pattern in patterns.PRONOUN_STATES:
            actions += [match[0] for match in pattern.finditer(rest) if match[0] not in actions]
        return actions

    def _of_as_clause(self, clause: str) -> list[str]:
        somebody = re.search(r"^\s*(?:an?|the)\s+(?:[a-z\s]*(?:man|woman|person|boy|girl))\b", clause, re.IGNORECASE)
        somebody = somebody or re.search(r"^\s*(?:he|she|they|it)\b", clause, re.IGNORECASE)
        return self._parts(clause[somebody.end() :].strip() if somebody else clause)

    def _add_clauses(self, subject: int, sentence: str) -> None:
        """What stands after as, while and when, and what somebody makes sure of."""
        for link in (" as ", " while ", " when "):
            _, found, clause = sentence.partition(link)
            clause = clause.strip()
            if found:
                if clause.lower().startswith(("he ", "she ", "they ")):
                    self._add(subject, self._of_clause(clause))
                match = patterns.ADVERB_ING.search(clause)
                self._add(subject, [match[1]] if match else [])
        for pattern in patterns.ASSURING:
            self._add(subject, [match[0] for match in pattern.finditer(sentence)])

    def _describes(self, text: str) -> bool:
        if any(pattern.search(text) for pattern in patterns.DESCRIPTIVE):
            return True
        match = patterns.IS.search(text.lower())
        return match is not None and match[1] in self._step.adjectives

    def _is_scene(self, text: str) -> bool:
        return any(pattern.search(text) for pattern in patterns.SCENE) and not self._is_clear(text)

    def _is_clear(self, text: str) -> bool:
        return _kept(self._clear, text, _has_clear_action)

    def _has_pronoun(self, text: str) -> bool:
        return _kept(self._pronoun, text, lambda whole: _PRONOUN.search(f" {whole.lower()} ") is not None)


def _kept(known: dict[str, bool], text: str, found: Callable[[str], bool]) -> bool:
    key = text[:_KEY]
    if key not in known:
        known[key] = found(text)
    return known[key]


def _has_clear_action(text: str) -> bool:
    lower = text.lower()
    padded = f" {lower} "
    for verb in patterns.CLEAR_VERBS:
        done = any(f" {verb}{ending} " in padded for ending in ("", "s", "ed", "ing"))
        if done and not re.search(rf"\b(?:the|a|an)\s+{verb}ing", lower):
            return True
    return False


def _stated(text: str) -> list[str]:
    return [said.format(*match.groups()) for pattern, said in patterns.STATES for match in pattern.finditer(text)]


def _camera_end(sentence: str, start: int) -> int:
    rest = sentence[start:]
    ends = [match.start() for pattern in patterns.CAMERA_ENDS if (match := pattern.search(rest))]
    mark = re.search(r"[.,:;]", rest)
    return start + min([*ends, len(rest), *([mark.start()] if mark else [])])


def _as_camera(said: str) -> str:
    lower = said.lower()
    if lower.startswith("the camera"):
        said = "Camera" + said[10:]
    elif lower.startswith("a camera"):
        said = "Camera" + said[8:]
    elif not lower.startswith("camera"):
        said = "Camera " + said
    said = said[0].upper() + said[1:]
    return said[:-1] if said[-1] in ".,:;!?" else said


def _is_compound(text: str) -> bool:
    """Whether a form in -ing is part of a noun."""
    lower = text.lower()
    if any(compound in lower for compound in patterns.COMPOUNDS):
        return True
    nominal = any(pattern.search(lower) for pattern in patterns.NOMINAL)
    return (nominal and not patterns.PROGRESSIVE.search(lower)) or patterns.PROCESSES.search(lower) is not None


def _cleaned(action: str) -> str:
    action = re.sub(r"[,;.]+$", "", action).strip()
    action = re.sub(r"\s+", " ", re.sub(r"[,;]", " ", action).strip()).strip()
    if not any(pattern.search(action) for pattern in patterns.PASSIVE):
        for link in _LINKS:
            before, found, _ = action.partition(f" {link} ")
            if found:
                action = before.strip()
                break
    action = re.sub(rf"\s+(?:{'|'.join(_LINKS)})$", "", action).strip()
    return re.sub(r"^(?:and|but|or|then|also|so)\s+", "", action).strip()
