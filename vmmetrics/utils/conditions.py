"""Conditions on named values, such as ``speed > 0.05 and (kind == "pan" or not cuts)``: parsed here, never run as code.

    condition  = conjunction { "or" conjunction }
    conjunction = term { "and" term }
    term       = "not" term | "(" condition ")" | comparison
    comparison = operand ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) operand { operator operand }
    operand    = number | name | text in quotes

A value that is missing makes a comparison undecided; ``and`` and ``or`` are undecided only where that matters (Kleene's
logic).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Value = float | str
LONGEST = 2000
"""Characters of a condition at most."""
DEEPEST = 40
"""Parentheses and ``not`` within one another at most."""
_COMPARE: Mapping[str, Callable[[Value, Value], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne
}  # fmt: skip
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?(?![\w.]))|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<sign><=|>=|==|!=|<|>|\(|\)))"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a condition.

    Attributes:
        holds: True, False, or None where a value that matters is missing.
        reasons: The comparisons that decided it, with their values; of an undecided one the values that are missing.
    """

    holds: bool | None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Comparison:
    operands: tuple[Value, ...]
    names: tuple[bool, ...]
    signs: tuple[str, ...]

    def judge(self, values: Mapping[str, Value], missing: Mapping[str, str]) -> Outcome:
        used = [str(operand) for operand, name in zip(self.operands, self.names, strict=True) if name]
        if lacking := [name for name in used if name not in values]:
            return Outcome(None, tuple(f"no {name}: {missing.get(name, 'not measured')}" for name in lacking))
        sides = [values[str(o)] if name else o for o, name in zip(self.operands, self.names, strict=True)]
        holds = all(_COMPARE[sign](*pair) for sign, pair in zip(self.signs, pairwise(sides), strict=True))
        facts = ", ".join(f"{name} = {_shown(values[name])}" for name in used)
        return Outcome(holds, (f"{self} is {str(holds).lower()}: {facts}",))

    def __str__(self) -> str:
        texts = [
            str(o) if name else f'"{o}"' if isinstance(o, str) else f"{o:g}"
            for o, name in zip(self.operands, self.names, strict=True)
        ]
        return texts[0] + "".join(f" {sign} {text}" for sign, text in zip(self.signs, texts[1:], strict=True))


@dataclass(frozen=True, slots=True)
class _Group:
    kind: Literal["and", "or", "not"]
    parts: tuple[_Comparison | _Group, ...]

    def judge(self, values: Mapping[str, Value], missing: Mapping[str, str]) -> Outcome:
        outcomes = [part.judge(values, missing) for part in self.parts]
        if self.kind == "not":
            (inner,) = outcomes
            return Outcome(None if inner.holds is None else not inner.holds, inner.reasons)
        decisive = self.kind == "or"
        states = [outcome.holds for outcome in outcomes]
        holds = decisive if decisive in states else None if None in states else not decisive
        return Outcome(holds, tuple(r for outcome in outcomes if outcome.holds is holds for r in outcome.reasons))


class Condition:
    """A parsed condition.

    Args:
        text: The condition.
        numbers: Names of values that are numbers.
        choices: Names of values that are texts, and the texts that each can be.

    Raises:
        ValueError: It is no condition, or names something unknown; the text says what and where.

    Example:
        >>> condition = Condition("speed > 0.05 and cuts == 0", ("speed", "cuts"))
        >>> condition.judge({"speed": 0.01, "cuts": 0.0}).reasons
        ('speed > 0.05 is false: speed = 0.01',)
    """

    def __init__(self, text: str, numbers: Sequence[str], choices: Mapping[str, Sequence[str]] | None = None) -> None:
        if len(text) > LONGEST:
            raise ValueError(f"Expected a condition of at most {LONGEST} characters but got {len(text)}")
        self.text = text
        self._numbers, self._choices = tuple(numbers), choices or {}
        self._tokens = self._split()
        self._next = 0
        self._root = self._condition(0)
        if self._peek() is not None:
            raise self._wrong("'and' or 'or'")

    def judge(self, values: Mapping[str, Value], missing: Mapping[str, str] | None = None) -> Outcome:
        """Judge values by name; ``missing`` has reasons for those that are not there."""
        return self._root.judge(values, missing or {})

    def _split(self) -> list[tuple[str, str, int]]:
        tokens, end, text = list[tuple[str, str, int]](), 0, self.text.rstrip()
        while end < len(text):
            match = _TOKEN.match(text, end)
            if match is None:
                start = len(text) - len(text[end:].lstrip())
                raise ValueError(f"Unexpected {text[start : start + 12]!r} at character {start + 1} of the condition")
            kind = str(match.lastgroup)
            tokens.append((kind, match[kind], match.start(kind)))
            end = match.end()
        return tokens

    def _peek(self) -> str | None:
        """Return the next word or sign, None at the end; numbers, and texts in quotes, are ``"value"``."""
        if self._next == len(self._tokens):
            return None
        kind, text, _ = self._tokens[self._next]
        return text if kind in ("name", "sign") else "value"

    def _take(self, *expected: str) -> bool:
        taken = self._peek() in expected
        self._next += taken
        return taken

    def _wrong(self, expected: str) -> ValueError:
        if self._next == len(self._tokens):
            return ValueError(f"Expected {expected} at the end of the condition")
        _, text, start = self._tokens[self._next]
        return ValueError(f"Expected {expected} but got {text[:40]!r} at character {start + 1} of the condition")

    def _condition(self, depth: int) -> _Comparison | _Group:
        parts = [self._conjunction(depth)]
        while self._take("or"):
            parts.append(self._conjunction(depth))
        return parts[0] if len(parts) == 1 else _Group("or", tuple(parts))

    def _conjunction(self, depth: int) -> _Comparison | _Group:
        parts = [self._term(depth)]
        while self._take("and"):
            parts.append(self._term(depth))
        return parts[0] if len(parts) == 1 else _Group("and", tuple(parts))

    def _term(self, depth: int) -> _Comparison | _Group:
        if depth > DEEPEST:
            raise ValueError(f"Expected at most {DEEPEST} parentheses and nots within one another")
        if self._take("not"):
            return _Group("not", (self._term(depth + 1),))
        if self._take("("):
            inner = self._condition(depth + 1)
            if not self._take(")"):
                raise self._wrong("')'")
            return inner
        operands, signs = [self._operand()], list[str]()
        while self._peek() in _COMPARE:
            signs.append(self._tokens[self._next][1])
            self._next += 1
            operands.append(self._operand())
        if not signs:
            raise self._wrong(f"one of {' '.join(_COMPARE)}")
        self._check_texts(operands, signs)
        return _Comparison(tuple(o for _, o in operands), tuple(kind == "name" for kind, _ in operands), tuple(signs))

    def _operand(self) -> tuple[str, Value]:
        kind, text, _ = self._tokens[self._next] if self._next < len(self._tokens) else ("end", "", 0)
        if kind in ("end", "sign") or (kind == "name" and text in ("and", "or", "not")):
            raise self._wrong("a name, a number or a text in quotes")
        if kind == "name" and text not in (*self._numbers, *self._choices):
            names = ", ".join((*self._numbers, *self._choices))
            raise ValueError(f"Unknown name {text[:40]!r} in the condition; there are {names}")
        self._next += 1
        return kind, float(text) if kind == "number" else text

    def _check_texts(self, operands: Sequence[tuple[str, Value]], signs: Sequence[str]) -> None:
        """Refuse to compare a number with a text, to order texts, and a text that its name can never be."""
        textual = [kind in ("single", "double") or (kind == "name" and o in self._choices) for kind, o in operands]
        if not any(textual):
            return
        if not all(textual) or not {*signs} <= {"==", "!="}:
            raise ValueError(f"Texts are compared with texts by == and !=: {', '.join(self._choices) or 'none here'}")
        allowed = {c for kind, o in operands if kind == "name" for c in self._choices[str(o)]}
        for text in (str(o) for kind, o in operands if kind != "name"):
            if allowed and text not in allowed:
                raise ValueError(f"Expected one of {', '.join(sorted(allowed))} but got {text[:40]!r} in the condition")


def _shown(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else f"{value:.4g}"
