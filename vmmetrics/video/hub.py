"""Data sets of the Hugging Face Hub: their clips, prompt lists and Parquet files in the local cache."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from vmmetrics.errors import SetupError
from vmmetrics.video.folders import CLIP_SUFFIXES

_ADDRESS = re.compile(
    r"hf:/{1,2}datasets/(?P<repo>[\w.-]+/[\w.-]+)"
    r"(?:@(?P<revision>refs/(?:convert|pr)/[^/]+|[^/]+))?(?:/(?P<path>.*))?"
)
_SUFFIXES = CLIP_SUFFIXES - {".npy", ".pt", ".webp"}  # arrays there are mostly latents, webp still pictures
_LISTS = ("metadata", "prompts", "prompt", "captions")
_LIST_SUFFIXES = (".csv", ".tsv", ".json", ".jsonl")


def is_on_hub(text: str) -> bool:
    """Tell whether a text names something on the Hub; a path that lost one of its slashes does, too."""
    return text.startswith("hf:/") and not os.path.lexists(text)


def download(address: str) -> Path:
    """Bring a data set into the Hub's cache and return its folder, or the file or folder named in it.

    Clips, prompt lists, ``metadata.*`` and Parquet files are fetched, and nothing is ever run. What is in the cache is
    not fetched again. ``HF_ENDPOINT``, ``HF_HOME``, ``HF_TOKEN`` and ``HF_HUB_OFFLINE`` count, as everywhere.

    Args:
        address: ``hf://datasets/ORG/NAME``, with ``@REVISION`` and ``/PATH`` where wanted.

    Raises:
        SetupError: huggingface_hub is not installed, the address is none, or the Hub refuses.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise SetupError(f"{address}: expected hf://datasets/ORG/NAME, with @REVISION and /PATH where wanted")
    revision = None if match["revision"] is None else unquote(match["revision"])
    inside = (match["path"] or "").strip("/")
    if ".." in inside.split("/"):
        raise SetupError(f"{address}: '..' leads out of the data set")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise SetupError(f"{address} needs huggingface_hub: pip install 'vmmetrics[hf]'") from error
    try:
        folder = snapshot_download(
            match["repo"], repo_type="dataset", revision=revision, allow_patterns=_patterns(inside)
        )
    except Exception as error:  # of its HTTP client as well
        raise SetupError(f"Cannot fetch {address}: {_reason(error)}") from error
    found = Path(folder, inside)
    if not found.exists():
        raise SetupError(f"{address}: no clip, metadata or Parquet file there")
    return found


def _patterns(inside: str) -> list[str]:
    """Patterns of the files that are wanted; those of the Hub match slashes with ``*``, and know no upper case."""
    start = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in inside)
    below = f"{start}/" if inside else ""
    suffixes = {*_SUFFIXES, *map(str.upper, _SUFFIXES), ".parquet", ".txt"}
    suffixes |= {f"{stem}{suffix}" for stem in _LISTS for suffix in _LIST_SUFFIXES}
    return [*([start] if inside else []), *(f"{below}*{suffix}" for suffix in sorted(suffixes))]


def _reason(error: Exception) -> str:
    """The Hub's reason in one line, and what to do about it."""
    text = " ".join(str(error).split())
    name = type(error).__name__
    if name in ("RepositoryNotFoundError", "GatedRepoError"):
        return "there is no such data set, or it needs a login: hf auth login, or set HF_TOKEN"
    if name == "RevisionNotFoundError":
        return "it has no such revision"
    return (text[:300] + " ...") if len(text) > 300 else text or name
