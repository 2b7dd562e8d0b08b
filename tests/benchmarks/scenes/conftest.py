"""Make the benchmarks importable: they are programs of the checkout, not part of the package; draw pictures once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


@pytest.fixture(scope="session", autouse=True)
def pictures_drawn_once() -> Iterator[None]:
    """Procedural pictures are most of the work of a small clip, and most clips of a file are drawn from the same."""
    from benchmarks.scenes import textures

    draw, drawn = textures.procedural, {}

    def procedural(rng: np.random.Generator) -> np.ndarray:
        state = str(rng.bit_generator.state)
        if state not in drawn:
            picture = draw(rng)
            picture.flags.writeable = False
            drawn[state] = picture, rng.bit_generator.state
        picture, rng.bit_generator.state = drawn[state]
        return picture

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textures, "procedural", procedural)
        yield
