"""Scripts of a page in one, as browsers load no modules from the disk, and the policy's name of a script or style."""

from __future__ import annotations

import base64
import hashlib
import posixpath
import re
from collections.abc import Callable, Iterable

_IMPORT = re.compile(r'^import (?:\{([^}]*)\} from )?"(\.\.?/[\w./-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?\w+ (\w+))", re.MULTILINE)


def modules(entry: str, read: Callable[[str], str]) -> dict[str, str]:
    """Return a module of a page and those that it imports, by name, each after those that it needs.

    Args:
        entry: Name of the module, a path relative to some folder.
        read: Returns the text of a module.
    """
    texts: dict[str, str] = {}

    def visit(name: str) -> None:
        if name not in texts:
            text = read(name)
            for _, imported in _IMPORT.findall(text):
                visit(posixpath.normpath(posixpath.join(posixpath.dirname(name), imported)))
            texts[name] = text

    visit(entry)
    return texts


def bundle(texts: Iterable[str]) -> str:
    """Return modules, those that others need first, as one script: functions whose exports are properties of ``vm``."""
    parts = ["const vm = {};\n"]
    for text in texts:
        exports = ", ".join(name for _, name in _EXPORT.findall(text))
        body = _IMPORT.sub(lambda got: f"const {{{got[1].replace(' as ', ': ')}}} = vm;\n" if got[1] else "", text)
        body = _EXPORT.sub(r"\1", body)
        parts.append(f'(() => {{\n"use strict";\n{body}Object.assign(vm, {{ {exports} }});\n}})();\n')
    return "".join(parts)


def digest(text: str) -> str:
    """Return the source of a content security policy that allows this script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
