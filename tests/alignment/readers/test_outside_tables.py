"""Tables as others write them: read right, or refused with the cause and the option that decides. Never wrong in silence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.alignment.readers.healthy_tables import DOCUMENTED, NEW
from tests.alignment.readers.outside_tables import Kind, check, write
from vmmetrics.alignment import Study
from vmmetrics.cli.main import main


class Answer(NamedTuple):
    """What ``vmmetrics align`` did.

    Attributes:
        code: Exit code.
        study: What it read; None where it refused.
        printed: Standard output.
        message: Standard error in one line.
    """

    code: int
    study: Study | None
    printed: str
    message: str


Align = Callable[..., Answer]


@pytest.fixture
def align(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Align:
    """Run the command up to what it computes from the study."""
    studies: list[Study] = []

    def stop(study: Study, **_: object) -> None:
        studies.append(study)
        sys.exit(0)

    monkeypatch.setattr("vmmetrics.alignment.study_report.align", stop)
    monkeypatch.setenv("COLUMNS", "500")

    def run(*arguments: object) -> Answer:
        studies.clear()
        code = 0
        try:
            main(["align", *map(str, arguments)])
        except SystemExit as end:
            code = int(end.code or 0)
        shown = capsys.readouterr()
        message = " ".join(shown.err.replace("│", " ").split())
        return Answer(code, studies[0] if studies else None, shown.out, message)

    return run


def by_name(kinds: list[Kind]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kind", kinds, ids=[kind.file for kind in kinds])


def read(align: Align, kind: Kind, folder: Path, options: tuple[str, ...] = ()) -> Answer:
    if kind.needs:
        pytest.importorskip(kind.needs)
    return align(*write(kind, folder), *options)


@by_name([*DOCUMENTED, *NEW])
def test_healthy(align: Align, kind: Kind, tmp_path: Path) -> None:
    answer = read(align, kind, tmp_path)
    assert answer.study is not None, answer.message
    check(kind, answer.study)
