"""Every kind of bad clip is read, or refused in our words, in bounded time and memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reliability.bad_arrays import MARK
from tests.reliability.bad_clips import BadClip, catalogue
from tests.reliability.in_turn import in_turn
from tests.reliability.reading import executed, read_one, verdict
from tests.reliability.watched import Limits

pytestmark = pytest.mark.slow
LIMITS = Limits(cpu=90, memory=3 << 30)


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[BadClip]:
    return catalogue(tmp_path_factory.mktemp("bad"))


def test_there_are_at_least_300_kinds(clips: list[BadClip]) -> None:
    assert len({clip.kind for clip in clips}) >= 300


def test_every_kind_is_read_or_refused_in_our_words(
    clips: list[BadClip], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong = []
    for number, ended in enumerate(in_turn(lambda number: read_one(clips[number]), len(clips), LIMITS)):
        clip = clips[number]
        fault = verdict(clip, ended) if isinstance(ended, dict) else ended
        if fault:
            wrong.append(f"{clip.kind} ({clip.path.name!r}): {fault}")
    assert not wrong, "\n".join(wrong)
    assert executed(tmp_path, [MARK]) == []
