"""Escaping of user text for terminals, Markdown, LaTeX and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "–": "--", "−": "$-$", "×": r"$\times$", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\rightarrow$",
    "…": r"\ldots{}", "α": r"$\alpha$", "κ": r"$\kappa$", "Δ": r"$\Delta$", "ρ": r"$\rho$", "τ": r"$\tau$",
}  # fmt: skip
_SPECIAL_IN_MARKDOWN = frozenset(r"\`*_{}[]<>|#&~$")
"""What starts markup anywhere in a line, in GitHub's dialect (which has formulas between dollars)."""


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet take a text for a formula (OWASP, CSV injection)."""

_OURS = (
    {"clip", "sha256"}, {"tag", "value", "clips", "metric"}, {"table", "preset", "protocol", "comparable"},
    {"clip", "rater", "prompt", "model"}, {"clip", "dimension", "mos", "recovered"}, {"clip", "prompt", "group"},
    {"left", "right", "outcome", "left_model", "right_model"},
)  # fmt: skip
"""Columns that tell the tables which :func:`csv_text` writes and we read: scores, breakdowns, leaderboards, votes."""


def clean(text: str) -> str:
    r"""Return the text on one line, with control characters and stray bytes escaped.

    >>> clean("a\x1b[31mred\n")
    'a\\x1b[31mred\\n'
    """
    shown = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


_SPELLED = {
    "ρ": "rho", "α": "alpha", "τ": "tau", "κ": "kappa", "Δ": "Delta", "σ": "sigma", "−": "-", "–": "-", "—": "-",
    "×": "x", "±": "+-", "≤": "<=", "≥": ">=", "≈": "~", "→": "->", "…": "...", "•": "*", "·": ".", "’": "'", "“": '"',
    "”": '"', "²": "^2", "³": "^3", "¹": "^1", "⁴": "^4", "⁵": "^5", "⁶": "^6", "⁷": "^7", "⁸": "^8", "⁹": "^9",
    "⁰": "^0", "─": "-", "━": "-", "│": "|",
}  # fmt: skip
"""ASCII spelling of characters in our texts that code pages lack."""


def spelled(text: str, encoding: str | None) -> str:
    r"""Return text with what an encoding lacks spelled in ASCII, or escaped where it has no spelling.

    >>> spelled("ρ −0.5 × 猫", "ascii")
    'rho -0.5 x \\u732b'
    """
    if encoding is None or encoding.lower().startswith("utf"):
        return text
    replaced = "".join(c if _has(encoding, c) else _SPELLED.get(c, c) for c in text)
    return replaced.encode(encoding, "backslashreplace").decode(encoding)


def _has(encoding: str, character: str) -> bool:
    try:
        return bool(character.encode(encoding))
    except UnicodeEncodeError:
        return False


def shortened(text: str, length: int) -> str:
    """Return the text of at most ``length`` characters, cut in the middle, where names of files differ least.

    >>> shortened("a_long_name_of_a_clip.mp4", 12)
    'a_long…p.mp4'
    """
    if len(text) <= length:
        return text
    head = length // 2
    return f"{text[:head]}…{text[head + 1 - length :]}"


def listed(names: Sequence[str], most: int) -> str:
    """Return names with commas, the rest counted.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def markdown(text: str) -> str:
    """Return the text that Markdown shows as it is."""
    return "".join("\\" + c if c in _SPECIAL_IN_MARKDOWN else c for c in clean(text))


def tex(text: str) -> str:
    """Return the text that LaTeX sets as it is."""
    return "".join(_TEX.get(c, c) for c in clean(text))


def tex_comment(text: str) -> str:
    r"""Return a comment of one line of LaTeX: no text in it can end the line.

    >>> tex_comment("a\n\\input{b}")
    '% a\\n\\input{b}'
    """
    return f"% {clean(text)}"


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    r"""Return rows as CSV (RFC 4180, lines end in LF): None is an empty cell, and no text is taken for a formula.

    A text that a spreadsheet would take for a formula gets an apostrophe in front; :func:`without_guard` removes it, in
    tables that are ours (:func:`is_ours`).
    A carriage return is quoted as well; Python's writer leaves it bare before 3.13.

    >>> csv_text([("clip", "score"), ("=1+1", -0.5), ("a\rb", None)])
    'clip,score\n\'=1+1,-0.5\n"a\rb",\n'
    """
    return "".join(",".join(_csv_cell(value) for value in row) + "\n" for row in rows)


def is_ours(columns: Iterable[str | None]) -> bool:
    """Return True if a table with these columns is ours: scores, a breakdown, a leaderboard, votes of raters.

    Only their cells have a guard: in another table ``'Tis the season`` is literal text.
    """
    names = set(columns)
    return any(own_columns <= names for own_columns in _OURS)


def without_guard(cell: str) -> str:
    """Return the text that :func:`csv_text` wrote as this cell."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(("'", *_FORMULA)) else cell


_STARTS = frozenset((*_FORMULA, "'"))
_QUOTED = re.compile(r'[,"\r\n]')


def _csv_cell(value: object) -> str:
    if value is None:
        return ""
    text = str(value)
    if isinstance(value, int | float):
        return text
    if text[:1] in _STARTS and isinstance(value, str) and (text[0] != "'" or without_guard(text) != text):
        text = f"'{text}"  # a text that looks guarded is guarded too, so that taking the guard off gives it back
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
