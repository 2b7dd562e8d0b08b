"""Addresses of files elsewhere (``s3://bucket/a.mp4``), and what of them may be kept and shown."""

from __future__ import annotations

import hashlib
import os
import re
from urllib.parse import parse_qsl, urlsplit

PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "memory": "fsspec"}
"""Schemes of object stores, with the package that fsspec needs for each."""
WEB = ("http", "https")
"""Schemes of web servers, which list no folders."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.+)", re.DOTALL)
_WITHOUT_SLASH = re.compile(rf"({'|'.join([*PACKAGES, *WEB])}):/([^/].*)", re.DOTALL)  # as pathlib leaves it
# Parameters that sign an address, which may differ between two addresses of one file.
_SIGNING = re.compile(
    "x-(amz|goog)-.*|awsaccesskeyid|googleaccessid|signature|expires|policy|key-pair-id|(access_)?token|response-.*"
    "|sig|s[eprtv]|spr|ske|skoid|sks|skt|sktid|skv|sip",
    re.IGNORECASE,
)


def address_of(given: str | os.PathLike[str]) -> str | None:
    """Return the address (``s3://bucket/clips``) that a user gave, None for a path; one lost slash is put back.

    >>> address_of("clips/a.mp4"), address_of("s3:/bucket/clips")
    (None, 's3://bucket/clips')
    """
    text = os.fspath(given)
    match = _ADDRESS.fullmatch(text) or _WITHOUT_SLASH.fullmatch(text)
    return None if match is None or os.path.lexists(text) else f"{match[1].lower()}://{match[2]}"


def is_web(uri: str) -> bool:
    """Tell whether an address is of a web server, which lists no folders."""
    return uri.startswith(("http://", "https://"))


def safe_name(uri: str) -> str:
    """Return an address as it may be kept and shown: without user, password and query.

    A query that is more than a signature tells files apart, and leaves eight digits of its hash.

    >>> safe_name("https://me:pw@host/a.mp4?X-Amz-Signature=1"), safe_name("http://host/get?id=1")
    ('https://host/a.mp4', 'http://host/get?cb774a99')
    """
    if not is_web(uri):
        return re.sub(r"(?<=://)[^/@]*@", "", uri) if "@" in uri else uri
    parts = urlsplit(uri)
    named = sorted(pair for pair in parse_qsl(parts.query, True) if not _SIGNING.fullmatch(pair[0]))
    query = f"?{hashlib.sha256(repr(named).encode()).hexdigest()[:8]}" if named else ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{query}"


def masked(text: str) -> str:
    """Return a text with user, password and query of every address in it replaced by ``***``.

    >>> masked("GET https://me:pw@host/a.mp4?sig=1 failed")
    'GET https://***@host/a.mp4?*** failed'
    """
    text = re.sub(r"(?<=://)[^/\s@'\"]*@", "***@", text)
    return re.sub(r"(https?://[^\s?'\"<>]*)\?[^\s'\"<>]+", r"\1?***", text)
