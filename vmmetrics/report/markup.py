"""User text that neither breaks a terminal nor turns into markup."""

from __future__ import annotations

_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "–": "--", "−": "$-$", "×": r"$\times$", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\rightarrow$",
    "…": r"\ldots{}", "α": r"$\alpha$", "κ": r"$\kappa$", "Δ": r"$\Delta$", "ρ": r"$\rho$", "τ": r"$\tau$",
}  # fmt: skip
_SPECIAL_IN_MARKDOWN = frozenset(r"\`*_{}[]<>|#&~$")
"""What starts markup anywhere in a line, in GitHub's dialect (which has formulas between dollars)."""


def clean(text: str) -> str:
    r"""Text on one line, with control characters and stray bytes escaped.

    >>> clean("a\x1b[31mred\n")
    'a\\x1b[31mred\\n'
    """
    shown = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


def shortened(text: str, length: int) -> str:
    """Text of at most ``length`` characters, cut in the middle, where names of files differ least.

    >>> shortened("a_long_name_of_a_clip.mp4", 12)
    'a_long…p.mp4'
    """
    if len(text) <= length:
        return text
    head = length // 2
    return f"{text[:head]}…{text[head + 1 - length :]}"


def markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return "".join("\\" + c if c in _SPECIAL_IN_MARKDOWN else c for c in clean(text))


def tex(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(_TEX.get(c, c) for c in clean(text))
