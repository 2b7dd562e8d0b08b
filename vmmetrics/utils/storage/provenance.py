"""Provenance of scores: versions they depend on (must agree within a run), and machine and command (recorded only)."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from vmmetrics.utils.schema import with_texts
from vmmetrics.utils.storage.addresses import masked

# Packages whose code turns a file into pixels or pixels into motion: another version may move a score.
_DECISIVE = ("vmmetrics", "av", "pillow", "opencv-python-headless", "opencv-python", "ai-edge-litert")
PACKAGE = Path(__file__).parents[2]
"""Folder of this package."""
_DECIDING_CODE = ("functional", "metrics", "perception", "video")
# Recorded for the reader; scores do not depend on their version beyond rounding.
_RECORDED = ("numpy", "scipy", "torch", "torchvision", "transformers", "timm", "spacy", "pandas", "pyarrow")


def version_of(package: str) -> str | None:
    """Return the installed version of a distribution, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        if package != "vmmetrics":
            return None
        from vmmetrics.utils.version import __version__  # a checkout on the path, not installed

        return __version__


def decisive_versions() -> dict[str, str]:
    """Return versions that two runs must share for their scores to belong together.

    A checkout has no version of its own between releases, so the code that decides scores is named by its hash there.
    """
    versions = _versions(_DECISIVE)
    if (PACKAGE.parent / "pyproject.toml").is_file():
        versions["vmmetrics"] += f"+{source_hash(PACKAGE)}"
    return versions


def source_hash(package: Path, parts: tuple[str, ...] = _DECIDING_CODE) -> str:
    """Return a hash of eight letters of the code under ``package`` that scores depend on."""
    files = [file for part in parts for file in (package / part).rglob("*.py")]
    files += [package / name for name in ("scoring/suite.py", "utils/text/words.py", "clip.py", "types.py")]
    digest = hashlib.sha256()
    for file in sorted(file for file in files if file.is_file()):
        digest.update(f"{file.relative_to(package).as_posix()}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:8]


def recorded_versions() -> dict[str, str]:
    """Return the versions to record: Python and the packages in use."""
    return {"python": platform.python_version(), **_versions(_DECISIVE + _RECORDED)}


def _versions(packages: tuple[str, ...]) -> dict[str, str]:
    return {name: version for name in packages if (version := version_of(name)) is not None}


def machine() -> dict[str, Any]:
    """Return properties of the machine, from the standard library."""
    try:
        memory_gb = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    except (AttributeError, OSError, ValueError):  # not offered here (Windows)
        memory_gb = None
    return {
        "host": platform.node(),
        "system": platform.platform(),
        "processor": _processor_name(),
        "cpus": os.cpu_count(),
        "memory_gb": memory_gb,
    }


_config: dict[str, Any] | None = None  # of this process: one command has one


def note_config(config: dict[str, Any] | None) -> None:
    """Note the file that the values of options came from: its path, and its content as it was read."""
    global _config
    _config = config


def invocation() -> dict[str, Any]:
    """Return how this process was started: command, folder, and the file of options where there is one.

    Users, passwords and signatures in addresses are left out.
    """
    fields = {"command": sys.argv, "folder": str(Path.cwd()), **({"config": _config} if _config else {})}
    masked_fields: dict[str, Any] = with_texts(fields, masked)
    return masked_fields


def process() -> str:
    """Return this process, as ``host:pid``."""
    return f"{platform.node()}:{os.getpid()}"


def now() -> str:
    """Return the time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def differences(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], prefix: str = "", names: tuple[str, str] = ("now", "the run")
) -> list[str]:
    """Return the differences between two configurations, one line each.

    >>> differences({"versions": {"av": "18.1"}}, {"versions": {"av": "15.0"}})
    ['versions.av: 18.1 (now), 15.0 (the run)']
    """
    lines = []
    for name in sorted({*ours, *theirs}):
        mine, other = ours.get(name), theirs.get(name)
        if mine == other:
            continue
        if isinstance(mine, Mapping) and isinstance(other, Mapping):
            lines += differences(mine, other, f"{prefix}{name}.", names)
        else:
            lines.append(f"{prefix}{name}: {_shown(mine)} ({names[0]}), {_shown(other)} ({names[1]})")
    return lines


def conflicts(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], names: tuple[str, str] = ("now", "the run")
) -> list[str]:
    """Return those :func:`differences` that keep the scores of two configurations out of one run.

    Two releases of this package may share a run, as every score has its metric version; within one release, the hash
    of the code must be the same.
    """
    mine, other = _release(ours), _release(theirs)
    if mine is not None and other is not None and mine.partition("+")[0] != other.partition("+")[0]:
        theirs = {**theirs, "versions": {**theirs["versions"], "vmmetrics": mine}}
    return differences(ours, theirs, names=names)


def _release(configuration: Mapping[str, Any]) -> str | None:
    """Return the version of this package in a configuration, with the hash of its code if it was a checkout."""
    versions = configuration.get("versions")
    version = versions.get("vmmetrics") if isinstance(versions, Mapping) else None
    return version if isinstance(version, str) else None


def _shown(value: Any) -> str:
    text = "absent" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _processor_name() -> str:
    try:  # Linux; platform.processor() knows nothing there
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
