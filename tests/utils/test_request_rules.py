from __future__ import annotations

from contextlib import nullcontext
from http import HTTPStatus
from typing import Any

import pytest

from vmmetrics.utils.request_rules import RefusedError, below_key, body_size, check_host, check_origin, headers


@pytest.mark.parametrize(
    ("given", "port", "allowed"),
    [
        (["127.0.0.1:80"], 80, True),
        (["localhost:80"], 80, True),
        (["[::1]:80"], 80, True),
        (["localhost"], 80, False),
        (["localhost:81"], 80, False),
        (["localhost:81"], None, True),  # a tunnel's end
        (["localhost"], None, True),
        (["evil.example:80"], 80, False),
        (["localhost.evil.example"], None, False),
        (["localhost:80", "localhost:80"], 80, False),
        ([], None, False),
        (["localhost:80@evil.example"], None, False),
    ],
)
def test_only_names_of_this_machine_are_hosts(given: list[str], port: int | None, allowed: bool) -> None:
    expected: Any = nullcontext() if allowed else pytest.raises(RefusedError)
    with expected as refusal:
        assert check_host(given, port) == given[0]
    assert allowed or refusal.value.status == HTTPStatus.MISDIRECTED_REQUEST


@pytest.mark.parametrize("path", ["/", "", "/keys/x", "/ke/x", "//key/x", "/key", "/é/x", "http://localhost/key/x"])
def test_what_lies_elsewhere_than_below_the_key_is_refused(path: str) -> None:
    assert below_key("/key/a/b?key=other", "key") == "a/b"
    with pytest.raises(RefusedError):
        below_key(path, "key")


def test_the_origin_of_another_site_is_refused() -> None:
    check_origin(None, "localhost:80")
    check_origin("http://localhost:80", "localhost:80")
    for origin in ("null", "http://localhost:81", "https://localhost:80", "http://evil.example"):
        with pytest.raises(RefusedError):
            check_origin(origin, "localhost:80")


@pytest.mark.parametrize(
    ("length", "size"), [("17", 17), (None, 0), ("", 0), ("-1", 0), ("1e3", 0), ("9" * 30, 0), ("+5", 0)]
)
def test_the_size_of_a_body(length: str | None, size: int) -> None:
    assert body_size(length) == size


def test_every_answer_forbids_frames_and_forms() -> None:
    policy = headers("default-src 'none'")["Content-Security-Policy"]
    assert policy == "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
