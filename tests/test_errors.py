"""Errors of the system in one form of words."""

from __future__ import annotations

from pathlib import Path

import av
import pytest

from vmmetrics.errors import cannot, install, os_reason


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(28, "No space left on device", "a"), "No space left on device"),
        (OSError("image file is truncated"), "image file is truncated"),
        (OSError(), "OSError"),
        (av.FFmpegError(5, "Input/output error", "a"), "Input/output error"),
        (ValueError("embedded null byte"), "embedded null byte"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_a_reason_is_words_alone(error: Exception, reason: str) -> None:
    assert os_reason(error) == reason


def test_an_error_without_a_reason_names_its_type() -> None:
    assert str(cannot("read", "a.bin", OSError())) == "Cannot read a.bin: OSError"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (Path("/src/vmmetrics"), 'pip install -e "/src/vmmetrics[ray]"'),
        (" @ git+https://example.org/v.git", 'pip install "vmmetrics[ray] @ git+https://example.org/v.git"'),
        ("", 'pip install "vmmetrics[ray]"'),
    ],
)
def test_an_extra_is_installed_from_where_the_package_came(
    origin: Path | str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vmmetrics.errors._origin", lambda: origin)
    assert install("ray") == command
    assert install(options="--force-reinstall") == command.replace("[ray]", "").replace(
        "install", "install --force-reinstall", 1
    )
