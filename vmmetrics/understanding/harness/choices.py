"""Multiple-choice questions: parsing of the chosen option, and the base of such benchmarks.

One rule set for all, so that accuracies differ by what models see and not by how their words are read. Nothing is taken
for an answer that may not be one: two candidates, an article or an echo of the options leave the answer unread.
"""

# ruff: noqa: ARG002 - an interface

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any, Final

from vmmetrics.models.questions import LETTERS, Answered, Question, answer_text
from vmmetrics.understanding.harness.benchmark import Benchmark, Figure, Scored, Scoring
from vmmetrics.understanding.harness.statistics import accuracy_figures
from vmmetrics.utils.endpoint.messages import Turn

_ARTICLE: Final = r"(?!\s+(?!because\b|since\b|as\b|is\b|for\b|and\b|or\b)[a-z])"
"""After an A: ``A man walks`` begins with an article, ``A because he walks`` with an answer."""
_PRONOUN: Final = r"(?!['\u2019]|\s+(?!because\b|since\b|as\b|is\b|for\b)[a-z])"
"""After an I: ``I think``, ``I'm sure``."""
_LETTER: Final = rf"([B-HJ-Z]|A{_ARTICLE}|I{_PRONOUN})"
_CLAIM: Final = re.compile(
    r"(?:\b(?i:answer|choose|pick|select)|\b(?i:option|choice)(?=\s{0,9}(?i:is\b|would\b|should\b|[:=]))|</?answer>)"
    r"(?i:\s{1,9}(?:is|would\s{1,9}be|should\s{1,9}be))?[\s*_\"'>]{0,9}(?i:option\b\s{0,9})?[:=]?"
    rf"[\s*_(\[\"'{{]{{0,9}}{_LETTER}(?![\w'\u2019])"
)
"""``the answer is (B)``, ``The best option is C``, ``Answer: **D**``, ``{"answer": "B"}``, ``<answer>C``, ``I pick D``.
Repeats are bounded, so that no answer takes more than linear time."""
_VERDICT: Final = re.compile(
    rf"(?<![\w'\u2019])[(*_\[]{{0,9}}{_LETTER}[)*_\].:]{{0,9}}\s{{1,9}}(?i:is)\s{{1,9}}(?:the\s{{1,9}})?"
    r"(?i:correct|right|best|answer)\b"
)
"""``B is correct``, ``(C) is the right one``."""
_MENTION: Final = re.compile(r"\b(?i:option|choice)\s{1,9}[(*_\[\"']{0,9}([A-Z])(?![\w'\u2019])")
"""``Option A seems right``: an option that is mentioned."""
_BARE: Final = re.compile(
    r"^[\s*_(\[\"'`]*([A-Za-z])(?:[\s*_\"'`]*$|[*_\])\"'`]*[).:,;\]*]|\s*[-\u2013\u2014]\s|[\s*_\"'`]*\n)"
)
"""``B``, ``B.``, ``(B) ...``, ``**B**``, ``b)``, ``B - ...``."""
_FIRST: Final = re.compile(rf"^[\s*_(\[\"'`]*{_LETTER}(?=\s)")
"""``B because he falls``, ``C The ball``."""
_LINES: Final = re.compile(r"^[ \t*_(\[\"'`-]*([A-Z])[).:][*_)\]]*\s", re.MULTILINE)
_ALSO: Final = re.compile(
    rf"[*_)\]\"'`]{{0,9}}\s{{0,9}}(?:,|/|&|(?:,\s{{0,9}})?\b(?i:and|or)\b)\s{{0,9}}[(*\[]{{0,9}}(?:{_LETTER}|[b-z])(?![\w'\u2019])"
)
"""``, B`` or ``and (c)``: another letter after a letter; ``, a man`` is none."""
_SMALL: Final = re.compile(
    r"(?:\b(?i:answer|option|choice)|</?answer>)(?i:\s{1,9}is)?[\s*_\"'>]{0,9}[:=]?[\s*_(\[\"'{]{0,9}"
    r"([a-z])(?=[)*_\]\"'.,:;<}]|\s*$)"
)
"""``the answer is b``, ``Answer: d.``: lower-case letters need more context."""
_STANDING: Final = re.compile(rf"(?<![\w'\u2019]){_LETTER}(?![\w'\u2019])")
_LAST: Final = re.compile(r"(?<!\bnot\s)(?<!\bnor\s)(?<!n['\u2019]t\s)(?<![\w'\u2019])([A-Z])[)*_\]\"'`.!]{0,9}$")
_DENIED: Final = re.compile(
    r"[*_)\].:\"'`]{0,9}\s{1,9}(?:is|seems)\s{1,9}(?:not|incorrect|wrong|false|inaccurate|unlikely)\b"
    r"|[*_)\].:\"'`]{0,9}\s{1,9}(?:isn|can|doesn)['\u2019]?(?:t|not)\b",
    re.IGNORECASE,
)
"""``A is incorrect``, ``B isn't it``: a negation after a letter."""
_BRACKETED: Final = re.compile(r"\(([A-Z])\)|\*\*([A-Z])\*\*|\\boxed\{(?:\\text\{)?([A-Z])\}")
_THOUGHT: Final = re.compile(r"<think>.*?(?:</think>|$)|^.*</think>", re.DOTALL | re.IGNORECASE)
"""A thought between its tags; up to a closing tag whose opening one was in the prompt; after an opening tag whose
closing one was cut off."""
_ASIDE: Final = re.compile(r"<\|\w{1,40}\|>|n['\u2019]t\s{1,9}(?:think|believe)\b[^.,;:\n]{0,60}")
"""A model's own tags, such as ``<|begin_of_box|>`` of GLM; and ``I don't think the answer is B``."""

_END: Final = 20  # characters: a letter with what is around it


def chosen_option(output: str, options: Sequence[str]) -> int | None:
    """Return the index of the option that an answer chooses; None for none or several.

    Rules in order: the whole answer is an option's text; a letter at its start; the last letter it states as the
    answer; the only option it mentions by letter; the only letter in brackets; the only option's text in it, options
    within a longer option that also occurs not counted; a letter at its end, if it has no other. Only letters of
    existing options count.

    Args:
        output: The model's answer.
        options: Texts of the options as they were shown, without letters.

    >>> chosen_option("(B), because it falls", ["rises", "falls"]), chosen_option("A man falls", ["rises", "falls"])
    (1, 1)
    """
    spoken_text = _ASIDE.sub(" ", _THOUGHT.sub(" ", output)).strip()
    plain = _plain(spoken_text)
    texts = [_plain(option) for option in options]
    letters = LETTERS[: len(options)]
    if plain and texts.count(plain) == 1 and plain.upper() not in letters:  # "A" is a letter, whatever options say
        return texts.index(plain)
    # an answer that lists the options, A and B and so on, each in a line, chooses none by its first letter
    listed = _LINES.findall(spoken_text)[:2] == ["A", "B"] or plain.startswith(
        _plain(" ".join(("A", *options[:1], "B", *options[1:2])))
    )
    leading = None if listed else _leading(spoken_text, letters)
    if leading is not None:
        return leading
    hits = (match for pattern in (_SMALL, _CLAIM, _VERDICT) for match in pattern.finditer(spoken_text))
    claimed = [h[1].upper() for h in hits if h[1].upper() in letters and not _ALSO.match(spoken_text, h.end(1))]
    if claimed:
        return letters.index(claimed[-1])
    for pattern in (_MENTION, _BRACKETED):
        match = ((hit[hit.lastindex or 1], hit.end(hit.lastindex or 1)) for hit in pattern.finditer(spoken_text))
        spoken = {letter for letter, end in match if letter in letters and not _DENIED.match(spoken_text, end)}
        if len(spoken) == 1:
            return letters.index(spoken.pop())
    if listed:
        return None
    named = _named_option(plain, texts)
    return _last(spoken_text, letters) if named is None else named


def _leading(text: str, letters: str) -> int | None:
    match = _BARE.match(text) or _FIRST.match(text)
    if match is None or _ALSO.match(text, match.end(1)) or _DENIED.match(text, match.end(1)):
        return None
    return letters.index(match[1].upper()) if match[1].upper() in letters else None


def _last(text: str, letters: str) -> int | None:
    match = _LAST.search(text[-_END:])
    others = {letter for letter in _STANDING.findall(text) if letter in letters}
    return letters.index(match[1]) if match and others == {match[1]} else None


def _named_option(plain: str, texts: Sequence[str]) -> int | None:
    padded = f" {plain} "
    present = [index for index, text in enumerate(texts) if text and f" {text} " in padded]
    alone = [i for i in present if not any(i != j and f" {texts[i]} " in f" {texts[j]} " for j in present)]
    return alone[0] if len(alone) == 1 else None


def _plain(text: str) -> str:
    """Return the text in lower case, with single spaces and without punctuation at word ends."""
    return " ".join(bare for word in text.lower().split() if (bare := word.strip(string.punctuation)))


def score_choice(question: Question, answered: Answered | None) -> Scored:
    """Score an answer to a multiple-choice question; missing or unrecognised ones are wrong, a hidden key None."""
    chosen = chosen_option(answer_text(answered), question.options)
    value = None if question.answer is None else float(chosen == question.answer)
    return Scored(question.id, value, chosen, chosen is not None)


class MultipleChoice(Benchmark):
    """Base of multiple-choice benchmarks, which differ in files, instructions and categories.

    Attributes:
        form: Template of the prompt: the texts of :attr:`data` by their keys, ``text`` and ``options`` (one a line).
        groupings: Groupings that accuracy is given in.
        order: Names of categories in the order in which they are shown.
    """

    form: str = "{instruction}\n\n{text}\n{options}\n{asked}"
    groupings: Sequence[str] = ()
    order: Sequence[str] = ()

    def turns(self, question: Question, protocol: Scoring) -> tuple[Turn, ...]:
        """Return the conversation: question, options by letter, and the answer format."""
        words = {name: text.strip() for name, text in self.data.items() if isinstance(text, str)}
        fields = words | {"text": question.text, "options": "\n".join(question.lettered)}
        return (Turn("user", self.form.format_map(fields)),)

    def score(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], protocol: Scoring, judge: Any = None
    ) -> list[Scored]:
        """Score the answers; missing or unrecognised ones are wrong."""
        return [self.score_one(question, answers.get(question.id), protocol) for question in questions]

    def score_one(self, question: Question, answered: Answered | None, protocol: Scoring) -> Scored:
        """Score an answer."""
        return score_choice(question, answered)

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """Return accuracy over all questions, over answered ones, and in each grouping."""
        return accuracy_figures(questions, scored, self.groupings, self.order)
