"""Run directories from somebody else, wrong in one field each: every command says so in a sentence, or goes on."""

from __future__ import annotations

import filecmp
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.alignment.readers.scores import read_scores
from vmmetrics.errors import VMMetricsError
from vmmetrics.scoring import leaderboard_text
from vmmetrics.scoring.api import score
from vmmetrics.scoring.leaderboard import make_boards
from vmmetrics.scoring.merge import merge
from vmmetrics.scoring.records import read_records
from vmmetrics.scoring.scored_clip import recall
from vmmetrics.scoring.show.sheet import draw_sheet
from vmmetrics.utils.display.tables import to_latex, to_markdown
from vmmetrics.viewer.page import values_of
from vmmetrics.viewer.report import write_report

NAN, INFINITE = float("nan"), float("inf")
DEEP = '{"a":' * 100_000

FIELDS: dict[str, list[Any]] = {
    "clip": [None, 5, ["x"], {}, "", "..", "\udcff", "\x1b[31m", "a\nb", "../../a"],
    "model": [5, ["x"], {}, "", "a.npy", "a\n\\input{x}"],
    "path": [5, ["x"], "", "relative", "/dev/null", "/dev/zero", "/proc/self/mem", "/\0", "/" + "a" * 5000, True],
    "sha256": [5, ["x"], {}, None, ""],
    "preset": [5, None, ["x"], "unknown"],
    "protocol": [5, None, "unknown"],
    "scores": ["x", ["a"], None, 5, {"pas": "x"}, {"pas": None}, {"pas": NAN}, {"pas": INFINITE}, {"pas": -INFINITE},
               {"pas": True}, {"pas": 1e308}, {"pas": -5}, {"pas": 10**400}, {"pas": [0.5]}, {"unknown": 0.5}],
    "missing": ["x", None, {"pas": 5}, ["pas"]],
    "errors": ["x", None, ["a"], {"pas": None}],
    "error": [5, ["x"], {}, True],
    "not_applicable": ["x", None, 5, [5], {}],
    "amplitude": ["x", INFINITE, [1]],
    "frames": ["x", -1, 1.5, True, 10**400],
    "fps": ["x", INFINITE, 0],
    "size": [5, "ab", [1], [], [1, 2, 3], [1.5, 2], {"0": 1}],
    "seconds": ["x", None, NAN],
    "prompt": [5, ["x"], {}],
    "prompt_source": [5, []],
    "subject": ["x", [1], {"noun": 5}, {"noun": "a"}, {"a": "b"}],
    "tags": ["x", None, {"a": [1]}, {"a": None}, {"a": True}, {"a": NAN}, {"a": {}}],
    "notes": ["x", None, 5, [5], {}],
}  # fmt: skip
"""Values of the fields of a line of ``scores.jsonl``."""

HEADER: dict[str, list[Any]] = {
    "format": [None, "1", 0, 3, True, []],
    "configuration": [None, [], {}, "x"],
    "metrics": [None, "pas", {}, [5]],
    "sessions": [None, {}, [5], "x"],
    "parts": [None, [], {"pas": 5}],
    "lower_is_better": [None, "pas", [5], {}],
    "configuration.preset": [None, 5, ["x"], "unknown", "baselines"],
    "configuration.protocol": [None, 5, "unknown"],
    "configuration.label": [None, 5, "a\n\\input{x}"],
    "configuration.comparable": ["x", None],
    "configuration.models": [5, []],
    "configuration.weights": [None, []],
    "configuration.versions": [None, 5],
    "configuration.reading": [None, "x", [], {"root": "/"}, {"assume_fps": "x"}, {"max_memory": 1.5},
                              {"assume_fps": -1}, {"assume_fps": 0}, {"max_memory": -1}],
}  # fmt: skip
"""Values of the fields of ``run.json``."""

EVENT = {"frames": [0], "reason": "x"}
EVENTS: list[Any] = [
    5, {}, None, {"events": 5, "series": {}}, {"events": [], "series": 5}, {"events": [{}], "series": {}},
    {"events": [5], "series": {}}, {"events": [], "series": {"value": "x"}}, {"events": [], "series": {"value": ["x"]}},
    {"events": [], "series": {"unsteadiness": []}}, {"events": [], "series": {"value": [[1], [2, 3]]}},
    {"events": [], "series": {"value": [1e308] * 4}}, {"events": [], "series": {"value": [1e15, -1e15, 0, 0]}},
    {"events": [{**EVENT, "frames": [10**9]}], "series": {}}, {"events": [{**EVENT, "frames": [-1]}], "series": {}},
    {"events": [{**EVENT, "frames": []}], "series": {}}, {"events": [{**EVENT, "reason": 5}], "series": {}},
    {"events": [{**EVENT, "box": [0, 0, 1e15, 1e15]}], "series": {}}, {"events": [{**EVENT, "box": [1]}], "series": {}},
    {"events": [{**EVENT, "metric": "cas"}], "series": {}},
    {"events": [{**EVENT, "magnitude": 1, "threshold": 0}], "series": {}},
    {"events": [], "series": {}, "probabilities": "x"}, {"events": [], "series": {}, "probabilities": [1], "looks": 5},
    {"events": [], "series": {}, "probabilities": [1], "view_frames": [[1]]},
]  # fmt: skip
"""What may stand in ``events.jsonl`` for a metric."""

TEXTS = {
    "run.json": [b"", b"[]", b"5", b"null", DEEP.encode(), b'{"format":' + b"1" * 5000 + b"}", b'{"format": 1e999}',
                 b'{"format": NaN}', b'{"a": "\xe9"}', b'{"format": 1'],
    "scores.jsonl": [b"\n", b"5\n", DEEP.encode() + b"\n", b'{"clip":' + b"1" * 5000 + b"}\n", b'{"a": "\xe9"}\n',
                     b'{"scores": {"pas": 1e999}}\n', b"\0" * 50 + b"\n",
                     b'{"clip": "\\ud800"}\n', b'{"clip": "a", "clip": 5}\n'],
    "events.jsonl": [b"5\n", b"{}\n", DEEP.encode() + b"\n", b'{"clip": "a.npy"}\n', b'{"clip": 5, "sha256": 5}\n'],
}  # fmt: skip
"""Whole files."""


def variants() -> dict[str, tuple[str, str, Any]]:
    """File, field and value by name of the variant."""
    chosen = [("scores.jsonl", name, value) for name, values in FIELDS.items() for value in values]
    chosen += [("run.json", name, value) for name, values in HEADER.items() for value in values]
    chosen += [("events.jsonl", "metrics", {"mss": value}) for value in EVENTS]
    chosen += [("events.jsonl", "metrics", value) for value in (None, [], "x", {"unknown": {}})]
    chosen += [(name, "", value) for name, values in TEXTS.items() for value in values]
    return {f"{n}-{name}-{field}-{str(value)[:20]!a}": (name, field, value)
            for n, (name, field, value) in enumerate(chosen)}  # fmt: skip


VARIANTS = variants()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one clip as it should be; ``clips`` lies beside it."""
    root = tmp_path_factory.mktemp("foreign")
    (root / "clips").mkdir()
    np.save(root / "clips" / "a.npy", np.full((4, 16, 24, 3), 10, np.uint8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vmmetrics.scoring.settings.SUITE", "fake_suite:FakeSuite")
        patch.setattr("vmmetrics.utils.storage.provenance.version_of", {"vmmetrics": "1"}.get)
        score(root / "clips", out=root / "good")
    return root / "good"


def make_wrong(run: Path, name: str, field: str, value: Any) -> None:
    if not field:
        (run / name).write_bytes(value)
        return
    content = json.loads((run / name).read_text())
    *outer, last = field.split(".")
    (content[outer[0]] if outer else content)[last] = value
    (run / name).write_text(json.dumps(content) + "\n")


def lead(run: Path, good: Path, out: Path) -> str:
    boards = make_boards([str(run)])
    parts = [part for board in boards for part in leaderboard_text.board_parts(board, [])]
    latex = "\n".join(map(to_latex, parts))
    assert not any(line.startswith("\\input") for line in latex.splitlines())
    return leaderboard_text.to_csv(boards, []) + "\n".join(map(to_markdown, parts)) + latex


def join(run: Path, good: Path, out: Path) -> str:
    merge([run, good], out / "merged")
    return (out / "merged" / "scores.csv").read_text()


def show(run: Path, good: Path, out: Path) -> str:
    shown = recall(run, "a.npy")
    if not filecmp.cmp(run / "events.jsonl", good / "events.jsonl"):
        draw_sheet(shown.clip, shown.findings, shown.perceived)
    return ""


def report(run: Path, good: Path, out: Path) -> str:
    written = write_report(run, out / "page")
    values = values_of((written.path.parent / "data" / "index.js").read_text())
    assert written.clips == len(values[0]["clips"]["name"]) == 1
    return json.dumps(values)


def align(run: Path, good: Path, out: Path) -> str:
    read_scores(str(run))
    return ""


def resume(run: Path, good: Path, out: Path) -> str:
    table = score(good.parent / "clips", out=run)
    assert {"mss", "ois", "pas", "tcs"} <= set(table[0].scores)
    assert len(read_records(run)) >= 1
    return (run / "scores.csv").read_text()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what takes the time of a start and of a table."""
    monkeypatch.setattr("vmmetrics.utils.statistics.paired.MEAN_RESAMPLES", 10)
    monkeypatch.setattr("vmmetrics.utils.storage.provenance.version_of", {"vmmetrics": "1"}.get)
    monkeypatch.setattr("vmmetrics.scoring.export.find_spec", lambda name: None)


@pytest.mark.usefixtures("fake_suite", "quick")
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_wrong_field_is_said_or_passed_over(good: Path, variant: str, tmp_path: Path) -> None:
    with_events = VARIANTS[variant][0] == "events.jsonl"
    for command in (join, show, report) if with_events else (lead, join, show, report, align, resume):
        run = tmp_path / command.__name__
        shutil.copytree(good, run)
        make_wrong(run, *VARIANTS[variant])
        try:
            text = command(run, good, tmp_path)
        except VMMetricsError as error:
            assert str(error).strip()
        else:
            assert "inf" not in text.replace("infinite", "")
