"""Addresses of remote files (``s3://bucket/a.mp4``), and their form without secrets."""

from __future__ import annotations

import hashlib
import os
import re
from urllib.parse import parse_qsl, unquote, urlsplit

PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "memory": "fsspec"}
"""Schemes of object stores, with the package that fsspec needs for each."""
WEB = ("http", "https")
"""Schemes of web servers, which list no folders."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.+)", re.DOTALL)
_SCHEMES = "|".join([*PACKAGES, *WEB])
_WITHOUT_SLASH = re.compile(rf"({_SCHEMES}):/([^/].*)", re.DOTALL)  # as pathlib leaves it
# A query with one of these is signed; the others may then differ between two addresses of one file.
_SIGNATURE = re.compile("(x-(amz|goog)-)?signature|sig", re.IGNORECASE)
_SIGNING = re.compile(
    "x-(amz|goog)-.*|awsaccesskeyid|googleaccessid|signature|expires|policy|key-pair-id|response-.*"
    "|sig|s[eprtv]|spr|ske|skoid|sks|skt|sktid|skv|sip",
    re.IGNORECASE,
)
_LEAST_SECRET = 3  # characters
_USER = re.compile(r"([a-z][a-z0-9+.-]+:/{1,2})[^/\s]*@", re.IGNORECASE)  # one slash as pathlib leaves it
_QUERY = re.compile(r"(https?:/[^\s?'\"<>]*)\?[^\s'\"<>]+", re.IGNORECASE)


def address_of(path: str | os.PathLike[str]) -> str | None:
    """Return the address (``s3://bucket/clips``) that a user gave, None for a path; one lost slash is put back.

    >>> address_of("clips/a.mp4"), address_of("s3:/bucket/clips")
    (None, 's3://bucket/clips')
    """
    text = os.fspath(path)
    match = _ADDRESS.fullmatch(text) or _WITHOUT_SLASH.fullmatch(text)
    return None if match is None or os.path.lexists(text) else f"{match[1].lower()}://{match[2]}"


def is_web(uri: str) -> bool:
    """Return True if an address is of a web server, which lists no folders."""
    return uri[: len("https://")].lower().startswith(("http://", "https://"))


def safe_name(uri: str) -> str:
    """Return an address without user, password and query, fit to store and show.

    A query is replaced by eight digits of its hash, signatures excluded, so that files stay distinct.

    >>> safe_name("https://me:pw@host/a.mp4?X-Amz-Signature=1"), safe_name("http://host/get?id=1")
    ('https://host/a.mp4', 'http://host/get?cb774a99')
    """
    if not is_web(uri):
        return re.sub(r"(?<=://)[^/]*@", "", uri) if "@" in uri else uri
    try:
        parts = urlsplit(uri)
    except ValueError:  # an IPv6 bracket that is not closed
        return masked(uri)
    pairs = parse_qsl(parts.query, True)
    signed = any(_SIGNATURE.fullmatch(name) for name, _ in pairs)
    unsigned = sorted(pair for pair in pairs if not (signed and _SIGNING.fullmatch(pair[0])))
    query = f"?{hashlib.sha256(repr(unsigned).encode()).hexdigest()[:8]}" if unsigned else ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{query}"


def masked(text: str, uri: str = "") -> str:
    """Return a text with user, password and query of every address in it replaced by ``***``.

    Args:
        text: The text.
        uri: An address whose user and password are masked wherever they stand.

    >>> masked("GET https://me:pw@host/a.mp4?sig=1 failed")
    'GET https://***@host/a.mp4?*** failed'
    >>> masked('Invalid bucket name "AKIA:pass"', 's3://AKIA:pass@bucket/x')
    'Invalid bucket name "***"'
    """
    user, at, _ = uri.partition("://")[2].partition("/")[0].rpartition("@")
    for secret in sorted(
        {user, unquote(user), *user.split(":"), *map(unquote, user.split(":"))}, key=len, reverse=True
    ):
        text = text.replace(secret, "***") if at and len(secret) >= _LEAST_SECRET else text
    return _QUERY.sub(r"\1?***", _USER.sub(r"\1***@", text))
