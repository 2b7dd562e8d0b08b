"""What ``vmmetrics cas label`` writes: labels, how they came about, and pairs to ask about."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vmmetrics.cas.ask import Question
from vmmetrics.cas.clip_list import ListedClip
from vmmetrics.cas.comparisons import Comparisons
from vmmetrics.cas.label import Labelling, LabelSettings
from vmmetrics.run.atomic import write_atomically
from vmmetrics.run.journal import encode
from vmmetrics.run.provenance import now, version_of


def meta_path(labels: Path) -> Path:
    """Where the record of ``labels`` lies: ``LABELS.meta.json`` beside ``LABELS.jsonl``."""
    return labels.with_suffix(".meta.json")


def write_labels(
    out: Path, labelling: Labelling, settings: LabelSettings, read: Comparisons, inputs: Sequence[Path]
) -> None:
    """Write the labels as JSON Lines and their record beside them.

    Raises:
        SetupError: A file cannot be written.
    """
    record = {
        "created": now(),
        "versions": {name: version_of(name) for name in ("vmmetrics", "numpy", "scipy")},
        "inputs": [{"path": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()} for path in inputs],
        "comparisons": len(read.rows),
        "ignored_columns": list(read.ignored_columns),
        "clips": len(labelling.clips),
        "settings": asdict(settings),
        **labelling.meta(),
    }
    write_atomically(
        meta_path(out),
        json.dumps(record, ensure_ascii=False, allow_nan=False, indent=2).encode("utf-8", "backslashreplace"),
    )
    _write_lines(out, labelling.rows())


def write_questions(out: Path, questions: Iterable[Question], clips: Iterable[ListedClip]) -> None:
    """Write pairs to ask about, in the format of comparisons with the winner left open.

    Raises:
        SetupError: The file cannot be written.
    """
    prompts = {entry.clip: entry.prompt for entry in clips}
    lines = []
    for question in questions:
        first, second = prompts[question.a], prompts[question.b]
        shown: dict[str, Any] = {"prompt": first} if first == second else {"prompt_a": first, "prompt_b": second}
        lines.append({"a": question.a, "b": question.b, "winner": None, **shown})
        lines[-1] |= {"reason": question.reason, "gain": round(question.gain, 6)}
    _write_lines(out, lines)


def _write_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    write_atomically(path, b"".join(encode(dict(line)) for line in lines))
