"""The help of every command, found by walking the command line itself; at two widths."""

from __future__ import annotations

from benchmarks.net.case import Case

WALKED = ("", "prompts", "understand", "cas", "weights")
"""Groups; each is a case, so that a new command shows as a difference of one of them."""

CASES = [
    *[Case("help", f"{group or 'main'}-{width}", (f"@help_walk {group}".strip(),), columns=width)
      for group in WALKED for width in (100, 60)],
    Case("help", "other", (
         "--version", "nonsense", "understand nonsense", "--nonsense", "align", "prompts"), columns=100),
]  # fmt: skip
