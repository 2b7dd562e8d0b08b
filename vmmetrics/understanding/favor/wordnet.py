"""Verbs of WordNet from its database files, as a package installs them (``apt install wordnet-base``); no NLTK.

Base forms by WordNet's own rules and exceptions (morphy), senses as the offsets of synonym sets. Miller, "WordNet: a
lexical database for English", Communications of the ACM 1995.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final

from vmmetrics.errors import SetupError

PLACES: Final = ("/usr/share/wordnet", "/usr/local/share/wordnet/dict", "/usr/local/WordNet-3.0/dict")
_ENDINGS: Final = (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", ""))
"""Endings of verbs and what stands for them in base forms: morphy's rules of detachment."""


class WordNetVerbs:
    """Base forms and senses of verbs.

    Args:
        folder: With ``index.verb`` and ``verb.exc``.

    Raises:
        SetupError: A file cannot be read, or is not WordNet's.
    """

    def __init__(self, folder: Path) -> None:
        try:
            index = (folder / "index.verb").read_text("utf-8").splitlines()
            exceptions = (folder / "verb.exc").read_text("utf-8").splitlines()
            self._senses = dict(_entry(line) for line in index if line and not line.startswith(" "))
        except (OSError, ValueError, IndexError) as error:
            raise SetupError(f"{folder}: no verbs of WordNet that can be read: {error}") from error
        self._exceptions: dict[str, list[str]] = {}
        for form, *bases in (line.split() for line in exceptions if line.strip()):
            self._exceptions.setdefault(form, bases)
        self.folder = folder

    def lemma(self, verb: str) -> str:
        """The shortest base form; what is no verb stays as it is."""
        return min(self._bases(verb), key=len, default=verb)

    def senses(self, verb: str) -> frozenset[int]:
        """Synonym sets of all its base forms."""
        return frozenset(sense for base in self._bases(verb.lower()) for sense in self._senses[base])

    def _bases(self, verb: str) -> list[str]:
        """Known base forms: the exceptions' if it is one, else by detaching endings, again until one is known."""
        if verb in self._exceptions:
            return self._known([verb, *self._exceptions[verb]])
        forms = _detached([verb])
        found = self._known([verb, *forms])
        while not found and forms:
            forms = _detached(forms)
            found = self._known(forms)
        return found

    def _known(self, forms: list[str]) -> list[str]:
        return [form for form in dict.fromkeys(forms) if form in self._senses]


@cache
def installed_wordnet() -> WordNetVerbs | None:
    """WordNet where its variables (``WNSEARCHDIR``, ``WNHOME``) say, or where packages put it; None without one."""
    named = [Path(os.environ["WNSEARCHDIR"])] if os.environ.get("WNSEARCHDIR") else []
    named += [Path(os.environ["WNHOME"]) / "dict"] if os.environ.get("WNHOME") else []
    folders = (place for place in (*named, *map(Path, PLACES)) if (place / "index.verb").is_file())
    folder = next(folders, None)
    return None if folder is None else WordNetVerbs(folder)


def _entry(line: str) -> tuple[str, tuple[int, ...]]:
    """Lemma and offsets: ``lemma pos senses pointers [pointer...] senses tagged offset...``."""
    fields = line.split()
    return fields[0], tuple(int(offset) for offset in fields[6 + int(fields[3]) :])


def _detached(forms: list[str]) -> list[str]:
    return [form.removesuffix(ending) + base for form in forms for ending, base in _ENDINGS if form.endswith(ending)]
