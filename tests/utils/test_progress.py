"""Loading is announced when it begins and when all of it has ended."""

from __future__ import annotations

import pytest

from vmmetrics.utils import progress as module
from vmmetrics.utils.progress import loading, on_loading


def test_nested_blocks_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_listeners", [])
    calls: list[bool] = []
    on_loading(calls.append)
    with loading():
        with loading():
            pass
        with loading():
            pass
        assert calls == [True]
    assert calls == [True, False]
    with pytest.raises(RuntimeError), loading():
        raise RuntimeError
    assert calls == [True, False, True, False]
