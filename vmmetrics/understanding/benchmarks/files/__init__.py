"""Benchmarks' files as they are in the wild: lists in several spellings, videos wherever below a folder they lie."""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, Final

Row = Mapping[str, Any]

_ENDINGS: Final = (".mp4", ".webm", ".mkv", ".mov", ".avi")


def text_of(value: Any) -> str:
    """A field as text; empty where it is missing, however a table writes that."""
    return "" if value is None or value != value else str(value).strip()


def stem_of(name: Any) -> str:
    """Key of a video: its name without folders and without the extension, which some files repeat.

    >>> stem_of("videos/7R8ZU.mp4.mp4"), stem_of("a_1_2.MP4"), stem_of("a.b")
    ('7R8ZU', 'a_1_2', 'a.b')
    """
    stem = text_of(name).replace("\\", "/").rsplit("/", 1)[-1].strip()
    while stem.lower().endswith(_ENDINGS):
        stem = stem.rpartition(".")[0]
    return stem


def videos_below(folders: Sequence[Path]) -> dict[str, Path]:
    """Paths of the video files in some folders and below them, by name without the ending.

    Of several with one name that of the earlier folder counts, then the one less deep. Names that begin with a dot,
    folders that cannot be read and what lies four folders down or deeper are passed over.

    Args:
        folders: Where to look; one that is not there holds nothing.
    """
    by_stem: dict[str, Path] = {}
    for folder, depth in product(folders, ("*", "*/*", "*/*/*")):  # releases have "clips/temporal_certificate"
        with suppress(OSError):
            for path in sorted(folder.glob(depth)):
                hidden = any(name.startswith(".") for name in path.relative_to(folder).parts)
                if path.suffix.lower() in _ENDINGS and not hidden and path.is_file():
                    by_stem.setdefault(path.stem, path)
    return by_stem


def count(problems: Counter[str], checks: Mapping[str, object]) -> None:
    """Count what is wrong: the names of those checks that hold."""
    problems.update(name for name, wrong in checks.items() if wrong)


def fields_of(value: Any) -> Row:
    """An object's fields; none of anything else."""
    return value if isinstance(value, Mapping) else {}


def listed(value: Any) -> list[Any]:
    r"""A list, or one written as JSON, as Python, or as NumPy prints it; empty for anything else. Text is never run.

    >>> listed("['it stops', 'it turns']") == listed("['it stops'\n 'it turns']") == ["it stops", "it turns"]
    True
    """
    if isinstance(value, str):
        value = _list_in(value)
    if hasattr(value, "tolist"):  # Parquet gives arrays
        value = value.tolist()
    return list(value) if isinstance(value, list | tuple) else []


def _list_in(text: str) -> Any:
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    if not isinstance(value, list) or len(value) != 1:
        return value
    # NumPy puts no commas between texts, and Python glues texts that stand side by side
    tokens = tokenize.generate_tokens(io.StringIO(text.strip()).readline)
    texts = [ast.literal_eval(token.string) for token in tokens if token.type == tokenize.STRING]
    return texts if len(texts) > 1 else value
