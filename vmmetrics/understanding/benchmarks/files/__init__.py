"""Benchmark files in the forms users have: lists in several spellings, videos in any subfolder."""

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
    """Return a field as text; empty if it is missing, however a table marks that."""
    return "" if value is None or value != value else str(value).strip()


def stem_of(name: Any) -> str:
    """Return the key of a video: its name without folders and suffix, which some files repeat.

    >>> stem_of("videos/7R8ZU.mp4.mp4"), stem_of("a_1_2.MP4"), stem_of("a.b")
    ('7R8ZU', 'a_1_2', 'a.b')
    """
    stem = text_of(name).replace("\\", "/").rsplit("/", 1)[-1].strip()
    while stem.lower().endswith(_ENDINGS):
        stem = stem.rpartition(".")[0]
    return stem


def videos_below(folders: Sequence[Path]) -> dict[str, Path]:
    """Return the paths of video files below some folders, by name without suffix.

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
    """Count problems: add the names of those checks that are true."""
    problems.update(name for name, wrong in checks.items() if wrong)


def fields_of(value: Any) -> Row:
    """Return an object's fields; empty for anything else."""
    return value if isinstance(value, Mapping) else {}


def listed(value: Any) -> list[Any]:
    r"""Return a list, also from JSON, Python or NumPy text, which is never evaluated; empty for anything else.

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
