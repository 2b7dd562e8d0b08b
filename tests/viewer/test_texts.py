"""Texts without paths and hosts, whatever else they hold."""

from __future__ import annotations

import re

import pytest

from vmmetrics.utils.schema import with_texts
from vmmetrics.viewer.texts import Texts, legible

TEXTS = Texts(("/data/my clips",), re.compile(r"(?<![\w.-])(?:gpu-7)(?::[0-9]+)?(?![\w-])"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data/my clips/a b.mp4 cannot be read", "a b.mp4 cannot be read"),
        ("cannot read /srv/videos/a.mp4: no such file", "cannot read a.mp4: no such file"),
        ("(/srv/videos/a.mp4)", "(a.mp4)"),
        ("--prompts=/home/me/p.json", "--prompts=p.json"),
        ("~/p/prompts.json and ~me/x/y", "prompts.json and y"),
        ("file:///home/me/a.mp4", "a.mp4"),
        ("in /home/me/", "in (path)"),
        ("died on gpu-7:812, not gpu-70", "died on (host), not gpu-70"),
        ("https://me:secret@host/a.mp4?sig=1", "https://***@host/a.mp4?***"),
    ],
)
def test_paths_hosts_and_secrets_are_replaced(text: str, expected: str) -> None:
    assert TEXTS(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "no person in 3/4 frames",
        "and/or",
        "</script><b>",
        "a/b.mp4",
        "1 / 2",
        "s3://bucket/a.mp4",
        "\u202eright",
        "x" * 5000,
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert TEXTS(text) == text


def test_bytes_that_are_no_text_become_escapes() -> None:
    assert legible("a\udcff\u202e猫") == "a\\udcff\u202e猫"
    assert with_texts({"k\udcff": ["/srv/x/a", 1, None]}, TEXTS) == {"k\\udcff": ["a", 1, None]}
