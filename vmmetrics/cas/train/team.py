"""The processes that train together, as torchrun starts them; one process is a team of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import distributed

from vmmetrics.perception.vmbench.runtime import default_device

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class Team:
    """This process's place.

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
        """Whether this process speaks and writes."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait until every process is here."""
        if self.size > 1:
            distributed.barrier()

    def gather(self, thing: Thing) -> list[Thing]:
        """What every process holds, by rank."""
        if self.size == 1:
            return [thing]
        boxes: list[Thing] = [thing] * self.size
        distributed.all_gather_object(boxes, thing)
        return boxes


@contextmanager
def join(device: str | None) -> Iterator[Team]:
    """Join the team that torchrun's environment describes, and leave it at the end.

    Args:
        device: ``"cuda"``, ``"cpu"`` or any other of torch; None takes a GPU where there is one.
    """
    size, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    kind = device or default_device()
    if kind == "cuda":
        kind = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
    place = torch.device(kind)
    if place.type == "cuda":
        torch.cuda.set_device(place)
    if size > 1:
        distributed.init_process_group("nccl" if place.type == "cuda" else "gloo")
    team = Team(rank, size, place)
    try:
        yield team
        team.wait()  # one that left while another still writes would pull the connection from under it
    finally:
        if size > 1:
            distributed.destroy_process_group()
