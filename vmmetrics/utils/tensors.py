"""Safe reading of ``torch.save`` files, choice of device, and quiet loading with transformers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, os_reason

DEVICE_VARIABLE = "VMMETRICS_DEVICE"
"""Environment variable with the device of this process and of its workers; without it a GPU where there is one."""


def default_device() -> str:
    """Return the default device of models."""
    if chosen := os.environ.get(DEVICE_VARIABLE):
        return chosen
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def devices() -> list[str]:
    """Return the names of the devices that models can run on here; without torch the CPU alone."""
    try:
        import torch
    except ImportError:
        return ["cpu"]
    cards = [f"cuda:{number}" for number in range(torch.cuda.device_count())] if torch.cuda.is_available() else []
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return ["cpu", *(["cuda"] if cards else []), *cards, *mps]


LEAST_TORCH = (2, 6)
"""First version of torch whose ``weights_only=True`` cannot be made to run code (CVE-2025-32434)."""


def require_safe_torch() -> None:
    """Check the version of torch before one of its files is opened.

    Raises:
        SetupError: It is older than :data:`LEAST_TORCH`.
    """
    import torch

    version = str(torch.__version__)
    parts = re.match(r"(\d+)\.(\d+)", version)
    if parts is None or tuple(map(int, parts.groups())) < LEAST_TORCH:
        raise SetupError(
            f"torch {version} can be made to run code by the files it reads; install torch 2.6 or newer: "
            "pip install --upgrade 'torch>=2.6'"
        )


@contextmanager
def reading(problem: str) -> Iterator[None]:
    """Convert any error of a reader of checkpoints into a SetupError.

    Args:
        problem: What its message begins with.
    """
    try:
        yield
    except SetupError:
        raise
    except Exception as error:
        raise SetupError(f"{problem}: {os_reason(error)}") from error


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Hide the warnings and progress bars of transformers while a model is loaded; what matters of them is checked.

    Its errors are exceptions. ``TRANSFORMERS_VERBOSITY`` in the environment brings the warnings back.
    """
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    if "TRANSFORMERS_VERBOSITY" not in os.environ:
        logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def load_tensors(path: Path, device: Any = "cpu", *, mapped: bool = False) -> Any:
    """Load what ``torch.save`` wrote to ``path``: tensors and plain values, nothing else.

    Args:
        path: The file.
        device: Where the tensors go.
        mapped: Map the file instead of reading it at once.

    Raises:
        SetupError: torch is older than :data:`LEAST_TORCH`.
        Exception: Whatever torch raises for a damaged file or a pickle that asks for code to be run.
    """
    import torch

    require_safe_torch()
    return torch.load(path, map_location=device, weights_only=True, **({"mmap": True} if mapped else {}))
