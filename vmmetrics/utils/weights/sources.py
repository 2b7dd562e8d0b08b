"""Sources of checkpoint files: the publisher, a mirror, or a folder copied by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vmmetrics.errors import SetupError, install
from vmmetrics.utils import web
from vmmetrics.utils.weights.download import get
from vmmetrics.utils.weights.folder import LOCK
from vmmetrics.utils.weights.manifest import Published, PublishedFile, is_inside

_LARGEST_FILE = 10**13  # bytes of a file that a listing may state: a hundred times the largest checkpoint
_LARGEST_LISTING = 10_000_000  # bytes; a checkpoint has tens of files of a hundred bytes each


@dataclass(frozen=True, slots=True)
class Remote:
    """One file that can be fetched.

    Attributes:
        path: Name below the checkpoint's folder.
        url: Address, or path of a copy.
        file: Its entry in the manifest.
        bytes: Size by publisher or server, or None.
        sha256: Hash stated by the server, or None.
        headers: Headers of the request.
    """

    path: str
    url: str
    file: PublishedFile
    bytes: int | None = None
    sha256: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def is_offline() -> bool:
    """Return True if ``VMMETRICS_OFFLINE`` or ``HF_HUB_OFFLINE`` forbids network access."""
    values = (os.environ.get(name, "").strip().lower() for name in ("VMMETRICS_OFFLINE", "HF_HUB_OFFLINE"))
    return any(value not in ("", "0", "false", "no", "off") for value in values)


def list_remote(entry: Published, mirror: str | None = None) -> list[Remote]:
    """List the files of a checkpoint at its source.

    Args:
        entry: The checkpoint.
        mirror: Address of a weights folder that a web server gives away; None asks the publisher.

    Raises:
        SetupError: The server refuses, cannot be reached, or lacks a file.
    """
    if mirror is not None:
        remotes = _of_mirror(entry, mirror.rstrip("/"))
    elif entry.hub is not None:
        remotes = _of_hub(entry, entry.hub)
    else:
        remotes = [Remote(f.path, f.url or "", f, f.bytes) for f in entry.files]
    for file in entry.files:
        if not file.optional and not any(file.matches(remote.path) for remote in remotes):
            raise SetupError(f"{entry.name}: {mirror or entry.source} has no file {file.path}")
    return remotes


def addresses(entry: Published) -> list[str]:
    """Return the web pages from which the files can be downloaded with a browser."""
    if entry.hub is not None:
        return [f"{_hub()}/{entry.hub}/tree/{entry.revision}"]
    return [file.url for file in entry.files if file.url]


def _hub() -> str:
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def _of_hub(entry: Published, repository: str) -> list[Remote]:
    """Read the hub's listing; huggingface_hub, which knows the user's token, would wait for it without a bound."""
    try:
        from huggingface_hub import hf_hub_url
        from huggingface_hub.utils import build_hf_headers
    except ImportError as error:
        raise SetupError(
            f"{entry.name} lies on the Hugging Face hub, which needs {error.name}: {install('vmbench')}"
        ) from error
    headers = build_hf_headers(library_name="vmmetrics")
    address = f"{_hub()}/api/models/{repository}/revision/{quote(entry.revision, safe='')}"
    try:
        listing = get(f"{address}?blobs=true", _LARGEST_LISTING, headers)
    except SetupError as error:
        raise SetupError(f"{entry.source}: cannot be listed on {_hub()}: {error}") from error
    try:
        reply = json.loads(listing)
        commit = str(reply.get("sha") or entry.revision)
        return [
            Remote(
                file["rfilename"],
                hf_hub_url(repository, file["rfilename"], revision=commit, endpoint=_hub()),
                described,
                web.count(file.get("size"), _LARGEST_FILE),
                str(file["lfs"]["sha256"]) if file.get("lfs") else None,
                headers=headers,
            )
            for file in reply["siblings"]
            if is_inside(file["rfilename"]) and (described := entry.described(file["rfilename"]))
        ]
    except web.MALFORMED as error:
        raise SetupError(f"{address}: not a listing of the Hugging Face hub: {web.reason(error)}") from error


def _of_mirror(entry: Published, mirror: str) -> list[Remote]:
    """List the files of a mirror from the record beside them; single files need none."""
    base = f"{mirror}/{entry.name}"
    if not any(file.pattern for file in entry.files):
        return [Remote(f.path, f"{base}/{f.path}", f, f.bytes) for f in entry.files if not f.optional]
    try:
        files: dict[str, Any] = json.loads(get(f"{base}/{LOCK}", _LARGEST_LISTING))["files"]
        remotes = [
            Remote(name, f"{base}/{name}", described, web.count(f["bytes"], _LARGEST_FILE), str(f["sha256"]))
            for name, f in files.items()
            if is_inside(name) and (described := entry.described(name))
        ]
    except web.MALFORMED as error:
        raise SetupError(f"{base}/{LOCK}: not a record of a weights folder: {web.reason(error)}") from error
    for remote in remotes:
        if remote.bytes is None:
            raise SetupError(f"{base}/{LOCK}: not a record of a weights folder: {remote.path} has no size")
    return remotes


def find_copies(entry: Published, folder: Path, *, alone: bool) -> list[Remote]:
    """Search a local folder for copies of a checkpoint's files.

    Known are: a weights folder, the publisher's own folder, the hub's cache, and the folder of one checkpoint. Files
    are taken from one folder only, since names like ``config.json`` are common.

    Args:
        entry: The checkpoint.
        folder: Folder to search.
        alone: Allow that the folder itself is the checkpoint's.

    Returns:
        The copies of the folder that has the most.
    """
    folders = [folder / entry.name]
    if entry.hub is not None:
        organisation, _, repository = entry.hub.partition("/")
        cache = folder / f"models--{organisation}--{repository}" / "snapshots"
        newest = sorted(cache.glob("*"), key=lambda p: p.stat().st_mtime, reverse=True)
        folders += [folder / entry.hub, folder / repository, cache / entry.revision, *newest]
    if alone or len(entry.files) == 1:
        folders.append(folder)
    collected: list[list[Remote]] = []
    for top in folders:
        paths = (path for file in entry.files for path in sorted(top.glob(file.path)) if path.is_file())
        copies = {path.relative_to(top).as_posix(): path for path in paths}
        described = ((name, path, entry.described(name)) for name, path in copies.items())
        collected.append([Remote(name, str(path), file) for name, path, file in described if file is not None])
    return max(collected, key=len)
