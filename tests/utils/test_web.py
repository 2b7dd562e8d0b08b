"""Servers' words made safe, and where requests may go."""

from __future__ import annotations

import base64
import html
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.utils import web

FORMS: list[Callable[[str], str]] = [
    str,
    str.upper,
    quote,
    html.escape,
    json.dumps,
    lambda key: json.dumps(json.dumps(key)).replace("/", "\\/"),
    lambda key: quote(quote(key, safe=""), safe=""),
    lambda key: "".join(f"\\u{ord(c):04X}" for c in key),
    lambda key: "\r\n\t".join(key),
    lambda key: base64.encodebytes(f"user:{key}, and what follows".encode() * 3).decode(),
]
keys = st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=40)


@settings(deadline=None)
@given(key=keys, form=st.sampled_from(FORMS), before=st.text(), after=st.text())
def test_no_form_of_a_key_is_shown(key: str, form: Callable[[str], str], before: str, after: str) -> None:
    shown = web.quoted(f"{before} {form(key)} {after}".encode("utf-8", "replace"), key)
    assert "***" in shown or len(shown) == web.QUOTED
    assert key.lower() not in shown.lower() and shown.isprintable()
    for n in range(3):  # the key's own characters within base64
        assert base64.b64encode(bytes(n) + key.encode()).decode()[4:-4] not in shown


@pytest.mark.parametrize("shown", range(1, 16))
def test_a_key_at_the_end_of_what_is_looked_at(shown: int) -> None:
    words = b" " * (web.SCANNED + 1 - shown) + b"sk-SECRET-123456" + b" " * 100
    assert web.quoted(words, "sk-SECRET-123456") == ""
    assert web.quoted(words[: web.SCANNED + 1], "sk-SECRET-123456") == ""


def test_words_without_a_key_are_one_short_plain_line() -> None:
    assert web.quoted("a\x1b[31m\r\n\u202eb\ud800" + "c" * 1000) == "a [31m b " + "c" * 291
    assert web.mask("nothing to hide", None) == "nothing to hide"


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/x", "file:///etc/passwd", "data:,x"])
def test_nothing_but_the_web_is_opened(url: str) -> None:
    opener = web.opener(urllib.request.HTTPRedirectHandler())
    with pytest.raises(urllib.error.URLError, match="unknown url type"):
        opener.open(url, timeout=1)


def test_a_key_with_invisible_or_far_apart_characters_is_not_shown() -> None:
    key = "sk-SECRET-123456"
    for apart in ("\u200b", "\u00ad", "\ufeff", " \u2060", "\x00"):
        assert web.quoted(f"you sent {apart.join(key)} here", key) == "you sent *** here"
        assert key[:4] not in web.mask(apart.join(key), key)
    assert "SECRET" not in web.quoted((key[:12] + " " * 70_000 + key[12:]).encode(), key)
