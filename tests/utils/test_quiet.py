"""transformers says nothing while a model is loaded, and talks as before afterwards."""

from __future__ import annotations

import logging
import sys
from types import ModuleType

import pytest

from vmmetrics.utils.tensors import quiet_transformers


class Logging(ModuleType):
    """The part of ``transformers.utils.logging`` that is used, on a logger and a flag."""

    logger = logging.getLogger("transformers")
    bars = True

    def get_verbosity(self) -> int:
        return self.logger.level

    def set_verbosity(self, level: int) -> None:
        self.logger.setLevel(level)

    def set_verbosity_error(self) -> None:
        self.logger.setLevel(logging.ERROR)

    def is_progress_bar_enabled(self) -> bool:
        return self.bars

    def enable_progress_bar(self) -> None:
        self.bars = True

    def disable_progress_bar(self) -> None:
        self.bars = False


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Logging:
    package, utils, said = ModuleType("transformers"), ModuleType("transformers.utils"), Logging("logging")
    package.utils, utils.logging = utils, said  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", package)
    monkeypatch.setitem(sys.modules, "transformers.utils", utils)
    monkeypatch.delenv("TRANSFORMERS_VERBOSITY", raising=False)
    said.set_verbosity(logging.WARNING)
    return said


def test_quiet_inside_and_as_before_afterwards_whatever_happens(said: Logging) -> None:
    with pytest.raises(OSError, match="no such model"), quiet_transformers():
        inside = (said.logger.isEnabledFor(logging.WARNING), said.logger.isEnabledFor(logging.ERROR), said.bars)
        raise OSError("no such model")
    assert inside == (False, True, False)
    assert (said.get_verbosity(), said.bars) == (logging.WARNING, True)


def test_who_asks_for_its_warnings_has_them(said: Logging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSFORMERS_VERBOSITY", "info")
    said.bars = False
    with quiet_transformers():
        assert said.logger.isEnabledFor(logging.WARNING)
    assert not said.bars  # as somebody else set it
