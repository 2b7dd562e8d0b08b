"""The clips of the training tests, written once."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import NamedTuple

import pytest


class Material(NamedTuple):
    """Folder of clips, and their labels."""

    clips: Path
    labels: Path


@pytest.fixture(scope="session")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    spec = importlib.util.spec_from_file_location("training_clips", Path(__file__).parent / "training_clips.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("training") / "clips"
    return Material(folder, module.write_clips(folder))
