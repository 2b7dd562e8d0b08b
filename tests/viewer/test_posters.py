"""Posters that are WebP pictures of a poster's size, and what is not."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from vmmetrics.viewer.pictures import MOST_POSTER_BYTES, read_webp


def webp(width: int, height: int, **options: object) -> bytes:
    file = io.BytesIO()
    mode = "RGBA" if options.pop("transparent", False) else "RGB"
    Image.new(mode, (width, height), (200, 30, 60, 90)[: len(mode)]).save(file, "webp", **options)
    return file.getvalue()


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("options", [{}, {"lossless": True}, {"transparent": True}])
def test_the_size_is_that_of_every_kind_of_webp(options: dict[str, bool]) -> None:
    data = webp(321, 7, **options)
    assert read_webp(encoded(data)) == data
    with pytest.raises(ValueError, match="4100 x 7 pixels"):
        read_webp(encoded(webp(4100, 7, **options)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no base64!", "base64"),
        (encoded(b""), "not a WebP"),
        (encoded(b"<svg onload='alert(1)'/>" * 3), "not a WebP"),
        (encoded(webp(9, 9) + b"more"), "not a whole WebP"),
        (encoded(webp(9, 9)[:-2]), "not a (whole )?WebP"),
        (encoded(b"RIFF" + b"\0" * 40), "not a WebP"),
        (encoded(webp(5000, 2)), "5000 x 2 pixels"),
        (encoded(webp(9, 9) + b"\0" * MOST_POSTER_BYTES), "bytes, more than"),
    ],
)
def test_anything_else_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_webp(text)
