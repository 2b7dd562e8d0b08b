"""A run directory from somebody else ends in a table or in a message, whatever is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.reliability.hostile_runs import variants
from tests.reliability.in_turn import in_turn
from tests.reliability.watched import Limits

LIMITS = Limits(cpu=120, idle=10, memory=3 << 30)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, Path]]]:
    from vmmetrics.run import score

    folder = tmp_path_factory.mktemp("runs")
    (folder / "clips").mkdir()
    np.save(folder / "clips" / "a.npy", np.random.default_rng(0).integers(0, 255, (6, 64, 64, 3), np.uint8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vmmetrics.run.settings.SUITE", "fake_suite:FakeSuite")
        score(folder / "clips", out=folder / "good")
    return folder / "good", list(variants(folder / "good", folder / "hostile"))


def read_it(command: str, good: Path, place: Path, out: Path) -> str:
    """What is wrong with reading a directory; empty for nothing."""
    from vmmetrics.errors import VMMetricsError
    from vmmetrics.run.leaderboard import make_boards
    from vmmetrics.run.merge import merge
    from vmmetrics.run.recall import recall

    reading: dict[str, Any] = {
        "leaderboard": lambda: make_boards([str(place)]),
        "merge": lambda: merge([place, good], out),
        "show": lambda: recall(place, "a.npy"),
    }
    try:
        reading[command]()
    except VMMetricsError:
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:150]
    return ""


@pytest.mark.parametrize("command", ["leaderboard", "merge", "show"])
def test_each_variant_is_read_or_refused(
    command: str, hostile: tuple[Path, list[tuple[str, Path]]], tmp_path: Path
) -> None:
    good, places = hostile
    assert len(places) >= 97

    def work(number: int) -> str:
        return read_it(command, good, places[number][1], tmp_path / str(number))

    faults = list(in_turn(work, len(places), LIMITS))
    wrong = [f"{name}: {fault}" for (name, _), fault in zip(places, faults, strict=True) if fault]
    assert not wrong, "\n".join(wrong)
