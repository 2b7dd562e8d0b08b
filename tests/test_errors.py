"""Errors of the system in one form of words."""

from __future__ import annotations

import av
import pytest

from vmmetrics.errors import cannot, os_reason


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
