"""The processes of a training run, and what it needs to resume, kept whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import distributed

from vmmetrics.cas.train.settings import Epoch
from vmmetrics.errors import SetupError, refusing
from vmmetrics.utils.storage.provenance import differences
from vmmetrics.utils.tensors import default_device, load_tensors, reading

# The processes that train together, as torchrun starts them; one process is a group of one.

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """Rank, size and device of this process in its process group.

    Attributes:
        rank: From 0; the first one speaks and writes.
        size: Number of processes.
        device: Where this one computes.
    """

    rank: int
    size: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Return True if this process prints and writes (rank 0)."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait until every process is here."""
        if self.size > 1:
            distributed.barrier()

    def gather(self, value: Value) -> list[Value]:
        """Return the values of all processes, by rank."""
        if self.size == 1:
            return [value]
        boxes: list[Value] = [value] * self.size
        distributed.all_gather_object(boxes, value)
        return boxes


@contextmanager
def join(device: str | None) -> Iterator[ProcessGroup]:
    """Join the process group that torchrun's environment describes, and leave it at the end.

    Args:
        device: ``"cuda"``, ``"cpu"`` or any other of torch; None takes a GPU where there is one.
    """
    size, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    kind = device or default_device()
    if kind == "cuda":
        kind = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    chosen = torch.device(kind)
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    if size > 1:
        distributed.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    process_group = ProcessGroup(rank, size, chosen)
    try:
        yield process_group
        process_group.wait()  # one that left while another still writes would pull the connection from under it
    finally:
        if size > 1:
            distributed.destroy_process_group()


LAST, BEST = "last.pt", "best.pt"
"""Files of a run: the state to resume from, and the checkpoint to score with."""


@dataclass(slots=True)
class State:
    """Progress of a run; everything else follows from its settings and the step.

    Attributes:
        step: Steps done.
        losses: Of the steps of the epoch under way.
        history: Epochs done.
    """

    step: int = 0
    losses: list[float] = field(default_factory=list)
    history: list[Epoch] = field(default_factory=list)

    @property
    def best(self) -> Epoch | None:
        """The epoch with the lowest held-out loss, the first of equals."""
        return min(self.history, key=lambda epoch: epoch.held_out_loss, default=None)

    def worn_out(self, patience: int) -> bool:
        """Return True if ``patience`` epochs have passed without improvement."""
        return self.best is not None and len(self.history) - self.best.number >= patience


def save(content: Mapping[str, Any], path: Path) -> None:
    """Write a file of ``torch.save`` so that there is always a whole one, the old or the new.

    Raises:
        SetupError: It cannot be written.
    """
    draft = path.with_name(path.name + ".part")
    with refusing("write", path):
        with draft.open("wb") as file:
            torch.save(dict(content), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)


def read_last(path: Path, run: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the state that an earlier start saved to resume from, or None.

    Args:
        path: The file.
        run: What this run is made from; it must be the same.

    Raises:
        SetupError: The file belongs to another run, or cannot be read.
    """
    if not path.exists():
        return None
    with reading(f"{path}: cannot be resumed from"):
        stored: Mapping[str, Any] = load_tensors(path)
        theirs = stored["run"]
    if differing := differences(run, theirs):
        raise SetupError(f"{path.parent} holds another training run; give another --out:", *differing)
    return stored
